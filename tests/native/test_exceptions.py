"""Failed allocations in the native core: std::bad_alloc becomes MemoryError, and the process goes on.

A child has address space for little more than it uses, so that vectors, strings and workspaces of the native core find no
memory.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
needs_limits = pytest.mark.skipif(sys.platform != "linux" or "NUMJET_SANITIZE" in os.environ,
                                  reason="needs RLIMIT_AS and /proc; sanitizers need the address space themselves")

SETUP = """
import ctypes, resource
from numjet import _native

def limited(call, extra=64 << 20):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + extra, resource.RLIM_INFINITY))
    try:
        return call()
    except MemoryError:
        return "MemoryError"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

def status(kernel, *args):
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p if a is None else ctypes.c_int64 for a in args])
    return function(_native.kernel_address(kernel))(*args)
"""

FAILURES = {
    "leaves of a pytree": "tree = [0] * (1 << 23); got = limited(lambda: _native.pytree_leaves(tree))",
    "nodes of a treedef": "tree = [0] * (1 << 23); got = limited(lambda: _native.pytree_structure(tree))",
    "text of a treedef": "tree = _native.pytree_structure([0] * (1 << 20)); got = limited(lambda: repr(tree), 1 << 20)",
    "children of a treedef": "tree = _native.pytree_structure([0] * (1 << 20)); got = limited(tree.children, 1 << 20)",
}


@needs_limits
@pytest.mark.parametrize("case", FAILURES)
def test_a_failed_allocation_raises_memory_error(case):
    after = "; flat, tree = _native.pytree_flatten({'a': (1, [2, None])}); print(got, flat, tree.num_leaves)"
    child = subprocess.run([sys.executable, "-c", SETUP + FAILURES[case] + after], capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout) == (0, "MemoryError [1, 2] 2\n"), child.stderr[-2000:]


@needs_limits
@pytest.mark.parametrize("call", ["'nj_fft_complex', 1, 0, 1, 300007, 64, None, None",
                                  "'nj_fft_real', 1, 64, 300007, None, None"])
def test_a_kernel_without_workspace_returns_the_status_of_it(call):
    """The workspace comes before the arrays are read: null pointers do no harm."""
    after = f"print(limited(lambda: status({call}), 1 << 20), status('nj_permutation', 0, 0, 0, None, None))"
    child = subprocess.run([sys.executable, "-c", SETUP + after], capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout) == (0, "1 0\n"), child.stderr[-2000:]


def test_kernels_are_registered_behind_the_boundary():
    """NJ_KERNEL is the one way to a kernel's address, and puts KernelBoundary in front."""
    header = (NATIVE / "kernels/registry.h").read_text(encoding="utf8")
    assert "KernelBoundary<function>::call" in header[header.index("#define NJ_KERNEL"):]
    text = "\n".join(p.read_text(encoding="utf8") for p in sorted(NATIVE.rglob("*.cpp")))
    exported = set(re.findall(r'^extern "C" (?:\[\[nodiscard\]\] )?(?:int64_t|void) (nj_\w+)\(', text, re.M))
    assert len(exported) > 30 and exported == set(re.findall(r"^NJ_KERNEL\((nj_\w+)\);", text, re.M)) & exported
