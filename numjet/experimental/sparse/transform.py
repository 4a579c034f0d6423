"""sparsify: functions of arrays as functions of sparse arrays.

Abstract interpretation of the traced program: equations whose operands are dense are evaluated as they are, others by the rule
of their operation in `RULES`. A rule takes values, sparse arrays or dense ones, and the equation's parameters.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

import numjet.numpy as jnp
from numjet import lax
from numjet.control.branches.cond import branch
from numjet.control.branches.cond_op import cond_p
from numjet.control.call.call import jit_p
from numjet.control.call.composite import composite_p
from numjet.control.custom.checkpoint import checkpoint_p
from numjet.control.custom.custom_jvp import custom_jvp_call_p
from numjet.control.custom.custom_vjp_call import custom_vjp_call_p
from numjet.control.loops.scan import scan
from numjet.control.loops.scan_op import scan_p
from numjet.control.loops.while_loop import while_loop
from numjet.control.loops.while_op import while_p
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr, Literal, Var
from numjet.core.stage import trace_to_jaxpr
from numjet.core.trace import Tracer, aval_of
from numjet.experimental.sparse.api import todense, todense_p
from numjet.experimental.sparse.base import JAXSparse
from numjet.experimental.sparse.bcoo import (
    BCOO,
    bcoo_sum_duplicates,
    bcoo_transpose,
    bcoo_update_layout,
    like,
)
from numjet.experimental.sparse.bcoo_products import bcoo_dot_general, bcoo_multiply_sparse, read_at
from numjet.experimental.sparse.bcoo_shapes import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_conv_general_dilated,
    bcoo_dynamic_slice,
    bcoo_gather,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    sum_in_own_dtype,
)
from numjet.experimental.sparse.bcsr import BCSR, bcsr_dot_general
from numjet.experimental.sparse.coo import COO
from numjet.experimental.sparse.csr import CSC, CSR
from numjet.experimental.sparse.spvalues import (
    SparsifyEnv as SparsifyEnv,
    SparsifyValue as SparsifyValue,
    arrays_to_spvalues as arrays_to_spvalues,
    spvalues_to_arrays as spvalues_to_arrays,
)
from numjet.foundation import tree
from numjet.foundation.util import split_list, wraps
from numjet.lax.tangent import add_any_p

Rule = Callable[..., Any]
RULES: dict[Any, Rule] = {}
_DENSE = ("it would result in dense output. If this is your intent, use sparse.todense() to convert your arguments to dense "
          "matrices.")


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _rule(*ops: Any) -> Callable[[Rule], Rule]:
    """Decorator: the rule of these operations."""
    def decorate(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, rule))
        return rule
    return decorate


class _SparseTracerType(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tracer) and x._trace in _sparse_traces


class SparseTracer(metaclass=_SparseTracerType):
    """For isinstance: whether a value is an argument, or made of one, of a function that sparsify traces with use_tracer=True.

    >>> import numjet.numpy as jnp
    >>> sparsify(lambda x: isinstance(x, SparseTracer), use_tracer=True)(jnp.ones(2)).item()
    True
    """


_sparse_traces: WeakSet[Any] = WeakSet()


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """A function of arrays as one that takes sparse arrays (BCOO, BCSR), and gives sparse ones where operations allow it.

    Args:
      f: a function of arrays and pytrees of them. It sees sparse arguments as arrays of their shape and dtype. Keyword
      arguments
        are passed on as they are.
      use_tracer: whether arguments count as SparseTracer. JAX has two implementations, here there is one.

    Raises:
      NotImplementedError: an operation of f has no rule for sparse operands, as its result would be dense.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> sparse.sparsify(lambda x: jnp.sin(x).sum(0))(m)
    BCOO(float32[2], nse=2)
    """
    @wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.tree_flatten(args, is_leaf=_is_sparse)
        leaves = [x if _is_sparse(x) else jnp.asarray(x) for x in leaves]
        results: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            _sparse_traces.update([x._trace for x in xs if use_tracer])
            outs, out_tree = tree.tree_flatten(f(*tree.tree_unflatten(structure, xs), **kwargs), is_leaf=_is_sparse)
            results[:] = [out_tree, outs]
            return [b for x in outs for b in (x._bufs if _is_sparse(x) else (x,))]

        jaxpr, consts = trace_to_jaxpr(flat, [_aval(x) for x in leaves])
        out_tree, outs = results
        values = iter(evaluate(jaxpr, consts, leaves))
        rebuilt = [_rebuilt(x, [todense(next(values)) for _ in x._bufs]) if _is_sparse(x) else next(values) for x in outs]
        return tree.tree_unflatten(out_tree, rebuilt)
    return wrapped


def sparsify_raw(f: Callable[..., Any]) -> Callable[..., Any]:
    """As sparsify, of values by reference: (env, *values) to the list of results, and their structure as a pytree. Results
    share buffers with operands, as sums of arrays with the same indices do.

    >>> import numjet.numpy as jnp
    >>> env = SparsifyEnv([jnp.array([[0], [2]]), jnp.array([1.0, 2.0])])
    >>> outs, structure = sparsify_raw(jnp.negative)(env, env.sparse((3,), data_ref=1, indices_ref=0))
    >>> outs[0].indices_ref
    0
    """
    @wraps(f)
    def wrapped(spenv: SparsifyEnv, *spvalues: Any, **params: Any) -> tuple[list[SparsifyValue], Any]:
        outs = sparsify(f)(*spvalues_to_arrays(spenv, spvalues), **params)
        leaves, structure = tree.tree_flatten(outs, is_leaf=_is_sparse)
        return [spenv.shared(x) for x in leaves], structure
    return wrapped


def _rebuilt(mat: Any, buffers: Sequence[Any]) -> Any:
    """A sparse array that the function made itself, of these buffers."""
    return type(mat).tree_unflatten(mat.tree_flatten()[1], buffers)


def _aval(x: Any) -> ShapedArray:
    return ShapedArray(x.shape, x.dtype) if _is_sparse(x) else aval_of(x)


def evaluate(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """The results of a program for arguments some of which are sparse."""
    env: dict[Var, Any] = {**dict(zip(jaxpr.constvars, consts, strict=True)), **dict(zip(jaxpr.invars, args, strict=True))}
    read = lambda a: a if isinstance(a, Literal) else env[a]
    for eqn in jaxpr.eqns:
        operands = [read(a) for a in eqn.invars]
        if any(map(_is_sparse, operands)):
            outs = _apply(eqn.primitive, [hooks.user_value(x) for x in operands], eqn.params)
        else:
            outs = eqn.primitive.replay(*operands, **eqn.params)
        env.update(zip(eqn.outvars, outs if eqn.primitive.multiple else [outs], strict=True))
    return [hooks.literal_array(a) if isinstance(a, Literal) else env[a] for a in jaxpr.outvars]


def _closed(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    return evaluate(closed.jaxpr, closed.consts, args)


def _as_bcoo(x: Any) -> BCOO:
    """A sparse array of any format as BCOO."""
    if isinstance(x, COO):
        return BCOO((x.data, jnp.stack([x.row, x.col], -1)), shape=x.shape)
    if isinstance(x, (CSR, CSC)):
        rows = BCSR((x.data, x.indices, x.indptr), shape=x._row_shape).to_bcoo()
        return rows.T if isinstance(x, CSC) else rows
    return x.to_bcoo() if isinstance(x, BCSR) else x


def _apply(op: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    if op not in RULES:
        raise NotImplementedError(f"sparse rule for {op.name} is not implemented"
                                  f"{f' because {_DENSE}' if _fills(op, operands, params) else '.'}")
    if op in _HOLDS_PROGRAMS or op is todense_p:
        return RULES[op](*operands, **params)
    rowwise = any(isinstance(x, BCSR) for x in operands)
    if rowwise and op is lax.dot_general_p and isinstance(operands[0], BCSR) and not _is_sparse(operands[1]):
        return bcsr_dot_general(*operands, **params)
    given = [_as_bcoo(x) if _is_sparse(x) else x for x in operands]
    out = RULES[op](*given, **params)
    for x, y in zip(operands, given, strict=True):  # the same elements in the same places
        if isinstance(x, BCSR) and isinstance(out, BCOO) and out.indices is y.indices:
            return BCSR.tree_unflatten(x._info, (out.data, x.indices, x.indptr))
    keeps = rowwise and isinstance(out, BCOO) and out.n_sparse == 2 and op in _KEEPS_ROWS
    return BCSR.from_bcoo(out) if keeps else out


def _fills(op: Any, operands: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether an elementwise operation makes something else of zeros of the sparse operands, beside ones or their negatives."""
    if params or op.multiple:
        return False
    for one in (1, -1):
        try:
            out = op.replay(*[jnp.asarray(0 if _is_sparse(x) else one).astype(x.dtype) for x in operands])
        except (TypeError, ValueError):   # of arrays only, not of numbers
            return False
        if out:
            return True
    return False


# ----------------------------------------------------------------------------- one operand, element by element

_LINEAR = (lax.convert_element_type_p, lax.neg_p, lax.real_p, lax.imag_p, lax.conj_p, lax.reduce_precision_p,
           lax.copy_p)
_ZERO_AT_ZERO = (lax.abs_p, lax.asin_p, lax.asinh_p, lax.atan_p, lax.atanh_p, lax.cbrt_p, lax.ceil_p, lax.erf_p, lax.erf_inv_p,
                 lax.expm1_p, lax.floor_p, lax.log1p_p, lax.round_p, lax.sign_p, lax.sin_p, lax.sinh_p, lax.sqrt_p,
                 lax.square_p, lax.tan_p, lax.tanh_p, lax.population_count_p)


def unique(mat: BCOO) -> BCOO:
    """The array with unique indices: what is no linear function of elements needs their sums."""
    return mat if mat.unique_indices else bcoo_sum_duplicates(mat, mat.nse)


def _of_data(op: Any, linear: bool) -> None:
    def rule(mat: BCOO, **params: Any) -> BCOO:
        mat = mat if linear else unique(mat)
        return like(mat, op.bind(mat.data, **params))
    RULES[op] = rule


for _op in _LINEAR:
    _of_data(_op, True)
for _op in _ZERO_AT_ZERO:
    _of_data(_op, False)


@_rule(lax.integer_pow_p)
def _integer_pow(mat: BCOO, *, y: int) -> BCOO:
    if y <= 0:
        raise NotImplementedError(f"sparse rule for integer_pow with non-positive exponent {y} is not implemented because "
                                  f"{_DENSE}")
    mat = unique(mat)
    return like(mat, lax.integer_pow_p.bind(mat.data, y=y))


@_rule(todense_p)
def _todense(*operands: Any, tree: Any) -> Any:
    return todense(operands[0])


# ----------------------------------------------------------------------------- two operands, element by element

@_rule(lax.mul_p)
def _mul(x: Any, y: Any) -> BCOO:
    if not _is_sparse(x):
        x, y = y, x
    if not _is_sparse(y):
        return like(x, x.data * read_at(x.indices, y, x.shape, x.data))
    if _same_places(x, y):
        return like(x, x.data * y.data)
    return bcoo_multiply_sparse(x, y)


@_rule(lax.div_p)
def _div(x: Any, y: Any) -> BCOO:
    if _is_sparse(y):
        raise NotImplementedError(f"Division by a sparse array is not implemented because {_DENSE}")
    divisor = read_at(x.indices, y, x.shape, x.data)
    return like(x, lax.div(*jnp.broadcast_arrays(x.data, divisor)))


def _same_places(x: BCOO, y: BCOO) -> bool:
    """Whether elements of both stand at the same, different places."""
    return x.indices is y.indices and x.unique_indices and y.unique_indices and x.shape == y.shape


@_rule(lax.add_p, add_any_p)
def _add(x: Any, y: Any) -> Any:
    if not _is_sparse(x):
        x, y = y, x
    if not _is_sparse(y):
        if jnp.shape(y) != x.shape:
            raise NotImplementedError(
                "Addition between a sparse array X and a dense array Y is not implemented when the output shape is larger than "
                "Y.shape, as the result would be dense. If this is your intent, use sparse.todense(X).")
        return todense(x) + y
    if _same_places(x, y):
        return like(x, x.data + y.data)
    n_batch, n_dense = min(x.n_batch, y.n_batch), min(x.n_dense, y.n_dense)
    x, y = (bcoo_update_layout(m, n_batch=n_batch, n_dense=n_dense) for m in (x, y))
    shape, front = x.shape, x.shape[:n_batch]
    whole = lambda b: jnp.broadcast_to(b, front + b.shape[n_batch:])
    data, indices = (jnp.concatenate([whole(a), whole(b)], n_batch) for a, b in zip(x._bufs, y._bufs, strict=True))
    return BCOO((data, indices), shape=shape)


@_rule(lax.sub_p)
def _sub(x: Any, y: Any) -> Any:
    return _add(x, like(y, -y.data) if _is_sparse(y) else -y)


# ------------------------------------------------------------------------------------------------ contraction and axes

@_rule(lax.dot_general_p)
def _dot_general(x: Any, y: Any, *, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    return bcoo_dot_general(x, y, dimension_numbers=dimension_numbers, preferred_element_type=preferred_element_type)


@_rule(lax.conv_general_dilated_p)
def _conv(x: Any, y: Any, *, dimension_numbers: Any, **params: Any) -> BCOO:
    if tuple(dimension_numbers) != ((0, 1, 2),) * 3:
        raise NotImplementedError("sparse rule for conv_general_dilated takes arrays of shape [1, 1, n]")
    return bcoo_conv_general_dilated(x, y, **params)


@_rule(lax.reduce_sum_p)
def _reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> Any:
    out = sum_in_own_dtype(mat, axes)
    return todense(out) if out.shape == () else out


@_rule(lax.transpose_p)
def _transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    return bcoo_transpose(mat, permutation=permutation)


def _plain(op: Any, function: Callable[..., BCOO]) -> None:
    """The rule of an operation whose parameters are the function's."""
    RULES[op] = function


_plain(lax.reshape_p, bcoo_reshape)
_plain(lax.broadcast_in_dim_p, bcoo_broadcast_in_dim)
_plain(lax.squeeze_p, bcoo_squeeze)
_plain(lax.slice_p, bcoo_slice)
_plain(lax.rev_p, bcoo_rev)


@_rule(lax.concatenate_p)
def _concatenate(*mats: Any, dimension: int) -> BCOO:
    if not all(map(_is_sparse, mats)):
        raise NotImplementedError(f"sparse rule for concatenate of sparse and dense arrays is not implemented because {_DENSE}")
    return bcoo_concatenate(mats, dimension=dimension)


@_rule(lax.dynamic_slice_p)
def _dynamic_slice(mat: BCOO, *starts: Any, slice_sizes: Sequence[int]) -> BCOO:
    return bcoo_dynamic_slice(mat, starts, slice_sizes)


@_rule(lax.gather_p)
def _gather(mat: Any, indices: Any, **params: Any) -> BCOO:
    if _is_sparse(indices):
        raise NotImplementedError("sparse indices are not supported: use sparse.todense()")
    return bcoo_gather(mat, indices, **params)


_KEEPS_ROWS = frozenset({*_LINEAR, *_ZERO_AT_ZERO, lax.integer_pow_p, lax.mul_p, lax.div_p, lax.broadcast_in_dim_p,
                         lax.concatenate_p})


# ------------------------------------------------------------------------------------------------ operations that hold programs

@_rule(jit_p, checkpoint_p, composite_p)
def _call(*args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    return _closed(jaxpr, args)


@_rule(custom_jvp_call_p, custom_vjp_call_p)
def _custom(*args: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    return _closed(call_jaxpr, args)


@_rule(cond_p)
def _cond(index: Any, *args: Any, branches: Sequence[ClosedJaxpr]) -> list[Any]:
    functions = [functools.partial(_branch, b) for b in branches]
    if len(branches) == 2:
        return branch("cond", index, functions, ["sparsified false_fun", "sparsified true_fun"], args)
    return branch("switch", index, functions, [f"sparsified branch {i}" for i in range(len(branches))], args)


def _branch(closed: ClosedJaxpr, *args: Any) -> list[Any]:
    return _closed(closed, args)


@_rule(scan_p)
def _scan(*args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int, reverse: bool,
          unroll: Any) -> list[Any]:
    consts, init, xs = split_list(args, [num_consts, num_carry])
    if any(map(_is_sparse, xs)):
        raise NotImplementedError("sparse rule for scan with x values that are sparse: a loop does not read their rows; pass "
                                  "the array as a constant or in the carry")

    def body(carry: Any, x: Any) -> tuple[Any, Any]:
        carry, ys = split_list(_closed(jaxpr, [*consts, *carry, *x]), [num_carry])
        return carry, ys

    carry, ys = scan(body, init, xs, length=length, reverse=reverse, unroll=unroll)
    return [*carry, *ys]


@_rule(while_p)
def _while(*args: Any, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int) -> list[Any]:
    cond_consts, body_consts, init = split_list(args, [cond_nconsts, body_nconsts])
    return while_loop(lambda c: _closed(cond_jaxpr, [*cond_consts, *c])[0], lambda c: _closed(body_jaxpr, [*body_consts, *c]),
                      init)


_HOLDS_PROGRAMS = frozenset({jit_p, checkpoint_p, composite_p, custom_jvp_call_p, custom_vjp_call_p, cond_p, scan_p, while_p})


# ------------------------------------------------------------------------------------------------ operators of sparse arrays

def _swapped(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: f(other, self)


def _astype(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The array with another dtype."""
    return sparsify(lambda x: x.astype(*args, **kwargs))(self)


def _sum(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The sum over axes: sparse, but for the sum of all elements."""
    return sparsify(lambda x: x.sum(*args, **kwargs))(self)


def _reshape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The array in another shape: see bcoo_reshape."""
    return sparsify(lambda x: x.reshape(*args, **kwargs))(self)


def _getitem(self: Any, index: Any) -> Any:
    """Elements and parts, as NumPy gives them; integer arrays that are out of bounds are clamped."""
    return sparsify(lambda x: x.at[index].get(mode="clip") if _has_arrays(index) else x[index])(self)


def _has_arrays(index: Any) -> bool:
    return any(hasattr(x, "ndim") or isinstance(x, list) for x in (index if isinstance(index, tuple) else (index,)))


def _iter(self: Any) -> Any:
    return iter([self[i] for i in range(self.shape[0])])


_OPERATORS: dict[str, Callable[..., Any]] = {
    "__abs__": sparsify(jnp.abs), "__neg__": sparsify(jnp.negative), "__pos__": sparsify(jnp.positive),
    "__matmul__": sparsify(jnp.matmul), "__rmatmul__": _swapped(sparsify(jnp.matmul)),
    "__mul__": sparsify(jnp.multiply), "__rmul__": _swapped(sparsify(jnp.multiply)),
    "__add__": sparsify(jnp.add), "__radd__": _swapped(sparsify(jnp.add)),
    "__sub__": sparsify(jnp.subtract), "__rsub__": _swapped(sparsify(jnp.subtract)),
    "__truediv__": sparsify(jnp.divide), "__rtruediv__": _swapped(sparsify(jnp.divide)),
    "__pow__": lambda self, y: sparsify(lambda x: jnp.power(x, y))(self),
    "__rpow__": lambda self, y: sparsify(lambda x: jnp.power(y, x))(self),
    "__getitem__": _getitem, "__iter__": _iter, "sum": _sum, "astype": _astype, "reshape": _reshape,
}


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a method, with a name and text of its own."""
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, function.__doc__ if name.isalpha() else f"{name} of arrays: see sparsify."
    return method


_COMPARISONS = {"__lt__": jnp.less, "__le__": jnp.less_equal, "__gt__": jnp.greater, "__ge__": jnp.greater_equal,
                "__eq__": jnp.equal, "__ne__": jnp.not_equal}

for _name, _function in _OPERATORS.items():
    for _class in (BCOO, BCSR):
        setattr(_class, _name, _method(_name, _function))
for _name, _function in _COMPARISONS.items():   # which would compare identities
    setattr(BCOO, _name, _method(_name, sparsify(_function)))
