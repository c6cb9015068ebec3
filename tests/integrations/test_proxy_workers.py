"""A proxy with several workers that share a store: feedback to any, after a restart too, and one report."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from litellm_harness import until
from proxy_harness import KEY, Proxy

CALLS = 24


def fresh(proxy, method, path, **more):
    """Send a request by a connection of its own, which any worker may take."""
    return httpx.request(
        method, f"{proxy.url}{path}", headers={"authorization": f"Bearer {KEY}"}, timeout=30.0, **more
    )


def told(proxy, ids):
    """Give feedback by several connections at once; return the status of each."""

    def tell(id_):
        return fresh(proxy, "POST", "/frugal/feedback", json={"id": id_, "reward": 1.0}).status_code

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(tell, ids))


@pytest.mark.slow  # three processes import LiteLLM's proxy, and one more after the restart
def test_feedback_comes_to_any_worker_and_after_a_restart_and_the_report_is_of_all(tmp_path):
    # Nobody listens at the address of the service, which other groups would use.
    proxy = Proxy(tmp_path / "proxy", "http://127.0.0.1:9", workers=2)
    try:
        proxy.wait()
        # One connection, so one worker answers all of them.
        ids = [proxy.ask("stored")[1] for _ in range(CALLS)]
        assert told(proxy, ids[: CALLS // 2]) == [204] * (CALLS // 2)
        assert told(proxy, ids[:2]) == [409] * 2

        def reports():
            return [fresh(proxy, "GET", "/frugal/report").json().get("stored") for _ in range(6)]

        until(lambda: {each and each["answers"] for each in reports()} == {CALLS}, 20.0)
        until(lambda: {sum(one["judged"] for one in each["options"]) for each in reports()} == {12}, 20.0)
        (before,) = {each["spent"] for each in reports()}

        proxy.stop()
        proxy.start()
        proxy.wait()
        # No call of the group has come yet.
        assert told(proxy, ids[CALLS // 2 :]) == [204] * (CALLS // 2)
        assert told(proxy, ids) == [409] * CALLS
        assert told(proxy, [ids[0][:-1] + "!", "nonsense", "W10.x"]) == [404] * 3
        report = proxy.report("stored")
        assert (report["answers"], report["everywhere"]) == (CALLS, True)
        assert report["spent"] == pytest.approx(before)
        assert sum(each["judged"] for each in report["options"]) == CALLS
    finally:
        proxy.close()
