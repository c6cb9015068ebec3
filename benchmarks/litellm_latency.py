"""What the plug-in adds to a call of LiteLLM: three processes, a few calls of each in turn."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from report import ratio, table

__all__ = ["section"]

TEXT = """\
## Added latency

The 11 models of RouterBench MBPP answer at once, so all that is measured is LiteLLM and what is put into it.
Three processes (LiteLLM as it is, with the plug-in, with its own `adaptive_router`) make {block} calls each
in turn, {rounds} rounds. Milliseconds of a call as its caller sees it, and processor time of a call with all
that is done after the answer has gone out: bills, judgements, learning.
"""

#: By process, the ways of calling: whether asynchronous, and who judges.
KINDS = {
    "bare": {"async, simple-shuffle": (True, None), "sync, simple-shuffle": (False, None)},
    "frugal": {
        "async, plug-in, no judge": (True, None),
        "async, plug-in, trivial judge": (True, "trivial"),
        "sync, plug-in, no judge": (False, None),
        "sync, plug-in, trivial judge": (False, "trivial"),
    },
    "adaptive": {"async, adaptive_router": (True, None)},
}


def section(rounds: int, block: int = 20) -> str:
    """Measure, and return the text with its table."""
    walls: dict[str, list[float]] = {}
    works: dict[str, list[float]] = {}
    with _process("bare") as bare, _process("frugal") as frugal, _process("adaptive") as adaptive:
        asks = {"bare": bare, "frugal": frugal, "adaptive": adaptive}
        for number in range(rounds + 2):
            for process, ask in asks.items():
                for kind in KINDS[process]:
                    times, work = ask({"kind": kind, "calls": block})
                    if number >= 2:  # the first ones warm up
                        walls.setdefault(kind, []).extend(times)
                        works.setdefault(kind, []).append(work / block)
    rows = []
    for kind, times in walls.items():
        like = next(each for each in KINDS["bare"] if each.split(",")[0] == kind.split(",")[0])
        halfway, usual = _quantiles(times)
        base, base_usual = _quantiles(walls[like])
        work = median(works[kind])
        rows.append(
            [
                kind,
                f"{1e3 * halfway:.2f}",
                f"{1e3 * usual:.2f}",
                f"{1e3 * (halfway - base):+.2f}",
                f"{1e3 * (usual - base_usual):+.2f}",
                ratio(halfway / base),
                f"{1e3 * work:.2f}",
                ratio(work / median(works[like])),
            ]
        )
    headers = ["", "p50, ms", "p99, ms", "added p50", "added p99", "p50 ratio", "processor, ms", "ratio"]
    return f"{TEXT.format(block=block, rounds=rounds)}\n{table(headers, rows)}\n"


def _quantiles(times: list[float]) -> tuple[float, float]:
    ordered = sorted(times)
    return ordered[len(ordered) // 2], ordered[int(0.99 * len(ordered))]


@contextmanager
def _process(name: str) -> Iterator[Callable[[dict[str, Any]], Any]]:
    """Run a process that makes calls when it is asked to."""
    process = subprocess.Popen(
        [sys.executable, __file__, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None

    def ask(what: dict[str, Any]) -> Any:
        process.stdin.write(json.dumps(what) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    try:
        yield ask
    finally:
        process.stdin.close()
        process.wait(30)


async def _serve(name: str) -> None:
    """Make calls, as the lines of the standard input say."""
    from frugalbandits.integrations.litellm import FrugalRouter
    from litellm_world import MESSAGES, Router, World, deployments, models_of

    models = models_of("mbpp")
    World(models)
    routers, frugals = {}, {}
    for kind, (_, judge) in KINDS[name].items():
        if name == "adaptive":
            smart = {
                "model_name": kind,
                "litellm_params": {
                    "model": "auto_router/adaptive_router",
                    "adaptive_router_default_model": models[0].name,
                    "adaptive_router_config": {"available_models": [model.name for model in models]},
                },
            }
            routers[kind] = Router(model_list=[*deployments(models), smart])
            continue
        routers[kind] = Router(model_list=deployments(models, kind))
        if name == "frugal":
            judged = None if judge is None else (lambda request, response: 1.0)
            frugals[kind] = FrugalRouter(kind, alpha=0.1, judge=judged).attach(routers[kind])
    # The standard output is for the answers; what others print goes elsewhere.
    out, sys.stdout = sys.stdout, sys.stderr
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        kind = asked["kind"]
        times, began = [], time.process_time()
        for _ in range(asked["calls"]):
            start = time.perf_counter()
            if KINDS[name][kind][0]:
                await routers[kind].acompletion(model=kind, messages=MESSAGES)
            else:
                routers[kind].completion(model=kind, messages=MESSAGES)
            times.append(time.perf_counter() - start)
        await asyncio.sleep(0.05)  # what comes after the last answer belongs to it
        if kind in frugals:
            await asyncio.to_thread(frugals[kind].flush)
        print(json.dumps([times, time.process_time() - began]), file=out, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    asyncio.run(_serve(sys.argv[1]))
