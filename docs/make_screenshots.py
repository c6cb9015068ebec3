"""Makes the pictures of the dashboard: a service with lively traffic, and a Chromium that looks at it.

    python docs/make_screenshots.py

It takes about two minutes and writes docs/images/dashboard-NAME.png, for desktop, phone, dark and queries, or
for those that are named. Chromium and its driver must be installed: apt-get install chromium chromium-driver.
"""

from __future__ import annotations

import argparse
import base64
import io
import sys
import tempfile
import threading
import time
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]

#: Name, session, width, height, pixels a point, light or dark, and whether all of the page is in the picture.
VIEWS = (
    ("desktop", "support-answers", 1400, 900, 1, "light", True),
    ("phone", "support-answers", 390, 844, 2, "light", False),
    ("dark", "support-answers", 1400, 900, 1, "dark", True),
    ("queries", "help-desk", 1400, 900, 1, "light", True),
)
LARGEST = 250_000  # bytes


def main() -> None:
    """Make them."""
    parser = argparse.ArgumentParser(description="Make the pictures of the dashboard.")
    known = [view[0] for view in VIEWS]
    parser.add_argument("names", nargs="*", help=f"which ones (default: {' '.join(known)})")
    parser.add_argument("--seconds", type=float, default=110.0, help="of traffic before they are taken")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    told = parser.parse_args()
    if unknown := set(told.names) - set(known):
        parser.error(f"no picture is called {', '.join(sorted(unknown))}: there are {', '.join(known)}")
    # Both stand beside the package, not in it.
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "examples")]
    import demo_traffic
    from browser_harness import Server, chromium, scheme, size, until

    server = Server("memory:")
    try:
        api = demo_traffic.Api(server.address, None)
        traffic = threading.Thread(target=demo_traffic.run, args=(api, told.seconds + 30), daemon=True)
        traffic.start()
        time.sleep(told.seconds)
        with tempfile.TemporaryDirectory() as folder, chromium(folder) as driver:
            for name, session, width, height, scale, light, whole in VIEWS:
                if told.names and name not in told.names:
                    continue
                size(driver, width, height, scale)
                scheme(driver, light)
                driver.get(f"{server.address}/sessions/{session}")
                until(lambda: driver.find_elements("css selector", "#charts canvas"), "a picture")
                time.sleep(1.0)
                path = told.out / f"dashboard-{name}.png"
                path.write_bytes(picture(driver, width, height, whole))
                print(f"{path} ({path.stat().st_size:,} bytes)")
        traffic.join()
    finally:
        server.stop()


def picture(driver, width, height, whole):
    """Return what the window shows, or all of the page, as a small PNG."""
    if whole:
        height = driver.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    taken = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole, "clip": clip}
    )
    found = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(taken["data"]))) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(found, "PNG", optimize=True)
    assert found.tell() < LARGEST, f"a picture of {found.tell():,} bytes is too large"
    return found.getvalue()


if __name__ == "__main__":
    main()
