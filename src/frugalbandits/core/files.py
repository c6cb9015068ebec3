"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from frugalbandits.errors import InputError, StateFormatError

__all__ = ["check_writable", "make_folder", "read_with", "write_text", "written_whole"]

Made = TypeVar("Made")


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Return the path if a file can be put there; say why not, before any work is done, otherwise."""
    target = Path(path)
    folder = target.parent
    try:
        if target.is_dir():
            raise InputError(f"cannot write {str(target)!r}: it is a folder")
        if not folder.is_dir():
            raise InputError(f"cannot write {str(target)!r}: there is no folder {str(folder)!r}")
        # Taking its place would remove /dev/null or a pipe for everyone.
        if target.exists() and not target.is_file():
            raise InputError(f"cannot write {str(target)!r}: it is not a regular file")
        _new_file_beside(target).unlink()
    except OSError as error:
        raise InputError(f"cannot write {str(target)!r}: {error.strerror}") from error
    return target


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder, and those that it is in, unless it is there; return it."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "a file has that name" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(f"cannot make the folder {str(folder)!r}: {why}") from error
    return folder


@contextmanager
def written_whole(path: str | os.PathLike[str], durable: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it takes the place of `path` in one step.

    A symbolic link stays: what it points to is replaced. A file that was there keeps its mode. `durable` asks
    that all of it is on the disk, name included, when the block is left. The temporary name keeps the suffix,
    because writers such as matplotlib choose the format by it. An error of the system names the file.
    """
    target = check_writable(path)
    if target.is_symlink():
        target = check_writable(target.resolve())
    temporary = _new_file_beside(target)
    try:
        yield temporary
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        if durable:
            _sync(temporary)
        temporary.replace(target)
        if durable and os.name == "posix":  # elsewhere a folder cannot be opened
            _sync(target.parent)
    except OSError as error:
        # A full disk is told without the name of any file, other troubles with the temporary one's.
        if error.filename in (None, str(temporary)):
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str, durable: bool = False) -> None:
    """Write a text file in one step, with the same bytes on every system."""
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError as error:
        wrong = text[error.start : error.end]
        raise InputError(f"cannot write {str(path)!r}: {wrong!r} has no form in UTF-8") from error
    with written_whole(path, durable) as temporary:
        temporary.write_bytes(encoded)


def read_with(made_of: Callable[[str], Made], path: str | os.PathLike[str]) -> Made:
    """Return what a function makes of the text of a session's file; every error names the file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the session file {str(path)!r}: {error}") from error
    try:
        return made_of(text)
    except StateFormatError as error:
        raise StateFormatError(f"{str(path)!r}: {error}") from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _new_file_beside(target: Path) -> Path:
    """Make an empty file in the same folder, as readable as any other new file."""
    temporary = target.parent / f".frugal-{uuid.uuid4().hex}{target.suffix}"
    temporary.touch(exist_ok=False)
    return temporary
