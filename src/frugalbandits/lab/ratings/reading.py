"""Files of lines, read in blocks, and an account of what stood in them."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias, cast

import numpy as np

from frugalbandits.errors import InputError

__all__ = ["Account", "Fault", "Files", "Malformed", "Progress", "Source", "fields", "shown"]

# A line may be no longer than this, so that a file without line ends does not fill the memory.
LONGEST = 1 << 24
_FAULTS_SHOWN = 5
_LONGEST_SHOWN = 40

# Called with a file's name, the bytes read so far and the bytes there are; 0 where that is not known.
Progress: TypeAlias = Callable[[str, int, int], None]
# Called with a line; raises what is below if that is malformed.
Use: TypeAlias = Callable[[str], None]


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
    """The malformed lines of a file while it is read."""

    path: Path
    malformed: int = 0
    faults: list[Fault] = field(default_factory=list)

    def fault(self, line: int, why: str) -> None:
        """Count a malformed line, and remember it if it is one of the first."""
        self.malformed += 1
        if len(self.faults) < _FAULTS_SHOWN:
            self.faults.append(Fault(line, why))

    def judge(self, line: int, block: bytes, use: Use, rows: Iterable[int] | None = None) -> None:
        """Use the lines of a block, or some of its rows, that are not blank; count malformed ones."""
        lines = block.split(b"\n")
        for row in range(len(lines)) if rows is None else rows:
            try:
                if lines[row].strip():
                    use(lines[row].decode("utf-8"))
            except UnicodeDecodeError:
                self.fault(line + row, "the line is not UTF-8 text")
            except Malformed as error:
                self.fault(line + row, str(error))

    def close(self, used: int, unknown: int = 0, unrated: int = 0) -> Source:
        """Return what stood in the whole file; a file without one usable line is an error."""
        if not used + unrated:
            parts = {"malformed": self.malformed, "of unknown movies": unknown}
            reasons = ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)
            first = "".join(f"; line {line}: {why}" for line, why in self.faults[:1])
            raise InputError(f"{str(self.path)!r} has no usable lines ({reasons or 'there are none'}{first})")
        return Source(str(self.path), used, self.malformed, tuple(self.faults), unknown, unrated)


class Files:
    """Files that are read one after the other; a caller who wants to know is told how far that is."""

    def __init__(self, paths: list[Path], progress: Progress | None = None, block: int = 1 << 20) -> None:
        if block < 1:
            raise InputError(f"a block must have 1 byte or more, but the size is {block!r}")
        self._progress, self._block, self._done = progress, min(block, LONGEST), 0
        # A pipe has no size.
        self._total = sum(path.stat().st_size for path in paths) if all(map(Path.is_file, paths)) else 0

    def blocks(self, account: Account, columns: Sequence[str] = ()) -> Iterator[tuple[int, bytes]]:
        """Yield blocks of whole lines, each with the number of its first line.

        The header is checked and made blank, the last line has an end, and lines that are too long are blank.
        """
        path, line, before = account.path, 1, self._done
        try:
            with path.open("rb") as file:
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=file) if path.name.endswith(".gz") else file)
                while data := stream.read(self._block):
                    data, too_long = _whole_lines(data, stream)
                    data = data.removeprefix(b"\xef\xbb\xbf" if line == 1 else b"")
                    self._done = before + file.tell() if file.seekable() else self._done + len(data)
                    if self._progress is not None:
                        self._progress(path.name, self._done, self._total)
                    if columns and data.strip():
                        data, columns = _after_header(path, data, columns), ()
                    yield line, data
                    line += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))
                    if too_long:
                        account.fault(line - 1, f"the line is longer than {LONGEST:,} bytes")
        except EOFError as error:
            raise InputError(f"cannot read {str(path)!r}: the gzip file is truncated") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"cannot read {str(path)!r}: the gzip file is damaged ({error})") from error
        except OSError as error:
            raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from error


def _whole_lines(data: bytes, stream: BinaryIO) -> tuple[bytes, bool]:
    """Return a block with the rest of its last line, and whether that line is too long: then it is blank."""
    held = len(data) - data.rfind(b"\n") - 1
    rest = stream.readline(LONGEST + 1 - held) if held else b""
    too_long = held + len(rest.removesuffix(b"\n")) > LONGEST
    while too_long and rest and not rest.endswith(b"\n"):
        rest = stream.readline(LONGEST)
    if too_long:
        return data[: len(data) - held] + b"\n", True
    return data + rest if not held or rest.endswith(b"\n") else data + rest + b"\n", False


def _after_header(path: Path, data: bytes, columns: Sequence[str]) -> bytes:
    header, _, rest = data.lstrip().partition(b"\n")
    text = header.decode("utf-8", "replace").strip()
    if [name.strip(' "') for name in text.split(",")] != list(columns):
        begins = f"but the file begins with {shown(text)}"
        raise InputError(f"{path}: the first line must be {','.join(columns)!r}, {begins}")
    # Blank lines in its place, so that the others keep their numbers.
    return b"\n" * data.count(b"\n", 0, len(data) - len(rest)) + rest


def fields(text: str, columns: Sequence[str]) -> list[str]:
    """Return the fields of one line of a CSV file."""
    try:
        (found,) = csv.reader([text], strict=True)
    except (csv.Error, ValueError) as error:
        raise Malformed(f"the line is not CSV ({error})") from None
    if len(found) != len(columns):
        raise Malformed(f"the number of fields is {len(found)} in place of {len(columns)}")
    return found


def shown(text: object) -> str:
    """Return a value as it can stand in a message, cut if it is long."""
    written = repr(text)
    return written if len(written) <= _LONGEST_SHOWN else f"{written[:_LONGEST_SHOWN]}..."
