"""Models made from the tables of options, behind LiteLLM's own `Router`."""

from __future__ import annotations

import csv
import logging
import os
import random
from importlib import resources
from typing import Any, NamedTuple

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # before LiteLLM is imported: no network

import litellm
from litellm import Router

__all__ = [
    "ANSWER",
    "GOOD",
    "MESSAGES",
    "PROMPT",
    "TABLES",
    "Model",
    "Router",
    "World",
    "deployments",
    "models_of",
]

litellm.suppress_debug_info = True
logging.getLogger("LiteLLM").setLevel(logging.ERROR)
logging.getLogger("LiteLLM Router").setLevel(logging.CRITICAL)

TABLES = {"mbpp": "routerbench_mbpp", "arc": "routerbench_arc", "aider": "aider_polyglot"}
MESSAGES = [{"role": "user", "content": "Write a function that adds two numbers."}]
GOOD, BAD = "good", "bad"
PROMPT, ANSWER = 1_000, 300  # tokens, as the plug-in expects them


class Model(NamedTuple):
    """An option of a table: the share of good answers, dollars of a call, and how many words it makes."""

    name: str
    quality: float
    cost: float
    verbosity: float

    @property
    def token_price(self) -> float:
        """Dollars of a token, so that a call costs what the table says on average."""
        return self.cost / (PROMPT + ANSWER * self.verbosity)


def models_of(table: str) -> list[Model]:
    """Return the options of a table of this package; answers are half to twice as long as expected."""
    path = (
        resources.files("frugalbandits") / "lab" / "instances" / "data" / "options" / f"{TABLES[table]}.csv"
    )
    dice = random.Random(table)
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return [
        Model(row["name"], float(row["quality"]), float(row["cost"]), 2.0 ** dice.uniform(-1, 1))
        for row in rows
    ]


def deployments(
    models: list[Model], group: str | None = None, provider: str = "table"
) -> list[dict[str, Any]]:
    """Return deployments for a `Router`: all of one group, or each a group of its own."""
    return [
        {
            "model_name": group or model.name,
            "litellm_params": {
                "model": f"{provider}/{model.name}",
                "input_cost_per_token": model.token_price,
                "output_cost_per_token": model.token_price,
            },
            "model_info": {"id": f"{group}:{model.name}"},
        }
        for model in models
    ]


class World(litellm.CustomLLM):
    """A provider whose answers are drawn from a table; some calls fail, and all of a model that is down.

    The tables and the seed are all that a model's answers depend on.
    """

    def __init__(
        self, models: list[Model], failures: float = 0.0, seed: int = 0, provider: str = "table"
    ) -> None:
        super().__init__()
        self.models = {model.name: model for model in models}
        self.down: frozenset[str] = frozenset()
        self._failures = failures
        self._dice = {name: random.Random(f"{seed} {name}") for name in self.models}
        litellm.custom_provider_map = [{"provider": provider, "custom_handler": self}]

    def completion(self, *args: Any, **kwargs: Any) -> Any:
        """Answer, or raise."""
        return self._answer(kwargs["model"], kwargs["model_response"])

    async def acompletion(self, *args: Any, **kwargs: Any) -> Any:
        """Answer, or raise."""
        return self._answer(kwargs["model"], kwargs["model_response"])

    def _answer(self, name: str, response: Any) -> Any:
        model, dice = self.models[name], self._dice[name]
        if name in self.down:
            raise litellm.ServiceUnavailableError("down", llm_provider="table", model=name)
        if dice.random() < self._failures:
            raise litellm.InternalServerError("failed", llm_provider="table", model=name)
        response.choices[0].message.content = GOOD if dice.random() < model.quality else BAD
        made = round(ANSWER * model.verbosity * dice.uniform(0.5, 1.5))
        given = round(PROMPT * dice.uniform(0.5, 1.5))
        response.usage = litellm.Usage(prompt_tokens=given, completion_tokens=made, total_tokens=given + made)
        return response
