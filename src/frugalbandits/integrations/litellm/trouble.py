"""What goes wrong on our side never breaks a call: it is counted, and logged once for each kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from frugalbandits.integrations.litellm.backstage import log
from frugalbandits.integrations.litellm.ledger import Ledger

__all__ = ["Trouble"]


class Trouble:
    """Counts errors by kind in a ledger, and logs the first of each kind with its traceback."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._logged: set[tuple[str, type[BaseException]]] = set()

    def note(self, kind: str, error: BaseException, decision: str | None = None) -> None:
        """Take down an error."""
        self._ledger.count(f"{kind} failed")
        key = kind, type(error)
        words = f"{kind} failed{'' if decision is None else f' for decision {decision}'}: {error}"
        if key in self._logged:
            log.debug(words)
            return
        self._logged.add(key)
        log.warning(
            "%s (further errors of this kind are counted, and logged at level debug)", words, exc_info=error
        )

    @contextmanager
    def kept_out(self, kind: str, decision: str | None = None) -> Iterator[None]:
        """Take down any error of the body, and go on."""
        try:
            yield
        except Exception as error:
            self.note(kind, error, decision)
