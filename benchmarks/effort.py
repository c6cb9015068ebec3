"""How long to measure: the full benchmark, about 4 minutes on one core, and a quick sanity run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "POLICIES", "QUICK", "Effort"]

# Our own policies and those of the paper's comparison; the two ablations of COF cost what COF costs.
POLICIES = ("cof", "cof-cost-biased", "glr-cof", "voi-cs", "pe-cs", "ucb-cs", "ts-cs", "etc-cs")


@dataclass(frozen=True)
class Effort:
    """The size of every measurement."""

    rounds: int  # measurements of each thing, in turn with its baseline; the median counts
    runs: int  # simulated runs in one call, at most
    horizon: int
    river_steps: int  # per round
    step_loop_seconds: float  # per policy
    sessions: int  # sessions of each policy, in turn with River
    pairs: int  # decisions of a session
    cell_seconds: float  # for a cell of the growth tables, after which no further run starts there
    horizons: tuple[int, ...]
    arms: tuple[int, ...]
    planned: int  # decisions of a run with many options
    imports: int  # new processes per measurement of an import
    warm_starts: int  # new processes per measurement of a first use with a warm cache
    first_uses: tuple[tuple[str, str], ...]  # (what, policy, or nothing for the default)
    waiters: tuple[str, ...]  # policies that are asked while they are compiled, the default one first
    rivals: tuple[str, ...]  # packages that are installed beside this one
    unanswered: int  # decisions of the session that is never told anything
    load_seconds: float  # of each load on the service
    served: int  # decisions over which the memory of the service is watched
    served_sessions: int  # sessions in one server
    lag_probes: int  # tells that another server is watched for
    replay_worlds: int  # made-up worlds that intervals of a replay are held against
    replay_requests: int  # of the full table that is replayed


FULL = Effort(
    rounds=5,
    runs=10,
    horizon=5_000_000,
    river_steps=10_000,
    step_loop_seconds=2.5,
    sessions=3,
    pairs=20_000,
    cell_seconds=4.0,
    horizons=(10**4, 10**5, 10**6, 10**7, 10**8),
    arms=(2, 5, 10, 20, 50, 100, 200),
    planned=5_000,
    imports=5,
    warm_starts=3,
    first_uses=(
        ("simulate", "cof"),
        ("simulate", "pe-cs"),
        ("simulate", "ucb-cs"),
        ("simulate", "ts-cs"),
        ("simulate", "etc-cs"),
        ("session", "voi-cs"),
        ("replay", "voi-cs"),
        ("advise", "voi-cs"),
        ("replay", ""),
        ("advise", ""),
    ),
    waiters=("voi-cs", "glr-cof", "cof", "ts-cs"),
    rivals=("river", "mabwiser", "pybandits"),
    unanswered=1_000_000,
    load_seconds=2.0,
    served=1_000_000,
    served_sessions=1_000,
    lag_probes=100,
    replay_worlds=25,
    replay_requests=1_000_000,
)

QUICK = Effort(
    rounds=3,
    runs=3,
    horizon=5_000_000,
    river_steps=2_000,
    step_loop_seconds=0.3,
    sessions=3,
    pairs=1_000,
    cell_seconds=0.1,
    horizons=(10**4, 10**5),
    arms=(2, 5, 10),
    planned=500,
    imports=1,
    warm_starts=1,
    first_uses=(("simulate", "etc-cs"),),
    waiters=("voi-cs",),
    rivals=("river",),
    unanswered=50_000,
    load_seconds=0.2,
    served=10_000,
    served_sessions=10,
    lag_probes=5,
    replay_worlds=2,
    replay_requests=20_000,
)
