"""Ctrl-C that ends the program soon, whatever compiled code is doing."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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

    done = threading.Event()
    # The signal itself writes to the socket, wherever the main thread is: one that comes just before a read
    # that blocks is handled in Python only when that read ends, which may be never.
    pressed, signalled = socket.socketpair()
    signalled.setblocking(False)

    def watch() -> None:
        with pressed:
            while heard := pressed.recv(1):
                if heard[0] == signal.SIGINT and not done.wait(1.0):
                    leave()

    threading.Thread(target=watch, daemon=True).start()
    woken = signal.set_wakeup_fd(signalled.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, before)
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(woken)
        signalled.close()  # which ends the watch
