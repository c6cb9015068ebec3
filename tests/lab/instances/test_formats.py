"""Both file formats there and back, and every error of a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frugalbandits.errors import InputError
from frugalbandits.lab.instances.catalogue import instance, instances
from frugalbandits.lab.instances.formats import read_instance, write_instance
from frugalbandits.lab.problem import Problem


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("instances")


# There and back.

UNIT = st.floats(0, 1)
COST = st.floats(-1e300, 1e300)


@st.composite
def problems(draw: st.DrawFn, name: st.SearchStrategy[str] | None = None) -> Problem:
    arms = draw(st.integers(2, 6))
    lists = [draw(st.lists(values, min_size=arms, max_size=arms)) for values in (UNIT, COST)]
    names = draw(st.lists(name, min_size=arms, max_size=arms, unique=True)) if name is not None else None
    return Problem(*lists, alpha=draw(st.floats(0, 1, exclude_max=True)), names=names)


# Control characters, line ends and lone surrogates are no part of a name.
LETTERS = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))
ODD = st.text(st.sampled_from("ab:#,;\"' \xa0\u3000\ufeffé"), min_size=1, max_size=5)
ANY_NAME = (st.text(LETTERS, min_size=1, max_size=8) | ODD).filter(str.strip)
PLAIN_NAME = st.text(st.sampled_from("abAB019 ._-/:()'\"+é"), min_size=1, max_size=8).filter(
    lambda name: name == name.strip()
)


def assert_same(read: Problem, written: Problem) -> None:
    assert read == written
    # Equality takes 0.0 for -0.0; a file should not.
    assert read.means.tobytes() == written.means.tobytes()
    assert read.costs.tobytes() == written.costs.tobytes()


@given(problems() | problems(PLAIN_NAME))
def test_text_there_and_back_is_exact(folder: Path, problem: Problem) -> None:
    write_instance(problem, folder / "exact.txt")
    assert_same(read_instance(folder / "exact.txt"), problem)
    assert read_instance(folder / "exact.txt", alpha=0.5) == problem.with_alpha(0.5)


@given(problems(ANY_NAME))
def test_a_table_there_and_back_is_exact_for_any_name(folder: Path, problem: Problem) -> None:
    write_instance(problem, folder / "exact.csv")
    assert_same(read_instance(folder / "exact.csv", alpha=problem.alpha), problem)


@given(problems(ANY_NAME))
def test_text_carries_a_name_exactly_or_refuses_it(folder: Path, problem: Problem) -> None:
    path = folder / "odd.txt"
    path.unlink(missing_ok=True)
    refused = ""
    try:
        write_instance(problem, path)
    except InputError as error:
        refused = str(error)
    assert path.exists() != bool(refused)
    if refused:
        assert any(repr(name) in refused for name in problem.names)
    else:
        assert_same(read_instance(path), problem)


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("a,b", "','"),
        (" a", "blank"),
        ("a\xa0", "blank"),
        ("#a", "'#'"),
        ("a #b", "'#'"),
    ],
)
def test_names_that_text_cannot_carry_are_refused_and_the_old_file_stays(
    tmp_path: Path, name: str, trouble: str
) -> None:
    problem, path = Problem([0.1, 0.2], [1, 2], 0.3, names=["ok", name]), tmp_path / "old.txt"
    path.write_text("old")
    with pytest.raises(InputError) as caught:
        write_instance(problem, path)
    assert f"the name {name!r}" in str(caught.value)
    assert trouble in str(caught.value)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]
    write_instance(problem, tmp_path / "new.csv")
    assert read_instance(tmp_path / "new.csv", alpha=0.3) == problem


@pytest.mark.parametrize("name", ["C#", "a:b", 'the "best"', "x y", "a1"])
def test_names_that_only_look_hard_are_carried(tmp_path: Path, name: str) -> None:
    problem = Problem([0.1, 0.2], [1, 2], 0.3, names=["ok", name])
    write_instance(problem, tmp_path / "p.txt")
    assert read_instance(tmp_path / "p.txt") == problem


def test_default_names_are_not_written_and_others_are(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    write_instance(Problem([0.1, 0.2], [1, 2], 0.3), path)
    assert "arm_name_array" not in path.read_text()
    write_instance(Problem([0.1, 0.2], [1, 2], 0.3, names=["a2", "a1"]), path)
    assert "arm_name_array: a2, a1\n" in path.read_text()


def test_the_id_is_the_one_given_or_the_file_s_name(tmp_path: Path) -> None:
    path, problem = tmp_path / "mine.txt", Problem([0.1, 0.2], [1, 2], 0.3)
    write_instance(problem, path)
    assert path.read_text().startswith("instance_id: mine\n")
    write_instance(problem, path, instance_id="GR 001, b")
    assert path.read_text().startswith("instance_id: GR 001, b\n")
    with pytest.raises(InputError, match=r"the instance_id 'a\\nb'"):
        write_instance(problem, path, instance_id="a\nb")
    assert read_instance(path) == problem


@pytest.mark.parametrize("name", instances())
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".CSV"])
def test_built_in_instances_go_there_and_back(tmp_path: Path, name: str, suffix: str) -> None:
    problem, path = instance(name), tmp_path / f"p{suffix}"
    write_instance(problem, path)
    assert read_instance(path, alpha=None if suffix == ".txt" else problem.alpha) == problem


def test_a_file_cannot_be_written_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        write_instance(instance("nu1"), tmp_path / "no" / "p.txt")


# Reading by hand-written files.


def saved(tmp_path: Path, text: str, name: str = "mine.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_text_may_have_comments_blanks_any_order_and_any_line_ends(
    tmp_path: Path, newline: str, mark: str
) -> None:
    lines = [
        "# a comment: with a colon",
        "",
        "  subsidy_factor :0.3",
        "   # another",
        "arm_cost_array: 1,2e0 ,  -3  # dollars",
        "arm_name_array: C#, b c, d:e\t# names",
        "arm_reward_array: .5, 0.25, 1",
    ]
    problem = read_instance(saved(tmp_path, mark + newline.join(lines)))
    assert problem == Problem([0.5, 0.25, 1], [1, 2, -3], 0.3, names=["C#", "b c", "d:e"])


def test_text_may_lack_its_subsidy_factor_if_alpha_is_given(tmp_path: Path) -> None:
    path = saved(tmp_path, "arm_reward_array: 0.1, 0.2\narm_cost_array: 1, 2\n")
    assert read_instance(path, alpha=0.3) == Problem([0.1, 0.2], [1, 2], 0.3)
    assert read_instance(str(path), alpha=0).alpha == 0.0
    with pytest.raises(InputError, match=r"mine\.txt: the key subsidy_factor is missing; give alpha"):
        read_instance(path)


def test_alpha_overrides_the_file_s_and_its_errors_are_not_the_file_s(tmp_path: Path) -> None:
    path = saved(tmp_path, GOOD_TEXT)
    assert read_instance(path, alpha=0.7).alpha == 0.7
    with pytest.raises(InputError, match=r"^alpha .* 1\.5$"):
        read_instance(path, alpha=1.5)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_table_may_have_its_columns_in_any_order_and_others_too(
    tmp_path: Path, newline: str, mark: str
) -> None:
    rows = ["cost, note,name ,quality", "1,cheap,s,0.5", "", '2,"a, b"," l ", .75']
    path = saved(tmp_path, mark + newline.join(rows), "mine.csv")
    assert read_instance(path, alpha=0.3) == Problem([0.5, 0.75], [1, 2], 0.3, names=["s", " l "])


GOOD_TEXT = """\
instance_id: X
arm_reward_array: 0.1, 0.2
subsidy_factor: 0.3
arm_cost_array: 1, 2
"""
TEXT_ERRORS = {
    "missing means": (("arm_reward_array: 0.1, 0.2\n", ""), ["the key arm_reward_array is missing"]),
    "missing costs": (("arm_cost_array: 1, 2\n", ""), ["the key arm_cost_array is missing"]),
    "missing alpha": (("subsidy_factor: 0.3\n", ""), ["the key subsidy_factor is missing", "alpha"]),
    "repeated key": (
        ("subsidy_factor: 0.3", "arm_reward_array: 0.1, 0.2"),
        ["line 3", "arm_reward_array", "line 2"],
    ),
    "bad mean": (("0.1, 0.2", "0.1, o.2"), ["line 2", "arm_reward_array", "'o.2'"]),
    "empty mean": (("0.1, 0.2", "0.1, 0.2,"), ["line 2", "arm_reward_array", "''"]),
    "no means": ((" 0.1, 0.2", ""), ["line 2", "arm_reward_array", "''"]),
    "bad cost": (("1, 2\n", "1, two\n"), ["line 4", "arm_cost_array", "'two'"]),
    "infinite cost": (("1, 2\n", "1, inf\n"), ["line 4", "arm_cost_array", "'inf'"]),
    "huge cost": (("1, 2\n", "1, 1e999\n"), ["line 4", "arm_cost_array", "'1e999'"]),
    "underscored cost": (("1, 2\n", "1, 1_000\n"), ["line 4", "arm_cost_array", "'1_000'"]),
    "nan mean": (("0.1, 0.2", "0.1, nan"), ["line 2", "arm_reward_array", "'nan'"]),
    "bad alpha": (("0.3", "a third"), ["line 3", "subsidy_factor", "'a third'"]),
    "two alphas": (("0.3", "0.3, 0.4"), ["line 3", "subsidy_factor", "'0.3, 0.4'"]),
    "fewer costs": (("1, 2\n", "1\n"), ["line 4", "arm_cost_array", "1 entries", "line 2", "has 2"]),
    "more costs": (("1, 2\n", "1, 2, 3\n"), ["line 4", "arm_cost_array", "3 entries", "line 2", "has 2"]),
    "fewer names": (
        ("instance_id: X", "arm_name_array: x"),
        ["line 1", "arm_name_array", "1 entries", "line 2", "has 2"],
    ),
    "repeated name": (("instance_id: X", "arm_name_array: x, x"), ["'x'", "2 times"]),
    "empty name": (("instance_id: X", "arm_name_array: x,"), ["''"]),
    "unknown key": (
        ("arm_cost_array", "arm_costs_aray"),
        ["line 4", "'arm_costs_aray'", "did you mean 'arm_cost_array'"],
    ),
    "line without colon": (
        ("subsidy_factor:", "subsidy_factor"),
        ["line 3", "'subsidy_factor 0.3'", "key: value"],
    ),
    "fixed level": (
        ("subsidy_factor", "min_reward"),
        ["line 3", "min_reward", "fixed level", "this version does not handle"],
    ),
    "reference arm": (
        ("subsidy_factor", "ref_arm_ell"),
        ["line 3", "ref_arm_ell", "reference arm", "this version does not handle"],
    ),
    "mean above one": (("0.1, 0.2", "0.1, 1.25"), ["means[1] is 1.25", "[0, 1]"]),
    "mean below zero": (("0.1, 0.2", "-0.1, 0.2"), ["means[0]", "-0.1"]),
    "alpha of one": (("0.3", "1.0"), ["alpha", "1.0", "[0, 1)"]),
    "one arm": (("0.1, 0.2", "0.1"), ["line 4", "2 entries", "has 1"]),
    "empty file": ((GOOD_TEXT, ""), ["empty"]),
    "only comments": ((GOOD_TEXT, "# nothing\n\n  # here\n"), ["empty"]),
}


@pytest.mark.parametrize("case", TEXT_ERRORS)
def test_every_error_of_a_text_file_says_where_and_what(tmp_path: Path, case: str) -> None:
    (old, new), fragments = TEXT_ERRORS[case]
    assert GOOD_TEXT.count(old) == 1
    path = saved(tmp_path, GOOD_TEXT.replace(old, new))
    assert_error(path, None, fragments)


GOOD_TABLE = """\
name,quality,cost
small,0.1,1
large,0.2,2
"""
TABLE_ERRORS = {
    "bad quality": (("0.2", "good"), ["line 3", "quality", "'good'"]),
    "bad cost": (("1,1", "1,cheap"), ["line 2", "cost", "'cheap'"]),
    "empty cost": (("1,1", "1,"), ["line 2", "cost", "''"]),
    "infinite cost": (("1,1", "1,inf"), ["line 2", "cost", "'inf'"]),
    "missing column": ((",cost", ",price"), ["line 1", "column cost is missing", "price"]),
    "repeated column": ((",cost", ",cost,name"), ["line 1", "column name", "more than once"]),
    "no header": (("name,quality,cost\n", ""), ["line 1", "column name is missing", "small"]),
    "repeated name": (("large", "small"), ["line 3", "name", "'small'"]),
    "too few fields": (("small,0.1,1", "small,0.1"), ["line 2", "2 fields", "has 3"]),
    "too many fields": (("small", "small, really"), ["line 2", "4 fields", "has 3"]),
    "blank name": (("small", " "), ["' '"]),
    "open quote": (("small", '"small'), ["line 3", "unexpected end of data"]),
    "mean above one": (("0.2", "1.25"), ["that of 'large' is 1.25", "[0, 1]"]),
    "decimal comma": (("0.2", '"0,2"'), ["line 3, quality", "'0,2'", "write a decimal point"]),
    "name of two lines": (("small", '"two\nlines"'), [r"'two\nlines'"]),
    "one arm": (("small,0.1,1\n", ""), ["two arms", "there are 1"]),
    "no arms": (("small,0.1,1\nlarge,0.2,2\n", ""), ["two arms", "there are 0"]),
    "empty file": ((GOOD_TABLE, ""), ["empty"]),
}


@pytest.mark.parametrize("case", TABLE_ERRORS)
def test_every_error_of_a_table_says_where_and_what(tmp_path: Path, case: str) -> None:
    (old, new), fragments = TABLE_ERRORS[case]
    assert GOOD_TABLE.count(old) == 1
    path = saved(tmp_path, GOOD_TABLE.replace(old, new), "mine.csv")
    assert_error(path, 0.1, fragments)


def assert_error(path: Path, alpha: float | None, fragments: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_instance(path, alpha)
    message = str(caught.value)
    assert message.startswith(str(path))
    for fragment in fragments:
        assert re.search(rf"(?<!\w){re.escape(fragment)}(?!\w)", message.removeprefix(str(path))), message


def test_the_files_that_the_errors_start_from_are_good(tmp_path: Path) -> None:
    assert read_instance(saved(tmp_path, GOOD_TEXT)) == Problem([0.1, 0.2], [1, 2], 0.3)
    path = saved(tmp_path, GOOD_TABLE, "mine.csv")
    assert read_instance(path, 0.1) == Problem([0.1, 0.2], [1, 2], 0.1, names=["small", "large"])


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["name,quality,cost", "Name,Quality,COST", " NAME , quality,Cost"])
def test_a_table_may_come_from_any_spreadsheet(tmp_path: Path, separator: str, header: str) -> None:
    text = GOOD_TABLE.replace("name,quality,cost", header).replace(",", separator)
    path = saved(tmp_path, text, "mine.csv")
    assert read_instance(path, 0.1) == Problem([0.1, 0.2], [1, 2], 0.1, names=["small", "large"])


def test_a_table_with_semicolons_and_decimal_commas_says_what_is_wrong(tmp_path: Path) -> None:
    path = saved(tmp_path, "Name;Quality;Cost\nsmall;0,1;1\nlarge;0,2;2\n", "mine.csv")
    assert_error(path, 0.1, ["line 2, quality", "'0,1' is not a finite number; write a decimal point"])


def test_a_table_needs_alpha(tmp_path: Path) -> None:
    path = saved(tmp_path, GOOD_TABLE, "mine.csv")
    assert_error(path, None, ["a table has no subsidy factor", "give alpha"])


@pytest.mark.parametrize("name", ["no.txt", "no.csv"])
def test_a_file_that_does_not_exist_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"cannot read '.*{name}': No such file"):
        read_instance(tmp_path / name, alpha=0.1)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*directory"):
        read_instance(tmp_path)


@pytest.mark.parametrize("name", ["latin.txt", "latin.csv"])
def test_a_file_that_is_not_utf8_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes("# caf\xe9\n".encode("latin-1"))
    with pytest.raises(InputError, match=rf"cannot read '.*{name}': it is not UTF-8"):
        read_instance(tmp_path / name, alpha=0.1)
