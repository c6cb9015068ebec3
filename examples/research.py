"""Research: two policies on a problem of one's own, on the same rewards."""

import numpy as np
from numpy.typing import NDArray

import frugalbandits as fb

HORIZON = 200_000


def late_share(result: fb.Result) -> NDArray[np.float64]:
    """Return the share of the last tenth of each run's pulls that went to the right arm."""
    early, late = result.pulls[:, -2], result.pulls[:, -1]
    pulls = (late - early)[:, result.problem.optimal_arm]
    share: NDArray[np.float64] = pulls / (late - early).sum(axis=1)
    return share


def main() -> None:
    """Compare them."""
    problem = fb.Problem(
        means=[0.55, 0.78, 0.80], costs=[1, 2, 9], alpha=0.1, names=["small", "medium", "large"]
    )
    print(problem)
    regret: dict[str, float] = {}
    for policy in ("cof", "glr-cof"):
        result = fb.simulate(problem, policy, HORIZON, runs=20, seed=1, checkpoints=10)
        regret[policy] = float(result.summed_regret[:, -1].mean())
        late = late_share(result).mean()
        print(f"{policy}: regret {regret[policy]:,.0f}, {late:.0%} of late pulls on the right option")
    assert regret["glr-cof"] < regret["cof"]


if __name__ == "__main__":
    main()
