"""Many threads that call everything at once: no crash, right results."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from numjet import _native

sys.path.insert(0, str(Path(__file__).parent))
from children import script

THREADS = 64


def test_mixed_calls(scale):
    """64 threads x 100 calls of ten kinds; x 10,000 by `--full`."""
    calls = 100 if scale == 1 else 10_000
    assert script(f"""
import random
x = jnp.arange(8.0)
f = nj.jit(lambda x: jnp.sin(x) * 2)
big, chain = jnp.ones(100_000), nj.jit(lambda x: jnp.sin(jnp.cos(x)))
wanted, sines = np.sin(np.cos(np.float32(1))), np.asarray(f(x))
index_error = nj.jit(lambda x, i: x[i])

def cached(k): assert np.array_equal(f(x), sines)
def shapes(k): assert f(jnp.zeros(k % 200)).shape == (k % 200,)
def eager(k): assert float((x + k)[3] * 2) == 2 * (3 + k)
def gradient(k): assert np.allclose(nj.grad(lambda v: jnp.sum(v * v * (k % 3)))(x), 2 * np.arange(8) * (k % 3))
def mapped(k): assert np.array_equal(nj.vmap(f)(x[None].repeat(3, 0))[2], sines)
def queued(k): assert np.allclose(chain(big)[k], wanted)
def put(k): assert np.array_equal(nj.device_put(np.full(5, k)), np.full(5, k))
def updates(k): assert float(jnp.sum(x.at[k % 8].set(100))) == 128 - k % 8
def product(k): assert np.allclose(x @ x, 140)
def fails(k):
    for call, error in ((lambda: x + jnp.ones(3), (TypeError, ValueError)), (lambda: f("text"), TypeError),
                        (lambda: nj.jit(lambda v: 1 // 0)(k), ZeroDivisionError)):
        try: call()
        except error: pass
        else: assert False, "no error"
kinds = [cached] * 8 + [shapes, eager, eager, mapped, queued, put, updates, product] * 3 + [gradient, fails]
failed = []
def work(seed):
    choose = random.Random(seed)
    try:
        for _ in range({calls}):
            choose.choice(kinds)(choose.randrange(1000))
    except BaseException as error:
        failed.append(repr(error))
        raise
threads = [threading.Thread(target=work, args=(k,)) for k in range({THREADS})]
for t in threads: t.start()
for t in threads: t.join()
assert not failed, failed
print("done")
""", patience=120 + 0.3 * calls) == "done\n"


def fake_system(root: Path, mounts: str, groups: str, files: dict[str, str]) -> str:
    for name, content in {"proc/self/mountinfo": mounts, "proc/self/cgroup": groups, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return str(root)


V1 = """32 31 0:29 {group} /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:1 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 {group} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
"""
V2 = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
NONE = (float("inf"), (1 << 64) - 1)


@pytest.mark.parametrize(("mounts", "groups", "files", "wanted"), [
    ("", "", {}, NONE),
    (V2, "0::/a/b\n", {}, NONE),
    (V2, "0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/b/memory.max": "max"}, NONE),
    (V2, "0::/a/b\n", {"a/b/cpu.max": "150000 100000", "a/b/memory.max": "1000000"}, (1.5, 1_000_000)),
    (V2, "0::/a/b\n", {"a/cpu.max": "50000 100000", "a/b/cpu.max": "150000 100000", "a/memory.max": "5"}, (0.5, 5)),
    (V2, "0::/a/b\n", {"a/b/memory.max": "1000000", "a/memory.high": "5000", "a/b/memory.high": "max"}, (NONE[0], 5000)),
    (V2, "0::/../outside\n", {"cpu.max": "300000 100000"}, (3.0, NONE[1])),
    (V2, "0::/\n", {"cpu.max": "nonsense", "memory.max": ""}, NONE),
    (V1.format(group="/"), "4:memory:/m\n1:cpu,cpuacct:/c\n",
     {"cpu,cpuacct/c/cpu.cfs_quota_us": "200000", "cpu,cpuacct/c/cpu.cfs_period_us": "100000",
      "memory/memory.limit_in_bytes": "9223372036854771712", "memory/m/memory.limit_in_bytes": "4096"}, (2.0, 4096)),
    (V1.format(group="/"), "1:cpu,cpuacct:/\n",
     {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, NONE),
    (V1.format(group="/docker/x"), "4:memory:/docker/x\n1:cpu,cpuacct:/docker/x\n",
     {"cpu,cpuacct/cpu.cfs_quota_us": "250000", "cpu,cpuacct/cpu.cfs_period_us": "100000",
      "memory/memory.limit_in_bytes": "9223372036854771712"}, (2.5, NONE[1])),
])
def test_limits_of_control_groups(tmp_path, mounts, groups, files, wanted):
    """Version 1 and 2, the least of all groups around, and those of a container, whose mount shows a part of the tree."""
    root = fake_system(tmp_path, mounts, groups, {f"sys/fs/cgroup/{name}": text for name, text in files.items()})
    assert _native.cgroup_limits(root) == wanted


def test_this_process_keeps_its_limits():
    processors, memory = _native.cgroup_limits("")
    assert _native.num_threads() < processors + 1
    assert _native.pool_stats()["cache_limit"] <= memory // 4


def test_first_uses_of_all_names():
    """32 threads ask a fresh process for all public names, each in an order of its own."""
    assert script("""
import random, sys
sys.setswitchinterval(1e-5)
import numjet.scipy, numjet.nn, numjet.experimental
facades = [nj, jnp, nj.lax, nj.nn, nj.random, nj.image, nj.tree_util, nj.example_libraries.stax, nj.debug]
facades += [getattr(nj.scipy, name) for name in ("special", "stats", "linalg", "signal", "optimize", "integrate")]
names = [(facade, name) for facade in facades for name in dir(facade) if name[0] != "_"]
failed, start = [], threading.Barrier(32)
def work(seed):
    mine = random.Random(seed).sample(names, len(names))
    start.wait()
    for facade, name in mine:
        try: getattr(facade, name)
        except BaseException as error: failed.append((name, repr(error)))
threads = [threading.Thread(target=work, args=(k,)) for k in range(32)]
for t in threads: t.start()
for t in threads: t.join()
assert not failed, failed[:5]
print("done")
""", patience=240) == "done\n"


def test_masked_arrays_module_half_imported():
    """Another thread may be importing numpy.ma: what is no masked array is an array all the same."""
    assert script("""
import sys, types
sys.modules["numpy.ma"] = types.ModuleType("numpy.ma")
class Own(np.ndarray): pass
for x in (np.ones(3), [np.ones(3)], np.ones(3).view(Own)):
    assert jnp.asarray(x).size == 3 and jnp.array(x).size == 3
print("done")
""") == "done\n"
