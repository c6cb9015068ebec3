"""Make the log of docs/replay.md, and its figure: python docs/make_replay.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import frugalbandits as fb
from frugalbandits.lab.figures import save

DOCS = Path(__file__).parent
OPTIONS = {"small": (0.62, 0.2), "medium": (0.78, 0.9), "large": (0.82, 3.0)}  # quality and mean cost
ROWS = 3_000


def log() -> pl.DataFrame:
    """Return a made-up log: mostly the large model, costs that vary with the length of the answer."""
    rng = np.random.default_rng(1)
    used = rng.choice(len(OPTIONS), ROWS, p=[0.2, 0.3, 0.5])
    quality, cost = (np.array(values)[used] for values in zip(*OPTIONS.values(), strict=True))
    return pl.DataFrame(
        {
            "model": np.array(list(OPTIONS))[used],
            "score": (rng.random(ROWS) < quality).astype(int),
            "usd": np.round(cost * rng.lognormal(-0.08, 0.4, ROWS), 3),
        }
    )


if __name__ == "__main__":
    log().write_csv(DOCS / "replay-log.csv")
    found = fb.replay(DOCS / "replay-log.csv", 0.1, option="model", reward="score", cost="usd")
    save(found.plot(), DOCS / "images" / "replay.png")
