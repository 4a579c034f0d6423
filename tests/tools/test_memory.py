"""What programs are predicted to need in memory is what they take, and independent pieces do not pile up."""
from __future__ import annotations

import sys

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.tools import memory

MIB = 1 << 20


@pytest.mark.parametrize(("name", "threads"), [*((name, 2) for name in memory.PROGRAMS), ("solving", 1), ("sorted_rows", 1),
                                               ("spectra", 1)])
def test_predictions_are_true(name, threads):
    """Within 5 %, workspaces of LAPACK, transforms and sorts included, whether threads come late or not."""
    nj.config.update("num_threads", threads)
    try:
        assert memory.measured(name) == pytest.approx(memory.predicted(name), rel=0.05)
    finally:
        nj.config.update("num_threads", None)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["softmax", "sorting", "pieces_gradient"])
def test_the_system_says_the_same(name):
    """Roughly: the system counts pages, and the ends of large blocks are not touched."""
    assert memory.growth_outside(name) == pytest.approx(memory.predicted(name), rel=0.15, abs=3 * MIB)


def test_pieces_do_not_pile_up():
    """Twelve pieces with arrays of 2 MiB take the memory of one or two; without the order of equations, of twelve."""
    assert memory.predicted("pieces") < 12 * MIB
    assert memory.predicted("pieces_gradient") < 36 * MIB
    assert memory.predicted("accumulated") < 28 * MIB


def test_fields():
    def fun(x, y):
        return x.at[0].add(1.0), jnp.sort(y)
    x, y = np.ones(1000, np.float32), np.ones(500, np.float32)
    plain = nj.jit(fun).lower(x, y).compile().memory_analysis()
    assert plain.argument_size_in_bytes == plain.output_size_in_bytes == 6000
    assert plain.alias_size_in_bytes == plain.host_temp_size_in_bytes == 0
    assert plain.generated_code_size_in_bytes > 100
    assert plain.workspace_size_in_bytes >= 2000 and plain.temp_size_in_bytes >= plain.workspace_size_in_bytes
    assert plain.peak_memory_in_bytes == 6000 + plain.extra_memory_in_bytes
    donated = nj.jit(fun, donate_argnums=0).lower(x, y).compile().memory_analysis()
    assert donated.alias_size_in_bytes == 4000
    assert donated.extra_memory_in_bytes <= plain.extra_memory_in_bytes - 4000


ROUTINES = {
    "cholesky": lambda a: jnp.linalg.cholesky(a @ a.mT), "lu": lambda a: nj.lax.linalg.lu(a),
    "qr": lambda a: jnp.linalg.qr(a), "eigh": lambda a: jnp.linalg.eigh(a), "svd": lambda a: jnp.linalg.svd(a),
    "eig": lambda a: jnp.linalg.eig(a), "schur": lambda a: nj.lax.linalg.schur(a), "inverse": lambda a: jnp.linalg.inv(a),
    "solve": lambda a: jnp.linalg.solve(a, a), "product": lambda a: a @ a,
    "product of columns": lambda a: a.mT[..., :1, :] @ a, "sort of columns": lambda a: jnp.sort(a.real, axis=0),
    "sort of pairs": lambda a: nj.lax.sort((a.real, a.imag), num_keys=2),
    "greatest": lambda a: nj.lax.top_k(a.real, a.shape[-1] // 9 + 1),
    "greatest of columns": lambda a: nj.lax.top_k(a.real.mT, 1), "transform": lambda a: jnp.fft.fft(a)}
SHARED = {
    "tall qr": (lambda a: nj.lax.linalg.qr(a, full_matrices=False), (900, 200)), "flat qr": (jnp.linalg.qr, (200, 900)),
    "batch of qr": (jnp.linalg.qr, (5, 70, 70)), "lu": (lambda a: nj.lax.linalg.lu(a), (300, 500)),
    "batch of lu": (lambda a: nj.lax.linalg.lu(a), (9, 70, 70)), "inverse": (jnp.linalg.inv, (300, 300)),
    "product": (lambda a: a @ a, (500, 500)), "batch of products": (lambda a: a @ a, (30, 120, 120)),
    "greatest": (lambda a: nj.lax.top_k(a, 7), (40, 20000)), "sort": (jnp.sort, (40, 20000))}


def _with_threads(count, fun, a):
    """(predicted, measured) extra memory of a run."""
    nj.config.update("num_threads", count)
    try:
        compiled = nj.jit(fun).lower(a).compile()
        nj.block_until_ready(compiled(a))
        _native.synchronize()
        taken = _native.pool_peak_during(lambda: nj.block_until_ready(compiled(a)))
        return compiled.memory_analysis().extra_memory_in_bytes, taken
    finally:
        nj.config.update("num_threads", None)


@pytest.mark.parametrize(("shape", "dtype"), [((3, 70, 70), "float32"), ((1, 10, 10), "float32"), ((2, 1, 1), "float32"),
                                              ((200, 200), "float32"), ((3, 70, 70), "complex64")])
@pytest.mark.parametrize("name", ROUTINES)
def test_workspaces_are_told_for_every_routine(name, shape, dtype):
    """One thread takes what is predicted."""
    real, imaginary = jnp.array(np.random.default_rng(0).standard_normal((2, *shape)), jnp.float32)
    predicted, taken = _with_threads(1, ROUTINES[name], real + 1j * imaginary if dtype == "complex64" else real)
    assert taken == pytest.approx(predicted, rel=0.05)


@pytest.mark.parametrize("name", SHARED)
def test_threads_take_no_more_than_predicted(name):
    """Two threads take the memory of one to two: whether both are at work at the peak is up to the system."""
    fun, shape = SHARED[name]
    a = jnp.array(np.random.default_rng(0).standard_normal(shape), jnp.float32)
    alone, _ = _with_threads(1, fun, a)
    predicted, _ = _with_threads(2, fun, a)
    assert alone <= predicted
    for _ in range(10):
        assert 0.95 * alone <= _with_threads(2, fun, a)[1] <= 1.05 * predicted


@pytest.mark.parametrize("size", [1, 2, 6, 100, 101, 202, 2048, 2053, 65536, 65537, 150001])
def test_transforms_tell_their_memory(size):
    """One thread: lengths that are short, long and split, odd, and those of a convolution."""
    real = jnp.array(np.random.default_rng(0).standard_normal((3, size)), jnp.float32)
    for fun in (jnp.fft.rfft, lambda a: jnp.fft.fft(a + 0j), lambda a: jnp.fft.irfft(a + 0j, 2 * (size - 1) + size % 2),
                lambda a: jnp.fft.fft(a.T + 0j, axis=0)):
        predicted, taken = _with_threads(1, fun, real)
        assert taken == pytest.approx(predicted, rel=0.05)


def test_the_pool_tells_peaks_of_nested_windows():
    x, add = jnp.zeros(1 << 20, jnp.uint8), nj.jit(lambda x: x + 1)

    def inner():
        return nj.block_until_ready(add(x))
    inner()
    within = []
    outer = _native.pool_peak_during(lambda: within.append(_native.pool_peak_during(inner)))
    assert outer >= within[0] == 1 << 20
    with pytest.raises(ZeroDivisionError):
        _native.pool_peak_during(lambda: 1 / 0)


def test_capacity():
    assert [_native.pool_capacity(n) for n in (0, 1, 65, 1000)] == [64, 64, 128, 1024]
    with pytest.raises(ValueError, match="pool_capacity"):
        _native.pool_capacity(-1)


def test_table(capsys):
    assert memory.main(["elementwise"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert "predicted" in head and row.split()[:3] == ["elementwise", "12.00", "12.00"]
