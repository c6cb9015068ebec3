"""What the plug-in for LiteLLM adds to a call, spends and reaches; runs where LiteLLM is installed."""

from __future__ import annotations

import argparse
import time

import litellm_latency
import litellm_spend
from litellm_world import TABLES

__all__ = ["main"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["latency", "spend"], help="one of the two parts")
    parser.add_argument("--calls", type=int, default=20_000, help="calls that the plug-in routes; 0: none")
    parser.add_argument("--rival", type=int, help="calls of LiteLLM's own strategies: a tenth; 0: none")
    parser.add_argument("--rounds", type=int, default=40, help="rounds of 20 calls for the latency")
    parser.add_argument(
        "--table", action="append", choices=list(TABLES), help="mbpp, arc, aider; all by default"
    )
    parser.add_argument(
        "--worth",
        type=float,
        default=0.0,
        help="of a unit of quality, in ranges of the costs; 0: the default",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="sizes that say nothing, to see that it runs")
    told = parser.parse_args()
    calls, rounds = (400, 2) if told.quick else (told.calls, told.rounds)
    began = time.perf_counter()
    if told.only != "spend":
        print(litellm_latency.section(rounds), flush=True)
    if told.only != "latency":
        rival = max(calls // 10, 100) if told.rival is None else told.rival
        tables = told.table or list(TABLES)
        print(litellm_spend.section(tables, calls, rival, told.seed, told.worth), flush=True)
    print(f"Took {time.perf_counter() - began:,.0f} s.")


if __name__ == "__main__":
    main()
