"""What a call is guessed to cost before the first bill is in: token prices times expected tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from frugalbandits.core.quality import finite_number
from frugalbandits.core.session.money import check_cost
from frugalbandits.errors import InputError
from frugalbandits.integrations.litellm.options import id_of, option_of

__all__ = ["check_costs", "check_tokens", "first_costs", "price_of", "written_prices"]


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
    found = router.get_deployment_model_info(model_id=id_of(deployment), model_name=name) or {}
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
