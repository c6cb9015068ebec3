"""A language model as a judge, asked through LiteLLM: by a score, or against another answer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from frugalbandits.core.quality import finite_number
from frugalbandits.core.session.money import check_cost
from frugalbandits.errors import InputError, extra_needed
from frugalbandits.integrations.litellm.judges import Request, Verdict, text_of
from frugalbandits.integrations.litellm.pricing import check_tokens

__all__ = ["PAIRWISE", "SCORED", "LLMJudge"]

SCORED = """Rate how well the answer serves the question: 0 is useless or wrong, {scale} is as good as can be.
Reply with the number alone.

Question:
{question}

Answer:
{answer}
"""

PAIRWISE = """Two answers to a question. Which one serves it better?
Reply with one word alone: A, B or TIE.

Question:
{question}

Answer A:
{a}

Answer B:
{b}
"""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_CHOICE = re.compile(r"\b(A|B|TIE)\b")

Reference = Callable[[Request], str] | Mapping[str, Any] | None


class LLMJudge:
    """A judge that asks a language model through LiteLLM; what that costs counts as spending.

    By default it scores an answer. With a `reference` it compares: a better answer than the reference is
    worth 1, a worse one 0, a tie 0.5; which of them is shown first is left to chance, because models prefer a
    place.

    Parameters
    ----------
    model
        The model that judges, as LiteLLM calls it.
    prompt
        What it is asked: a text with ``{question}`` and ``{answer}``, or ``{question}``, ``{a}`` and ``{b}``
        with a reference; ``{scale}`` may stand in the first.
    scale
        The highest score.
    reference
        What an answer is compared with: a function of the request that returns a text, or a dictionary of
        parameters of ``litellm.completion``, such as ``{"model": "openai/gpt-4o"}``, which is asked the same
        and paid for.
    expected_tokens
        Of a judgement, for its price (`price`), where `price` is not given.
    price
        What a judgement is expected to cost; by the token prices of the model by default.
    seed
        Seed of the order in which two answers are shown.
    **parameters
        Goes to ``litellm.completion``: ``temperature``, ``api_base``, ``api_key``, ...
    """

    def __init__(
        self,
        model: str,
        prompt: str | None = None,
        *,
        scale: float = 10.0,
        reference: Reference = None,
        expected_tokens: tuple[float, float] = (1_500, 5),
        price: float | None = None,
        seed: int | None = None,
        **parameters: Any,
    ) -> None:
        if not isinstance(model, str) or not model:
            raise InputError(f"model must be the name of a model, but it is {model!r}")
        self.model, self.reference, self.parameters = model, reference, parameters
        self.scale = finite_number("scale", scale)
        if self.scale <= 0:
            raise InputError(f"scale must be more than 0, but it is {scale!r}")
        self.prompt = prompt if prompt is not None else (SCORED if reference is None else PAIRWISE)
        needed = ("question", "answer") if reference is None else ("question", "a", "b")
        missing = [f"{{{name}}}" for name in needed if f"{{{name}}}" not in self.prompt]
        if missing:
            raise InputError(f"the prompt of the judge lacks {' and '.join(missing)}")
        if reference is not None and not callable(reference) and "model" not in reference:
            raise InputError(f"reference must be a function or have a 'model', but it is {reference!r}")
        self._tokens = check_tokens(expected_tokens)
        self._price = None if price is None else check_cost("the price of a judgement", price)
        self._random = random.Random(seed)

    @property
    def price(self) -> float:
        """What a judgement is expected to cost."""
        if self._price is None:
            models = [self.model]
            if isinstance(self.reference, Mapping):
                models.append(str(self.reference["model"]))
            self._price = sum(map(self._priced, models))
        return self._price

    def _priced(self, model: str) -> float:
        with extra_needed("LLMJudge", "litellm"):
            import litellm
        try:
            info: Any = litellm.get_model_info(model=model)
        except Exception as error:  # LiteLLM raises a plain Exception for a model that it does not know
            raise InputError(
                f"LiteLLM knows no token prices of the judge {model!r}: give LLMJudge(..., price=...), what "
                "a judgement costs"
            ) from error
        given, made = info.get("input_cost_per_token") or 0.0, info.get("output_cost_per_token") or 0.0
        return float(self._tokens[0] * given + self._tokens[1] * made)

    def __call__(self, request: Request, response: Any) -> Verdict:
        """Return the judgement and what it cost; raise an error where the model says something else."""
        answer = text_of(response)
        if self.reference is None:
            said, cost = self._ask(
                self.prompt.replace("{scale}", f"{self.scale:g}"), question=request.question, answer=answer
            )
            number = _NUMBER.search(said)
            if number is None:
                raise InputError(
                    f"the judge {self.model!r} was to reply with a number, but said {said[:80]!r}"
                )
            return Verdict(float(number[0]) / self.scale, cost)
        other, paid = self._other(request)
        first = self._random.random() < 0.5
        a, b = (answer, other) if first else (other, answer)
        said, cost = self._ask(self.prompt, question=request.question, a=a, b=b)
        choice = _CHOICE.search(said.upper())
        if choice is None:
            raise InputError(f"the judge {self.model!r} was to reply A, B or TIE, but said {said[:80]!r}")
        reward = 0.5 if choice[0] == "TIE" else float((choice[0] == "A") == first)
        return Verdict(reward, cost + paid)

    def _other(self, request: Request) -> tuple[str, float]:
        """Return what an answer is compared with, and what it cost."""
        if callable(self.reference):
            return self.reference(request), 0.0
        assert self.reference is not None
        return _completed(messages=list(request.messages), **self.reference)

    def _ask(self, prompt: str, **parts: str) -> tuple[str, float]:
        # One pass, so that braces in an answer stay what they are.
        filled = re.sub(r"\{(question|answer|a|b)\}", lambda found: parts.get(found[1], found[0]), prompt)
        return _completed(model=self.model, messages=[{"role": "user", "content": filled}], **self.parameters)


def _completed(**parameters: Any) -> tuple[str, float]:
    """Return the text of an answer, and what it cost.

    The call is synchronous, from a thread: LiteLLM's logging belongs to the event loop that first used it,
    which is not ours.
    """
    with extra_needed("LLMJudge", "litellm"):
        import litellm
    response: Any = litellm.completion(**parameters)
    cost = (getattr(response, "_hidden_params", None) or {}).get("response_cost")
    return text_of(response), float(cost or 0.0)
