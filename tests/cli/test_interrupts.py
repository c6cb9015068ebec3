"""Ctrl-C ends the program whatever its main thread is in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

# The signal is blocked in the main thread, so another one gets it, and the read goes on for ever: as it does
# when a signal comes just before a read that blocks.
BLOCKED = """
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from frugalbandits.cli.interrupts import interruptible
with interruptible("gone"):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    threading.Timer(1.0, print, ["ready"], {"flush": True}).start()  # by then the read has begun
    os.read(os.pipe()[0], 1)
"""


@pytest.mark.skipif(os.name != "posix", reason="pthread_sigmask and SIGINT to another process are POSIX only")
def test_an_interrupt_that_the_main_thread_does_not_notice_ends_the_program() -> None:
    command = [sys.executable, "-c", BLOCKED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        try:
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, error) == (130, "gone\n")


@pytest.mark.skipif(os.name != "posix", reason="pthread_sigmask and SIGINT to another process are POSIX only")
def test_what_was_set_before_is_set_after() -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from frugalbandits.cli.interrupts import interruptible\n"
        "with interruptible('gone'):\n    assert signal.set_wakeup_fd(-1) >= 0\n"
        "assert signal.set_wakeup_fd(-1) == -1\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
