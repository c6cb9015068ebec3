"""Judges that need no model: an answer passes a check or it does not."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from frugalbandits.errors import InputError, extra_needed
from frugalbandits.integrations.litellm.backstage import is_coroutine_function
from frugalbandits.integrations.litellm.judges import Judge, Request, Verdict, text_of, verdict_of

__all__ = ["All", "Exact", "Length", "Matches", "MatchesSchema", "ValidJSON", "parsed_json"]

_FENCE = re.compile(r"\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)


def parsed_json(text: str, fenced: bool) -> Any:
    """Return what a text is as JSON; raise ValueError where it is none."""
    inside = _FENCE.fullmatch(text) if fenced else None
    return json.loads(inside[1] if inside else text)


class ValidJSON:
    """Whether the answer is JSON.

    Parameters
    ----------
    fenced
        Whether it may stand in a fence of Markdown, as many models write it.

    Examples
    --------
    >>> check = ValidJSON()
    >>> check(None, '{"a": 1}'), check(None, "Sure! Here it is")
    (True, False)
    """

    def __init__(self, fenced: bool = False) -> None:
        self.fenced = fenced

    def __call__(self, request: Request | None, response: Any) -> bool:
        """Tell whether an answer passes."""
        try:
            parsed_json(text_of(response), self.fenced)
        except (ValueError, RecursionError):
            return False
        return True


class MatchesSchema:
    """Whether the answer is JSON that a JSON schema allows.

    Parameters
    ----------
    schema
        The schema, such as ``{"type": "object", "required": ["name"]}``.
    fenced
        Whether the answer may stand in a fence of Markdown.
    """

    def __init__(self, schema: Mapping[str, Any], fenced: bool = False) -> None:
        with extra_needed("MatchesSchema", "litellm"):
            import jsonschema
        kind = jsonschema.validators.validator_for(schema)
        try:
            kind.check_schema(schema)
        except jsonschema.SchemaError as error:
            raise InputError(f"the schema is no JSON schema: {error.message}") from None
        self._validator, self.fenced = kind(schema), fenced

    def __call__(self, request: Request | None, response: Any) -> bool:
        """Tell whether an answer passes."""
        try:
            return bool(self._validator.is_valid(parsed_json(text_of(response), self.fenced)))
        except (ValueError, RecursionError):
            return False


class Exact:
    r"""Whether the answer is what was expected.

    Parameters
    ----------
    expected
        The right answer; or a function of the request that knows it, and returns None where it does not.
    key
        In place of it: under which key of the request's metadata the right answer stands. A request without
        it is not judged.
    plain
        Whether capitals and the space around do not matter.

    Examples
    --------
    >>> Exact("Paris")(None, " paris\n")
    True
    """

    def __init__(
        self,
        expected: str | Callable[[Request], str | None] | None = None,
        *,
        key: str | None = None,
        plain: bool = True,
    ) -> None:
        if (expected is None) == (key is None):
            raise InputError(
                "say what is expected, or under which key of the metadata it stands: one of both"
            )
        self.expected, self.key, self.plain = expected, key, plain

    def __call__(self, request: Request, response: Any) -> bool | None:
        """Tell whether an answer passes."""
        if self.key is not None:
            expected = request.metadata.get(self.key)
        else:
            expected = self.expected(request) if callable(self.expected) else self.expected
        if expected is None:
            return None
        found, expected = text_of(response), str(expected)
        if self.plain:
            return found.strip().casefold() == expected.strip().casefold()
        return found == expected


class Matches:
    r"""Whether a regular expression is found in the answer; ``whole=True``: whether all of it matches.

    Examples
    --------
    >>> Matches(r"\d{4}")(None, "in 1815")
    True
    """

    def __init__(self, pattern: str, whole: bool = False) -> None:
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise InputError(f"{pattern!r} is no regular expression: {error}") from None
        self.whole = whole

    def __call__(self, request: Request | None, response: Any) -> bool:
        """Tell whether an answer passes."""
        look = self._pattern.fullmatch if self.whole else self._pattern.search
        return look(text_of(response)) is not None


class Length:
    """Whether the answer has so many characters at least and at most.

    Examples
    --------
    >>> Length(1, 5)(None, "hello"), Length(1, 5)(None, "")
    (True, False)
    """

    def __init__(self, least: int = 0, most: float = float("inf")) -> None:
        if not 0 <= least <= most:
            raise InputError(
                f"a length lies between two numbers, 0 or more, but they are {least!r} and {most!r}"
            )
        self.least, self.most = least, most

    def __call__(self, request: Request | None, response: Any) -> bool:
        """Tell whether an answer passes."""
        return self.least <= len(text_of(response)) <= self.most


class All:
    """The least of what several judges say: with checks, whether all of them pass. What they cost adds up.

    A judge that says nothing does not count; where all say nothing there is no judgement.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        self.judges = list(judges)
        wrong = [judge for judge in self.judges if not callable(judge)]
        if not self.judges or wrong:
            raise InputError(f"All takes a list of judges, one at least, but it is {judges!r}")

    async def __call__(self, request: Request, response: Any) -> Verdict:
        """Return the least reward and the sum of the costs."""
        found = [verdict_of(await _said(judge, request, response)) for judge in self.judges]
        rewards = [verdict.reward for verdict in found if verdict.reward is not None]
        return Verdict(min(rewards, default=None), sum(verdict.cost for verdict in found))


async def _said(judge: Judge, request: Request, response: Any) -> Any:
    """Return what a judge says, without a plain function's keeping the event loop."""
    if is_coroutine_function(judge):
        return await judge(request, response)
    found = await asyncio.to_thread(judge, request, response)
    return await found if inspect.isawaitable(found) else found
