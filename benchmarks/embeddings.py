"""What features of a query save: pixels and prompts, as few or as many numbers, beside segments and nothing.

python benchmarks/embeddings.py [--horizon 20000] [--runs 4]
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import frugalbandits as fb
from frugalbandits.core.tables import text_table

Floats = NDArray[np.float64]

BAR = "relative-to-best:0.05"
PROMPTS = 4_000
HEADS = (
    "known of a query",
    "numbers",
    "linear oracle, of a*",
    "dual-cof, of a*",
    "quality / bar",
    "worst run",
)
PRICES = {"small": 1.0, "medium": 4.0, "large": 20.0}
#: For each task: how hard it is, and words that make one easier or harder.
TASKS: dict[str, tuple[float, tuple[str, ...], tuple[str, ...]]] = {
    "chat": (-1.5, ("greet", "thank", "invite", "remind"), ("negotiate", "console", "mediate", "confess")),
    "summary": (
        -0.5,
        ("briefly", "headline", "list", "title"),
        ("compare", "critique", "reconcile", "infer"),
    ),
    "sums": (0.3, ("add", "double", "count", "half"), ("prove", "integral", "modulo", "converges")),
    "code": (0.6, ("print", "rename", "comment", "sort"), ("concurrent", "recursive", "deadlock", "parser")),
}
FILLER = [
    "the",
    "a",
    "of",
    "my",
    "for",
    "with",
    "this",
    "that",
    "please",
    "text",
    "note",
    "table",
    "report",
    "letter",
    "about",
    "from",
    "last",
    "new",
    "small",
    "list",
]


class Known(NamedTuple):
    """What is known of each query: numbers, or a segment, or both."""

    name: str
    features: Floats | None
    segments: Any


def digits() -> tuple[fb.ContextualProblem, list[Known]]:
    """Return five classifiers of handwritten digits, and what may be known of a digit."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    problem = fb.routing_instance("digits-routing", BAR)
    pixels, _ = load_digits(return_X_y=True)
    says = np.array(problem.segment_names)[problem.segment]
    found = [Known("nothing", None, None), Known("what the cheapest says", None, says)]
    for size in (8, 16, 32, 64):
        parts = PCA(size, whiten=size < 64, svd_solver="full").fit_transform(pixels)
        found.append(Known(f"pixels, {size} components", parts / parts.std(axis=0).clip(1e-9), None))
        if size == 16:
            found.append(Known("16 components, and what the cheapest says", found[-1].features, says))
    return problem, found


def prompts(rng: np.random.Generator) -> tuple[list[str], list[str], Floats]:
    """Return made-up prompts, their tasks, and how hard each is: by its task, its words and its length."""
    texts, tasks, hard = [], [], []
    for task in rng.choice(list(TASKS), PROMPTS):
        base, easier, harder = TASKS[str(task)]
        sign = int(rng.integers(0, 2))
        own = rng.choice((easier, harder)[sign], int(rng.integers(1, 3)))
        length = int(rng.integers(4, 60))
        words = [*own, *rng.choice(FILLER, length)]
        rng.shuffle(words)
        texts.append(" ".join(words))
        tasks.append(str(task))
        hard.append(base + 1.6 * (2 * sign - 1) + 0.02 * (length - 32))
    return texts, tasks, np.array(hard)


def made_prompts() -> tuple[fb.ContextualProblem, list[Known]]:
    """Return three models of prompts, and what may be known of a prompt."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, tasks, hard = prompts(np.random.default_rng(14))
    strength = np.array([0.3, 1.5, 3.0])
    rewards = 0.97 / (1.0 + np.exp(1.5 * (hard[:, None] - strength)))
    problem = fb.ContextualProblem(None, None, rewards, list(PRICES.values()), BAR, list(PRICES))
    found = [Known("nothing", None, None), Known("the task", None, tasks)]
    for size in (8, 32, 128):
        hashed = np.array([fb.TextFeatures(size).numbers(text) for text in texts])
        found.append(Known(f"TextFeatures({size})", hashed, None))
        if size == 32:
            found.append(Known("TextFeatures(32), and the task", hashed, tasks))
    counted = TfidfVectorizer().fit_transform(texts)
    for size in (8, 32):
        parts = TruncatedSVD(size, random_state=14).fit_transform(counted)
        found.append(Known(f"TF-IDF, {size} components", parts / parts.std(axis=0).clip(1e-9), None))
    found.append(Known("how hard it is, which nobody knows", hard[:, None], None))
    return problem, found


def rows(problem: fb.ContextualProblem, known: list[Known], horizon: int, runs: int) -> list[list[str]]:
    """Return a row for each kind of knowledge."""
    table = []
    for each in known:
        own = fb.ContextualProblem(
            each.features, each.segments, problem.rewards, problem.costs[0], BAR, problem.names
        )
        told = fb.simulate(own, "dual-cof", horizon, runs=runs, progress=False, checkpoints=1).summary()
        oracle = own.oracle()
        width = own.encoded.shape[1] - 1
        numbers = (oracle.linear.cost / oracle.single.cost, told.over_single, told.over_bar, told.worst)
        table.append([each.name, str(width), *(f"{value:.3f}" for value in numbers)])
    return table


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=4)
    given = parser.parse_args()
    for title, (problem, known) in (("digits", digits()), ("prompts", made_prompts())):
        star = problem.names[problem.optimal_option]
        print(
            f"\n{title}: {problem.queries:,} queries, {given.horizon:,} decisions, {given.runs} runs, a* = "
            f"{star}"
        )
        print(text_table(list(HEADS), rows(problem, known, given.horizon, given.runs), {0}), flush=True)


if __name__ == "__main__":
    main()
