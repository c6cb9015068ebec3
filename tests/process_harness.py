"""Fresh processes, for what happens once in each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap


def python(code, **environment):
    """Run code in a fresh process and return what it printed last, as JSON."""
    env = {**os.environ, **{key: str(value) for key, value in environment.items()}}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr
