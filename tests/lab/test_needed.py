"""What the lab says where one of its packages is not installed, also where it is needed late."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATE = [
    ("polars", "fb.Empirical.from_log('log.csv', option='a', reward='b')", "a log of decisions"),
    ("matplotlib", "fb.instance('nu1')._repr_html_()", "a table in a notebook"),
    ("scipy", "fb.bounds.least_regret('nu1', 1e6)", "the least regret"),
    ("sklearn", "fb.routing_instance('digits-routing')", "digits-routing"),
    ("rich", "fb.simulate", "frugalbandits.simulate"),
]


@pytest.mark.parametrize(("module", "code", "what"), LATE, ids=[module for module, _, _ in LATE])
def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(
    module: str, code: str, what: str
) -> None:
    whole = f"import sys; sys.modules[{module!r}] = None; import frugalbandits as fb; {code}"
    ran = subprocess.run(
        [sys.executable, "-c", whole], capture_output=True, text=True, timeout=60, check=False
    )
    said = f"{what} needs {module}, which is not installed: pip install 'frugalbandits[lab]'"
    assert ran.stderr.splitlines()[-1] == f"ModuleNotFoundError: {said}"
