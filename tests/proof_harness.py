"""What proofs of the service share: servers that can be killed, and the reckoning with what callers know."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import httpx

import frugalbandits as fb
from caller_harness import SESSION, Book
from frugalbandits.stores import Fact, body_of, open_store
from frugalbandits.stores.kinds import open_session
from frugalbandits.stores.session import StoredSession
from service_harness import Served
from store_harness import eventually

#: How often somebody is killed in each configuration: few in `make test`, 25 in `make soak`.
KILLS = int(os.environ.get("FRUGALBANDITS_KILLS", "3"))
COSTS = {"small": 0.2, "middle": 1.0, "large": 3.0}
BODY = {"costs": COSTS, "alpha": 0.1}


def report(**counts: Any) -> None:
    """Print what a proof has counted: `pytest -rP` or `-s` shows it."""
    print("counted:", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in counts.items()))


# Servers.


class Server(Served):
    """A `frugal serve` in a process group of its own, of which any process can be killed."""

    def workers(self) -> list[int]:
        """Return the processes that answer."""
        told = subprocess.run(
            ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.splitlines()
        spawned = [int(line.split()[0]) for line in told if "spawn_main" in line]
        return spawned or [self.process.pid]

    def kill_all(self) -> None:
        """Kill the server with all of its processes, as a machine that loses its power would."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        super().__exit__()

    def __exit__(self, *_: object) -> None:
        # Also where the one that was started is gone: its workers may not be.
        self.kill_all()

    @contextlib.contextmanager
    def alone(self, worker: int) -> Iterator[None]:
        """Stop all workers but one for a moment: so that it is the one that answers."""
        others = [pid for pid in self.workers() if pid != worker]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            eventually(lambda: all(_state(pid) == "T" for pid in others))
            yield
        finally:
            for pid in others:
                os.kill(pid, signal.SIGCONT)


def _state(pid: int) -> str:
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return told.stdout[:1]


class Cluster:
    """Servers on one store, some of which are killed and started again."""

    def __init__(self, store: str, servers: int = 1, workers: int = 1) -> None:
        self.store = store
        self._arguments = ("--store", store, "--workers", str(workers), "--log-level", "warning")
        self.servers: list[Server] = []
        for _ in range(servers):
            self.servers.append(Server(*self._arguments))
        made = self.servers[0].client.put(f"/v1/sessions/{SESSION}", json=BODY)
        assert made.status_code in (200, 201), made.text

    @property
    def urls(self) -> list[str]:
        return [server.url for server in self.servers]

    def kill(self, dice: random.Random) -> str:
        """Kill a worker, or a server as a whole, which is started again; return what was killed."""
        place = dice.randrange(len(self.servers))
        server = self.servers[place]
        workers = server.workers()
        if len(workers) > 1 and dice.random() < 0.7:
            killed = dice.choice(workers)
            os.kill(killed, signal.SIGKILL)
            # Until it is gone with all of its threads, a connection that it had looks like one that holds.
            eventually(lambda: killed not in server.workers() and not _state(killed))
            return "a worker"
        server.kill_all()
        self.servers[place] = Server(*self._arguments)
        return "a server"

    def all_up(self) -> bool:
        """Tell whether every server has all of its workers."""
        wanted = int(self._arguments[3])
        return all(len(server.workers()) == wanted for server in self.servers)

    def close(self) -> None:
        for server in self.servers:
            server.kill_all()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# The reckoning.


def log_of(server: Server, session: str = SESSION) -> list[dict[str, Any]]:
    """Read a whole log over HTTP."""
    entries: list[dict[str, Any]] = []
    after = 0
    while after is not None:
        page = _patient(server.client, f"/v1/sessions/{session}/log?after={after}").json()
        entries += page["entries"]
        after = page["next"]
    return entries


def exports(server: Server, session: str = SESSION) -> list[dict[str, Any]]:
    """Return the state of a session as each worker of a server has it."""
    found = []
    for pid in server.workers():
        # A new connection, which whoever is not stopped takes; one that has just begun may take a while.
        with server.alone(pid), httpx.Client(base_url=server.url, timeout=30) as client:
            found.append(_patient(client, f"/v1/sessions/{session}/export").json())
    return found


def _patient(client: httpx.Client, path: str) -> httpx.Response:
    """Get something, and come again as long as the answer says so."""
    until = time.monotonic() + 30
    while True:
        answer = client.get(path)
        if answer.status_code != 503 or time.monotonic() > until:
            assert answer.status_code == 200, answer.text
            return answer
        time.sleep(0.1)


def facts_in(state: dict[str, Any]) -> dict[str, Any]:
    """Return what follows from the log alone.

    Plans do not, nor what a replica remembers to notice drift by: that is cut into pieces when it plans.
    """
    return {
        "tally": state["state"]["tally"],
        "bills": state["state"]["bills"],
        "decisions": state["decisions"],
        "asked": state["asked"],
        "money": state["moved"]["money"],
        # The number of decisions at a change is that of whoever took it in.
        "changes": [change[1:] for change in state["moved"]["changes"]],
    }


def fold_of(log: list[dict[str, Any]], session: str = SESSION) -> dict[str, Any]:
    """Return the state of a log that is read from its first entry on, by the library alone."""
    with open_store("memory:") as store:
        for each in log:
            fact = Fact(each["key"], each["kind"], body_of(each["body"]), each["at"], each["by"])
            (outcome,) = store.append(session, [fact])
            assert outcome.entry is not None and outcome.entry.seq == each["seq"]
        with contextlib.closing(open_session(store, session)) as opened:
            return json.loads(opened.to_json())


def told_in_process(log: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the tally of a session in this process that is told the same of the options it began with."""
    session = fb.Session(**BODY)
    names = list(COSTS)
    for each in log:
        body = each["body"]
        if each["kind"] == "reward" and body["o"] < len(names):
            session.tell(session.ask(among=[names[body["o"]]]).id, body["r"])
        elif each["kind"] == "observe":
            session.observe(names[body["o"]], body.get("r"))
    return json.loads(session.to_json())["state"]["tally"]


def agreed(cluster: Cluster, workers: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Wait until it is quiet and everybody says the same; return the log and all states."""
    until = time.monotonic() + 30
    while True:
        log = log_of(cluster.servers[0])
        fold = facts_in(fold_of(log))
        states = [state for server in cluster.servers for state in exports(server)]
        differing = {
            part: (fold[part], facts_in(state)[part])
            for state in states
            for part in fold
            if facts_in(state)[part] != fold[part]
        }
        if not differing and len(states) == workers * len(cluster.servers):
            return log, states
        assert time.monotonic() < until, f"{len(states)} replicas, which differ from the log in {differing}"
        time.sleep(0.2)


def reckon(book: Book, log: list[dict[str, Any]], states: list[dict[str, Any]]) -> dict[str, Any]:
    """Hold what callers were told against the log and every replica; return counts."""
    assert not book.wrong, book.wrong[:3]
    assert [each["seq"] for each in log] == list(range(1, len(log) + 1))
    assert len({each["key"] for each in log}) == len(log)
    rewards = [each["body"] for each in log if each["kind"] == "reward"]
    names = list(COSTS)
    there = {body["m"]: (names[body["o"]], body["r"]) for body in rewards}
    assert len(there) == len(rewards), "a decision was counted twice"
    lost = [name for name in book.acknowledged if there.get(name) != book.sent[name]]
    assert not lost, f"{len(lost)} acknowledged tells are not in the log: {lost[:5]}"
    invented = [name for name, told in there.items() if book.sent.get(name) != told]
    assert not invented, f"{len(invented)} entries were never sent: {invented[:5]}"
    counts = Counter(option for option, _ in there.values())
    for state in states:
        tally = state["state"]["tally"]
        assert dict(zip(names, tally["pulls"], strict=True)) == {name: counts[name] for name in names}
        for place, name in enumerate(names):
            total = sum((Fraction(reward) for option, reward in there.values() if option == name), Fraction())
            assert Fraction(tally["sums"][place]) + Fraction(tally["carry"][place]) == total
    told = told_in_process(log)
    for part in ("pulls", "sums", "carry"):
        assert all(state["state"]["tally"][part] == told[part] for state in states), part
    return {
        "sent": len(book.sent),
        "acknowledged": len(book.acknowledged),
        "counted_without_being_acknowledged": len(there) - len(book.acknowledged),
        "replicas": len(states),
        "entries": len(log),
        **{f"met_by_{name.replace(' ', '_')}": value for name, value in sorted(book.refused.items())},
    }


@contextlib.contextmanager
def snapshots(store: str, every: float = 0.5) -> Iterator[Counter[str]]:
    """Have another process than the servers, this one, keep a snapshot every so many seconds."""
    taken: Counter[str] = Counter()
    ending = threading.Event()

    def work(session: StoredSession) -> None:
        while not ending.wait(every):
            try:
                session.snapshot()
                taken["snapshots"] += 1
            except fb.StoreUnavailable:
                taken["snapshots that could not be"] += 1

    with open_store(store) as opened, contextlib.closing(StoredSession.open(opened, SESSION)) as session:
        thread = threading.Thread(target=work, args=(session,))
        thread.start()
        try:
            yield taken
        finally:
            ending.set()
            thread.join()
