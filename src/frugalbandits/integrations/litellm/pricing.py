"""What a call is guessed to cost before the first bill is in: token prices times expected tokens."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frugalbandits.core.quality import finite_number
from frugalbandits.core.session.money import check_cost
from frugalbandits.errors import InputError
from frugalbandits.integrations.litellm.compat import model_info
from frugalbandits.integrations.litellm.options import id_of, option_of

__all__ = ["TokenPrices", "check_costs", "check_tokens", "first_costs", "price_of", "written_prices"]

# Bills for which a first guess counts; and by how much a usual cost must be off before it is put right.
_GUESSED = 5.0
_OFF = 0.25


def check_tokens(expected: Any) -> tuple[float, float]:
    """Return the expected numbers of tokens of a prompt and of an answer."""
    pair = isinstance(expected, Sequence) and not isinstance(expected, str) and len(expected) == 2
    if not pair:
        raise InputError(
            "expected_tokens must be two numbers, of the prompt and of the answer, such as (1_000, 300), "
            f"but it is {expected!r}"
        )
    given, made = (finite_number("expected_tokens", each) for each in expected)
    if given < 0 or made < 0 or given + made <= 0:
        raise InputError(f"expected_tokens must be 0 or more, and not both 0, but they are {expected!r}")
    return given, made


def check_costs(costs: Any) -> dict[str, float]:
    """Return costs of a call that were given by hand, by the name of the option."""
    if costs is None:
        return {}
    if not isinstance(costs, Mapping):
        raise InputError(f"costs must be a mapping from option to what a call costs, but it is {costs!r}")
    return {str(name): check_cost(f"the cost of {name!r}", cost) for name, cost in costs.items()}


def price_of(router: Any, deployment: Mapping[str, Any], tokens: tuple[float, float]) -> float | None:
    """Return what a call of a deployment is expected to cost; None where a token's price is not known."""
    params = deployment.get("litellm_params") or {}
    info = deployment.get("model_info") or {}
    name = info.get("base_model") or params.get("base_model") or params.get("model")
    found = model_info(router, id_of(deployment), name)
    given = params.get("input_cost_per_token", found.get("input_cost_per_token"))
    made = params.get("output_cost_per_token", found.get("output_cost_per_token"))
    if given is None or made is None:
        return None
    return float(tokens[0] * given + tokens[1] * made)


def written_prices(deployment: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the prices of a token that stand in a deployment itself, of prompts and of answers."""
    params = deployment.get("litellm_params") or {}
    return params.get("input_cost_per_token"), params.get("output_cost_per_token")


def first_costs(
    router: Any,
    deployments: Iterable[Mapping[str, Any]],
    costs: Mapping[str, float],
    tokens: tuple[float, float],
) -> dict[str, float]:
    """Return the first guess of what a call costs, by option: the mean over its deployments.

    Raises
    ------
    InputError
        Where a price is not known: the error names the model.
    """
    prices: dict[str, list[float]] = {}
    for deployment in deployments:
        option = option_of(deployment)
        if option in costs:
            prices[option] = [costs[option]]
            continue
        price = price_of(router, deployment, tokens)
        if price is None:
            raise InputError(
                f"LiteLLM knows no token prices of {option!r}: say what a call costs, "
                f"costs={{{option!r}: ...}}, or set input_cost_per_token and output_cost_per_token in its "
                "litellm_params"
            )
        prices.setdefault(option, []).append(price)
    unknown = [name for name in costs if name not in prices]
    if unknown:
        raise InputError(
            f"costs has {unknown[0]!r}, but the group has no such option; it has "
            f"{', '.join(map(repr, prices))}"
        )
    return {option: sum(each) / len(each) for option, each in prices.items()}


@dataclass
class _Priced:
    """Prices of a token, or a flat cost; what calls were guessed to cost, and what they did cost."""

    given: float
    made: float
    flat: float | None
    asked: int = 0
    sum_asked: float = 0.0  # guesses for all requests
    guessed: float = 0.0  # guesses for those that have a bill
    billed: float = 0.0


class TokenPrices:
    """What a request would cost by option: its prompt's tokens at their price, and bills that put it right.

    The guess is the price of the prompt's tokens and of the answer's expected ones, or the cost that was
    given by hand. It is multiplied by what bills so far were over their guesses.

    Examples
    --------
    >>> prices = TokenPrices((1_000, 100), learn=True)
    >>> prices.put("small", 1e-6, 4e-6)
    >>> round(prices.guess("small", 500), 6), round(prices.expected(["small"], 500)["small"], 6)
    (0.0009, 0.0009)
    >>> for _ in range(45):
    ...     prices.billed("small", 500, 0.0018)
    >>> round(prices.expected(["small"], 500)["small"], 6)
    0.00171
    """

    def __init__(self, expected: tuple[float, float], learn: bool) -> None:
        self._expected, self._learn = expected, learn
        self._options: dict[str, _Priced] = {}
        self._lock = threading.Lock()

    def put(self, option: str, given: float, made: float, flat: float | None = None) -> None:
        """Set the prices of an option's tokens, or what a call of it costs; bills so far count no more."""
        with self._lock:
            self._options[option] = _Priced(given, made, flat)

    def guess(self, option: str, tokens: float) -> float:
        """Return what a request is guessed to cost, before any bill."""
        known = self._options[option]
        return known.flat if known.flat is not None else tokens * known.given + self._expected[1] * known.made

    def expected(self, options: Iterable[str], tokens: float) -> dict[str, float]:
        """Return what a request would cost by option, and count it."""
        found = {}
        with self._lock:
            for option in options:
                known, guess = self._options[option], self.guess(option, tokens)
                known.asked += 1
                known.sum_asked += guess
                found[option] = guess * self._factor(known)
        return found

    def billed(self, option: str, tokens: float, cost: float) -> None:
        """Learn from the bill of an answer."""
        with self._lock:
            known = self._options.get(option)
            if known is not None and self._learn:
                known.guessed += self.guess(option, tokens)
                known.billed += cost

    def usual(self, option: str, now: float) -> float | None:
        """Return what requests of late would cost with an option on average; None where that is about so."""
        with self._lock:
            known = self._options.get(option)
            if known is None or known.asked < _GUESSED:
                return None
            cost = known.sum_asked / known.asked * self._factor(known)
        return None if abs(cost - now) <= _OFF * now else cost

    def _factor(self, known: _Priced) -> float:
        mean = known.sum_asked / known.asked if known.asked else 0.0
        below = known.guessed + _GUESSED * mean
        return (known.billed + _GUESSED * mean) / below if below > 0 else 1.0
