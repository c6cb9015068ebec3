"""Who says how good an answer was: functions of yours, now and then or always, and thumbs that come later.

A judge is a function of a `Request` and LiteLLM's response, plain or a coroutine function, that returns a
number from 0 to 1, a truth value, a `Verdict` with what the judgement cost, or None: no judgement. It runs
after the answer has gone out.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from frugalbandits.core.quality import finite_number
from frugalbandits.errors import InputError

__all__ = [
    "ClippedReward",
    "Query",
    "Request",
    "Sampled",
    "Thumbs",
    "UnclearVerdict",
    "Verdict",
    "clipped",
    "text_of",
    "verdict_of",
]

Judge = Callable[["Request", Any], Any]
_CHARACTERS = 4.0  # of a token; what is wrong with that is made up for when bills come in


class ClippedReward(UserWarning):
    """A judge has returned a number outside [0, 1], and the nearest end was taken."""


@dataclass(frozen=True)
class Query:
    """What is known of a request before anybody answers it: a function of yours makes features of this.

    Attributes
    ----------
    messages
        The messages of the request; a prompt or an input in another form stands alone in the list.
    metadata
        The metadata of the request, with what LiteLLM has added.
    group, segment
        The model group, and the segment where there are segments.
    """

    messages: Sequence[Any]
    metadata: Mapping[str, Any]
    group: str
    segment: str | None = None

    @property
    def text(self) -> str:
        """The text of the last message of a user."""
        for message in reversed(self.messages):
            if isinstance(message, str) or (isinstance(message, Mapping) and message.get("role") == "user"):
                return _text_in(message)
        return ""

    @property
    def tokens(self) -> float:
        """About how many tokens the prompt has: a quarter of its characters."""
        return sum(len(_text_in(each)) for each in self.messages) / _CHARACTERS


@dataclass(frozen=True)
class Request(Query):
    """What a judge gets to see beside the response: the query, and what became of it.

    Attributes
    ----------
    option
        Who has answered.
    decision
        The id to give feedback with.
    wanted
        Whether a judgement would help the session to decide.
    """

    option: str = ""
    decision: str = ""
    wanted: bool = True

    @property
    def question(self) -> str:
        """The text of the last message of a user."""
        return self.text


class Verdict(NamedTuple):
    """A judgement, and what it cost."""

    reward: float | None
    cost: float = 0.0


class UnclearVerdict(InputError):
    """A judge was asked, and its reply is no judgement; `cost` is what the reply cost all the same."""

    def __init__(self, message: str, cost: float = 0.0) -> None:
        super().__init__(message)
        self.cost = cost


class Thumbs:
    """Feedback by id that may be revised: the last word within `hold` seconds counts.

    A session takes a reward once, so the reward waits here: it is told `hold` seconds after the first word on
    an answer, or when the program ends in good order. Until then it is in the memory of this process alone.
    Without `hold` each thumb counts at once, and a second one is refused.

    Parameters
    ----------
    hold
        Seconds that a thumb may be revised for; less than the time to live.
    judge
        A judge whose reward stands for as long as nobody gives a thumb.

    Examples
    --------
    >>> Thumbs(hold=600)
    Thumbs(hold=600)
    """

    def __init__(self, hold: float = 0.0, judge: Judge | None = None) -> None:
        self.hold = finite_number("hold", hold)
        if self.hold < 0:
            raise InputError(f"hold must be 0 seconds or more, but it is {hold!r}")
        if judge is not None and not callable(judge):
            raise InputError(f"judge must be a function of a request and a response, but it is {judge!r}")
        self.judge = judge

    def __call__(self, request: Request, response: Any) -> Any:
        """Return what the judge beside the thumbs says, if there is one."""
        return None if self.judge is None else self.judge(request, response)

    def __repr__(self) -> str:
        return f"Thumbs(hold={self.hold:g}{'' if self.judge is None else f', judge={self.judge!r}'})"


@dataclass
class Sampled:
    """A judge that is not asked every time.

    Parameters
    ----------
    judge
        Who judges.
    share
        The share of answers that are judged, at random.
    per_day
        How many are judged in a day (UTC) at most.
    budget
        What judging may cost in a day, by what verdicts say that they cost. The one that uses it up is still
        made.
    only_wanted
        Whether to leave out answers that the session does not want judged, because it has nothing to learn
        from them.
    seed
        Seed of the random choice.

    Examples
    --------
    >>> judge = Sampled(lambda request, response: 1.0, per_day=2)
    >>> request = Request([], {}, "chat", None, "small", "id")
    >>> [judge.passes(request) for _ in range(3)]
    [True, True, False]
    """

    judge: Judge
    share: float = 1.0
    per_day: int | None = None
    budget: float | None = None
    only_wanted: bool = True
    seed: int | None = None
    clock: Callable[[], float] = field(default=time.time, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.judge):
            raise InputError(
                f"judge must be a function of a request and a response, but it is {self.judge!r}"
            )
        if not 0.0 < finite_number("share", self.share) <= 1.0:
            raise InputError(f"share must lie in (0, 1], but it is {self.share!r}")
        for name in ("per_day", "budget"):
            value = getattr(self, name)
            if value is not None and finite_number(name, value) <= 0:
                raise InputError(f"{name} must be more than 0, or None, but it is {value!r}")
        self._random = random.Random(self.seed)
        self._lock = threading.Lock()
        self._day, self._judged, self._spent = -1, 0, 0.0

    def passes(self, request: Request) -> bool:
        """Tell whether an answer is to be judged, and count it if so."""
        if self.only_wanted and not request.wanted:
            return False
        with self._lock:
            self._begin_day()
            if self.per_day is not None and self._judged >= self.per_day:
                return False
            if self.budget is not None and self._spent >= self.budget:
                return False
            if self.share < 1.0 and self._random.random() >= self.share:
                return False
            self._judged += 1
            return True

    def charge(self, cost: float) -> None:
        """Take what a judgement has cost from the budget of the day."""
        with self._lock:
            self._begin_day()
            self._spent += cost

    def __call__(self, request: Request, response: Any) -> Any:
        """Return what the judge says, or None where it is not asked."""
        return self.judge(request, response) if self.passes(request) else None

    def _begin_day(self) -> None:
        day = int(self.clock() // 86_400)
        if day != self._day:
            self._day, self._judged, self._spent = day, 0, 0.0


def verdict_of(found: Any) -> Verdict:
    """Return what a judge has said in one form; raise `InputError` where it is no judgement."""
    if found is None:
        return Verdict(None)
    if isinstance(found, Verdict):
        reward = None if found.reward is None else _number(found.reward)
        return Verdict(reward, finite_number("the cost of a judgement", found.cost))
    return Verdict(_number(found))


def _number(value: Any) -> float:
    if isinstance(value, bool):
        return float(value)
    return finite_number("what a judge says", value)


def clipped(reward: float) -> float:
    """Return the nearest number from 0 to 1."""
    return math.fabs(min(max(reward, 0.0), 1.0))


def text_of(response: Any) -> str:
    """Return the text of an answer, whatever the route: chat, text, responses or messages.

    Examples
    --------
    >>> text_of({"choices": [{"message": {"content": "hello"}}]})
    'hello'
    >>> text_of({"content": [{"type": "text", "text": "hello"}]})
    'hello'
    """
    plain = response.model_dump() if hasattr(response, "model_dump") else response
    if isinstance(plain, str):
        return plain
    if not isinstance(plain, Mapping):
        return ""
    for choice in plain.get("choices") or ():
        message = choice.get("message") or {}
        return _text(message.get("content") or choice.get("text"))
    if plain.get("output"):
        return "".join(_text(part.get("content")) for part in plain["output"] if isinstance(part, Mapping))
    return _text(plain.get("content"))


def _text_in(message: Any) -> str:
    """Return the text of a message, which may be a text itself."""
    return _text(message.get("content")) if isinstance(message, Mapping) else _text(message)


def _text(content: Any) -> str:
    """Return the text of a content, which is one or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
