"""A failed allocation raises MemoryError, in every function, and leaves everything as it was.

Each scenario runs again and again; in run number n the n-th allocation by the native core, or by the interpreter and NumPy on
its behalf, fails, until a run has no more of them than that. A run gives the right result or MemoryError. Afterwards no memory
is in use that was not in use before, what the run was given has as many references as before, and the next run is right.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

SHIM = Path(__file__).with_name("allocation_faults.c")
ROOT = str(Path(__file__).parents[2])


class Faults:
    """The preloaded library that makes allocations fail."""

    def __init__(self) -> None:
        from numjet import _native

        self.library = ctypes.CDLL(None)
        for line in Path("/proc/self/maps").read_text().splitlines():
            place, mode, *_ = line.split()
            spared = "openblas" in line
            if "x" in mode and (spared or line.endswith(_native.__file__)):
                self.library.faults_range(*(ctypes.c_size_t(int(x, 16)) for x in place.split("-")), int(spared))
        self.library.faults_disarm.restype = ctypes.c_long
        self.library.faults_fired.restype = ctypes.c_long

    def run(self, number: int, function: Callable[[], Any]) -> tuple[Any, bool]:
        """What the function gives, or None for MemoryError, when an allocation fails; whether it did."""
        arm, disarm, result = self.library.faults_arm, self.library.faults_disarm, None
        count = ctypes.c_long(number)
        try:
            arm(count)
            result = function()
        except MemoryError:
            pass
        finally:
            disarm()
        return result, bool(self.library.faults_fired())


class Scenario(NamedTuple):
    run: Callable[[], Any]
    check: Callable[[Any], None]
    given: tuple[Any, ...] = ()  # objects whose references are counted
    most: int = 100_000  # runs at most; those of longer scenarios are spread over all its allocations


def equal(want: Any) -> Callable[[Any], None]:
    want = np.asarray(want)
    return lambda got: np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5)


def _construct() -> Scenario:
    import numjet.numpy as jnp

    value = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    return Scenario(lambda: jnp.asarray(value), equal(value), (value,))


def _arithmetic() -> Scenario:
    import numjet.numpy as jnp

    x, y = jnp.arange(6, dtype="float32"), jnp.ones(6, "float32")
    return Scenario(lambda: ((x + y) * 2.0 - x) < y, equal((np.arange(6) + 1) * 2 - np.arange(6) < 1), (x, y))


def _matmul() -> Scenario:
    import numjet.numpy as jnp

    x = jnp.arange(300 * 300, dtype="float32").reshape(300, 300) % 7
    return Scenario(lambda: x @ x, equal(np.asarray(x) @ np.asarray(x)), (x,))


def _jit_call() -> Scenario:
    import numjet as nj

    f = nj.jit(lambda tree, k: {"a": tree["x"] + tree["y"][0] * k, "b": [tree["x"]]})
    value = np.arange(4, dtype=np.float32)
    tree = {"x": value, "y": [nj.numpy.ones(4)]}
    f(tree, 2.0)
    return Scenario(lambda: f(tree, 2.0)["a"], equal(value + 2), (tree, value, f))


def _jit_many() -> Scenario:
    import numjet as nj

    f = nj.jit(lambda *xs: [x + 1 for x in xs])
    values = [nj.numpy.full(3, float(k)) for k in range(70)]
    f(*values)
    return Scenario(lambda: np.stack(f(*values)), equal(np.stack([np.asarray(v) + 1 for v in values])), (values, f))


def _queued() -> Scenario:
    import numjet as nj

    f = nj.jit(lambda x: nj.numpy.sort(nj.numpy.sin(x) + 1))
    x = nj.numpy.arange(300_000, dtype="float32")
    want = np.asarray(f(x))
    return Scenario(lambda: np.asarray(f(f(x))).shape and np.asarray(f(x)), equal(want), (x, f))


def _pytree() -> Scenario:
    import numjet as nj

    tree = {"a": [1, (2, None)], "b": {"d": 3, "c": 5}, "e": tuple(range(80))}

    def both() -> Any:
        leaves, structure = nj.tree_util.tree_flatten(tree)
        again = nj.tree_util.tree_unflatten(structure, [x + 1 for x in leaves])
        assert structure == nj.tree_util.tree_structure(again)
        return nj.tree_util.tree_leaves(again)

    return Scenario(both, equal(np.array([2, 3, 6, 4, *range(1, 81)])), (tree,))


def _index() -> Scenario:
    import numjet.numpy as jnp

    x = jnp.arange(200_000, dtype="float32")
    rows = np.arange(0, 200_000, 7)
    return Scenario(lambda: x[rows][2:-1][::3], equal(rows[2:-1][::3]), (x, rows))


def _mask() -> Scenario:
    import numjet.numpy as jnp

    x = jnp.arange(200_000, dtype="float32")
    mask = np.arange(200_000) % 3 == 0
    return Scenario(lambda: x[mask], equal(np.arange(0, 200_000, 3)), (x, mask))


def _sort() -> Scenario:
    import numjet.numpy as jnp

    x = jnp.array(np.random.default_rng(0).permutation(5000).astype(np.float32))
    return Scenario(lambda: jnp.sort(x), equal(np.arange(5000)), (x,))


def _linalg() -> Scenario:
    import numjet as nj
    import numjet.numpy as jnp

    a = np.random.default_rng(0).normal(size=(150, 150)).astype(np.float32) + 20 * np.eye(150, dtype=np.float32)
    f = nj.jit(lambda a: (jnp.linalg.solve(a, a), jnp.fft.fft(a[0]), jnp.cumsum(a), jnp.linalg.qr(a)[1]))
    f(a)
    x = jnp.array(a)
    want = f(x)

    def check(got: Any) -> None:
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))

    return Scenario(lambda: [np.asarray(y) for y in f(x)], check, (x, f))


def _export() -> Scenario:
    import numjet.numpy as jnp

    x = jnp.arange(6.0).reshape(2, 3)

    def all_ways() -> Any:
        flat = np.frombuffer(bytes(memoryview(x)), np.float32).reshape(2, 3)
        return flat + np.from_dlpack(x) + np.asarray(x) + np.array(x.tolist()) + float(x[0, 0])

    return Scenario(all_ways, equal(4 * np.arange(6.0).reshape(2, 3)), (x,))


def _compile() -> Scenario:
    import numjet as nj

    x = nj.numpy.arange(5.0)
    return Scenario(lambda: nj.jit(nj.grad(lambda x: nj.numpy.sum(nj.numpy.sin(x) * x)))(x),
                    equal(np.sin(np.arange(5.0)) + np.arange(5.0) * np.cos(np.arange(5.0))), (x,), most=60)


SCENARIOS = {f.__name__[1:]: f for f in (
    _construct, _arithmetic, _matmul, _jit_call, _jit_many, _queued, _pytree, _index, _mask, _sort, _linalg, _export, _compile)}


def in_use() -> tuple[int, int]:
    """Bytes and arrays in use, once nothing is pending."""
    from numjet import _native

    gc.collect()
    _native.synchronize()
    _native.pool_trim()
    return _native.pool_stats()["live_bytes"], len(_native.live_arrays())


def sweep(faults: Faults, scenario: Scenario, most: int) -> tuple[int, int]:
    """How many runs raised MemoryError, of how many with a failed allocation."""
    from numjet import _native

    faults.library.faults_arm(ctypes.c_long(0))
    scenario.run()
    total = faults.library.faults_disarm()
    step = max(1, total // min(most, scenario.most))
    raised = runs = 0
    scenario.check(scenario.run())
    before, references = in_use(), [sys.getrefcount(x) for x in scenario.given]
    for number in range(1, 2 * total + 100, step):
        _native.pool_trim()
        result, fired = faults.run(number, scenario.run)
        if result is not None:
            scenario.check(result)
        runs, raised = runs + fired, raised + (result is None)
        assert result is not None or fired, f"allocation {number} did not fail, and yet there was MemoryError"
        result = None
        assert in_use() == before, f"memory is left in use after allocation {number} failed"
        left = [sys.getrefcount(x) for x in scenario.given]
        assert left == references, f"references, after allocation {number} failed: {left}, before: {references}"
        scenario.check(scenario.run())
        if not fired:
            break
    return raised, runs


def main(name: str, most: int) -> None:
    scenario = SCENARIOS[name]()
    for _ in range(5):
        scenario.check(scenario.run())
    faults = Faults()
    raised, runs = sweep(faults, scenario, most)
    print(f"{name}: {raised} of {runs} failed allocations raised MemoryError")
    assert runs > 0 and raised > 0, "no allocation failed"
    print("done")


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "NUMJET_SANITIZE" in os.environ:
        pytest.skip("sanitizers bring an allocator of their own")
    library = tmp_path_factory.mktemp("shim") / "allocation_faults.so"
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", library, SHIM], check=True)
    return library


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_allocation_fails_once(name: str, shim: Path, scale: int) -> None:
    path = os.pathsep.join([ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"LD_PRELOAD": str(shim), "PYTHONMALLOC": "malloc", "PYTHONPATH": path}
    command = [sys.executable, "-X", "faulthandler", __file__, name, str(40 * scale)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, f"{name}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert done.stdout.endswith("done\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
