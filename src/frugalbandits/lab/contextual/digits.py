"""Routing of handwritten digits: five real classifiers of scikit-learn, of different strength and price.

Who would have been right on which digit is found by cross-validation, so every classifier is judged on digits
that it was not trained on. It is made on first use, with a fixed seed, and kept in the cache folder.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.files import make_folder, written_whole
from frugalbandits.core.jit import cache_root
from frugalbandits.core.quality import Quality
from frugalbandits.errors import InputError, extra_needed
from frugalbandits.lab.contextual.problem import ContextualProblem

__all__ = ["PRICES", "digits_routing"]

#: The classifiers, and what a query costs: prices of ours, about as far apart as those of language models.
PRICES = {
    "shallow tree": 1.0,
    "tree": 2.0,
    "naive Bayes": 4.0,
    "linear discriminant": 10.0,
    "support vectors": 50.0,
}
_SEED = 14
_FOLDS = 5
_COMPONENTS = 16


def digits_routing(quality: Quality | str) -> ContextualProblem:
    """Return the 1,797 digits of scikit-learn as queries to five classifiers.

    The features are the leading principal components of the pixels, and the segment is what the cheapest
    classifier takes the digit for. A reward is 1 for a right answer.
    """
    with extra_needed("digits-routing"):
        import sklearn
    told = f"{sklearn.__version__} {_FOLDS} {_SEED} {_COMPONENTS}".encode() + Path(__file__).read_bytes()
    path = cache_root() / "instances" / f"digits-routing-{hashlib.sha256(told).hexdigest()[:16]}.npz"
    arrays = _kept(path)
    if arrays is None:
        arrays = _made()
        _keep(path, arrays)
    segments = [f"looks like {digit}" for digit in arrays["says"].tolist()]
    return ContextualProblem(
        arrays["features"], segments, arrays["right"], list(PRICES.values()), quality, list(PRICES)
    )


def _made() -> dict[str, NDArray[Any]]:
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    pixels, digits = load_digits(return_X_y=True)
    classifiers = {
        "shallow tree": DecisionTreeClassifier(max_depth=5, random_state=_SEED),
        "tree": DecisionTreeClassifier(random_state=_SEED),
        "naive Bayes": BernoulliNB(binarize=4.0),
        "linear discriminant": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
        "support vectors": SVC(),
    }
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=_SEED)
    answers = {name: cross_val_predict(classifiers[name], pixels, digits, cv=folds) for name in PRICES}
    components = PCA(_COMPONENTS, whiten=True, svd_solver="full").fit_transform(pixels)
    return {
        # Rounded, so that what differs in the last digits of another machine is the same problem.
        "features": np.round(components, 4),
        "says": np.asarray(answers["shallow tree"], np.int64),
        "right": np.column_stack([answers[name] == digits for name in PRICES]).astype(float),
    }


def _kept(path: Path) -> dict[str, NDArray[Any]] | None:
    """Return what was kept; a file that cannot be read is made again."""
    try:
        # Read first: numpy leaves a broken file open.
        with np.load(io.BytesIO(path.read_bytes())) as file:
            return {name: file[name] for name in ("features", "says", "right")}
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def _keep(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    try:
        make_folder(path.parent)
        with written_whole(path) as temporary:
            np.savez_compressed(
                temporary, features=arrays["features"], says=arrays["says"], right=arrays["right"]
            )
    except (OSError, InputError):
        # A cache folder that cannot be written to costs a second each time, and nothing else.
        return
