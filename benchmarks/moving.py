"""Section 4: what an ask and a tell cost where everything moves and where nothing does, and what waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from statistics import geometric_mean, median

from before import ROOT, SAME, Worker, checked_out, worker
from effort import Effort
from report import ratio, table

__all__ = ["section"]

LIMITS = {"compiled": 50.0, "plain": 1_500.0}  # microseconds
SLOWER = 1.2
FLAT = 1.05

# The first commit in which anything of a session can move has this file.
_MOVES = "src/frugalbandits/core/session/live.py"

TEXT = """\
## A session that moves

The default policy with 20 options. *Everything on*: costs are learned, changes are looked for, feedback has a
price and a time to live, an option is down at each call, and reward and bill are told apart. Microseconds of
an ask and all that is told of it, the mean of {pairs:,} decisions from the first one on, in a new process.
"""

TEXT_BEFORE = """\
Where nothing moves: {old}, the commit before anything could (old), against this tree (new), both compiled, 20
options, {pairs:,} pairs of `ask` and `tell` in turn, {rounds} rounds. Limit: new takes at most {slower:.1f}
times as long in the geometric mean.
"""

TEXT_MEMORY = """\
Unanswered decisions: {number:,} of them, a millisecond apart, with a time to live of {live:g} s, so that
{waiting:,} wait at a time. Megabytes of the process at its highest so far. Flat: the last figure is at most
{flat} times that of a tenth of the decisions.
"""

_PAIRS = """
import json, random, sys, time
import frugalbandits as fb

moves, pairs = json.loads(sys.argv[1]), int(sys.argv[2])
draw = random.Random(0).random
names = [f"o{k}" for k in range(20)]
means = {name: 0.3 + 0.6 * draw() for name in names}
on = dict(learn_costs=True, time_to_live=3_600, judge_price=0.01) if moves else {}
session = fb.Session({name: 0.1 * (k + 1) for k, name in enumerate(names)}, 0.1, seed=1, **on)
if sys.argv[3] == "compiled":
    fb.warm_up("voi-cs")
    for _ in range(50):
        session.ask()
    while not session._planner.compiled:
        time.sleep(0.01)
        session.ask()
    session = fb.Session({name: 0.1 * (k + 1) for k, name in enumerate(names)}, 0.1, seed=1, **on)
began = time.perf_counter()
for turn in range(pairs):
    if moves:
        decision = session.ask(exclude=[names[turn % 20]])
        session.tell(decision.id, reward=draw() < means[decision.arm])
        session.tell(decision.id, cost=0.05 + draw())
    else:
        decision = session.ask()
        session.tell(decision.id, reward=draw() < means[decision.arm])
print(json.dumps(1e6 * (time.perf_counter() - began) / pairs))
"""

_WORKER = """
import json, random, sys, time
import frugalbandits as fb

for line in sys.stdin:
    policy, pairs, seed = json.loads(line)
    fb.warm_up(policy)
    draw = random.Random(seed).random
    means = [0.3 + 0.6 * draw() for _ in range(20)]
    session = fb.Session([0.1 * (k + 1) for k in range(20)], 0.1, policy, 5_000_000, seed=seed)
    began = time.perf_counter()
    for _ in range(pairs):
        decision = session.ask()
        session.tell(decision.id, draw() < means[int(decision.arm[1:]) - 1])
    print(json.dumps([(time.perf_counter() - began) / pairs, list(fb.policies())]), flush=True)
"""

_UNANSWERED = """
import json, resource, sys
import frugalbandits as fb

number, live = int(sys.argv[1]), float(sys.argv[2])
session = fb.Session([0.1 * (k + 1) for k in range(20)], 0.1, time_to_live=live)
now, highest = 0.0, []
session._clock = lambda: now
for turn in range(number):
    now += 0.001
    session.ask()
    if (turn + 1) % (number // 10) == 0:
        highest.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(json.dumps(highest))
"""


def section(effort: Effort) -> str:
    return "\n".join([_everything(effort), _nothing(effort), _unanswered(effort)])


def _everything(effort: Effort) -> str:
    rows, reached = [], {}
    for kind, limit in LIMITS.items():
        plain = {"NUMBA_DISABLE_JIT": "1"} if kind == "plain" else {}
        still, moves = (
            json.loads(_run(_PAIRS, json.dumps(moving), str(effort.pairs), kind, **plain))
            for moving in (False, True)
        )
        reached[kind] = moves < limit
        rows.append([kind, f"{still:.1f}", f"{moves:.1f}", ratio(moves / still), f"{limit:,.0f}"])
    told = ", ".join(f"{kind}: {'yes' if met else 'NO'}" for kind, met in reached.items())
    headers = ["", "nothing moves, us", "everything on, us", "against it", "limit, us"]
    return f"{TEXT.format(pairs=effort.pairs)}\n{table(headers, rows)}\n\nBelow the limit: {told}.\n"


def _nothing(effort: Effort) -> str:
    with (
        checked_out(_MOVES) as (name, old_tree),
        worker(old_tree, _WORKER) as old,
        worker(ROOT, _WORKER) as new,
    ):
        there = new.ask("etc-cs", 1, 0)[1]
        shared = [policy for policy in old.ask("etc-cs", 1, 0)[1] if policy in there]
        measured = {policy: _measured(old, new, policy, effort) for policy in shared}
    ratios = [new_time / old_time for old_time, new_time in measured.values()]
    rows = [
        [policy, f"{before * 1e6:.1f}", f"{after * 1e6:.1f}", f"{after / before:.2f}x"]
        for policy, (before, after) in measured.items()
    ]
    mean = geometric_mean(ratios)
    text = TEXT_BEFORE.format(old=name, pairs=effort.pairs, rounds=effort.sessions, slower=SLOWER)
    whole = f"Geometric mean: {mean:.2f}x; the highest: {max(ratios):.2f}x."
    verdict = f"Within the limit: {'yes' if mean <= SLOWER else 'NO'}."
    return f"{text}\n{table(['policy', 'old us', 'new us', 'new/old'], rows)}\n\n{whole} {verdict}\n"


def _measured(old: Worker, new: Worker, policy: str, effort: Effort) -> tuple[float, float]:
    """Return the median seconds a pair of both."""
    names = {old: policy, new: SAME.get(policy, policy)}
    times: dict[Worker, list[float]] = {old: [], new: []}
    for seed in range(effort.sessions):
        for each in (old, new) if seed % 2 else (new, old):
            times[each].append(each.ask(names[each], effort.pairs, seed)[0])
    return median(times[old]), median(times[new])


def _unanswered(effort: Effort) -> str:
    live = effort.unanswered / 50_000  # a fiftieth of them wait at a time
    highest = json.loads(_run(_UNANSWERED, str(effort.unanswered), str(live)))
    rows = [[f"{effort.unanswered * (i + 1) // 10:,}", f"{most:.0f}"] for i, most in enumerate(highest)]
    text = TEXT_MEMORY.format(number=effort.unanswered, live=live, waiting=round(1_000 * live), flat=FLAT)
    flat = "yes" if highest[-1] <= FLAT * highest[0] else "NO"
    return f"{text}\n{table(['decisions', 'peak MB'], rows)}\n\nFlat: {flat}.\n"


def _run(code: str, *arguments: str, **environment: str) -> str:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"a benchmark process failed:\n{done.stderr}")
    return done.stdout
