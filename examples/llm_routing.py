"""LLM calls by LiteLLM, to the cheapest model that is good enough: offline, on models made from RouterBench.

    python examples/llm_routing.py
    python examples/llm_routing.py --dashboard http://127.0.0.1:8000    # of a running `frugal serve`

The models answer as RouterBench has measured on MBPP: each with its share of good answers and its price.
A twentieth of the calls fail, one answer in ten is judged, and the judge errs now and then.
"""

# %% What it takes: `pip install 'frugalbandits[litellm,client]'`.
from __future__ import annotations

import argparse
import csv
import logging
import os
import random
import time
from collections import Counter
from importlib import resources
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # before LiteLLM is imported: no network

import litellm
from litellm.types.router import Deployment

from frugalbandits.integrations.litellm import FrugalRouter, Sampled, text_of

litellm.suppress_debug_info = True
logging.getLogger("LiteLLM").setLevel(logging.ERROR)
logging.getLogger("LiteLLM Router").setLevel(logging.CRITICAL)

parser = argparse.ArgumentParser(description="Route LLM calls, offline.")
parser.add_argument("--calls", type=int, default=5_000)
parser.add_argument(
    "--dashboard", metavar="URL", help="the address of a running `frugal serve`, to look at it"
)
told, _ = parser.parse_known_args()

# %% The models: how good and how dear they are stands in a table of this package.
TABLE = resources.files("frugalbandits") / "lab" / "instances" / "data" / "options" / "routerbench_mbpp.csv"
ROWS = {row["name"]: row for row in csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())}
QUALITY = {name: float(row["quality"]) for name, row in ROWS.items()}
COST = {name: float(row["cost"]) for name, row in ROWS.items()}
NEW, OLD, DEAR = "gpt-3.5-turbo-1106", "claude-v2", "gpt-4-1106-preview"


class Models(litellm.CustomLLM):
    """A provider that answers from the table. With real models there is no such thing."""

    def __init__(self) -> None:
        super().__init__()
        self.down: set[str] = set()
        self.dice = random.Random(7)

    def completion(self, *args: Any, **kwargs: Any) -> Any:
        """Return a good answer or a bad one, or fail."""
        name, response = kwargs["model"], kwargs["model_response"]
        if name in self.down or self.dice.random() < 0.05:
            raise litellm.InternalServerError("no answer", llm_provider="table", model=name)
        response.choices[0].message.content = "good" if self.dice.random() < QUALITY[name] else "bad"
        given, made = self.dice.randint(500, 1_500), self.dice.randint(150, 450)
        response.usage = litellm.Usage(prompt_tokens=given, completion_tokens=made, total_tokens=given + made)
        return response


models = Models()
litellm.custom_provider_map = [{"provider": "table", "custom_handler": models}]


def deployment(name: str, cost: float) -> dict[str, Any]:
    """Return a model of the group "chat", as LiteLLM wants it; a call has 1,300 tokens."""
    price = {"input_cost_per_token": cost / 1_300, "output_cost_per_token": cost / 1_300}
    params = {"model": f"table/{name}", **price}
    return {"model_name": "chat", "litellm_params": params, "model_info": {"id": name}}


# %% A judge that sees one answer in ten, and is wrong about one in twenty of these.
judge_dice = random.Random(8)


def judge(request: Any, response: Any) -> bool:
    """Tell whether an answer is good."""
    return (text_of(response) == "good") != (judge_dice.random() < 0.05)


# %% The router of LiteLLM, with all models but one, and the line that makes it frugal.
router = litellm.Router(
    model_list=[deployment(name, cost) for name, cost in COST.items() if name != NEW],
    num_retries=3,
    retry_after=0,
    cooldown_time=1,
)
frugal = FrugalRouter(
    "chat",
    quality="relative-to-best:0.1",
    judge=Sampled(judge, share=0.1, seed=9),
    baseline=f"table/{OLD}",  # what all calls went to before
    service_url=told.dashboard,
).attach(router)


# %% Calls are made as always.
def calls(number: int, what: str) -> None:
    """Make calls, and print which models answered and what a call has cost."""
    used: Counter[str] = Counter()
    spent = quality = 0.0
    for _ in range(number):
        question = [{"role": "user", "content": "Write a function that adds two numbers."}]
        response = router.completion(model="chat", messages=question)
        used[response._hidden_params["model_id"]] += 1
        spent += response._hidden_params["response_cost"]
        quality += QUALITY[response._hidden_params["model_id"]]
    most = ", ".join(f"{name} {count / number:.0%}" for name, count in used.most_common(3))
    print(
        f"{what}: {number:,} calls, ${1_000 * spent / number:.2f} per 1,000, quality {quality / number:.3f}"
    )
    print(f"    {most}", flush=True)


def settle() -> None:
    """Wait until the last bills and judgements are in: LiteLLM's callbacks come late."""
    time.sleep(0.5)
    frugal.flush()


tenth = told.calls // 10
calls(3 * tenth, "start, 10 models")

# %% What it believes, and why.
settle()
print(frugal.explain())

# %% A new model comes to the group: LiteLLM is told, and that is all.
router.add_deployment(Deployment(**deployment(NEW, COST[NEW])))
calls(3 * tenth, f"with {NEW}")

# %% An outage of the model that most calls go to. LiteLLM retries, and ours is asked for another model.
models.down = {NEW}
calls(tenth, f"{NEW} is down")
models.down = set()

# %% A model is retired.
router.delete_deployment(id=OLD)
calls(tenth, f"without {OLD}")

# %% A price falls: the best model now costs less than the usual one.
router.upsert_deployment(Deployment(**deployment(DEAR, 0.0003)))
calls(told.calls - 8 * tenth, f"{DEAR} at a thirtieth of its price")

# %% What was spent and saved, how good it was, and what is not known.
settle()
report = frugal.report()
print(report)
frugal.close()
