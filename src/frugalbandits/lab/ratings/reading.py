"""Files of lines, read in blocks, and an account of what stood in them."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

from frugalbandits.errors import InputError

__all__ = ["BLOCK", "LONGEST", "Account", "Fault", "Malformed", "Meter", "Progress", "Source"]
__all__ += ["blocks", "shown"]

BLOCK = 1 << 22
# A line may be no longer than this, so that a file without line ends does not fill the memory.
LONGEST = 1 << 24
FAULTS_SHOWN = 5
_LONGEST_SHOWN = 40
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# Called with a file's name, the bytes read so far and the bytes there are; 0 where that is not known.
Progress: TypeAlias = Callable[[str, int, int], None]


class Malformed(Exception):
    """A line cannot be used; the message says why."""


class Fault(NamedTuple):
    """A malformed line: its number, counted from 1, and what is wrong with it."""

    line: int
    why: str


class Source(NamedTuple):
    """What stood in one file.

    Every line is one of these: the header, blank, malformed, or one of the three kinds of usable lines.
    """

    file: str
    used: int
    """Lines that count: ratings in a file of ratings, movies in a file of movies."""
    malformed: int
    faults: tuple[Fault, ...]
    """The first five malformed lines."""
    unknown_movies: int = 0
    """Ratings of movies that the file of movies does not have."""
    unrated: int = 0
    """Reviews without a rating."""


@dataclass
class Account:
    """A source while it is read."""

    path: Path
    used: int = 0
    malformed: int = 0
    unknown_movies: int = 0
    unrated: int = 0

    def __post_init__(self) -> None:
        self._faults: list[Fault] = []

    def fault(self, line: int, why: str) -> None:
        """Count a malformed line, and remember it if it is one of the first."""
        self.malformed += 1
        if len(self._faults) < FAULTS_SHOWN:
            self._faults.append(Fault(line, why))

    def close(self) -> Source:
        """Return the account of the whole file; a file without one usable line is an error."""
        if not self.used + self.unrated:
            reasons = [f"{self.malformed:,} malformed"] if self.malformed else []
            reasons += [f"{self.unknown_movies:,} of unknown movies"] if self.unknown_movies else []
            first = "".join(f"; line {line}: {why}" for line, why in self._faults[:1])
            what = f"({', '.join(reasons)}{first})" if reasons else "(there are none)"
            raise InputError(f"{str(self.path)!r} has no usable lines {what}")
        return Source(
            str(self.path),
            self.used,
            self.malformed,
            tuple(self._faults),
            self.unknown_movies,
            self.unrated,
        )


class Meter:
    """Counts the bytes of several files, and tells a caller who wants to know."""

    def __init__(self, paths: list[Path], progress: Progress | None) -> None:
        self._progress = progress
        # A pipe has no size.
        self._total = sum(path.stat().st_size for path in paths) if all(map(Path.is_file, paths)) else 0
        self._done = 0

    def add(self, path: Path, count: int) -> None:
        """Count bytes as read."""
        self._done += count
        if self._progress is not None:
            self._progress(path.name, self._done, self._total)


def shown(text: object) -> str:
    """Return a value as it can stand in a message, cut if it is long."""
    written = repr(text)
    return written if len(written) <= _LONGEST_SHOWN else f"{written[:_LONGEST_SHOWN]}..."


def blocks(path: Path, size: int, meter: Meter) -> Iterator[bytes]:
    """Yield a file as blocks of whole lines, unpacked if its name ends in `.gz`.

    The last line gets an end if it has none. Of a line that is longer than `LONGEST` bytes there may be a
    part only, but one that is longer than that, too.
    """
    if size < 1:
        raise InputError(f"a block must have 1 byte or more, but the size is {size!r}")
    with _opened(path, meter) as stream:
        lines = _whole_lines(stream, size)
        first = next(lines, b"").removeprefix(_BYTE_ORDER_MARK)
        if first:
            yield first
        yield from lines


def _whole_lines(stream: BinaryIO, size: int) -> Iterator[bytes]:
    parts: list[bytes] = []  # of a line whose end has not come yet
    held = 0
    while data := stream.read(size):
        cut = data.rfind(b"\n") + 1
        if held > LONGEST:  # the rest of this line is dropped
            data = data[data.find(b"\n") :] if cut else b""
            cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, data[:cut]])
            parts, held, data = [], 0, data[cut:]
        if data:
            parts.append(data)
            held += len(data)
    if parts:
        yield b"".join([*parts, b"\n"])


@contextmanager
def _opened(path: Path, meter: Meter) -> Iterator[BinaryIO]:
    packed = path.name.endswith(".gz")
    try:
        with path.open("rb", buffering=0) as raw:
            counted = io.BufferedReader(_Counted(raw, path, meter), BLOCK if packed else 1 << 16)
            yield cast(BinaryIO, gzip.GzipFile(fileobj=counted)) if packed else cast(BinaryIO, counted)
    except EOFError as error:
        raise InputError(f"cannot read {str(path)!r}: the gzip file is truncated") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"cannot read {str(path)!r}: the gzip file is damaged ({error})") from error
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from error


class _Counted(io.RawIOBase):
    """A file that counts the bytes that are read from it: of a packed file, before it is unpacked."""

    def __init__(self, raw: io.FileIO, path: Path, meter: Meter) -> None:
        self._raw, self._path, self._meter = raw, path, meter

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        count = self._raw.readinto(buffer)
        self._meter.add(self._path, count or 0)
        return count
