"""Real routers of LiteLLM on mock responses, called in both ways, and what is waited for."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time

import litellm

from frugalbandits.integrations.litellm import FrugalRouter, text_of

SMALL, LARGE, OTHER = "openai/gpt-4o-mini", "openai/gpt-4o", "openai/gpt-4.1"
MESSAGES = [{"role": "user", "content": "What is 2 + 2?"}]
LIMITED = "litellm.RateLimitError"
TOO_LONG = "litellm.ContextWindowExceededError"
_numbers = itertools.count()


def until(true, seconds=10.0):
    """Wait until something is so; the test fails if it does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.005)


def good_if(*texts):
    """A judge that likes some answers."""
    return lambda request, response: float(text_of(response) in texts)


class Loop:
    """An event loop in a thread of its own: LiteLLM's logging belongs to one."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, coroutine, timeout=30.0):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)


def deployment(group, model, answer, id=None, info=None, **params):
    return {
        "model_name": group,
        "litellm_params": {"model": model, "api_key": "none", "mock_response": answer, **params},
        "model_info": {"id": id or f"{group}-{model}-{next(_numbers)}", **(info or {})},
    }


class House:
    """A router whose group is of this test alone, called in one of the two ways."""

    def __init__(self, kind, loop):
        self.kind, self._loop = kind, loop
        self.group = f"chat-{next(_numbers)}"
        self.frugal = None
        self._made = []

    def deployment(self, model, answer, **more):
        return deployment(self.group, model, answer, **more)

    def router(self, small="small", large="large", *, deployments=None, fallbacks=(), others=(), **settings):
        mine = deployments or [
            self.deployment(SMALL, small, id=f"{self.group}-small"),
            self.deployment(LARGE, large, id=f"{self.group}-large"),
        ]
        settings = {"num_retries": 2, "retry_after": 0, **settings}
        made = litellm.Router(
            model_list=[*mine, *others],
            fallbacks=[{self.group: list(fallbacks)}] if fallbacks else [],
            **settings,
        )
        self._made.append(made)
        self.bare = made
        return made

    def attached(self, router=None, judge=lambda request, response: 1.0, **settings):
        router = router or self.router()
        if "quality" not in settings:
            settings.setdefault("alpha", 0.1)
        self.frugal = FrugalRouter(self.group, judge=judge, **settings).attach(router)
        return self.frugal

    def call(self, router=None, group=None, **more):
        """Call the router, and return the response."""
        router = router or self.bare
        arguments = {"model": group or self.group, "messages": MESSAGES, **more}
        if self.kind == "sync":
            return router.completion(**arguments)
        return self._loop.run(router.acompletion(**arguments))

    def stream(self, parts=None, **more):
        """Read a stream to its end, or so many parts of it; return the stream."""
        if self.kind == "sync":
            found = self.call(stream=True, **more)
            for number, _ in enumerate(found, 1):
                if number == parts:
                    break
            return found

        async def read():
            arguments = {"model": self.group, "messages": MESSAGES, **more}
            found = await self.bare.acompletion(stream=True, **arguments)
            number = 0
            async for _ in found:
                number += 1
                if number == parts:
                    break
            return found

        return self._loop.run(read())

    def option(self, name):
        """Return what the report has of an option."""
        (found,) = (each for each in self.frugal.report().options if each.name == name)
        return found

    def arm(self, name, segment=None):
        """Return what the session has of an option."""
        (found,) = (each for each in self.frugal.explain(segment).arms if each.name == name)
        return found

    def settled(self, answers):
        """Wait until so many answers are booked, and all that follows from them."""
        until(lambda: sum(each.answered for each in self.frugal.report().options) >= answers)
        assert self.frugal.flush(10.0)

    def close(self):
        if self.frugal is not None:
            self.frugal.close()
        for router in self._made:
            router.discard()
