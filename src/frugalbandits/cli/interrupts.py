"""Ctrl-C that ends the program soon, whatever compiled code is doing."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interruptible"]


@contextmanager
def interruptible(farewell: str) -> Iterator[None]:
    """Let Ctrl-C end the program within a second, even in the middle of a long batch of Beta rewards.

    The handler is set here and not at the start, because importing polars puts one in its place that does
    not wake up a thread that waits.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave() -> None:
        # Past sys.stderr, whose lock the progress bar may hold; its line is cleared, its cursor shown.
        clear = "\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else ""
        os.write(2, f"{clear}{farewell}\n".encode())
        os._exit(130)

    pressed: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            if pressed and not done.wait(1.0):
                leave()

    def interrupted(signum: int, frame: FrameType | None) -> None:
        # Nothing that takes a lock: the main thread may hold it just now.
        pressed.append(signum)
        raise KeyboardInterrupt

    threading.Thread(target=watch, daemon=True).start()
    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)
