"""What a sweep shows on standard error while it runs: a live display, or lines where that is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from frugalbandits.lab.sweeps.progress import Progress
from frugalbandits.lab.text import printable

__all__ = ["display", "duration", "line"]

# Seconds between two lines: if cells have finished since, and if not.
_SOON = 10.0
_LATE = 60.0
_WIDEST_BAR = 30
_NARROW = 75  # where a bar and the times do not fit side by side
_MOST_RUNNING = 3


@contextmanager
def display(stream: TextIO | None = None) -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows the progress of a sweep on standard error, or on another stream.

    On a terminal, a few lines are drawn anew all the time and vanish at the end. Elsewhere a line is
    written now and then. Warnings are lines of their own, and stay.
    """
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield _Lines(stream).show
        return
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    picture = _Picture()
    # Cropped, because a display taller than the terminal could not be drawn over.
    with Live(
        picture, console=console, transient=True, refresh_per_second=4, vertical_overflow="crop"
    ) as live:

        def show(progress: Progress) -> None:
            fresh = progress.warnings[picture.warned :]
            picture.take(progress)
            for warning in fresh:
                live.console.print(Text(_warning(warning)), soft_wrap=True)

        yield show


def line(progress: Progress) -> str:
    """Return the progress as one line.

    Examples
    --------
    >>> line(Progress(136, 12, 3, ("movielens, alpha 0.3, ts-cs",), 0.0821, 83.4, 912.0, "", ()))
    '12 of 136 cells, 3 reused, 8% of the work, 1 min 23 s, about 16 min left: movielens, alpha 0.3, ts-cs'
    """
    now = progress.note or ", ".join(progress.running[:1])
    more = f" and {len(progress.running) - 1} more" if len(progress.running) > 1 and not progress.note else ""
    parts = [*_counts(progress), f"{progress.share:.0%} of the work", *_times(progress, progress.elapsed)]
    return ", ".join(parts) + (f": {now}{more}" if now else "")


def duration(seconds: float, exact: bool = True) -> str:
    """Return a duration in words, two units of it or, if it need not be exact, one.

    Examples
    --------
    >>> [duration(s) for s in (0.4, 59.9, 83, 3700, 100_000)]
    ['0 s', '59 s', '1 min 23 s', '1 h 1 min', '27 h 46 min']
    >>> [duration(s, exact=False) for s in (0.4, 83, 119, 5300)]
    ['1 s', '2 min', '2 min', '1 h 30 min']
    """
    if not exact:
        # Rounded up, to whole seconds, minutes, or ten minutes.
        unit = 1 if seconds <= 60 else 60 if seconds <= 3600 else 600
        seconds = max(1, -(-seconds // unit)) * unit
    hours, rest = divmod(int(seconds), 3600)
    minutes, whole = divmod(rest, 60)
    large = f"{hours} h" if hours else f"{minutes} min" if minutes else ""
    small = (f"{minutes} min" if minutes else "") if hours else f"{whole} s" if whole else ""
    return f"{large} {small}".strip() or "0 s"


def _counts(progress: Progress) -> list[str]:
    reused = [f"{progress.reused:,} reused"] if progress.reused else []
    return [f"{progress.done:,} of {progress.total:,} cells", *reused]


def _times(progress: Progress, elapsed: float) -> list[str]:
    ended = progress.done == progress.total
    left = [] if progress.left is None or ended else [f"about {duration(progress.left, exact=False)} left"]
    return [duration(elapsed), *left]


def _warning(text: str) -> str:
    return f"frugal: warning: {printable(text)}"


class _Lines:
    """A line when enough has happened, at most one in ten seconds, and the last one.

    What is over in ten seconds has no line. Compiling, which comes first, is announced elsewhere.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.warned = 0
        self.last = -1  # cells done when the last line was written
        self.written = self.begun = False
        self.when = time.monotonic()

    def show(self, progress: Progress) -> None:
        for warning in progress.warnings[self.warned :]:
            self._write(_warning(warning))
        self.warned = len(progress.warnings)
        now = time.monotonic()
        if progress.running and not self.begun:
            self.begun, self.when = True, now
        fresh = progress.done > self.last
        ended = fresh and progress.done == progress.total and self.written
        if ended or now - self.when >= (_SOON if fresh and progress.running else _LATE):
            self._write(printable(line(progress)))
            self.when, self.last, self.written = now, progress.done, True

    def _write(self, text: str) -> None:
        self.stream.write(f"{text}\n")
        self.stream.flush()


class _Picture:
    """The live display: counts and times, a bar, and what runs; each on a line that is cut, not wrapped."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.warned = 0
        self.taken = time.monotonic()

    def take(self, progress: Progress) -> None:
        self.progress, self.taken, self.warned = progress, time.monotonic(), len(progress.warnings)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        progress = self.progress
        if progress is None:
            return
        # The clock goes on between two words from the sweep.
        since = time.monotonic() - self.taken
        left = progress.left if progress.left is None else max(0.0, progress.left - since)
        times = ", ".join(_times(progress._replace(left=left), progress.elapsed + since))
        narrow = options.max_width < _NARROW
        bar = Table.grid(padding=(0, 1))
        width = max(1, min(_WIDEST_BAR, options.max_width - 5))
        percent = f"{progress.share:>4.0%}"
        bar.add_row(ProgressBar(1.0, progress.share, width=width), percent, "" if narrow else _line(times))
        yield _line(", ".join(_counts(progress)))
        yield bar
        if narrow:
            yield _line(times)
        for label in [progress.note] if progress.note else progress.running[:_MOST_RUNNING]:
            yield _line(f"  {printable(label)}", "dim")
        more = len(progress.running) - _MOST_RUNNING
        if more > 0 and not progress.note:
            yield _line(f"  and {more} more", "dim")


def _line(text: str, style: str = "") -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")
