"""Cells on a real Dask cluster: the same outcomes to the bit, whatever happens to its workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from frugalbandits.errors import InputError
from frugalbandits.lab.sweeps import cells as specs
from frugalbandits.lab.sweeps import cluster as cluster_module
from frugalbandits.lab.sweeps.cells import Cell, Outcome
from frugalbandits.lab.sweeps.cluster import check_address, computed_by
from frugalbandits.lab.sweeps.progress import Ledger, Progress
from frugalbandits.lab.sweeps.store import Store
from frugalbandits.lab.sweeps.sweep import sweep
from sweep_harness import ENDLESS, SLOW, all_the_same

PATIENCE = 40.0
# The first two run side by side, for a second or more.
CELLS = [*(replace(cell, runs=100) for cell in SLOW[:2]), *SLOW[2:]]
TINY = Cell("nu1", 0.3, "pe-cs", horizon=1_000, runs=3, seed=0, checkpoints=4)


def eventually(ask: Callable[[], Any]) -> Any:
    """Return the first true answer."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if answer := ask():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE} seconds")


class Cluster:
    """A scheduler and workers, each a process of its own on this machine."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(folder), **environment}
        self.workers: list[subprocess.Popen[bytes]] = []
        place = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(place),
            "--dashboard-address", "127.0.0.1:0", "--no-dashboard",
        )  # fmt: skip
        eventually(lambda: place.exists() and place.read_text().endswith("}"))
        self.address: str = json.loads(place.read_text())["address"]

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            command = [sys.executable, "-m", "dask", *arguments]
            return subprocess.Popen(command, stdout=log, stderr=log, env=self.environment, cwd=self.folder)

    def start_workers(self, count: int) -> None:
        for _ in range(count):
            self._start_worker()
        with self.client() as client:
            client.wait_for_workers(count, timeout=PATIENCE)

    def _start_worker(self) -> None:
        self.workers.append(
            self._start(
                "worker", self.address, "--nthreads", "1", "--memory-limit", "0", "--no-nanny",
                "--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--host", "127.0.0.1",
            )
        )  # fmt: skip

    @contextmanager
    def client(self) -> Iterator[Client]:
        with Client(self.address, set_as_default=False) as client:
            yield client

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def new_cluster(tmp_path_factory) -> Iterator[Callable[..., Cluster]]:
    made: list[Cluster] = []

    def make(**environment: str) -> Cluster:
        made.append(Cluster(tmp_path_factory.mktemp("cluster"), **environment))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    """One worker."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.start_workers(1)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> dict[Cell, Outcome]:
    return sweep(CELLS, tmp_path_factory.mktemp("local"))


class NotedStore(Store):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.saved: list[Cell] = []

    def save(self, outcome: Outcome) -> Path:
        self.saved.append(outcome.cell)
        return super().save(outcome)


# With the first number, the scheduler itself sends the cell to another worker; with the second it gives up.
@pytest.mark.parametrize("allowed_failures", [3, 0])
def test_a_worker_that_is_killed_takes_nothing_with_it(tmp_path, local, new_cluster, allowed_failures):
    """The cluster has no workers at first, then two, and then one is killed while it runs a cell."""
    cluster = new_cluster(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=str(allowed_failures))
    store = NotedStore(tmp_path)
    seen: list[Progress] = []
    killed: list[str] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        if progress.note == "waiting for workers" and not cluster.workers:
            cluster.start_workers(2)
        if progress.running and not killed:
            with cluster.client() as client:
                processes = client.run(os.getpid)
                busy = [worker for worker, keys in client.processing().items() if keys]
            if len(busy) == 2:
                killed.append(busy[0])
                os.kill(processes[busy[0]], signal.SIGKILL)

    outcomes = sweep(CELLS, store, cluster=cluster.address, watch=watch)
    assert len(killed) == 1
    assert all_the_same(outcomes, local)
    assert sorted(store.saved) == sorted(CELLS) and all(cell in store for cell in CELLS)
    assert seen[-1].done == len(CELLS) and seen[-1].share == 1.0
    again = NotedStore(tmp_path)
    assert all_the_same(sweep(CELLS, again, cluster=cluster.address), local)
    assert again.saved == []


def test_ctrl_c_calls_off_what_is_outstanding(tmp_path, local, cluster):
    def watch(progress: Progress) -> None:
        if progress.done == 1 and progress.running:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep([CELLS[2], ENDLESS, *CELLS], tmp_path, cluster=cluster.address, watch=watch)
    store = NotedStore(tmp_path)
    assert [cell for cell in CELLS if cell in store] == [CELLS[2]]
    with cluster.client() as client:
        eventually(lambda: not any(client.processing().values()))

    def free(progress: Progress) -> None:
        assert progress.elapsed < PATIENCE, "the worker has not given up the endless cell"

    outcomes = sweep(CELLS, store, cluster=cluster.address, watch=free)
    assert all_the_same(outcomes, local)
    assert sorted(store.saved) == sorted(cell for cell in CELLS if cell != CELLS[2])


def test_a_scheduler_that_goes_away_is_an_error_and_the_sweep_goes_on_later(tmp_path, local, new_cluster):
    cluster = new_cluster()
    cluster.start_workers(1)

    def watch(progress: Progress) -> None:
        if progress.done == 1 and cluster.scheduler.poll() is None:
            cluster.scheduler.kill()
            cluster.scheduler.wait()

    with pytest.raises(InputError, match=f"the Dask scheduler at '{cluster.address}' is gone"):
        sweep([CELLS[2], ENDLESS], tmp_path, cluster=cluster.address, watch=watch)
    store = NotedStore(tmp_path)
    assert all_the_same(sweep(CELLS, store), local)
    assert store.saved == [cell for cell in CELLS if cell != CELLS[2]]


# Workers that would compute something else.


def test_a_worker_with_other_code_is_refused(tmp_path, cluster, monkeypatch):
    with cluster.client() as client:
        (worker,) = client.processing()
    for module in (specs, cluster_module):
        monkeypatch.setattr(module, "code_digest", lambda: "changed")
    with pytest.raises(InputError, match=f"worker {worker} has other code of frugalbandits"):
        sweep([TINY], tmp_path, cluster=cluster.address)
    # One that joins in the middle is not asked beforehand: its task sees to that.
    monkeypatch.setattr(cluster_module, "_check_workers", lambda client, workers: None)
    with pytest.raises(InputError, match=f"worker {worker} has other code of frugalbandits"):
        sweep([TINY], tmp_path, cluster=cluster.address)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_with_another_version_is_refused(tmp_path, cluster, monkeypatch):
    here = cluster_module.__version__
    monkeypatch.setattr(cluster_module, "__version__", "9.9")
    with pytest.raises(
        InputError, match=f"worker tcp://.* has frugalbandits {here}, but this machine has 9.9"
    ):
        sweep([TINY], tmp_path, cluster=cluster.address)


def test_a_worker_without_the_package_is_refused(tmp_path, cluster, monkeypatch):
    describe = cluster_module.describe
    answers = {"tcp://10.0.0.7:1": ModuleNotFoundError("No module named 'frugalbandits'")}
    monkeypatch.setattr(Client, "run", lambda self, function, **options: answers)
    with pytest.raises(InputError, match=r"worker tcp://10.0.0.7:1 cannot run .*No module named"):
        sweep([TINY], tmp_path, cluster=cluster.address)
    # One that has gone since is no reason to stop.
    answers["tcp://10.0.0.7:1"] = OSError("gone")
    answers["tcp://10.0.0.8:1"] = describe()
    assert list(sweep([TINY], tmp_path, cluster=cluster.address)) == [TINY]


def test_an_error_on_a_worker_is_the_error_here(cluster):
    impossible = replace(TINY, horizon=3)
    with pytest.raises(InputError, match="horizon"):
        list(computed_by(cluster.address, [impossible], Ledger(1, None)))


def test_damage_on_the_way_is_noticed(cluster, monkeypatch):
    result = cluster_module.decode
    monkeypatch.setattr(cluster_module, "decode", lambda cell, content: result(cell, content[:-1]))
    with pytest.raises(InputError, match=r"sent for nu1, alpha 0\.3, pe-cs is damaged"):
        list(computed_by(cluster.address, [TINY], Ledger(1, None)))


# No cluster at all.


@pytest.mark.parametrize(
    "address", ["", "host", "host:8786", "tcp://host", "tcp://:8786", "tcp://host:0", "tcp://host:99999",
                "http://host:8786", "tcp://host:8786/x", "tcp://a b:1", "tcp://host:8786\n"],
)  # fmt: skip
def test_a_malformed_address_is_named(tmp_path, address):
    for refused in (check_address, lambda given: sweep([TINY], tmp_path, cluster=given)):
        with pytest.raises(InputError) as caught:
            refused(address)
        assert repr(address) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "tls://some-host.org:1", "tcp://[::1]:65535"])
def test_a_good_address_is_taken(address):
    assert check_address(address) == address


def unreachable(folder: Path, address: str) -> str:
    start = time.monotonic()
    with pytest.raises(InputError) as caught:
        sweep([TINY], folder, cluster=address)
    assert time.monotonic() - start < 10
    assert str(caught.value).startswith(f"no Dask scheduler answers at {address!r}: ")
    return str(caught.value)


def test_an_address_where_nothing_listens_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "refused" in unreachable(tmp_path, f"tcp://127.0.0.1:{port}")
    unreachable(tmp_path, "tcp://no-such-host.invalid:8786")


@pytest.mark.parametrize(
    ("greeting", "words"),
    [(None, "timed out"), (b"", "something else"), (b"SSH-2.0-x\r\n", "something else")],
)
def test_something_else_that_listens_is_not_waited_for(tmp_path, monkeypatch, greeting, words):
    monkeypatch.setattr(cluster_module, "_REACH", 0.5)

    def greet() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(greeting)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=greet)
        if greeting is not None:
            thread.start()
        assert words in unreachable(tmp_path, f"tcp://127.0.0.1:{server.getsockname()[1]}")
        if greeting is not None:
            thread.join()


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError) as caught:
        sweep([TINY], tmp_path, cluster="tcp://127.0.0.1:8786")
    assert str(caught.value) == "--cluster needs distributed: pip install 'frugalbandits[cluster]'"


def test_distributed_is_imported_only_where_it_is_used():
    code = "import sys, frugalbandits.lab.sweeps.sweep; print({'dask', 'distributed'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
