"""Files are written whole or not at all, and what stands in the way is said before any work is done."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from frugalbandits.core.files import check_writable, write_text, written_whole
from frugalbandits.errors import InputError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def interrupted(target: Path, error: type[BaseException]) -> None:
    with written_whole(target) as temporary:
        temporary.write_text("half of the n")
        raise error


def test_a_finished_block_replaces_the_file(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with written_whole(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert names(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_the_old_file_and_no_temporary(
    tmp_path: Path, error: type[BaseException]
) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(error):
        interrupted(target, error)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_a_block_that_raises_makes_no_new_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        interrupted(tmp_path / "out.txt", RuntimeError)
    assert names(tmp_path) == []


def test_the_temporary_stands_beside_the_target_and_keeps_its_suffix(tmp_path: Path) -> None:
    with written_whole(tmp_path / "figure.svg") as temporary:
        assert temporary.suffix == ".svg"
        assert temporary.parent == tmp_path


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_a_result_is_as_readable_as_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "ours", "")
    ours, plain = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "plain"))
    assert ours == plain


def test_text_is_utf8_with_line_ends_as_given(tmp_path: Path) -> None:
    write_text(tmp_path / "out.txt", "\N{GREEK SMALL LETTER MU}\r\n\n")
    assert (tmp_path / "out.txt").read_bytes() == b"\xce\xbc\r\n\n"


def test_text_that_has_no_utf8_form_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"out\.txt.*'\\ud800'"):
        write_text(tmp_path / "out.txt", "a\ud800b")
    assert names(tmp_path) == []


def test_check_writable_returns_the_path_and_leaves_nothing(tmp_path: Path) -> None:
    assert check_writable(str(tmp_path / "out.txt")) == tmp_path / "out.txt"
    assert names(tmp_path) == []


def test_check_writable_accepts_a_file_that_exists_and_does_not_touch_it(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    assert check_writable(target) == target
    assert target.read_text() == "old"


def assert_refused(target: Path, why: str) -> None:
    for write in (check_writable, lambda path: write_text(path, "new")):
        with pytest.raises(InputError) as caught:
            write(target)
        assert str(caught.value) == f"cannot write {str(target)!r}: {why}"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert_refused(tmp_path / "no" / "out.txt", f"there is no folder {str(tmp_path / 'no')!r}")
    assert names(tmp_path) == []


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    assert_refused(tmp_path / "file" / "out.txt", f"there is no folder {str(tmp_path / 'file')!r}")


def test_a_folder_as_target_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path, "it is a folder")


def test_a_name_that_the_system_cannot_hold_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path / ("x" * 5000), "File name too long")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_special_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert_refused(tmp_path / "pipe", "it is not a regular file")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_folder_that_cannot_be_written_gives_the_system_s_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Taking the rights away would not stop tests that run as root.
    monkeypatch.setattr(Path, "touch", refuse)
    assert_refused(tmp_path / "out.txt", "Permission denied")


@pytest.mark.skipif(os.name != "posix", reason="links and file modes are POSIX")
class TestAFileThatIsThere:
    def test_a_symbolic_link_stays_and_what_it_points_to_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        target, link = tmp_path / "real" / "state.json", tmp_path / "state.json"
        target.write_text("old")
        link.symlink_to(target)
        write_text(link, "new", durable=True)
        assert link.is_symlink() and target.read_text() == "new"
        assert names(tmp_path / "real") == ["state.json"] and names(tmp_path) == ["real", "state.json"]

    def test_a_link_to_nothing_yet_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "later")
        write_text(tmp_path / "link", "new")
        assert (tmp_path / "later").read_text() == "new" and (tmp_path / "link").is_symlink()

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
    def test_its_mode_stays(self, tmp_path: Path, mode: int) -> None:
        target = tmp_path / "state.json"
        target.write_text("old")
        target.chmod(mode)
        write_text(target, "new")
        assert stat.S_IMODE(target.stat().st_mode) == mode

    def test_a_full_disk_is_told_with_the_name_of_the_file(self, tmp_path: Path) -> None:
        """A limit on the size of files stands for the disk: the system's call fails in the same place."""
        import resource

        target = tmp_path / "state.json"
        target.write_text("old")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        try:
            with pytest.raises(OSError, match=r"File too large: '.*state\.json'"):
                write_text(target, "x" * 2000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert target.read_text() == "old" and names(tmp_path) == ["state.json"]


def test_durable_means_that_the_file_and_its_name_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def noted(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), (tmp_path / "out").exists()))

    monkeypatch.setattr(os, "fsync", noted)
    write_text(tmp_path / "out", "new", durable=True)
    # The bytes before the name, the folder after it.
    assert synced == [(False, False), (True, True)]
    write_text(tmp_path / "out", "newer")
    assert len(synced) == 2
