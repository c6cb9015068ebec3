"""Routers of LiteLLM that look at the request, in the places where their session may be kept."""

from __future__ import annotations

from contextlib import contextmanager

import frugalbandits as fb
from frugalbandits.stores import StoredContextualSession, open_store

BOTH = fb.Segments(["easy", "hard"]) + fb.Features(2)


def saying(text):
    return [{"role": "user", "content": text}]


def numbers(query):
    return [float(len(query.text)), float("easy" in query.text)]


class Place:
    """Where sessions are kept: what a router is told of it, and how somebody else opens them."""

    def __init__(self, kind, tmp_path, server):
        self.kind, self._server = kind, server
        self._store = f"sqlite:///{tmp_path}/decisions.db"
        # A service without a token: the ids of answers need a key that outlives the process.
        service = {"service_url": server.url, "ticket_key": "of all processes of a test"}
        self.settings = {"store": self._store} if kind == "store" else service

    @contextmanager
    def somebody_else(self, name):
        if self.kind == "store":
            with open_store(self._store) as store, StoredContextualSession.open(store, name) as session:
                yield session
        else:
            with fb.Client(self._server.url) as client:
                yield client.session(name)


def attached(house, place, router=None, **more):
    """A router that looks at segments and numbers, in a place."""
    given = {"quality": "at-least:0.8", "context": BOTH, "segment": "task", "features": numbers}
    return house.attached(router, **{**given, **place.settings, **more})


def again(house, place, router=None, **more):
    """The same after a restart of the program."""
    house.frugal.close()
    return attached(house, place, router, **more)


def ask(house, kind="easy", **more):
    return house.call(messages=saying(kind), metadata={"task": kind}, **more)


def options(house):
    return {each.name: each for each in house.frugal.explain().options}
