"""How much the service takes at a time: one place, so that every limit has a name and a clear answer."""

from __future__ import annotations

__all__ = [
    "BATCH",
    "BODY",
    "CONCURRENCY",
    "CONNECTIONS",
    "COUNT",
    "FEATURES",
    "HEAD",
    "KEEP_ALIVE",
    "LOG_PAGE",
    "OPTIONS",
    "OPTION_NAME",
    "PATIENCE",
    "SEGMENTS",
    "SESSIONS",
    "SESSION_PAGE",
    "SOURCE",
    "STANDBY",
    "STATE",
    "STORE_PATIENCE",
    "STORE_QUEUE",
    "STORE_THREADS",
    "STORE_WAITING",
    "TIME_TO_LIVE",
]

BODY = 1 << 20  # bytes of a request
PATIENCE = 10.0  # seconds until the head of a request must have come, and then its body
HEAD = 1 << 16  # bytes of the head of a request
KEEP_ALIVE = 20.0  # seconds until a connection that is not used is closed
CONNECTIONS = 4_000  # of one worker, used or not
CONCURRENCY = 1_000  # requests that one worker has in hand
STORE_PATIENCE = 5.0  # seconds that a request waits for the store
STORE_WAITING = 800  # requests that wait for a write: the rest is for those that need none
STORE_THREADS = 8  # that wait for reads of the store
STORE_QUEUE = 100  # requests that wait for one of them
COUNT = 1_000  # decisions in one request: also the sum over a batch
BATCH = 1_000  # items in one request
OPTIONS = 1_000  # of a session
OPTION_NAME = 200  # characters
SEGMENTS = 1_000  # that have an entry of their own
FEATURES = 256  # of a query: a state has the square of it, for each option
SESSIONS = 10_000  # of a store
SESSION_PAGE = 1_000  # sessions in one answer
LOG_PAGE = 1_000  # entries of a log in one answer
SOURCE = 100  # characters on who judged
STATE = 4_000_000  # options times the square of the numbers of a query: some 64 MB
STANDBY = 20  # options that a decision names to fall back on
TIME_TO_LIVE = 30 * 86_400.0  # seconds, where a session says nothing
