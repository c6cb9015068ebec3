"""The cheapest model that is good enough, for calls that go through LiteLLM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from frugalbandits.core.contextual.context import Context
from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.quality import Quality
from frugalbandits.core.session import Explanation
from frugalbandits.errors import InputError, UnknownDecision, extra_needed
from frugalbandits.integrations.litellm.compat import add_strategy
from frugalbandits.integrations.litellm.group import Group
from frugalbandits.integrations.litellm.judges import Query
from frugalbandits.integrations.litellm.options import hidden_params, was_cached
from frugalbandits.integrations.litellm.report import Report
from frugalbandits.integrations.litellm.seams import GROUPS, Strategy, seam
from frugalbandits.integrations.litellm.settings import DAY, Settings, made_settings

__all__ = ["FrugalRouter"]

Judge = Callable[..., Any]
Reader = str | Callable[[Mapping[str, Any]], Any] | None


class FrugalRouter:
    """Sends the calls of a model group of LiteLLM to the cheapest model that is good enough.

    `attach` it to a `litellm.Router`, synchronous or asynchronous. A process has one session for a group:
    whoever comes first makes it, with its settings, and others of the same name share it.

    Parameters
    ----------
    group
        The name of the model group: ``model_name`` in LiteLLM. Its options are the models of its deployments.
    quality
        What is good enough: a bar or its written form, such as "relative-to-best:0.05" or "at-least:0.8".
    judge
        Who says how good an answer was: a function of a request and a response (see
        `frugalbandits.integrations.litellm.judges`), or None: feedback comes by `tell` alone.
    alpha
        Short for ``quality=RelativeToBest(alpha)``.
    policy, over, horizon, worth, memory
        As in `Session`.
    costs
        What a call costs, by option, where LiteLLM has no token prices or you know better.
    expected_tokens
        Of a prompt and of an answer: with the token prices, the first guess of what a call costs.
    learn_costs
        Whether the bills of calls are learned from. VOI-CS and MIX-CS can do it; other policies want False.
    failure
        "forget": a failed attempt says nothing of an option. "zero": it is worth 0, where it is the option's
        fault.
    sticky
        The key of a request's metadata, or a function of the metadata, that tells its conversation: the
        option of its last turn is kept while it can be used, for the sake of the provider's prompt cache.
        Across processes, send the last answer's id as ``frugal_after`` in the metadata.
    segment
        Likewise, for the kind of a request (its task, its tenant): each has a session of its own, which
        starts from the pool. With `context`, it is a part of what the one session sees.
    context
        What a session looks at before it decides: ``Segments([...])`` by `segment`, ``TextFeatures(32)`` of
        the last message of the user, ``Features(number)`` by `features`, or segments and one of the others.
        The group then has one session, a `ContextualSession`, which holds the average quality at the bar.
    features
        A plain function of a `Query` that returns the numbers for ``Features``, or the text for
        ``TextFeatures`` in place of the user's last message. Where it raises, LiteLLM chooses as it would
        without us; that is logged, and counted in the report.
    most_segments
        How many segments have sessions of their own; further ones share that of the group.
    pooled
        How many observations of each option a new segment takes over from the pool at most.
    shadow
        True: decisions are taken down and explained, and calls go where they went before.
    baseline
        The option that `report` compares with; the best by what was judged by default.
    store, name
        Where sessions are kept and under which name, as in `Session`; the name is that of the group by
        default.
    service_url, token
        The decision service that keeps the sessions, so that several processes share them, as in `Client`.
    time_to_live
        Seconds after which a call without an answer, or an answer without feedback, is given up.
    judge_price
        What a judgement costs; by default what the judge says (``judge.price``), or 0.
    ticket_key
        The secret that signs the ids of answers, for sessions in a store or a service, or a list: the first
        signs and all are accepted, so that a key can be changed. By default it is the random secret of the
        store, or is made of the service's address and token. A service without a token needs a key for
        feedback to be taken by other processes, and after a restart.

    Examples
    --------
    >>> FrugalRouter("chat", quality="relative-to-best:0.05")
    FrugalRouter('chat', RelativeToBest(alpha=0.05), not attached)
    """

    def __init__(
        self,
        group: str,
        quality: Quality | str | None = None,
        judge: Judge | None = None,
        *,
        alpha: float | None = None,
        policy: str | None = None,
        over: Literal["each", "queries"] | None = None,
        horizon: float | None = None,
        worth: float | None = None,
        memory: int | Literal["auto"] | None = "auto",
        costs: Mapping[str, float] | None = None,
        expected_tokens: tuple[float, float] = (1_000, 300),
        learn_costs: bool = True,
        failure: Literal["forget", "zero"] = "forget",
        sticky: Reader = None,
        segment: Reader = None,
        context: Context | None = None,
        features: Callable[[Query], Any] | None = None,
        most_segments: int = 50,
        pooled: int = 10,
        shadow: bool = False,
        baseline: str | None = None,
        store: Any = None,
        name: str | None = None,
        service_url: str | None = None,
        token: str | None = None,
        time_to_live: float | timedelta = DAY,
        judge_price: float | None = None,
        ticket_key: str | Sequence[str] | None = None,
    ) -> None:
        self._settings = made_settings(
            group,
            quality=quality,
            alpha=alpha,
            judge=judge,
            failure=failure,
            time_to_live=time_to_live,
            policy=policy,
            over=over,
            horizon=horizon,
            worth=worth,
            memory=memory,
            costs=costs,
            expected_tokens=expected_tokens,
            learn_costs=learn_costs,
            sticky=sticky,
            segment=segment,
            context=context,
            features=features,
            most_segments=most_segments,
            pooled=pooled,
            shadow=shadow,
            baseline=baseline,
            store=store,
            name=name,
            service_url=service_url,
            token=token,
            judge_price=judge_price,
            ticket_key=ticket_key,
        )

    @property
    def settings(self) -> Settings:
        """The settings, checked."""
        return self._settings

    def attach(self, router: Any) -> FrugalRouter:
        """Decide for the calls of a `litellm.Router` from now on; return the router itself.

        Raises
        ------
        InputError
            If the group is not there, has one model alone, or a model whose price is not known.
        """
        with extra_needed("FrugalRouter", "litellm"):
            import litellm
        group = GROUPS.first(self._settings, router)
        litellm.logging_callback_manager.add_litellm_callback(seam())
        strategy = Strategy(router)
        group.mend = lambda: add_strategy(router, strategy)
        group.mend()
        return self

    @property
    def callback(self) -> Any:
        """What stands in ``litellm_settings.callbacks`` of a proxy, whose router the group is made with."""
        GROUPS.announce(self._settings)
        return seam()

    def tell(self, id: str, reward: float) -> None:
        """Say how good an answer was, by the id from `decision_of` or from the header of a proxy's answer."""
        self._group.judging.feedback_now(id, reward)

    async def tell_async(self, id: str, reward: float) -> None:
        """Say how good an answer was, without blocking the event loop."""
        await self._group.judging.feedback(id, reward)

    def decision_of(self, response: Any) -> str:
        """Return the id to give feedback with on a response of LiteLLM, streams included.

        In place of a response, take the ``litellm_call_id`` of the call, where you have set one: streams of
        `anthropic_messages` do not carry it.
        """
        if was_cached(response):
            raise UnknownDecision("the response is from LiteLLM's cache, which does not say who wrote it")
        call, deployment = _call_of(response)
        found = self._group.ticket_of(call, deployment)
        if found is None:
            raise UnknownDecision(
                "the response has no decision of this group: another group has answered, or too many calls "
                "came since"
            )
        return found

    def why(self, response: Any) -> str:
        """Return which option was decided for, for a response of LiteLLM, and why; also in shadow mode.

        In place of a response, take the ``litellm_call_id`` of the call.
        """
        found = self._group.why(_call_of(response)[0])
        if found is None:
            raise UnknownDecision("nothing was decided for this response, or too many calls came since")
        return found

    def explain(self, segment: str | None = None) -> Explanation | ContextualExplanation:
        """Return what the session of the group, or of a segment of it, believes."""
        if segment is not None and segment not in self._group.sessions.segments:
            known = ", ".join(map(repr, self._group.sessions.segments)) or "none"
            raise InputError(f"no segment is called {segment!r}. Known: {known}")
        found: Explanation | ContextualExplanation = self._group.sessions.of(segment).explain()
        return found

    @property
    def segments(self) -> list[str]:
        """The segments that have a session of their own."""
        return self._group.sessions.segments

    def report(self) -> Report:
        """Return what this process's calls of the group have cost and were worth, and what is not known."""
        return self._group.report()

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until bills and judgements that have come in are told; tell whether they are."""
        return self._group.backstage.flush(timeout)

    def close(self, timeout: float = 3.0) -> None:
        """Tell what is held, and decide no more for the group."""
        group = GROUPS.drop(self._settings.group)
        if group is not None:
            group.close(timeout)

    @property
    def _group(self) -> Group:
        found = GROUPS.get(self._settings.group)
        if found is None:
            raise InputError(
                f"the group {self._settings.group!r} is not attached: attach(router) comes first, or in a "
                "proxy its first call"
            )
        return found

    def __repr__(self) -> str:
        attached = GROUPS.get(self._settings.group) is not None
        return (
            f"FrugalRouter({self._settings.group!r}, {self._settings.quality!r}, "
            f"{'attached' if attached else 'not attached'})"
        )


def _call_of(response: Any) -> tuple[Any, Any]:
    """Return LiteLLM's id of the call that a response is of, and of the deployment that answered."""
    if isinstance(response, str):
        return response, None
    hidden = hidden_params(response)
    return hidden.get("litellm_call_id"), hidden.get("model_id")
