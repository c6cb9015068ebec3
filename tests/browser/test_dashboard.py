"""The dashboard in a real Chromium, against a real service: live, in all sizes, by keyboard, with tokens."""

from __future__ import annotations

import shlex
import subprocess
import sys
import urllib.request

import pytest
from selenium.common.exceptions import NoSuchElementException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser_harness import Server, chromium, scheme, size, until
from frugalbandits.service.access import add_token
from frugalbandits.stores.opening import open_store

EVIL = "<img src=x onerror=alert(1)>"
SHOP = {"costs": {"small": 0.2, "large": 3.0}, "alpha": 0.1}


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


class Page:
    """What a test does with the page, and what it must never say in the console."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, server, path="/"):
        self.driver.get(server.address + path)

    def one(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def text(self, css):
        return self.one(css).text

    def wait_for(self, css, words=""):
        """Wait until something is visible, and says this."""
        return until(
            lambda: next(
                (each for each in self.all(css) if each.is_displayed() and words in each.text), None
            ),
            f"{css} with {words!r}",
        )

    def button(self, words, within="body"):
        """Return the visible button that says this."""
        return next(
            each for each in self.all(f"{within} button") if each.is_displayed() and each.text == words
        )

    def tile(self, label):
        for each in self.all("#tiles > div"):
            if each.find_element(By.TAG_NAME, "dt").text == label:
                return each.find_element(By.TAG_NAME, "dd").text
        return None

    def row(self, option):
        for each in self.all("#options tbody tr"):
            if each.find_element(By.CSS_SELECTOR, ".label").text == option:
                return each
        raise NoSuchElementException(f"no row is for {option!r}")

    def status(self, option):
        return self.row(option).find_element(By.CSS_SELECTOR, ".col-status").text

    def change(self, option):
        self.row(option).find_element(By.TAG_NAME, "button").click()
        self.wait_for("dialog[open]", f"Change {option}")

    def overflow(self):
        return self.driver.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )


@pytest.fixture
def page(driver):
    driver.get("about:blank")
    driver.get_log("browser")
    size(driver, 1400, 900)
    scheme(driver, "light")
    found = Page(driver)
    found.expected = ()  # what the browser itself says of answers that are no success
    yield found
    said = [each["message"] for each in driver.get_log("browser")]
    assert [each for each in said if not any(words in each for words in found.expected)] == []


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A service without tokens."""
    found = Server(f"sqlite:///{tmp_path_factory.mktemp('open')}/store.db")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A service with an admin and a reader."""
    address = f"sqlite:///{tmp_path_factory.mktemp('guarded')}/store.db"
    store = open_store(address)
    admin, reader = add_token(store, "chief", "admin"), add_token(store, "guest", "reader")
    store.close()
    found = Server(address, token=admin)
    found.reader = reader
    found.call("PUT", "/v1/sessions/shop", SHOP)
    found.traffic("shop")
    yield found
    found.stop()


def performed(text):
    """Do what a line for curl says."""
    words = shlex.split(text.replace("\\\n", " "))
    assert words[:3] == ["curl", "-X", "PUT"]
    headers = dict(words[at + 1].split(": ", 1) for at, each in enumerate(words) if each == "-H")
    body = words[words.index("-d") + 1].encode()
    request = urllib.request.Request(words[3], body, headers, method="PUT")
    with urllib.request.urlopen(request) as answer:
        return answer.status


def test_the_first_session_is_made_as_the_page_says_and_appears(page, server):
    page.open(server)
    page.wait_for("#empty", "No sessions yet")
    assert page.driver.title == "Sessions · frugalbandits"
    curl, python = page.text("#curl"), page.text("#python")
    assert performed(curl) == 201
    page.wait_for(".sessions tbody a", "shop").click()
    page.wait_for("h1", "shop")
    assert page.driver.title == "shop · frugalbandits"
    done = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=False)
    assert "No feedback yet after 0 decisions" in done.stdout, done.stderr


def test_numbers_change_while_decisions_are_made_and_told(page, server):
    server.call("PUT", "/v1/sessions/live", SHOP)
    page.open(server, "/sessions/live")
    until(lambda: page.tile("Decisions") == "0", "a session without decisions")
    assert page.tile("Judged") == "\u2013"
    for seen in (20, 40, 60, 80):  # a second or two each: curves need some time
        server.traffic("live")
        until(lambda seen=seen: page.tile("Decisions") == str(seen), f"{seen} decisions")
    assert page.tile("Judged") == "100 %" and page.tile("Spent") not in ("0", "\u2013")
    assert "80 decisions" in page.text("#headline")
    assert page.text("#age") == "Live"
    page.wait_for("#charts canvas")
    assert [each.text for each in page.all("figcaption h2")] == [
        "Share of traffic",
        "Spent so far",
        "Decisions and feedback",
        "Delay of feedback",
    ]
    label = page.one(".plot").get_attribute("aria-label")
    assert label.startswith("Share of traffic, of all decisions; latest: small:")
    threshold = page.one("#options .threshold")
    assert threshold.is_displayed() and page.text(".tick.bar") == "0.900"


def test_an_admin_changes_options_by_keyboard(page, guarded):
    page.expected = ("401 (Unauthorized)", "422 (Unprocessable")
    page.open(guarded, "/sessions/shop")
    page.wait_for("#door", "A token is needed")
    field = page.driver.switch_to.active_element
    assert field.get_attribute("id") == "token"
    field.send_keys(guarded.token, Keys.ENTER)
    page.wait_for("#who", "chief · admin")
    page.wait_for("#options tbody tr")
    page.row("large").find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    page.wait_for("dialog[open]", "Change large")
    page.button("Pause", "dialog").send_keys(Keys.SPACE)
    until(lambda: page.status("large") == "paused", "the pause")
    assert guarded.call("GET", "/v1/sessions/shop/options/large")["standing"] == "paused"
    page.wait_for("#log li", "Paused")
    page.change("large")
    page.button("Resume", "dialog").click()
    until(lambda: page.status("large") != "paused", "the end of the pause")

    page.change("large")
    price = page.one("#price")
    price.clear()
    price.send_keys("-1", Keys.ENTER)
    page.wait_for("dialog .problem", "The cost of 'large' must be 0 or more")
    price.clear()
    price.send_keys("2.5", Keys.ENTER)
    until(lambda: page.row("large").find_element(By.CSS_SELECTOR, ".col-cost").text == "2.5", "the price")

    page.button("Add an option").click()
    page.one("#option-name").send_keys("new/one?")
    page.one("#price").send_keys("1", Keys.ENTER)
    until(lambda: page.row("new/one?"), "the new option")
    page.change("new/one?")
    page.button("Retire…", "dialog").click()
    page.wait_for("dialog h2", "Retire new/one? for good?")
    assert page.driver.switch_to.active_element.text == "Close"
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert guarded.call("GET", "/v1/sessions/shop/options/new/one%3F")["standing"] == "active"
    page.change("new/one?")
    page.button("Retire…", "dialog").click()
    page.button("Retire new/one?", "dialog").click()
    until(lambda: page.status("new/one?") == "retired", "the end of an option")
    assert guarded.call("GET", "/v1/sessions/shop/options/new/one%3F")["standing"] == "retired"
    page.button("Forget token").click()
    page.wait_for("#door", "A token is needed")


def test_a_wrong_token_is_refused_in_words_and_a_reader_changes_nothing(page, guarded):
    page.expected = ("401 (Unauthorized)",)
    page.open(guarded)
    page.wait_for("#token").send_keys("frugal_wrong", Keys.ENTER)
    page.wait_for("#door .problem", "The token is not known here, or was revoked")
    page.one("#token").send_keys("two words", Keys.ENTER)
    page.wait_for("#door .problem", "no blanks")
    page.one("#token").clear()
    page.one("#token").send_keys(guarded.reader, Keys.ENTER)
    page.wait_for(".sessions tbody a", "shop").click()
    page.wait_for("#rights", "You look with the token guest, of a reader: changes take an admin.")
    assert not [each for each in page.all("#options button, #add") if each.is_displayed()]
    page.driver.execute_script("sessionStorage.clear()")


def test_names_are_text(page, server):
    costs = {EVIL: 1.0, "a/b?c=d#e%20f": 2.0, "\"quotes\" 'and' &amp;": 3.0}
    server.call("PUT", "/v1/sessions/names", {"costs": costs, "alpha": 0.1})
    for _ in range(3):
        server.traffic("names", 30)
    page.open(server, "/sessions/names")
    for name in costs:
        until(lambda name=name: page.row(name), name)
    assert EVIL in page.text("#headline")
    assert not page.all("#content img") and not page.all("dialog img")
    page.change(EVIL)
    assert not page.all("dialog img")
    page.button("Pause", "dialog").click()
    until(lambda: page.status(EVIL) == "paused", "the pause")
    page.change("a/b?c=d#e%20f")
    page.button("Pause", "dialog").click()
    until(lambda: page.status("a/b?c=d#e%20f") == "paused", "the pause")
    page.open(server)
    page.wait_for(".sessions tbody a", "names")
    # An alert would make this fail.
    assert page.driver.title


@pytest.mark.parametrize("width", [360, 390])
def test_a_phone_shows_it_without_scrolling_sideways(page, server, width):
    costs = {f"provider-{i}/a-model-with-quite-a-long-name-{i}": 0.1 * 1.1**i for i in range(60)}
    server.call("PUT", "/v1/sessions/sixty", {"costs": costs, "alpha": 0.1})
    server.call("PUT", f"/v1/sessions/{'long' * 30}", {"costs": {"tiny": 1e-12, "huge": 1e90}, "alpha": 0.1})
    size(page.driver, width, 800)
    for _ in range(3):
        server.traffic("sixty", 50)
    server.traffic("long" * 30)
    for path in ("/", "/sessions/sixty", f"/sessions/{'long' * 30}"):
        page.open(server, path)
        page.wait_for("tbody tr")
        assert page.overflow() == 0, path
    page.open(server, "/sessions/sixty")
    page.wait_for("#options tbody tr")
    assert len(page.all("#options tbody tr")) == 16
    page.button("Show all 60 options").click()
    assert len(page.all("#options tbody tr")) == 60
    assert page.overflow() == 0


def test_dark_is_dark(page, server):
    def light(css, name):
        colour = page.one(css).value_of_css_property(name)
        return sum(float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])

    page.open(server, "/sessions/shop")
    page.wait_for("#tiles")
    assert light("body", "background-color") > 600 > 300 > light("body", "color")
    scheme(page.driver, "dark")
    assert light("body", "background-color") < 150 < 600 < light("body", "color")


def test_it_says_that_the_service_is_away_and_goes_on_when_it_is_back(page, tmp_path):
    page.expected = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
    store = f"sqlite:///{tmp_path}/store.db"
    server = Server(store)
    try:
        server.call("PUT", "/v1/sessions/shop", SHOP)
        server.traffic("shop")
        page.open(server, "/sessions/shop")
        until(lambda: page.tile("Decisions") == "20", "20 decisions")
    finally:
        server.stop()
    page.wait_for("#banner", "The service cannot be reached. The numbers below are")
    assert page.tile("Decisions") == "20"
    page.wait_for("#age", "old")
    server = Server(store, server.port)
    try:
        server.traffic("shop")
        until(lambda: page.tile("Decisions") == "40", "40 decisions")
        assert not page.one("#banner").is_displayed()
        assert page.text("#age") == "Live"
    finally:
        server.stop()


def test_a_session_that_is_not_there_is_said_so(page, server):
    page.expected = ("404 (Not Found)",)
    page.open(server, "/sessions/nowhere")
    page.wait_for("#door", "No session is called 'nowhere'")
    server.call("PUT", "/v1/sessions/nowhere", SHOP)
    page.wait_for("h1", "nowhere")


def test_many_sessions_are_filtered(page, server):
    for number in range(25):
        server.call("PUT", f"/v1/sessions/many-{number:02d}", SHOP)
    page.open(server)
    page.wait_for("#filter input").send_keys("many-2")
    until(lambda: len(page.all(".sessions tbody tr")) == 5, "5 sessions")
    page.one("#filter input").send_keys("x")
    page.wait_for("#rest", "No session has this")


def test_a_session_that_looks_at_queries(server, page):
    context = {"segments": ["chat", EVIL], "features": 1}
    server.call("PUT", "/v1/sessions/routes", {**SHOP, "context": context})
    page.open(server, "/sessions/routes")
    page.wait_for("#headline", "no reward was told yet")
    assert page.tile("Quality reached") == "\u2013"
    asks = [
        {"op": "ask", "session": "routes", "context": {"segment": name, "features": [place / 20]}}
        for place in range(20)
        for name in ("chat", EVIL)
    ]
    made = server.call("POST", "/v1/batch", asks)
    told = [{"op": "tell", "id": each["body"]["id"], "reward": 1.0} for each in made[:30]]
    server.call("POST", "/v1/batch", told)
    page.wait_for("#headline", "reached is 1.0000")
    until(lambda: page.tile("Decisions") == "40", "the number of decisions")
    assert page.tile("Quality reached") == "1.000" and page.tile("Judged") == "75 %"
    assert "looks at the segment and a feature of a query" in page.text("#terms")
    rows = {row.find_element(By.TAG_NAME, "th").text: row.text for row in page.all("#segments tbody tr")}
    assert set(rows) == {"chat", EVIL} and all("20 15 1.000" in text for text in rows.values())
    assert "\u00d7 expected quality on that query" in page.text("#next")
    assert page.tile("Saved against the best") is not None and page.status("small") == "in use"
    page.change("large")
    page.button("Pause", "dialog").click()
    until(lambda: page.status("large") == "paused", "a pause")
    server.call("PATCH", "/v1/sessions/routes/options/small", {"paused": True})
    page.wait_for("#next", "No option may be used now")
    size(page.driver, 390, 844)
    assert page.overflow() <= 0
    page.open(server)
    page.wait_for("main", "routes")
    body = {"costs": SHOP["costs"], "quality": "relative-to:large:0.1", "context": {"segments": ["chat"]}}
    server.call("PUT", "/v1/sessions/referred", body)
    page.open(server, "/sessions/referred")
    until(lambda: page.tile("Saved against the reference") is not None, "what it is held against")


@pytest.mark.parametrize("width", [768, 901, 1024, 1241, 1280, 1421, 1600])
def test_no_part_of_a_row_is_cut_off(page, server, width):
    """A panel hides what is wider than itself, so the page does not scroll: each cell is measured."""
    costs = {f"provider/model-with-a-long-name-{i}": 0.125 * 2**i for i in range(4)}
    server.call("PUT", "/v1/sessions/wide", {"costs": costs, "alpha": 0.1})
    server.traffic("wide", 1_000, reward=0.875)
    size(page.driver, width, 900)
    page.open(server, "/sessions/wide")
    page.wait_for("#options tbody tr")
    until(lambda: page.tile("Decisions") not in (None, "0"), "decisions")
    assert page.overflow() == 0
    beyond = """
      const panel = document.querySelector("#options").closest(".panel").getBoundingClientRect();
      return [...document.querySelectorAll("#options tr > *, #options button")]
        .filter((each) => each.getBoundingClientRect().right > panel.right + 0.5)
        .map((each) => each.className || each.textContent);
    """
    assert page.driver.execute_script(beyond) == []
    page.open(server)
    page.wait_for(".sessions tbody a", "wide")
    assert page.overflow() == 0


def test_the_list_names_no_option_for_sessions_that_choose_by_query(page, server):
    server.call("PUT", "/v1/sessions/by-query", {**SHOP, "context": {"features": 1}})
    server.call("PUT", "/v1/sessions/mixed", {**SHOP, "policy": "mix-cs"})
    server.call("PUT", "/v1/sessions/plain", {**SHOP, "alpha": None, "quality": "relative-to:large:0.1"})
    asked = [
        server.call("POST", "/v1/sessions/plain/decisions", {"among": [name]}) for name in ("small", "large")
    ]
    for decision, reward in zip(asked, (1.0, 0.5), strict=True):
        server.call("PUT", f"/v1/decisions/{decision['id']}/feedback", {"reward": reward})
    page.open(server)
    page.wait_for(".sessions tbody a", "by-query")

    def cells(name):
        row = next(
            each
            for each in page.all(".sessions tbody tr")
            if each.find_element(By.TAG_NAME, "a").text == name
        )
        return {each.get_attribute("data-label"): each.text for each in row.find_elements(By.TAG_NAME, "td")}

    assert "Leader" not in page.text(".sessions")
    assert cells("by-query")["Cheapest good enough"] == "by query"
    assert cells("mixed")["Cheapest good enough"] == "a mix"
    plain = cells("plain")
    assert plain["Cheapest good enough"] == "small"
    assert (plain["Quality"], plain["Bar"]) == ("0.750", "0.450")
    page.open(server, "/sessions/plain")
    until(lambda: page.tile("Saved against the reference") is not None, "what savings are against")
    assert page.tile("Quality reached") == "0.750"
    row = page.row("small")
    assert row.find_element(By.CSS_SELECTOR, ".col-decisions").text == "1"
    assert row.find_element(By.CSS_SELECTOR, ".col-judged").text == "1"
