"""Whatever enters a program is copied: no later change of a NumPy array changes a result.

Every kind of call is made twice: with arrays that nobody touches, and with arrays that are scribbled over as soon as the call
has returned, in whatever way the caller may write them. Results, and what is called later (pullbacks, compiled functions), must
agree bit by bit.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
import numjet.scipy.special
from numjet import lax
from numjet.core import hooks
from numjet.core.op import Samples, all_ops
from numjet.core.walk import eval_closed, eval_jaxpr
from numjet.runtime import dispatch
from numjet.testing import records

SIZES = {"small": (4, 6), "large": (512, 600)}  # the large ones run on the queue, after the call has returned


class Kind(NamedTuple):
    """call(*arrays) -> results; or (results, later), where later() gives what is computed after the arrays have changed."""
    name: str
    call: Callable[..., Any]
    later: bool = False
    inputs: str = "f"  # one letter per array: f floats, i indices of rows, m mask of rows, b mask of elements, k seed


KINDS: list[Kind] = []


def kind(inputs: str = "f", later: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(call: Callable[..., Any]) -> Callable[..., Any]:
        KINDS.append(Kind(call.__name__, call, later, inputs))
        return call
    return add


def simple(name: str, call: Callable[..., Any], inputs: str = "f") -> None:
    KINDS.append(Kind(name, call, False, inputs))


# ------------------------------------------------------------------------------------------------ arrays and their writers

class Plain(np.ndarray):
    """A subclass."""


DRESSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "plain": lambda x: x,
    "wide": lambda x: x.astype({"f": np.float64, "i": np.int64}.get(x.dtype.kind, x.dtype)),
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2] if x.ndim else x,
    "turned": lambda x: np.asarray(x, order="F"),
    "swapped": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "subclass": lambda x: x.view(Plain),
    "read_only": lambda x: x,  # what the call gets is a view that may not be written, of memory that may
}


def made(letter: str, shape: tuple[int, int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = shape[0]
    return {"f": lambda: rng.uniform(0.5, 1.5, shape).astype(np.float32),
            "i": lambda: rng.integers(0, rows, rows).astype(np.int32),
            "m": lambda: rng.random(rows) < 0.5, "b": lambda: rng.random(shape) < 0.5,
            "k": lambda: rng.integers(0, 1000, ()).astype(np.int32)}[letter]()


def arrays_for(one: Kind, size: str, dress: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The arrays that a call gets, and those through which they are written."""
    owned = [DRESSES[dress](made(letter, SIZES[size], k)) for k, letter in enumerate(one.inputs)]
    if dress != "read_only":
        return owned, owned
    views = [x.view() for x in owned]
    for v in views:
        v.flags.writeable = False
    return views, owned


def scribble(arrays: list[np.ndarray]) -> None:
    """Other values of the same kind, so that a reader who comes late meets no error but a wrong result."""
    for x in arrays:
        x[...] = {"b": np.logical_not, "i": lambda x: x[::-1].copy() if x.ndim else 3, "f": lambda x: 7.5}[x.dtype.kind](x)


def bits(result: Any) -> list[Any]:
    return [(str(x.dtype), x.shape, x.tobytes()) for x in map(np.asarray, map(bare, nj.tree.leaves(result)))]


def bare(x: Any) -> Any:
    return nj.random.key_data(x) if hasattr(x, "dtype") and nj.dtypes.issubdtype(x.dtype, nj.dtypes.prng_key) else x


def outcome(one: Kind, size: str, dress: str, change: bool) -> tuple[list[Any], list[Any]]:
    given, owned = arrays_for(one, size, dress)
    result = one.call(*given)
    results, later = result if one.later else (result, tuple)
    if change:
        scribble(owned)
    for leaf in nj.tree.leaves(results):
        assert not isinstance(leaf, np.ndarray), f"{one.name} gave back a NumPy array"
    return bits(results), bits(later())


# ------------------------------------------------------------------------------------------------ kinds: single operations

simple("lax_add", lambda x: lax.add(x, x))
simple("lax_dot", lambda x: lax.dot(x, x.T))
simple("lax_reshape_to_itself", lambda x: lax.reshape(x, x.shape))
simple("lax_transpose_to_itself", lambda x: lax.transpose(x, (0, 1)))
simple("lax_transpose", lambda x: lax.transpose(x, (1, 0)))
simple("lax_convert_to_itself", lambda x: lax.convert_element_type(x, np.float32))
simple("lax_broadcast_to_itself", lambda x: lax.broadcast_in_dim(x, x.shape, (0, 1)))
simple("lax_slice_of_all", lambda x: lax.slice(x, (0, 0), x.shape))
simple("lax_stop_gradient", lax.stop_gradient)
simple("lax_barrier", lax.optimization_barrier)
simple("lax_squeeze_nothing", lambda x: lax.squeeze(x, ()))
simple("lax_concatenate_one", lambda x: lax.concatenate([x], 0))
simple("lax_clamp", lambda x: lax.clamp(np.float32(0), x, np.float32(1)))
simple("lax_select", lambda b, x: lax.select(b, x, x), "bf")
simple("lax_rev", lambda x: lax.rev(x, (0,)))
simple("lax_rev_nothing", lambda x: lax.rev(x, ()))
simple("lax_sort", lambda x: lax.sort(x))
simple("lax_cumsum", lambda x: lax.cumsum(x))
simple("lax_dynamic_slice", lambda x: lax.dynamic_slice(x, (0, 0), x.shape))
simple("lax_dynamic_update", lambda x, y: lax.dynamic_update_slice(x, y[:2], (1, 0)), "ff")
simple("jnp_asarray", jnp.asarray)
simple("jnp_array", jnp.array)
simple("jnp_array_no_copy", lambda x: jnp.array(x, copy=False))
simple("jnp_array_of_list", lambda x: jnp.array([x, x]))
simple("jnp_astype", lambda x: jnp.astype(x, jnp.float32))
simple("jnp_add", lambda x: jnp.add(x, x))
simple("jnp_transpose", jnp.transpose)
simple("jnp_ravel", jnp.ravel)
simple("jnp_reshape", lambda x: jnp.reshape(x, (-1,)))
simple("jnp_broadcast_to", lambda x: jnp.broadcast_to(x, x.shape))
simple("jnp_atleast", lambda x: jnp.atleast_2d(x))
simple("jnp_broadcast_arrays", lambda x: jnp.broadcast_arrays(x, x))
simple("jnp_meshgrid", lambda x: jnp.meshgrid(x[0], x[1]))
simple("jnp_where", lambda b, x: jnp.where(b, x, 0.0), "bf")
simple("jnp_matmul", lambda x: x.T @ jnp.asarray(x))
simple("jnp_einsum", lambda x: jnp.einsum("ij,kj->ik", x, x))
simple("jnp_stack", lambda x: jnp.stack([x, x]))
simple("jnp_split", lambda x: jnp.split(x, 2))
simple("jnp_pad_nothing", lambda x: jnp.pad(x, 0))
simple("jnp_real", jnp.real)
simple("jnp_squeeze", jnp.squeeze)
simple("jnp_unique", jnp.unique)
simple("jnp_piecewise", lambda b, x: jnp.piecewise(jnp.asarray(x), [b], [1.0, 2.0]), "bf")
simple("jnp_fft", lambda x: jnp.fft.rfft(x))
simple("jnp_linalg", lambda x: jnp.linalg.norm(x, axis=0))
simple("jnp_from_dlpack", lambda x: jnp.from_dlpack(x if x.dtype.isnative else np.asarray(x, np.float32)))
simple("jnp_frombuffer", lambda x: jnp.frombuffer(np.ascontiguousarray(x).data.cast("B"), np.uint8))
simple("nn_softmax", nj.nn.softmax)
simple("scipy_logsumexp", lambda x: nj.scipy.special.logsumexp(x, axis=0))
simple("device_put", nj.device_put)
simple("device_put_there", lambda x: nj.device_put(x, nj.devices()[0]))
simple("block_until_ready", lambda x: nj.block_until_ready(jnp.asarray(x)))
simple("tree_map", lambda x: nj.tree.map(jnp.asarray, {"a": x, "b": [x]}))
simple("random_key", lambda k: nj.random.key(k), "k")
simple("random_fold_in", lambda k: nj.random.fold_in(nj.random.key(1), k), "k")
simple("random_raw_key", lambda x: nj.random.wrap_key_data(np.ascontiguousarray(x, np.float32).view(np.uint32)[:, :2]))
simple("random_choice", lambda x: nj.random.choice(nj.random.key(0), x))
simple("random_mean", lambda x: nj.random.normal(nj.random.key(0), x.shape) + x)
simple("read_by_indices", lambda x, i: jnp.asarray(x)[i], "fi")
simple("read_by_mask", lambda x, m: jnp.asarray(x)[m], "fm")
simple("read_by_full_mask", lambda x, b: jnp.asarray(x)[b], "fb")
simple("take", lambda x, i: jnp.take(x, i, axis=0), "fi")
simple("take_along", lambda x, i: jnp.take_along_axis(x, i[:, None], axis=0), "fi")
simple("at_set_values", lambda x, y: jnp.asarray(x).at[1:].set(y[1:]), "ff")
simple("at_set_all", lambda x, y: jnp.asarray(x).at[:].set(y), "ff")
simple("at_add_at_indices", lambda x, i, y: jnp.asarray(x).at[i].add(y), "fif")
simple("at_set_at_mask", lambda x, m, y: jnp.asarray(x).at[m].set(y[0]), "fmf")
simple("at_multiply_at_full_mask", lambda x, b: jnp.asarray(x).at[b].multiply(2.0), "fb")
simple("chained_on_queue", lambda x: functools.reduce(lambda a, _: jnp.sin(a) @ x.T @ x, range(3), jnp.asarray(x)))


# ------------------------------------------------------------------------------------------------ kinds: programs

simple("jit_argument", lambda x: nj.jit(jnp.sin)(x))
simple("jit_forwarded_argument", lambda x: nj.jit(lambda a: (a, a))(x))
simple("jit_unused_argument", lambda x: nj.jit(lambda a: jnp.zeros(3))(x))
simple("jit_in_pytree", lambda x: nj.jit(lambda d: d["a"][0] * 2)({"a": [x]}))
simple("jit_partial_argument", lambda x: nj.jit(lambda f: f(1.0))(nj.tree_util.Partial(jnp.add, x)))


@kind()
def jit_second_call(x: np.ndarray) -> Any:
    f = nj.jit(lambda a: jnp.cos(a) + a)
    f(x)
    return f(x)  # by the native cache


@kind(later=True)
def jit_constant(x: np.ndarray) -> Any:
    g = nj.jit(lambda a: lax.dot(a, x))
    ones = jnp.ones((3, x.shape[0]))
    return g(ones), lambda: g(ones)


@kind(later=True)
def jit_constant_returned(x: np.ndarray) -> Any:
    g = nj.jit(lambda a: (x, a, x.T))
    return g(1.0), lambda: g(1.0)


@kind(later=True)
def jit_constant_of_default_argument(x: np.ndarray) -> Any:
    def f(a: Any, w: Any = x) -> Any:
        return a * w
    g = nj.jit(f)
    return g(2.0), lambda: g(2.0)


@kind(later=True)
def jit_constant_through_numpy_layer(x: np.ndarray) -> Any:
    g = nj.jit(lambda a: jnp.sum(jnp.asarray(x) * a) + jnp.add(x, a))
    return g(2.0), lambda: g(2.0)


@kind(later=True)
def jit_constant_inside_jit(x: np.ndarray) -> Any:
    inner = nj.jit(lambda a: lax.mul(x, a))
    g = nj.jit(lambda a: inner(x * 2) + inner(lax.add(x, x)) + a)
    return g(2.0), lambda: g(2.0)


@kind("fi", later=True)
def jit_constant_indices(x: np.ndarray, i: np.ndarray) -> Any:
    a = jnp.asarray(x)
    g = nj.jit(lambda a: (a[i], a.at[i].set(0.0)))
    return g(a), lambda: g(a)


@kind("fm", later=True)
def jit_constant_mask(x: np.ndarray, m: np.ndarray) -> Any:
    a = jnp.asarray(x)
    g = nj.jit(lambda a: (a[m], jnp.where(m[:, None], a, 0.0)))
    return g(a), lambda: g(a)


@kind(later=True)
def aot(x: np.ndarray) -> Any:
    lowered = nj.jit(lambda a: lax.mul(a, x)).lower(1.0)
    compiled = lowered.compile()
    return compiled(1.0), lambda: (compiled(1.0), lowered.compile()(1.0))


@kind(later=True)
def aot_compiled_after_change(x: np.ndarray) -> Any:
    lowered = nj.jit(lambda a: lax.mul(a, x)).lower(1.0)
    return (), lambda: lowered.compile()(1.0)


@kind(later=True)
def make_jaxpr_constants(x: np.ndarray) -> Any:
    closed = nj.make_jaxpr(lambda a: lax.mul(a, x))(1.0)
    run = functools.partial(eval_closed, closed)
    return closed.consts, lambda: (run(1.0), nj.jit(run)(1.0), closed.consts)


@kind(later=True)
def eval_of_a_jaxpr(x: np.ndarray) -> Any:
    closed = nj.make_jaxpr(lambda a: (a, lax.neg(a)))(x)
    f = nj.jit(lambda: eval_jaxpr(closed.jaxpr, closed.consts, x))
    return (f(), nj.vmap(lambda _: eval_jaxpr(closed.jaxpr, (), x))(jnp.zeros(2))), f


@kind(later=True)
def custom_function_under_jit(x: np.ndarray) -> Any:
    @nj.custom_jvp
    def f(a: Any) -> Any:
        return lax.mul(a, x)
    f.defjvp(lambda p, t: (f(*p), lax.mul(t[0], x)))
    g = nj.jit(lambda a: nj.jvp(f, (a,), (a,)))
    a = jnp.ones(x.shape)
    return g(a), lambda: g(a)


# ------------------------------------------------------------------------------------------------ kinds: transformations

simple("grad_argument", lambda x: nj.grad(lambda a: jnp.sum(a * a))(x))
simple("value_and_grad", lambda x: nj.value_and_grad(lambda a: (jnp.sum(lax.mul(a, x)), x), has_aux=True)(x))
simple("grad_of_other_argument", lambda x: nj.grad(lambda a, b: jnp.sum(lax.mul(a, b)))(jnp.asarray(x), x))
simple("jvp_identity", lambda x: nj.jvp(lambda a: a, (x,), (x,)))
simple("jvp", lambda x: nj.jvp(lambda a: lax.mul(a, x), (x,), (x,)))
simple("jacfwd", lambda x: nj.jacfwd(lambda a: lax.mul(a, x[0, :3]))(x[0, :3]))
simple("hessian", lambda x: nj.hessian(lambda a: jnp.sum(a ** 3 * x[0, :3]))(x[0, :3]))
simple("vmap_identity", lambda x: nj.vmap(lambda a: a)(x))
simple("vmap_closed_over", lambda x: nj.vmap(lambda a: lax.mul(a, x[0]))(x))
simple("vmap_result_unmapped", lambda x: nj.vmap(lambda a: x, out_axes=None)(x))
simple("vmap_in_axes_none", lambda x: nj.vmap(lambda a, b: b, in_axes=(0, None), out_axes=None)(x, x))


@kind(later=True)
def vjp_residual(x: np.ndarray) -> Any:
    value, pull = nj.vjp(lambda a: lax.mul(lax.sin(a), x), x)
    return value, lambda: pull(jnp.ones(x.shape))


@kind(later=True)
def vjp_identity(x: np.ndarray) -> Any:
    value, pull = nj.vjp(lambda a: (a, x), x)
    back = pull((x, x)) if x.dtype == np.float32 else None
    return (value, back), lambda: pull((jnp.ones(x.shape), jnp.ones(x.shape)))


@kind(later=True)
def vjp_of_dot(x: np.ndarray) -> Any:
    value, pull = nj.vjp(lax.dot, x, x.T)
    return value, lambda: pull(jnp.ones((x.shape[0], x.shape[0])))


@kind(later=True)
def vjp_of_jit(x: np.ndarray) -> Any:
    value, pull = nj.vjp(nj.jit(lambda a: lax.mul(lax.exp(lax.neg(a)), x)), x)
    return value, lambda: pull(jnp.ones(x.shape))


@kind(later=True)
def linearize(x: np.ndarray) -> Any:
    value, push = nj.linearize(lambda a: lax.mul(lax.sin(a), x), x)
    return value, lambda: push(jnp.ones(x.shape))


@kind(later=True)
def linear_transpose(x: np.ndarray) -> Any:
    transposed = nj.linear_transpose(lambda a: lax.mul(a, x), jnp.ones(x.shape))
    return transposed(x), lambda: transposed(jnp.ones(x.shape))


@kind(later=True)
def custom_vjp_residual(x: np.ndarray) -> Any:
    @nj.custom_vjp
    def f(a: Any) -> Any:
        return lax.sin(a)
    f.defvjp(lambda a: (lax.sin(a), (x, a)), lambda res, ct: (lax.mul(res[0], ct),))
    value, pull = nj.vjp(f, x)
    return value, lambda: pull(jnp.ones(x.shape))


@kind()
def custom_rules_that_return_arrays(x: np.ndarray) -> Any:
    first = np.asarray(x, np.float32)
    f = nj.custom_vjp(lambda a: a)
    f.defvjp(lambda a: (x, None), lambda res, ct: (x,))
    g = nj.custom_jvp(lambda a: a)
    g.defjvp(lambda p, t: (x, first if first is not x else x))
    return f(x), g(x), nj.vjp(f, x)[1](jnp.ones(x.shape)), nj.jvp(g, (x,), (jnp.asarray(x),)), nj.jit(f)(x), nj.jit(g)(x)


@kind(later=True)
def checkpoint(x: np.ndarray) -> Any:
    value, pull = nj.vjp(nj.checkpoint(lambda a: lax.mul(lax.sin(a), x)), x)
    return (value, nj.checkpoint(lambda a: a)(x)), lambda: pull(jnp.ones(x.shape))


# ------------------------------------------------------------------------------------------------ kinds: control flow

simple("scan_xs", lambda x: lax.scan(lambda c, r: (c + r, r), jnp.zeros(x.shape[1]), x))
simple("scan_carry", lambda x: lax.scan(lambda c, _: (lax.mul(c, x[0]), c), x[0], None, length=3))
simple("scan_carry_passed_on", lambda x: lax.scan(lambda c, _: (c, None), x, None, length=2)[0])
simple("scan_of_nothing", lambda x: lax.scan(lambda c, _: (c, None), x, None, length=0)[0])
simple("scan_by_vjp", lambda x: nj.vjp(
    lambda a: lax.scan(lambda c, r: (lax.mul(c, r), c), a[0], x)[0], x)[1](jnp.ones(x.shape[1])))
simple("fori_loop", lambda x: lax.fori_loop(0, 3, lambda i, c: lax.add(c, x), x))
simple("while_loop", lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, lax.add(s[1], x)), (0, x)))
simple("cond_operand", lambda x: lax.cond(True, lambda a: a, lambda a: lax.neg(a), x))
simple("cond_constant", lambda x: lax.cond(True, lambda: x, lambda: lax.neg(x)))
simple("cond_traced", lambda x: nj.jit(lambda p: lax.cond(p, lambda a: a, lambda a: lax.neg(x), x))(True))
simple("cond_mapped", lambda x: nj.vmap(lambda p: lax.cond(p, lambda a: a, lambda a: lax.neg(x), x))(jnp.array([True, False])))
simple("switch", lambda x: lax.switch(1, [lambda a: a, lambda a: a, lambda a: lax.neg(a)], x))
simple("map", lambda x: lax.map(lambda r: lax.mul(r, x[0]), x))
simple("associative_scan", lambda x: lax.associative_scan(lax.add, x))
simple("associative_scan_of_one", lambda x: lax.associative_scan(lax.add, x[:1]))
simple("reduce", lambda x: lax.reduce(x, np.float32(0), lax.add, (0,)))
simple("custom_root_constant", lambda x: nj.jit(lambda a: lax.custom_linear_solve(
    lambda v: lax.mul(v, x), a, lambda mv, b: lax.div(b, x), symmetric=True))(jnp.ones(x.shape)))


@kind(later=True)
def scan_constant_eagerly(x: np.ndarray) -> Any:
    """The loop is remembered with its function; every call reads the array anew."""
    def body(c: Any, _: Any) -> Any:
        return lax.add(c, x), np.sum(x)
    result = lax.scan(body, jnp.zeros(x.shape), None, length=2)
    return result, tuple


# ------------------------------------------------------------------------------------------------ kinds: callbacks

def shape_of(x: np.ndarray) -> Any:
    return nj.ShapeDtypeStruct(x.shape, np.float32)


simple("pure_callback_operand", lambda x: nj.pure_callback(lambda a: np.asarray(a) * 2, shape_of(x), x))
simple("pure_callback_result", lambda x: nj.block_until_ready(nj.pure_callback(lambda: x, shape_of(x))))
simple("pure_callback_result_in_jit", lambda x: nj.block_until_ready(
    nj.jit(lambda: nj.pure_callback(lambda: x, shape_of(x)))()))
simple("pure_callback_operand_in_jit", lambda x: nj.block_until_ready(
    nj.jit(lambda: nj.pure_callback(lambda a: np.asarray(a) * 2, shape_of(x), x))()))
simple("io_callback", lambda x: nj.block_until_ready(nj.io_callback(lambda a: x, shape_of(x), x)))
simple("pure_callback_mapped", lambda x: nj.block_until_ready(nj.vmap(
    lambda r: nj.pure_callback(lambda a: a, nj.ShapeDtypeStruct(r.shape, np.float32), r, vmap_method="expand_dims"))(x)))


# ------------------------------------------------------------------------------------------------ the test over the table

def dresses(number: int, scale: int) -> Iterator[str]:
    """All of them at full scale, else two, in turn."""
    names = list(DRESSES)
    yield from names if scale > 1 else (names[number % len(names)], names[(number * 3 + 1) % len(names)])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("number", range(len(KINDS)), ids=[k.name for k in KINDS])
def test_no_later_change_of_an_array_changes_a_result(number, size, scale):
    one = KINDS[number]
    for dress in dict.fromkeys(dresses(number, scale)):
        with np.errstate(all="ignore"):
            assert outcome(one, size, dress, True) == outcome(one, size, dress, False), (one.name, dress)


# ------------------------------------------------------------------------------------------------ what the copies cost

def test_a_large_constant_is_copied_once(monkeypatch):
    copies = []
    real = hooks.host_array
    monkeypatch.setattr(hooks, "host_array", lambda x, aval: copies.append(x.shape) or real(x, aval))
    w = np.ones((300, 400), np.float32)
    inner = nj.jit(lambda a: lax.mul(w, a))

    def body(c, _):
        return lax.add(c, w), jnp.sum(lax.mul(c, w))

    g = nj.jit(lambda a: inner(a) + jnp.asarray(w) + jnp.add(w, a) + lax.scan(body, lax.mul(w, a), None, length=2)[0])
    g(1.0), g(2.0), g(jnp.ones(w.shape))
    assert copies == [w.shape]


def test_a_change_while_a_function_is_traced_is_seen():
    w = np.zeros(100, np.float32)

    def f(a):
        before = lax.add(w, a)
        w[:] = 1
        after = lax.add(w, a), jnp.asarray(w) + jnp.add(a, w)
        w[:] = 0
        return before, after

    before, after = nj.jit(f)(1.0)
    assert (before[0], after[0][0], after[1][0]) == (1, 2, 3)


def test_loops_outside_of_jit_read_their_arrays_anew():
    w, pair = np.ones(3, np.float32), (np.ones(3), 2.0)

    def body(c, _):
        return lax.add(c, w), np.sum(w) + pair[0][0]

    def run():
        carry, sums = lax.scan(body, jnp.zeros(3), None, length=2)
        return [float(carry[0]), float(sums[0])]

    assert run() == [2, 4]
    w[:] = 5
    assert run() == [10, 16]
    pair[0][:] = 2
    assert run() == [10, 17]
    w[:], pair[0][:] = 1, 1
    assert run() == [2, 4]


def test_copies_are_forgotten_with_their_arrays():
    from numjet.core import snapshots

    count = len(snapshots._copies)
    for n in range(50):
        w = np.full((n + 1, 7), n, np.float32)
        nj.jit(lambda a, w=w: lax.mul(w, a))(1.0)
    del w
    nj.clear_caches()
    assert len(snapshots._copies) <= count + 1


# ------------------------------------------------------------------------------------------------ constants of the wrong type

@pytest.mark.parametrize("value", [
    np.linspace(1.0, 2, 64).reshape(8, 8), np.arange(64), np.arange(64).astype(np.uint64), np.linspace(0, 1, 64) * 1j,
    np.arange(64.0).astype(">f8"), np.arange(128.0)[::2], np.zeros(64, [("float0", "V")]), np.ones(64, np.float16),
    np.array([0, 1, 2, 255] * 16, np.uint8).view(bool),
], ids=lambda v: str(v.dtype))
def test_constants_of_64_bits_and_of_none(value):
    def with_rule(f):
        f = nj.custom_jvp(f)
        f.defjvp(lambda p, t: (f(*p), f(*p)))
        return f

    expected = np.asarray(jnp.asarray(value))
    wanted = expected.astype(bool) if expected.dtype == bool else expected
    number = value.dtype.names is None
    programs = {
        "result": nj.jit(lambda x: value)(1.0), "both": nj.jit(lambda x: (value, x))(1.0)[0],
        "mapped": nj.vmap(lambda x: (x, value))(jnp.ones(3))[1][1],
        "xs": nj.jit(lambda x: lax.scan(lambda c, r: (c, r), x, value)[1])(1.0),
        "carry": nj.jit(lambda x: lax.scan(lambda c, r: (c, None), value, None, length=2)[0])(1.0),
        "while": nj.jit(lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1]), (0, value))[1])(1.0),
        "cond": nj.jit(lambda p: lax.cond(p, lambda v: v, lambda v: v, value))(True),
        "branches": nj.jit(lambda p: lax.cond(p, lambda: value, lambda: value))(True),
        "custom": nj.jit(with_rule(lambda x: value))(1.0),
        "checkpoint": nj.jit(nj.checkpoint(lambda x: value))(1.0),
        "aux": nj.grad(lambda x: (x, value), has_aux=True)(1.0)[1],
        "inner": nj.jit(lambda x: nj.jit(lambda: value)())(1.0),
    }
    if number:
        promise = nj.ShapeDtypeStruct(value.shape, expected.dtype)
        programs["callback"] = nj.jit(lambda: nj.pure_callback(lambda: value, promise))()
    if expected.dtype.kind in "fc":
        pull = nj.jit(lambda x: nj.vjp(lambda a: lax.mul(a, value), x)[1])(expected)
        programs["residual"] = pull(np.ones(value.shape, expected.dtype))[0]
    for name, got in programs.items():
        assert np.asarray(got).tobytes() == wanted.tobytes() and got.dtype == expected.dtype, name


@pytest.mark.parametrize("platform", ["cpu", "xla_cpu"])
def test_a_constant_that_is_not_of_its_type_is_refused(platform):
    if platform != "cpu":
        pytest.importorskip("jaxlib")
    device = nj.devices(platform)[0]
    closed = nj.make_jaxpr(lambda x: lax.mul(x, np.ones((8, 8), np.float32)))(1.0)
    for wrong in (np.ones((8, 8)), np.ones(8, np.float32), np.ones((8, 8), np.int32)):
        with pytest.raises(TypeError, match=r"a constant of type .* stands for a variable of type float32"):
            dispatch.compile_closed(closed.replace(consts=[wrong]), device=device)


@pytest.mark.parametrize("value", [
    np.zeros(2, "V4"), np.zeros(2, [("a", "f4")]), np.rec.array([(1, 2.0)]), np.arange(3, dtype=np.longdouble),
    np.arange(3, dtype=np.clongdouble), np.array([1, None], object), np.array(["a"]), np.array(["2020-01-01"], "M8[D]"),
    np.zeros((), [("a", "f4")])[()],
], ids=lambda v: str(v.dtype))
def test_arrays_of_other_dtypes_are_refused_everywhere(value):
    calls = [jnp.asarray, nj.jit(lambda x: x), nj.device_put, lambda v: nj.jit(lambda: v)(), lax.neg,
             nj.vmap(lambda x: x), nj.grad(lambda x: 0.0), lambda v: lax.scan(lambda c, x: (c, x), 0.0, v),
             lambda v: jnp.add(v, 1), lambda v: jnp.zeros(3).at[:1].set(v)]
    for call in calls:
        with pytest.raises(TypeError):
            call(value)


def test_masked_arrays_are_refused_everywhere():
    calls = [jnp.asarray, nj.jit(lambda x: x), nj.device_put, lambda v: nj.jit(lambda: v)(), lax.neg, nj.vmap(lambda x: x),
             lambda v: jnp.add(v, 1), lambda v: jnp.zeros(3).at[:].set(v), lambda v: jnp.add(1.0, v),
             lambda v: jnp.array([v, v]), nj.grad(jnp.sum), lambda v: lax.scan(lambda c, x: (c, x), 0.0, v),
             lambda v: jnp.arange(5)[v.astype(int)],
             lambda v: jnp.zeros(3) + v, lambda v: jnp.sum(v), lambda v: jnp.zeros(3)[v > 1]]
    for number, call in enumerate(calls):
        for value in (np.ma.array([1.0, 2, 3], mask=[0, 1, 0]), np.ma.array([1.0, 2, 3])):
            with pytest.raises(ValueError, match="masked arrays are not supported"):
                print(number, call(value))
    with pytest.raises(ValueError, match="masked arrays are not supported"):
        jnp.add(1, np.ma.masked)


# ------------------------------------------------------------------------------------------------ every operation there is

@pytest.mark.parametrize("op", [op for op in all_ops().values() if isinstance(op.samples, Samples)], ids=lambda op: op.name)
def test_no_operation_gives_back_its_operands_memory(op, scale):
    for case in range(min(len(records.grid(op)), 2 * scale)):
        params = records.grid(op)[case][1]
        given, kept = (records.made_operands(op, case, np.random.default_rng(case)) for _ in range(2))
        given = [np.array(x) for x in given]
        result = op.bind(*given, **params)
        for x in given:
            x[...] = np.zeros((), x.dtype)
        assert not any(isinstance(r, np.ndarray) for r in nj.tree.leaves(result))
        assert bits(result) == bits(op.bind(*kept, **params))
