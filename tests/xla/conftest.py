import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def run_python():
    """Runs a script in a process of its own."""
    def run(script):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run
