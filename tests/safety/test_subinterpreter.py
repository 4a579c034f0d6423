"""Sub-interpreters are refused by an ImportError that says so, whether or not the main interpreter has imported numjet."""
from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import sys, threading
{first}
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
inside = '''
import sys
sys.path.insert(0, {root!r})
for name in ("numjet", "numjet.numpy", "numjet._native", "numjet"):
    try:
        __import__(name)
    except ImportError as error:
        errors = str(error)
        assert "sub-interpreter" in errors or "subinterpreter" in errors, errors
    else:
        raise AssertionError("imported " + name)
assert "numpy" not in sys.modules
'''
for _ in range(3):
    made = interpreters.create()
    failed = interpreters.run_string(made, inside)
    assert failed is None, failed
    interpreters.destroy(made)
import numjet as nj, numpy as np
f = nj.jit(lambda x: (x * 2).sum())
for _ in range(20):   # queued, and freed by the execution thread
    assert float(f(np.ones(3_000_000, np.float32))) == 6_000_000
print("done")
"""


@pytest.mark.parametrize("first", ["import numjet", ""])
def test_import_in_a_sub_interpreter(first):
    code = CODE.format(first=first, root=str(ROOT))
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has its lock")
def test_free_threaded_python_turns_its_lock_on():
    code = "import warnings; warnings.simplefilter('ignore'); import numjet, sys; assert sys._is_gil_enabled()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=True)
