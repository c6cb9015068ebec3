"""The pages as they are sent: what a browser is told, what they consist of, and that all of it is here."""

from __future__ import annotations

import itertools
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import frugalbandits.service
from frugalbandits.service import Settings
from frugalbandits.service.access import add_token
from frugalbandits.stores import open_store
from service_harness import Api

STATIC = Path(frugalbandits.service.__file__).parent / "static"
FILES = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file())
ASSETS = [name for name in FILES if not name.endswith(".html")]
PAGES = {"/": "sessions.html", "/sessions/shop": "session.html"}
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",
}
#: The only addresses in what we send: the name of a format, and where uPlot comes from, in its first comment.
KNOWN = {"http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"}


def text_of(name):
    return (STATIC / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_tells_the_browser_to_load_nothing_from_elsewhere(api, path):
    answer = api("GET", path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    rules = dict(each.strip().split(" ", 1) for each in answer.headers["content-security-policy"].split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.text == text_of(PAGES[path])


@pytest.mark.parametrize("name", ASSETS)
def test_an_asset_is_sent_once_and_asked_for_again(api, name):
    answer = api("GET", f"/static/{name}")
    assert answer.status_code == 200
    assert answer.content == (STATIC / name).read_bytes()
    assert answer.headers["content-type"] == KINDS[Path(name).suffix]
    assert answer.headers.get_list("cache-control") == ["no-cache"]
    again = api("GET", f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == answer.headers["etag"]


@pytest.mark.parametrize(
    "path", ["", "nothing.js", "session.html", "../pages.py", "..%2fpages.py", "js", "js/", "/etc/passwd"]
)
def test_nothing_else_is_sent(api, path):
    answer = api("GET", f"/static/{path}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_without_a_dashboard_there_is_none():
    api = Api(settings=Settings(dashboard=False))
    try:
        assert {api("GET", path).status_code for path in (*PAGES, "/static/style.css")} == {404}
    finally:
        api.close()


@pytest.mark.parametrize("name", FILES)
def test_no_file_names_another_place(name):
    found = set(re.findall(r"(?:https?:|wss?:)?//[\w.-]+\.[a-z]{2,}[^\s\"'`)<>]*", text_of(name)))
    assert found <= KNOWN, name


def test_vendored_files_come_with_their_licence_and_version():
    folder = STATIC / "vendor" / "uplot"
    assert sorted(path.name for path in folder.iterdir()) == [
        "LICENSE",
        "VERSION",
        "uPlot.iife.min.js",
        "uPlot.min.css",
    ]
    (version,) = re.findall(r"uPlot (\d+\.\d+\.\d+)", text_of("vendor/uplot/VERSION"))
    assert f"(v{version})" in text_of("vendor/uplot/uPlot.iife.min.js")[:300]
    assert text_of("vendor/uplot/LICENSE").startswith("The MIT License")


class Marks(HTMLParser):
    """All tags of a page, with their attributes, and what stands within scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.inside = ""
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in = tag

    def handle_endtag(self, tag):
        self._in = ""

    def handle_data(self, data):
        if self._in in ("script", "style"):
            self.inside += data


@pytest.mark.parametrize(("path", "name"), PAGES.items())
def test_a_page_has_nothing_inline_and_all_it_names_is_there(api, path, name):
    page = Marks(text_of(name))
    assert not page.inside.strip() and "style" not in [tag for tag, _ in page.tags]
    for tag, given in page.tags:
        assert not [each for each in given if each.startswith("on") or each == "style"], (tag, given)
        for each in (given.get("src"), given.get("href") if tag == "link" else None):
            if each:
                place = str(api("GET", path).request.url.join(each).path)
                assert api("GET", place).status_code == 200, each
    html = dict(page.tags)["html"]
    assert html["lang"] == "en"
    assert [given for tag, given in page.tags if tag == "img" and "alt" not in given] == []
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("js/")])
def test_a_script_writes_no_markup_and_imports_what_is_there(name):
    text = text_of(name)
    assert text.count("\n") < 300
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert word not in text
    assert not re.search(r"setAttribute\(\"(style|on\w+)\"", text)
    for other in re.findall(r"from \"(.+?)\"", text):
        assert (STATIC / name).parent.joinpath(other).is_file(), other


# Colours.


def palette(dark):
    parts = text_of("style.css").split("@media (prefers-color-scheme: dark)")
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", parts[1] if dark else parts[0]))


def linear(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one, other):
    """The contrast ratio of WCAG 2."""
    low, high = sorted(
        sum(k * part for k, part in zip((0.2126, 0.7152, 0.0722), linear(each), strict=True))
        for each in (one, other)
    )
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_what_is_behind_it(dark):
    colours = palette(dark)
    for ink, behind in itertools.product(
        ("ink", "muted", "accent", "second", "good", "bad"), ("page", "panel", "hover")
    ):
        assert contrast(colours[ink], colours[behind]) >= 4.5, (ink, behind)
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
    assert contrast(colours["warn-ink"], colours["warn"]) >= 4.5
    for name, colour in colours.items():
        if name.startswith("option-"):
            assert contrast(colour, colours["panel"]) >= 3, name


#: What is seen by those who lack one kind of cones (Machado, Oliveira and Fernandes, 2009), in linear RGB.
EYES = {
    "common": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
XYZ = (
    (0.4124 / 0.95047, 0.3576 / 0.95047, 0.1805 / 0.95047),
    (0.2126, 0.7152, 0.0722),
    (0.0193 / 1.08883, 0.1192 / 1.08883, 0.9505 / 1.08883),
)


def times(matrix, vector):
    return [sum(k * each for k, each in zip(row, vector, strict=True)) for row in matrix]


def lab(colour, eye):
    """CIELAB of what an eye sees."""
    seen = [min(max(part, 0.0), 1.0) for part in times(EYES[eye], linear(colour))]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in times(XYZ, seen))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eye", EYES)
def test_colours_of_options_are_told_apart(dark, eye):
    """A difference of 2 is just seen side by side; 20 is told apart across a picture."""
    colours = [value for name, value in palette(dark).items() if re.fullmatch(r"option-\d", name)]
    assert len(colours) == 8
    nearest = min(math.dist(lab(one, eye), lab(two, eye)) for one, two in itertools.combinations(colours, 2))
    assert nearest >= 20


# Whose token it is.


def test_whoever_asks_is_told_what_the_token_is_for():
    api = Api(open_store("memory:"))
    try:
        nobody = {"name": "", "role": "admin", "prefix": "", "tokens": False}
        assert api("GET", "/v1/holder").json() == nobody
        token = add_token(api.store, "guest", "reader", "shop")
        api.service.access.refresh()
        found = {"name": "guest", "role": "reader", "prefix": "shop", "tokens": True}
        assert api("GET", "/v1/holder", token=token).json() == found
        assert api("GET", "/v1/holder").status_code == 401
        assert api("GET", "/").status_code == 200  # a page holds no data
    finally:
        api.close()


def test_a_list_says_what_was_saved_and_judged(api):
    api.session()
    for _ in range(10):
        decision = api.ask()
        api.tell(decision["id"], reward=1.0)
    (listed,) = api("GET", "/v1/sessions").json()["sessions"]
    whole = api("GET", "/v1/sessions/shop").json()
    for name in ("spent", "saving", "best", "decisions"):
        assert listed[name] == whole[name]
    assert listed["judged"] == whole["feedback"]["rate"] == 1.0
