"""Tapes of library functions give what the functions give for other values than those that they were recorded with."""
from __future__ import annotations

import functools
import inspect
import re
import warnings
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from benchmarks.function_calls import LINALG, NUMPY, SIGNAL, SPECIAL, STATS, Arrays, arrays
from numjet import _native
from numjet.api import eager_plans
from numjet.numpy.core import taped
from numjet.scipy import linalg, signal, special, stats
from numjet.transforms.inline import write_out_calls

MODULES = {"np": jnp, "special": special, "linalg": linalg, "stats": stats, "signal": signal}
EAGER = _native.EagerFunction
NAMED = set(" ".join([*taped._OF_NUMBERS.values(), *taped._OF_ARRAYS.values()]).split())


def _has_tapes(text: str) -> bool:
    names = re.findall(r"(np|special|linalg|stats|signal)\.([a-z]\w*(?:\.[a-z]\w*)?)", text)
    functions = [functools.reduce(lambda x, part: getattr(x, part, None), n.split("."), MODULES[m]) for m, n in names]
    return bool(names) and all(n in NAMED or type(f) is EAGER for (_, n), f in zip(names, functions, strict=True))


def _other(host: Arrays) -> Arrays:
    """Zeros, signs, infinities, NaN, and integers out of all bounds in place of the values."""
    changed = {}
    for name, x in host._asdict().items():
        x = x.copy()
        flat = x.reshape(-1)
        if x.dtype.kind in "fc":
            flat[:] = np.resize([0.0, -0.0, np.inf, -np.inf, np.nan, -2.0, 3.0, 1e-40, 0.5], flat.size)
        elif x.dtype.kind == "i":
            flat[:] = np.resize([0, -1, 2**31 - 1, -2**31, 7, 3, 1, 200], flat.size)
        else:
            flat[:] = ~flat
        changed[name] = x
    return Arrays(**changed)


def _outcome(call: Any, operands: list[Any]) -> Any:
    try:
        return nj.tree.map(lambda x: np.asarray(x).tobytes() if isinstance(x, nj.Array) else x, call(*operands)), None
    except Exception as error:
        return None, (type(error), str(error))


TEXTS = [text for text in (*NUMPY, *SPECIAL, *LINALG, *STATS, *SIGNAL) if _has_tapes(text)]
assert len(TEXTS) > 250


@pytest.mark.parametrize("part", range(4))
def test_other_values(part):
    host = arrays(8, 4, 8, 4)
    first, second = ([jnp.asarray(v) for v in given] for given in (host, _other(host)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for text in TEXTS[part::4]:
            call = eval(f"lambda {', '.join(Arrays._fields)}: {text}", dict(MODULES))
            eager_plans.clear_tapes()
            expected = _outcome(call, second)
            eager_plans.clear_tapes()
            for _ in range(3):
                _outcome(call, first)
            assert _outcome(call, second) == expected, text


def test_functions_that_run_without_python(one_platform):
    """Compositions are one tape each."""
    x, i, mask = jnp.linspace(0.1, 0.9, 8), jnp.arange(1, 9), jnp.arange(8) % 2 == 0
    calls = {special.log_ndtr: (x,), special.gamma: (x,), special.xlogy: (x, x), special.betaln: (x, x), special.erf: (x,),
             jnp.frexp: (x,), jnp.fmax: (x, x), jnp.packbits: (mask,), jnp.unravel_index: (i, (10, 10)), jnp.nanmax: (x,),
             jnp.heaviside: (x, x), jnp.gradient: (x,), jnp.polyder: (x,), jnp.isin: (i, i[:3]), jnp.argsort: (x,),
             jnp.lexsort: ((x, i),), jnp.full: ((8,), x[0]), special.gammainc: (x, x)}
    for fun, args in calls.items():
        fun = getattr(fun, "_call", fun)
        fun._clear_cache()
        for _ in range(2):
            fun(*args)
        assert fun._tape_count() == 1, fun


def test_distributions_matrices_and_transforms_run_without_operations(one_platform):
    x, q = jnp.linspace(0.1, 0.9, 8), jnp.eye(4)
    calls = {stats.norm.logpdf: (x, 2.0, 3.0), stats.beta.pdf: (x, x, 2.0), stats.poisson.pmf: (jnp.arange(8), x),
             linalg.toeplitz: (x,), linalg.block_diag: (q, x), linalg.cholesky: (q,), linalg.hilbert: (4,),
             jnp.fft.fft: (x,), jnp.fft.irfft: (x, 10), jnp.fft.fftfreq: (8,), signal.stft: (x, 1.0, "hann", 8),
             jnp.insert: (x, 3, 1.0)}
    for fun, args in calls.items():
        fun._clear_cache()
        for _ in range(2):
            fun(*args)
        assert fun._tape_count() == 1, fun


def test_functions_of_functions_have_no_tapes():
    """A function may give something else next time."""
    factor = [1.0]
    image = lambda v: factor[0] * v
    first = [linalg.funm(jnp.eye(3), image)[0, 0].real.item() for _ in range(3)]
    factor[0] = 2.0
    assert first == [1.0] * 3 and linalg.funm(jnp.eye(3), image)[0, 0].real.item() == 2.0
    remove = lambda v: factor[0] * v
    x = jnp.arange(8.0)
    for _ in range(3):
        before = signal.welch(x, nperseg=8, detrend=remove)[1]
    factor[0] = 4.0
    np.testing.assert_allclose(signal.welch(x, nperseg=8, detrend=remove)[1], 4 * before, rtol=1e-5)


def test_functions_keep_their_face():
    assert type(special.erf) is EAGER and special.erf.__module__.startswith("numjet.scipy.special")
    assert str(inspect.signature(special.boxcox)) == "(x: 'Any', lmbda: 'Any') -> 'Any'"
    for _ in range(4):
        special.expi(jnp.ones(3))
    assert special.expi._tape_count() == 0   # a loop: it runs as one program
    np.testing.assert_allclose(nj.grad(special.xlogy)(2.0, 3.0), np.log(3), rtol=1e-6)
    np.testing.assert_allclose(nj.vmap(special.log_ndtr)(jnp.ones(3)), special.log_ndtr(1.0), rtol=1e-6)
    assert [e.primitive.name for e in nj.make_jaxpr(special.erf)(1.0).eqns] == ["erf"]


def test_calls_are_written_out():
    @nj.custom_jvp
    def f(x):
        return nj.jit(lambda y: y * table)(x)
    f.defjvp(lambda p, t: (f(*p), t[0]))
    table = jnp.arange(3.0)
    closed = nj.make_jaxpr(lambda x: f(f(x)) + 1)(jnp.ones(3))
    flat, consts = write_out_calls(closed.jaxpr, closed.consts)
    assert [e.primitive.name for e in flat.eqns] == ["mul", "mul", "add"] and len(flat.constvars) == len(consts)
    out, = nj.core.eval_jaxpr(flat, consts, jnp.ones(3))
    np.testing.assert_array_equal(out, np.arange(3.0)**2 + 1)
    assert len({v for e in flat.eqns for v in e.outvars}) == 3
