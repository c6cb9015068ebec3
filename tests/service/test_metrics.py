"""Metrics: counters that never fall, the quality reached, and their names in the docs and in Grafana."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from service_harness import BODY, Api, Served, numbers, sqlite

ROOT = Path(__file__).parents[2]


def test_what_quality_was_reached_is_beside_the_bar(api: Api) -> None:
    api.session()
    for reward in (1.0, 0.5, 0.75):
        api.tell(api.ask(among=["small"])["id"], reward=reward)
    api.ask(among=["small"])
    found = numbers(api)
    view = api("GET", "/v1/sessions/shop").json()
    assert found["frugal_quality_reached", ("shop",)] == view["reached"] == 0.75
    ends = [found[f"frugal_quality_reached_{end}", ("shop",)] for end in ("low", "high")]
    assert ends == view["reached_interval"]
    assert found["frugal_quality_bar", ("shop",)] == pytest.approx(view["threshold"])
    assert found["frugal_saving", ("shop",)] == pytest.approx(view["saving"])
    assert (found["frugal_session_decisions", ("shop",)], found["frugal_session_judged", ("shop",)]) == (4, 3)
    (listed,) = api("GET", "/v1/sessions").json()["sessions"]
    assert (listed["reached"], listed["baseline"], listed["choice"]) == (0.75, "small", "option")


def test_what_is_told_twice_is_counted_once(api: Api) -> None:
    api.session()
    decision = api.ask(among=["small"])
    for _ in range(3):
        api.tell(decision["id"], reward=1.0)
    one = {"op": "observe", "session": "shop", "option": "small", "reward": 0.5, "id": "label-1"}
    for _ in range(2):
        assert api(
            "POST", "/v1/batch", [one, {"op": "ask", "session": "shop", "among": ["small"]}]
        ).is_success
    found = numbers(api)
    assert found["frugal_tells_total", ("shop", "small")] == 2
    assert found["frugal_feedback_delay_seconds_count", ("shop",)] == 1
    assert found["frugal_decisions_total", ("shop", "small")] == 3


def test_counters_never_fall_whichever_worker_answers(tmp_path: Path) -> None:
    """Each worker knows at once what it handed out itself, and only later what the others did."""
    with Served("--store", sqlite(tmp_path), "--workers", "2") as server:
        assert server.client.put("/v1/sessions/shop", json=BODY).status_code == 201
        last: dict[tuple[str, str], float] = {}
        for turn in range(40):
            # A connection each, so that both workers get some.
            with httpx.Client(base_url=server.url, timeout=20) as client:
                asked = client.post("/v1/sessions/shop/decisions", json={"count": 25}).json()["decisions"]
                told = client.put(f"/v1/decisions/{asked[0]['id']}/feedback", json={"reward": 1.0})
                assert told.status_code == 204
            with httpx.Client(base_url=server.url, timeout=20) as client:
                text = client.get("/metrics").text
            for family in text_string_to_metric_families(text):
                for sample in family.samples if family.type == "counter" else []:
                    key = sample.name, str(sorted(sample.labels.items()))
                    assert sample.value >= last.get(key, 0.0), (turn, key)
                    last[key] = sample.value
        decided = sum(value for (name, _), value in last.items() if name == "frugal_decisions_total")
        judged = sum(value for (name, _), value in last.items() if name == "frugal_tells_total")
        assert (decided, judged) == (1_000, 40)


def test_all_metrics_are_documented_and_shown(api: Api) -> None:
    """The table in the docs names every metric that there is; so does Grafana's dashboard, and no other."""
    api.session()
    api.tell(api.ask()["id"], reward=1.0)
    api.tell(api.ask(among=["large"])["id"], reward=1.0)
    families = list(text_string_to_metric_families(api("GET", "/metrics").text))
    ending = {"counter": "_total"}
    exported = {
        each.name + ending.get(each.type, "")
        for each in families
        if each.name.startswith("frugal_") and not each.name.endswith("_created")
    }
    page = (ROOT / "docs" / "service.md").read_text()
    assert set(re.findall(r"^\| `(frugal_\w+)`", page, re.MULTILINE)) == exported
    samples = {sample.name for family in families for sample in family.samples}
    board = json.loads((ROOT / "deploy" / "grafana.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    used = {name for expression in asked for name in re.findall(r"frugal_\w+", expression)}
    assert used <= samples, used - samples
    # What is shown of a histogram are its buckets, its sum or its count.
    shown = {re.sub("_(bucket|sum|count)$", "", name) for name in used}
    assert exported - shown == {"frugal_time_seconds"}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
