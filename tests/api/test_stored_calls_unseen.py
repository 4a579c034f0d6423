"""Stored calls against changes that hide: attributes read by their names, memory that arrays share, libraries that somebody
changed, settings of Python, and traces that the process holds. As in test_stored_calls_changes.py."""
from __future__ import annotations

import pytest

from numjet.foundation.config import config
from tests.api.test_stored_calls_changes import cache as cache, run, same

pytestmark = pytest.mark.filterwarnings("ignore")
CASES: dict[str, tuple[str, ...]] = {
    # attributes that are read by their names, or show what others hold
    "attrgetter of a function": (
        "K = [2]\ndef g(x): return x\ndef f(x): return x * operator.attrgetter('__globals__')(g)['K'][0]", "K[0] = 3"),
    "attrgetter by another name": (
        "from operator import attrgetter as get\nK = [2]\ndef g(x): return x\n"
        "def f(x): return x * get('__globals__')(g)['K'][0]", "K[0] = 3"),
    "methodcaller": (
        "K = [2]\ndef g(x): return x\n"
        "def f(x): return x * operator.methodcaller('__getattribute__', '__globals__')(g)['K'][0]", "K[0] = 3"),
    "format": ("K = 2\ndef g(x): return x\ndef f(x): return x * float('{0.__globals__[K]}'.format(g))", "K = 3"),
    "format_map": ("K = 2\ndef g(x): return x\ndef f(x): return x * float('{g.__globals__[K]}'.format_map({'g': g}))", "K = 3"),
    "class pattern": (
        "K = [2]\n"
        "def g(x): return x\n"
        "def f(x):\n"
        "    match g:\n"
        "        case object(__globals__=scope): return x * scope['K'][0]\n"
        "    return x", "K[0] = 3"),
    "base of an array": ("B = np.arange(10.)\nA = B[::2]\ndef f(x): return x * A.base[1]", "B[1] = 9"),
    "writes into shared memory": (
        "B = np.ones(3)\n"
        "A = B[:]\n"
        "def f(x):\n"
        "    A[0] += 1\n"
        "    v = float(B[0])\n"
        "    A[0] -= 1\n"
        "    return x * v", "A = B.copy()"),
    "owner of an array": ("B = np.ones(3)\nA = B[:]\ndef f(x): return x * (2 if A.flags.owndata else 3)", "A = B.copy()"),
    "letter of a dtype": ("A = np.ones(3, 'q')\ndef f(x): return x * ord(A.dtype.char)", "A = np.ones(3, 'l')"),
    "identity of tuples": ("A = tuple([1, 2])\nB = tuple([1, 2])\ndef f(x): return x * (2 if A is B else 3)", "B = A"),
    "identity of numbers": ("A = float('2.5')\nB = float('2.5')\ndef f(x): return x * (2 if A is B else 3)", "B = A"),
    "attribute of a function of jnp": (
        "jnp.sin.foo = 2\ndef f(x): return x * jnp.sin.foo", "jnp.sin.foo = 3", "del jnp.sin.foo"),
    "known attribute of a function of lax": (
        "lax.scan.size = 2\nS = lax.scan\ndef f(x): return x * S.size", "lax.scan.size = 3", "del lax.scan.size"),
    "attribute of a function of NumPy": (
        "np.sum.size = 2\ndef f(x): return x * np.sum.size", "np.sum.size = 3", "del np.sum.size"),
    # libraries that somebody changed
    "number in the class of arrays": (
        "T = nj.core.trace.Tracer\nT.foo = 2\ndef f(x): return x * x.foo", "T.foo = 3", "del T.foo"),
    "method of the class of arrays for another": (
        "T = nj.core.trace.Tracer\nold = T.__mul__\ndef f(x): return x * 3", "T.__mul__ = T.__add__", "T.__mul__ = old"),
    "partial method of arrays": (
        "T = nj.core.trace.Tracer\nT.foo = functools.partialmethod(lambda s, k: s * k, 2)\ndef f(x): return x.foo()",
        "T.foo = functools.partialmethod(lambda s, k: s * k, 3)", "del T.foo"),
    "method of a class of NumPy": (
        "old = np.poly1d.__call__\ndef f(x): return x * float(np.poly1d([1., 2.])(2))",
        "np.poly1d.__call__ = lambda s, x: 9.", "np.poly1d.__call__ = old"),
    "function that another one calls": (
        "M = sys.modules[nj.nn.softmax.__module__]\nold = M._softmax, M._plain_softmax\ndef f(x): return nj.nn.softmax(x)",
        "M._softmax = M._plain_softmax = lambda x, *a, **k: x * 7", "M._softmax, M._plain_softmax = old"),
    "function of a package that another one calls": (
        "def f(x): return x * nj.nn.initializers.he_normal()(nj.random.key(0), (6, 6)).sum()",
        "oldn = nj.random.normal, nj.random.truncated_normal\n"
        "nj.random.normal = nj.random.truncated_normal = lambda *a, **k: jnp.ones((6, 6))",
        "nj.random.normal, nj.random.truncated_normal = oldn"),
    "class under a name of numjet's": (
        "a = type('A', (), {'k': 2, '__module__': 'numjet.x'})()\ndef f(x): return x * a.k",
        "a = type('A', (), {'k': 3, '__module__': 'numjet.x'})()"),
    "operation under a name of numjet's": (
        "A = type('Op', (), {'size': 2, '__module__': 'numjet.core.op'})\na = A()\na.name = 'z'\na.l = [1]\n"
        "def f(x): return x * a.size", "A.size = 3"),
    "code under a name of numjet's": (
        "K = 2\nexec(compile('def g(x): return x * K', nj.__file__, 'exec'))\ndef f(x): return g(x)", "K = 3"),
    "own object with more than a dictionary": (
        "_, back = nj.vjp(lambda x: x * 2, jnp.arange(6.))\ndef f(x): return back(x)[0]",
        "_, back = nj.vjp(lambda x: x * 3, jnp.arange(6.))"),
    # settings
    "warnings as errors": (
        "import warnings\n"
        "before = list(warnings.filters)\n"
        "def f(x):\n"
        "    try: v = float(np.float64(1) / np.float64(0))\n"
        "    except RuntimeWarning: v = 5.\n"
        "    return x + 1 / v", "warnings.simplefilter('error')", "warnings.filters[:] = before; warnings._filters_mutated()"),
    "longest texts of numbers": (
        "before = sys.get_int_max_str_digits()\n"
        "def f(x):\n"
        "    try: return x * len(str(10 ** 4999))\n"
        "    except ValueError: return x", "sys.set_int_max_str_digits(0)", "sys.set_int_max_str_digits(before)"),
    # traces of the same process
    "trace of an inner function, older than a global": (
        "K = 2\n"
        "h = nj.jit(lambda x: x * K)\n"
        "h(np.arange(6, dtype='f'))\n"
        "K = 3\n"
        "def f(x): return h(x)", "h = nj.jit(lambda x: x * K)"),
    "trace of an inner function in the second process": (
        "K = 3\nh = nj.jit(lambda x: x * K)\ndef f(x): return h(x)", "K = 2\nh(np.arange(6, dtype='f'))\nK = 3"),
    "trace below a derivative": (
        "K = 2\n"
        "h = nj.jit(lambda x: (x * K).sum())\n"
        "nj.grad(h)(np.arange(6, dtype='f'))\n"
        "K = 3\n"
        "def f(x): return nj.grad(h)(x)", "h = nj.jit(lambda x: (x * K).sum())"),
    "trace of the same function": (
        "K = 2\ndef f(x): return x * K\nnj.jit(f)(np.arange(6, dtype='f'))\nK = 3",
        "f = types.FunctionType(f.__code__, globals())"),
    "number of traces": ("h = nj.jit(lambda x: x * 2)\ndef f(x): return x * h._cache_size()", "h(1.); h(2)"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_differs_counts(cache, name):
    source, change, *restore = CASES[name]
    before = run(source)[1]
    _, found = run(source, change, *restore)
    config.update("numjet_cache", "0")
    expected = run(source, change, *restore)[1]
    assert not same(before, expected), "the change must change the result"
    assert same(found, expected)


def test_what_a_trace_writes_is_written_by_every_process(cache, tmp_path):
    for method in ("tofile", "dump"):
        path = tmp_path / method
        for _ in range(2):
            run(f"P = {str(path)!r}\nA = np.ones(3)\ndef f(x):\n    A.{method}(P)\n    return x * 2")
            assert path.exists()
            path.unlink()


def test_numpys_own_error_handler_is_called_by_every_process(cache):
    source = ("L = types.ModuleType('l')\nL.calls = 0\n"
              "def count(*args): L.calls += 1\n"
              "def f(x):\n    np.float64(1) / np.float64(0)\n    return x + K\n"
              "K = 0\nold = np.seterr(all='call')\nnp.seterrcall(count)")
    restore = "np.seterrcall(None)\nnp.seterr(**old)\nassert L.calls == 1"
    for _ in range(2):
        run(source, "", restore)


# Programs that are the same in another process, though they look like those above.
SAME = {
    "keys in order":
        "def f(x):\n    d = {'a': x, 'b': x * 2}\n    return sum([d[k] for k in d.keys()]) + len(sorted(d.keys()))",
    "builtin functions of NumPy": "def f(x): return x + np.arange(6., dtype='f') * float(np.dot(2.0, 3.0))",
    "constant set": "def f(x): return x * (2 if 'a' in {'a', 'b'} else 3)",
    "inner function that was called": "h = nj.jit(lambda x: x * 2)\nh(np.arange(6, dtype='f'))\ndef f(x): return h(x) + 1",
    "inner functions below a derivative":
        "g = nj.jit(lambda x: x * 2)\nh = nj.jit(lambda x: g(x).sum())\nnj.grad(h)(np.arange(6, dtype='f'))\n"
        "def f(x): return nj.grad(h)(x) + g(x)",
    "inner function with a static argument":
        "h = nj.jit(lambda x, n: x * n, static_argnums=1)\nh(np.arange(6, dtype='f'), 2)\ndef f(x): return h(x, 2) + h(x, 3)",
    "parts of arrays": "B = np.arange(12.).reshape(3, 4)\nA = B[1:]\ndef f(x): return x * A.T.sum() + B[0, 0]",
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same_is_not_traced(cache, name):
    first = run(SAME[name])
    assert first[0] >= 1
    second = run(SAME[name])
    assert second[0] == 0 and same(first[1], second[1])
