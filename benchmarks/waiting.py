"""Section 3: how long an ask takes in plain Python, and while the compiler is at work beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from effort import Effort
from report import table

__all__ = ["section"]

LIMIT = 20.0  # milliseconds

TEXT = """\
## Waiting

New processes with an empty cache and 20 options: a session asks and tells, with a pause of a millisecond
after each pair, from the first decision until a second after machine code took over. Milliseconds of an
`ask`: the median of those that planned in plain Python, and of all of them the 99th percentile and the
longest. Limit: no `ask` of the default policy takes more than {limit:.0f} ms.
"""

_CODE = """
import json, random, statistics, sys, time
import frugalbandits as fb

policy, longest = sys.argv[1], float(sys.argv[2])
draw = random.Random(0).random
session = fb.Session([0.1 * k for k in range(1, 21)], 0.1, policy, 10_000_000, seed=1)
means = [0.3 + 0.6 * draw() for _ in range(20)]
times, planned, took_over = [], [], None
began = time.perf_counter()
while True:
    now = time.perf_counter()
    before = session._ranks
    decision = session.ask()
    spent = time.perf_counter() - now
    times.append(spent)
    if not session._planner.compiled and session._ranks is not before:
        planned.append(spent)
    session.tell(decision.id, draw() < means[int(decision.arm[1:]) - 1])
    if took_over is None and session._planner.compiled:
        took_over = now - began
    if now - began > longest or (took_over is not None and now - began > took_over + 1):
        break
    time.sleep(0.001)
times.sort()
ends = statistics.median(planned), times[int(0.99 * len(times))], times[-1]
print(json.dumps([len(times), took_over, *(1e3 * end for end in ends)]))
"""


def section(effort: Effort) -> str:
    rows, most = [], {}
    for policy in effort.waiters:
        with tempfile.TemporaryDirectory(prefix="frugalbandits-bench-") as folder:
            done = subprocess.run(
                [sys.executable, "-c", _CODE, policy, "60"],
                env={**os.environ, "FRUGALBANDITS_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
        asks, took_over, plain, usual, longest = json.loads(done.stdout)
        most[policy] = longest
        after = "not within 60 s" if took_over is None else f"{took_over:.1f} s"
        rows.append([policy, f"{asks:,}", after, f"{plain:.2f}", f"{usual:.2f}", f"{longest:.1f}"])
    headers = ["policy", "asks", "machine code after", "plain plan, ms", "99% within, ms", "longest, ms"]
    default = effort.waiters[0]
    verdict = "yes" if most[default] <= LIMIT else "NO"
    return (
        f"{TEXT.format(limit=LIMIT)}\n{table(headers, rows)}\n\n"
        f"No ask of {default} above {LIMIT:.0f} ms: {verdict}.\n"
    )
