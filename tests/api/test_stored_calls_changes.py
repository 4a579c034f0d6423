"""Stored calls against whatever a result may depend on: one process stores the call, in another one thing is different.

Each case is a program that defines `f`, and lines that run before the first call of the second process; then those that put
libraries back. The second process must compute what it would compute without a cache.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
from numjet.api import library_state
from numjet.foundation import events
from numjet.foundation.config import config

HEADER = ("import builtins, functools, math, operator, os, sys, types\nimport numpy as np\nimport numjet as nj\n"
          "import numjet.numpy as jnp\nfrom numjet import lax\n")
pytestmark = pytest.mark.filterwarnings("ignore")
X = np.arange(6, dtype=np.float32)
CASES: dict[str, tuple[str, ...]] = {
    "np.pi": ("def f(x): return x*np.pi", "old=np.pi; np.pi=3.0", "np.pi=old"),
    "np func": ("def f(x): return x*np.prod((2,3))", "old=np.prod; np.prod=lambda a:5", "np.prod=old"),
    "np ufunc": ("def f(x): return x*np.sin(2.0)", "old=np.sin; np.sin=np.cos", "np.sin=old"),
    "math.pi": ("def f(x): return x*math.pi", "old=math.pi; math.pi=3.0", "math.pi=old"),
    "math.sin": ("def f(x): return x*math.sin(1.0)", "old=math.sin; math.sin=math.cos", "math.sin=old"),
    "operator": ("def f(x): return operator.add(x,1)", "old=operator.add; operator.add=operator.sub", "operator.add=old"),
    "builtin max": ("def f(x): return x*max(1,2)", "old=builtins.max; builtins.max=builtins.min", "builtins.max=old"),
    "jnp own->own": ("def f(x): return jnp.sin(x)", "old=jnp.sin; jnp.sin=jnp.cos", "jnp.sin=old"),
    "jnp partial": ("def f(x): return jnp.sin(x)", "old=jnp.sin; jnp.sin=functools.partial(jnp.power,2.0)", "jnp.sin=old"),
    "jnp pi": ("def f(x): return x*jnp.pi", "old=jnp.pi; jnp.pi=3.0", "jnp.pi=old"),
    "jnp dtype": ("def f(x): return x.astype(jnp.float32)", "old=jnp.float32; jnp.float32=jnp.float16", "jnp.float32=old"),
    "jnp jitted": ("def f(x): return jnp.sin(x)", "old=jnp.sin; jnp.sin=nj.jit(lambda x: x*7)", "jnp.sin=old"),
    "own imported": ("from numjet.numpy import sin as g\ndef f(x): return g(x)", "from numjet.numpy import cos as g"),
    "frompyfunc": ("u=np.frompyfunc(lambda a:a+1,1,1)\ndef f(x): return x*float(u(1))", "u=np.frompyfunc(lambda a:a+5,1,1)"),
    "structured dtype": (
        "D=np.dtype([('a','f4'),('b','i4')])\n"
        "def f(x): return x*len(D.names[0])",
        "D=np.dtype([('aaa','f4'),('b','i4')])"),
    "dtype metadata": (
        "D=np.dtype('f4',metadata={'k':1})\n"
        "def f(x): return x*D.metadata['k']",
        "D=np.dtype('f4',metadata={'k':2})"),
    "fake class module": (
        "A=type('A',(),{'k':2,'__module__':'numpy'})\n"
        "def f(x): return x*A.k",
        "A=type('A',(),{'k':3,'__module__':'numpy'})"),
    "np scalar subclass": (
        "class F(np.float64):\n"
        "  k=2\n"
        "v=F(1.0)\n"
        "def f(x): return x*v.k",
        "class F(np.float64):\n"
        "  k=3\n"
        "v=F(1.0)"),
    "LOAD_NAME": ("A=2.0\nf=types.FunctionType(compile('jnp.ones(6)*A','','eval'),globals())", "A=3.0"),
    "identity of arrays": ("A=np.ones(6,'f')\nB=np.ones(6,'f')\ndef f(x): return x*(2 if A is B else 3)", "B=A"),
    "identity of partials": (
        "A=functools.partial(jnp.add,1)\n"
        "B=functools.partial(jnp.add,1)\n"
        "def f(x): return x*(2 if A is B else 3)",
        "B=A"),
    "nan sign": ("A=float('nan')\ndef f(x): return x*math.copysign(1.0,A)", "A=-float('nan')"),
    "big int": ("A=10**5000\ndef f(x): return x*(A%7)", "A=10**5000+1"),
    "f.__name__": ("def g(x): return x\ndef f(x): return x*len(g.__name__)", "g.__name__='longer'"),
    "f.__doc__": ("def g(x): return x\ndef f(x): return x*len(g.__doc__ or '')", "g.__doc__='longer'"),
    "__globals__": ("K=[2]\ndef f(x): return x*f.__globals__['K'][0]", "K=[3]"),
    "__dict__ of module": ("K=2\nimport sys\nm=types.ModuleType('m')\nm.k=2\ndef f(x): return x*m.__dict__['k']", "m.k=3"),
    "module attr": ("m=types.ModuleType('m')\nm.k=2\ndef f(x): return x*m.k", "m.k=3"),
    "module getattr": ("m=types.ModuleType('m')\nm.__getattr__=lambda n:2\ndef f(x): return x*m.k", "m.__getattr__=lambda n:3"),
    "closure cell": ("def mk():\n  a=2\n  def f(x): return x*a\n  return f\nf=mk()", "f.__closure__[0].cell_contents=3"),
    "kwdefault": ("def f(x,*,a=2): return x*a", "f.__kwdefaults__={'a':3}"),
    "custom_jvp rule": (
        "@nj.custom_jvp\n"
        "def g(x): return x*2\n"
        "@g.defjvp\n"
        "def _(p,t): return p[0]*2,t[0]*2\n"
        "def f(x): return nj.grad(lambda x:g(x).sum())(x)",
        "@g.defjvp\n"
        "def _(p,t): return p[0]*2,t[0]*5"),
    "custom_vjp rule": (
        "@nj.custom_vjp\n"
        "def g(x): return x*2\n"
        "g.defvjp(lambda x:(x*2,None),lambda r,t:(t*2,))\n"
        "def f(x): return nj.grad(lambda x:g(x).sum())(x)",
        "g.defvjp(lambda x:(x*2,None),lambda r,t:(t*5,))"),
    "own custom_jvp relu": (
        "def f(x): return nj.grad(lambda x:nj.nn.relu(x).sum())(x)",
        "old=nj.nn.relu; nj.nn.relu=lambda x:x*5",
        "nj.nn.relu=old"),
    "batch rule": (
        "from numjet.interpreters import batching\n"
        "import numjet\n"
        "from numjet.lax import sin_p\n"
        "def f(x): return nj.vmap(lax.sin)(x)",
        ""
        "batching.primitive_batchers[sin_p]=lambda a,d:(a[0]*3,d[0])",
        "del batching.primitive_batchers[sin_p]"),
    "jvp rule": (
        "from numjet.interpreters import ad\n"
        "from numjet.lax import sin_p\n"
        "def f(x): return nj.grad(lambda x:lax.sin(x).sum())(x)",
        ""
        "ad.primitive_jvps[sin_p]=lambda p,t:(p[0],t[0]*9)",
        "del ad.primitive_jvps[sin_p]"),
    "array strides": ("W=np.asfortranarray(np.ones((2,3),'f'))\ndef f(x): return x*W.strides[0]", "W=np.ascontiguousarray(W)"),
    "array writeable": ("W=np.ones(3)\ndef f(x): return x*(2 if W.flags.writeable else 3)", "W.flags.writeable=False"),
    "list mutated": ("L=[2]\ndef f(x): return x*L[0]", "L[0]=3"),
    "dict order": ("L={'a':2,'b':3}\ndef f(x): return x*list(L.values())[0]", "L={'b':3,'a':2}"),
    "mutable default": ("def f(x,L=[2]): return x*L[0]", "f.__defaults__[0][0]=3"),
    "environ": ("os.environ['QQ']='2'\ndef f(x): return x*int(os.environ['QQ'])", "os.environ['QQ']='3'"),
    "getenv": ("os.environ['QQ']='2'\ndef f(x): return x*int(os.getenv('QQ'))", "os.environ['QQ']='3'"),
    "class attr": ("class A: k=2\na=A()\ndef f(x): return x*a.k", "A.k=3"),
    "enum": ("import enum\nclass E(enum.Enum): A=2\nE_=E.A\ndef f(x): return x*E_.value", "class E(enum.Enum): A=3\nE_=E.A"),
    "property": ("class A:\n  @property\n  def k(self): return 2\na=A()\ndef f(x): return x*a.k", "A.k=property(lambda s:3)"),
    "lru_cache": ("K=2\n@functools.lru_cache\ndef g(): return K\ndef f(x): return x*g()", "K=3"),
    "singledispatch": (
        "@functools.singledispatch\n"
        "def g(x): return x*2\n"
        "def f(x): return g(x)",
        "@g.register(object)\n"
        "def _(x): return x*3"),
    "iterator": ("it=iter([2,3])\ndef f(x): return x*next(it)", "next(it)"),
    "attrgetter": ("g=operator.attrgetter('pi')\ndef f(x): return x*g(np)", "old=np.pi;np.pi=3.", "np.pi=old"),
    "attrgetter jnp": ("def f(x): return x*operator.attrgetter('pi')(jnp)", "old=jnp.pi;jnp.pi=3.", "jnp.pi=old"),
    "jnp as local": ("def f(x):\n  m=jnp\n  return x*m.pi", "old=jnp.pi;jnp.pi=3.", "jnp.pi=old"),
    "jnp as default": ("def f(x,m=jnp): return x*m.pi", "old=jnp.pi;jnp.pi=3.", "jnp.pi=old"),
    "math as local": ("def f(x):\n  m=math\n  return x*m.pi", "old=math.pi;math.pi=3.", "math.pi=old"),
    "weakref": ("import weakref\nclass A: k=2\na=A()\nr=weakref.ref(a)\ndef f(x): return x*r().k", "A.k=3"),
    "ctypes": ("import ctypes\nc=ctypes.c_int(2)\ndef f(x): return x*c.value", "c.value=3"),
    "generator": ("def gen():\n  yield 2\n  yield 3\ng=gen()\ndef f(x): return x*next(g)", "next(g)"),
    "np.random": ("np.random.seed(0)\ndef f(x): return x*np.random.rand()", "np.random.seed(1)"),
    "rng": ("r=np.random.default_rng(0)\ndef f(x): return x*r.random()", "r=np.random.default_rng(1)"),
    "random state": ("import random\nrandom.seed(0)\ndef f(x): return x*random.random()", "random.seed(1)"),
    "contextvar": ("import contextvars\nv=contextvars.ContextVar('v',default=2)\ndef f(x): return x*v.get()", "v.set(3)"),
    "getattr": ("class A: k=2\ndef f(x): return x*getattr(A,'k')", "A.k=3"),
    "sys.modules": ("m=types.ModuleType('zz');m.k=2;sys.modules['zz']=m\ndef f(x): return x*sys.modules['zz'].k", "m.k=3"),
    "metaclass": ("class M(type):\n  k=2\nclass A(metaclass=M): pass\ndef f(x): return x*A.k", "M.k=3"),
    "static object": (
        "class S:\n"
        "  def __init__(s,k): s.k=k\n"
        "  def __eq__(s,o): return True\n"
        "  def __hash__(s): return 1\n"
        "s=S(2)\n"
        "g=nj.jit(lambda x,s:x*s.k,static_argnums=1)\n"
        "def f(x): return g(x,s)",
        "s=S(3)"),
    "attribute of f": ("def f(x): return x*f.k\nf.k=2", "f.k=3"),
    "wrapped sig": (
        "import inspect\n"
        "def g(x,n): return x*n\n"
        "g2=nj.jit(g,static_argnames='n')\n"
        "def f(x): return g2(x,n=2)",
        "g2=nj.jit(g,static_argnames='n')\n"
        "def f(x): return g2(x,n=3)"),
    "mutates own array": ("B=np.zeros(1,'f')\ndef h(x):\n  B[0]+=1\n  return x\ndef f(x): return h(x)+B[0]", "B[0]=5"),
    "print options": (
        "def f(x): return x*len(str(np.float64(1)/3))",
        "np.set_printoptions(precision=3,legacy='1.13')",
        "np.set_printoptions(precision=8,legacy=False)"),
    "np errstate": (
        "def f(x):\n"
        "  try: v=np.float64(1)/np.float64(0)\n"
        "  except FloatingPointError: v=5.\n"
        "  return x+1/v",
        "np.seterr(all='raise')",
        "np.seterr(divide='warn', over='warn', under='ignore', invalid='warn')"),
    "vectorize": ("g=jnp.vectorize(lambda a:a*2)\ndef f(x): return g(x)", "g=jnp.vectorize(lambda a:a*3)"),
    "np.vectorize": ("g=np.vectorize(lambda a:a*2)\ndef f(x): return x*float(g(1.))", "g=np.vectorize(lambda a:a*3)"),
    "checkpoint": ("K=2\ng=nj.checkpoint(lambda x:x*K)\ndef f(x): return g(x)", "K=3"),
    "named call": ("K=2\ng=nj.named_call(lambda x:x*K)\ndef f(x): return g(x)", "K=3"),
    "pytree global": (
        "from numjet.tree_util import Partial\n"
        "K=Partial(lambda a,x:x*a,2.)\n"
        "def f(x): return K(x)",
        "K=Partial(lambda a,x:x*a,3.)"),
    "comprehension glob": ("K=2\ndef f(x): return sum([x*K for _ in range(2)])", "K=3"),
    "lambda default": ("K=2\ndef f(x): return (lambda a=K: x*a)()", "K=3"),
    "nested def": ("K=2\ndef f(x):\n  def g():\n    def h(): return x*K\n    return h()\n  return g()", "K=3"),
    "global in except": ("def f(x):\n  try: return x*K\n  except NameError: return x", "K=3"),
    "builtin shadow": ("def f(x): return x*len((1,2))", "len=lambda a:5"),
    "module method": ("m=types.ModuleType('m')\nm.s=types.ModuleType('s')\nm.s.k=2\ndef f(x): return x*m.s.k", "m.s.k=3"),
    "__builtins__": ("def f(x): return x*__builtins__['max'](1,2)", "__builtins__={**__builtins__ ,'max':min}"),
    "NotImplemented": ("def f(x): return x*str(K).__len__()\nK=NotImplemented", "K=Ellipsis"),
    "flags x": (
        "def f(x): return x*nj.numpy.zeros(2).dtype.itemsize",
        "nj.config.update('jax_enable_x64',True)",
        "nj.config.update('jax_enable_x64',False)"),
    "prng impl": (
        "def f(x): return x+nj.random.uniform(nj.random.key(0),(6,))",
        "nj.config.update('jax_default_prng_impl','rbg')",
        "nj.config.update('jax_default_prng_impl','threefry2x32')"),
    "own closure state": (
        "from numjet.example_libraries import optimizers\n"
        "i,u,g=optimizers.sgd(0.1)\n"
        "def f(x): return g(u(0,x,i(x)))",
        "i,u,g=optimizers.sgd(0.2)"),
    "pytree registry": (
        "import dataclasses\n"
        "@dataclasses.dataclass\n"
        "class P:\n"
        "  a: object\n"
        "nj.tree_util.register_dataclass(P,['a'],[])\n"
        "def f(x): return nj.tree.map(lambda v:v*2,P(x)).a",
        "class P:\n"
        "  def __init__(s,a): s.a=a\n"
        "nj.tree_util.register_pytree_node(P,lambda p:((p.a,),None),lambda _,c:P(c[0]*3))"),
    "own defaults": (
        "def f(x): return jnp.ones_like(x)*jnp.linspace(0,1).size",
        "import inspect\n"
        "L=inspect.unwrap(jnp.linspace)\n"
        "old=L.__defaults__\n"
        "L.__defaults__=(7,)+old[1:]",
        "L.__defaults__=old"),
    "fake np by wraps": (
        "def f(x): return x * np.prod((2, 3))",
        "old = np.prod; np.prod = functools.wraps(old)(lambda a: 5)",
        "np.prod = old"),
    "fake jnp by wraps": (
        "def f(x): return jnp.sin(x)",
        "old = jnp.sin; jnp.sin = functools.wraps(old)(lambda a: a * 5)",
        "jnp.sin = old"),
    "method of arrays": (
        "nj.core.trace.Tracer.foo = lambda s: s * 2\n"
        "def f(x): return x.foo()",
        "nj.core.trace.Tracer.foo = lambda s: s * 3",
        "del nj.core.trace.Tracer.foo"),
    "operator of arrays": (
        "def f(x): return x * 2",
        "old = nj.core.trace.Tracer.__mul__; nj.core.trace.Tracer.__mul__ = lambda s, o: s + o",
        "nj.core.trace.Tracer.__mul__ = old"),
    "module under a known name": ("m = types.ModuleType('math')\nm.k = 2\ndef f(x): return x * m.k", "m.k = 3"),
    "submodule replaced": (
        "def f(x): return x * jnp.linalg.norm(jnp.ones(4))",
        "old = jnp.linalg; jnp.linalg = types.SimpleNamespace(norm=lambda a: 7.)",
        "jnp.linalg = old"),
    "class of a generator": ("def f(x): return x * np.random.RandomState(S).rand()\nS = 0", "S = 1"),
    "generator class by name": ("from numpy.random import RandomState as R\nS = 0\ndef f(x): return x * R(S).rand()", "S = 1"),
    "constant in an inner function": (
        "def g():\n"
        "    def h(): return 2\n"
        "    return h()\n"
        "def f(x): return x * g()",
        "def g():\n"
        "    def h(): return 3\n"
        "    return h()"),
    "rule of relu": ("def f(x): return nj.nn.relu(x) * K\nK = nj.nn.relu(-1.)", "K = 3."),
    "subclass with super": (
        "class A:\n"
        "    def k(self): return 2\n"
        "class B(A):\n"
        "    def k(self): return super().k()\n"
        "b = B()\n"
        "def f(x): return x * b.k()",
        "A.k = lambda s: 3"),
    "class of its own": ("def f(x):\n    class A: k = K\n    return x * A.k\nK = 2", "K = 3"),
    "reload": (
        "import importlib\n"
        "m = types.ModuleType('users2')\n"
        "exec('def g(x): return x * 2', m.__dict__)\n"
        "def f(x): return m.g(x)",
        "exec('def g(x): return x * 3', m.__dict__)"),
    "bound method": ("class A:\n    k = 2\n    def g(self, x): return x * self.k\ng = A().g\ndef f(x): return g(x)", "A.k = 3"),
    "callable object": (
        "class A:\n"
        "    k = 2\n"
        "    def __call__(self, x): return x * self.k\n"
        "g = A()\n"
        "def f(x): return g(x)",
        "A.k = 3"),
    "decorator": (
        "def scaled(k):\n"
        "    def wrap(g):\n"
        "        @functools.wraps(g)\n"
        "        def inner(x): return g(x) * k\n"
        "        return inner\n"
        "    return wrap\n"
        "@scaled(2)\n"
        "def f(x): return x",
        "@scaled(3)\n"
        "def f(x): return x"),
    "options of an inner jit": (
        "def g(x, n): return x * n\n"
        "h = nj.jit(g, static_argnums=1)\n"
        "def f(x): return x + h(x, 1)",
        "h = nj.jit(lambda x, n: x * n * 2, static_argnums=1)"),
    "custom_vmap rule": (
        "@nj.custom_batching.custom_vmap\n"
        "def g(x): return x * 2\n"
        "@g.def_vmap\n"
        "def _(n, b, x): return x * 2, True\n"
        "def f(x): return nj.vmap(g)(x)",
        "@g.def_vmap\n"
        "def _(n, b, x): return x * 5, True"),
    "name of a global by getattr": ("K = 2\ndef f(x): return x * f.__globals__['K']", "K = 3"),
    "frames": ("import sys\nK = 2\ndef f(x): return x * sys._getframe(0).f_globals['K']", "K = 3"),
    "module in a partial": (
        "g = functools.partial(lambda m, x: x * m.pi, jnp)\n"
        "def f(x): return g(x)",
        "old = jnp.pi; jnp.pi = 3.",
        "jnp.pi = old"),
    "module in a tuple": ("M = (jnp,)\ndef f(x): return x * M[0].pi", "old = jnp.pi; jnp.pi = 3.", "jnp.pi = old"),
}


def run(source: str, change: str = "", restore: str = "") -> tuple[int, Any]:
    """Runs the program as a new process would: how often `f` is traced, and its result or the class of its error."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEADER + source, "/users/program.py", "exec"), scope)
    try:
        exec(compile(change, "/users/change.py", "exec"), scope)
        jitted = nj.jit(scope["f"])
        with events.counting() as grown:
            try:
                out = np.asarray(jitted(X) if scope["f"].__code__.co_argcount else jitted())
            except (TypeError, ValueError, AttributeError) as error:
                out = type(error)
        return grown.get("trace", 0), out
    finally:
        exec(compile(restore, "/users/restore.py", "exec"), scope)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(library_state, "library_types", [])   # what other tests registered, and put in place of rules
    for rule in list(library_state.overridden):
        monkeypatch.delitem(library_state.overridden, rule)
    assert library_state.changed() is None, "another test left the libraries changed"
    before = config.read("numjet_cache")
    config.update("numjet_cache", str(tmp_path / "cache"))
    yield
    config.update("numjet_cache", before)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    return bool(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b)))


@pytest.mark.parametrize("name", CASES)
def test_what_differs_counts(cache, name):
    source, change, *restore = CASES[name]
    before = run(source)[1]
    _, found = run(source, change, *restore)
    config.update("numjet_cache", "0")
    expected = run(source, change, *restore)[1]
    assert not same(before, expected), "the change must change the result"
    assert same(found, expected)
