"""Addresses: what is known, what is refused, and that no password is ever shown."""

from __future__ import annotations

import traceback

import pytest

from frugalbandits.errors import InputError, StoreUnavailable
from frugalbandits.stores import open_store
from frugalbandits.stores.address import without_password
from process_harness import python
from store_harness import fact


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory",
        "memory://",
        "memory:x",
        "sqlite:",
        "sqlite://",
        "sqlite:///",
        "sqlite://x.db",
        "x.db",
        "mysql://h/d",
    ],
)
def test_an_unknown_address_is_named_with_those_that_are_known(url):
    with pytest.raises(InputError, match="known: memory:, sqlite:///") as caught:
        open_store(url)
    assert repr(url) in str(caught.value)


def test_an_address_must_be_a_text():
    with pytest.raises(InputError, match="None"):
        open_store(None)


def test_a_relative_and_an_absolute_address_of_a_file(in_an_empty_folder):
    with open_store("sqlite:///a b%20?#.db") as store:
        store.append("s", [fact("a")])
        assert store.address == "sqlite:///a b%20?#.db"
    with open_store(f"sqlite:///{in_an_empty_folder}/a b%20?#.db") as store:
        assert store.sessions() == {"s": 1}
    assert [path.name for path in in_an_empty_folder.iterdir()] == ["a b%20?#.db"]


SECRET = [
    "postgresql://me:s3cret@127.0.0.1:1/db",
    "postgres://me:s3cret@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?password=s3cret",
    "postgresql://127.0.0.1:1/db?user=me&pass%77ord=s3cret&sslmode=disable",
    "postgresql://me:s3cret@[broken:x/db",
    "postgresql://me:s3cret/1@2:s3cret@127.0.0.1:1/db",
    "postgresql://me:s3cret@127.0.0.1:1/db?no_such_setting=1",
    "postgresql://me:s3cret%00@127.0.0.1:1/db",
    "mysql://me:s3cret@host/db",
    "host=h password=s3cret",
    "host=h password='s3cret it\\'s s3cret'",
]


@pytest.mark.parametrize("url", SECRET)
def test_no_password_is_shown(url):
    assert "s3cret" not in without_password(url)
    with pytest.raises((InputError, StoreUnavailable)) as caught:
        open_store(url)
    shown = "".join(traceback.format_exception(caught.value))
    # What the test itself has written stands in the trace of its own line only.
    assert "s3cret" not in shown
    assert "\n" not in str(caught.value)


def test_without_the_driver_it_says_what_to_install():
    code = """
    import json, sys
    sys.modules["psycopg"] = None
    from frugalbandits.stores import open_store
    open_store("memory:").close()
    try:
        open_store("postgresql://host/db")
    except ModuleNotFoundError as error:
        print(json.dumps(str(error)))
    """
    said, _ = python(code)
    assert "pip install 'frugalbandits[postgres]'" in said


def test_stores_load_no_driver_until_they_need_one():
    code = """
    import json, sys
    import frugalbandits.stores
    print(json.dumps([name for name in ("psycopg", "sqlite3", "scipy", "polars") if name in sys.modules]))
    """
    assert python(code)[0] == []
