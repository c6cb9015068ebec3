"""Make the log and the full table of docs/replay.md, and their figures: python docs/make_replay.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import frugalbandits as fb
from frugalbandits.lab.figures import save

DOCS = Path(__file__).parent
OPTIONS = {"small": (0.62, 0.2), "medium": (0.78, 0.9), "large": (0.82, 3.0)}  # quality and mean cost
ROWS = 3_000
TABLE_ROWS = 3_000


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


def table() -> pl.DataFrame:
    """Return a made-up full table: code and long questions are hard for all but the large model."""
    rng = np.random.default_rng(2)
    code, length = rng.random(TABLE_ROWS) < 0.4, rng.lognormal(0, 0.5, TABLE_ROWS)
    hard = 0.5 * code + 0.4 * (length - 1)
    made = pl.DataFrame({"task": np.where(code, "code", "chat"), "length": np.round(length, 2)})
    for name, (quality, cost) in OPTIONS.items():
        weak = {"small": 0.8, "medium": 0.4, "large": 0.1}[name]
        mean = np.clip(quality + 0.12 - weak * hard, 0.02, 0.98)
        made = made.with_columns(
            pl.Series(f"score:{name}", (rng.random(TABLE_ROWS) < mean).astype(int)),
            pl.Series(f"usd:{name}", np.round(cost * length * rng.lognormal(-0.02, 0.2, TABLE_ROWS), 3)),
        )
    return made


if __name__ == "__main__":
    log().write_csv(DOCS / "replay-log.csv")
    found = fb.replay(DOCS / "replay-log.csv", 0.1, option="model", reward="score", cost="usd")
    save(found.plot(), DOCS / "images" / "replay.png")
    table().write_csv(DOCS / "replay-table.csv")
    looked = fb.replay(
        DOCS / "replay-table.csv", 0.05, reward="score", cost="usd", context="task", features="length"
    )
    save(looked.plot(), DOCS / "images" / "replay-looking.png")
