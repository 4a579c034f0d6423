"""Scatter rewrites: sums with arrays that are zero but for a few elements, and choices between an array and updates of it.

Reverse mode makes a full array of zeros for every read x[i], to add the cotangent of that one element; `vmap` of a branch
that updates an array makes a choice between two full arrays. Either costs as much as the array is large. Written as
updates, which may be made in place, they cost as much as the elements that change:

    c + zeros.at[i].set(v)      ->  c.at[i].set(c[i] + v)
    where(p, x.at[i].set(v), x) ->  x.at[i].set(where(p, v, x[i]))

The rewrites change the sign of zeros that a zero would have been added to, and the order in which cotangents add up.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Op
from numjet.core.walk import use_counts
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension
from numjet.lax.elementwise.bitwise import not_p
from numjet.lax.elementwise.compare import eq_p, select_n_p
from numjet.lax.indexing.dimension_numbers import GatherScatterMode, as_gather, drops, window_sizes
from numjet.lax.indexing.dynamic_slicing import dynamic_slice_p, dynamic_update_slice_p
from numjet.lax.indexing.gather import gather_p
from numjet.lax.indexing.scatter import scatter_add_p, scatter_max_p, scatter_min_p, scatter_mul_p, scatter_p, scatter_sub_p
from numjet.lax.indexing.slicing import slice_p
from numjet.lax.reduction.reduce import highest, lowest
from numjet.lax.rewrites import splat
from numjet.lax.shape.join import pad_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, reshape_p, squeeze_p
from numjet.lax.tangent import add_any_p
from numjet.transforms.dce import dce_jaxpr

LEAST_SIZE = 64          # elements of an array for which a rewrite pays
SHARE = 2                # an array has at least this many elements for one of an update
SHARE_OF_PAD = 4, 64     # the same for a padding along the first axis, or others: those that lanes go through fuse better
MANY_PADDINGS = 8        # terms of a sum: in a loop over all elements each would be asked for its part
MOST_BETWEEN = 64        # equations between the updates of a choice
_NEUTRAL: dict[Op, Callable[[np.dtype], Any]] = {
    scatter_add_p: lambda dtype: -0.0 if dtypes.kind(dtype) in "fc" else 0, scatter_sub_p: lambda dtype: 0,
    scatter_mul_p: lambda dtype: 1, scatter_min_p: highest, scatter_max_p: lowest}


def write_updates(jaxpr: Jaxpr) -> Jaxpr:
    """The program with such sums, then such choices, written as updates; derivatives of those are updates, too."""
    for op, rewriter in ((add_any_p, _Sums), (select_n_p, _Choices)):
        if any(e.primitive is op and _pays(e) for e in jaxpr.eqns):
            eqns = rewriter(jaxpr).rewritten(op)
            if len(eqns) != len(jaxpr.eqns):
                jaxpr, _ = dce_jaxpr(jaxpr.replace(eqns=eqns), keep_inputs=True)
    return jaxpr


def _pays(eqn: JaxprEqn) -> bool:
    """Whether an equation makes an array for which a rewrite pays; of arrays of unknown sizes nothing is said."""
    size = eqn.outvars[0].aval.size
    return not isinstance(size, Dimension) and size >= LEAST_SIZE


class _Rewriter:
    """Rewrites the equations of one program by the `rule` of a subclass."""

    def __init__(self, jaxpr: Jaxpr):
        self.eqns = jaxpr.eqns
        self.uses = use_counts(jaxpr)
        self.makers: dict[Var, JaxprEqn] = {v: e for e in jaxpr.eqns for v in e.outvars}
        self.result: list[JaxprEqn] = []
        self.source: Any = None

    def rewritten(self, op: Op) -> list[JaxprEqn]:
        """The equations, those of one operation in their new form. Dead code elimination removes the others' leftovers."""
        for eqn in self.eqns:
            self.source = eqn.source
            if eqn.primitive is not op or not _pays(eqn) or not self.rule(eqn):
                self.result.append(eqn)
        return self.result

    def rule(self, eqn: JaxprEqn) -> bool:
        """Writes the new form of an equation if it has one."""
        raise NotImplementedError

    def producer(self, a: Atom) -> JaxprEqn | None:
        return self.makers.get(a) if isinstance(a, Var) else None

    def put(self, op: Op, invars: Sequence[Atom], aval: ShapedArray, out: Var | None = None, **params: Any) -> Var:
        """Writes an equation down; its result."""
        out = Var(aval) if out is None else out
        self.result.append(JaxprEqn(list(invars), [out], op, params, source_info=self.source))
        return out

    def filled(self, value: Literal, shape: tuple[int, ...]) -> Var:
        return self.put(broadcast_in_dim_p, [value], ShapedArray(shape, value.aval.dtype), shape=shape, broadcast_dimensions=())

    # -- updates
    def old(self, x: Atom, update: JaxprEqn) -> Var:
        """The elements of x that an update replaces."""
        value = _new_elements(update)
        if update.primitive is dynamic_update_slice_p:
            return self.slice(x, value, update.invars[2:])
        numbers, mode = update.params["dimension_numbers"], update.params["mode"]
        sizes = window_sizes(x.aval.shape, value.aval.shape, numbers)
        return self.put(gather_p, [x, update.invars[1]], value.aval, dimension_numbers=as_gather(numbers), slice_sizes=sizes,
                        mode=GatherScatterMode.FILL_OR_DROP if drops(mode) else mode, fill_value=0 if drops(mode) else None,
                        indices_are_sorted=False, unique_indices=False)

    def slice(self, x: Atom, like: Atom, starts: Sequence[Atom]) -> Var:
        return self.put(dynamic_slice_p, [x, *starts], like.aval, slice_sizes=like.aval.shape)

    def updated(self, x: Atom, update: JaxprEqn, value: Atom, out: Var | None) -> Var:
        """The same update of another array by another value."""
        is_slice = update.primitive is dynamic_update_slice_p
        operands = [x, value, *update.invars[2:]] if is_slice else [x, update.invars[1], value]
        return self.put(update.primitive, operands, update.outvars[0].aval, out, **update.params)


class _Sums(_Rewriter):
    """Trees of sums: the terms that are arrays come first, then the sparse terms update the total."""

    def __init__(self, jaxpr: Jaxpr):
        super().__init__(jaxpr)
        self.inner = {a for e in jaxpr.eqns if e.primitive is add_any_p for a in e.invars if self._is_inner(a)}

    def _is_inner(self, a: Atom) -> bool:
        """Whether a value is a sum that only another sum reads."""
        maker = self.producer(a)
        return maker is not None and maker.primitive is add_any_p and isinstance(a, Var) and self.uses[a] == 1

    def rule(self, eqn: JaxprEqn) -> bool:
        if eqn.outvars[0] in self.inner:
            return False
        terms = self._terms(eqn)
        sparse = self._sparse_terms(terms)
        if not any(sparse) or len(terms) == 1:
            return False
        first = sparse.index(None) if None in sparse else 0
        total, others = terms[first], [k for k in range(len(terms)) if k != first]
        for k in others:
            out, term = eqn.outvars[0] if k == others[-1] else None, sparse[k]
            total = (self._added(total, term, out) if term is not None else
                     self.put(add_any_p, [total, terms[k]], eqn.outvars[0].aval, out))
        return True

    def _terms(self, eqn: JaxprEqn) -> list[Atom]:
        """The terms of a tree of sums, in order."""
        terms: list[Atom] = []
        todo = list(eqn.invars[::-1])
        while todo:
            a = todo.pop()
            if isinstance(a, Var) and a in self.inner:
                todo += self.makers[a].invars[::-1]
            else:
                terms.append(a)
        return terms

    def _sparse_terms(self, terms: Sequence[Atom]) -> list[JaxprEqn | None]:
        """Per term the equation that makes it from zeros; None for others, and for paddings that are better added: a few, which
        fuse with what computes other terms."""
        found = [self._sparse(t) for t in terms]
        if sum(f is not None and f.primitive is pad_p for f in found) > MANY_PADDINGS:
            return found
        if None in found and all(self._is_stored(t) for t, f in zip(terms, found, strict=True) if f is None):
            return found
        return [None if f is not None and f.primitive is pad_p else f for f in found]

    def _sparse(self, a: Atom) -> JaxprEqn | None:
        """The equation that makes an array of zeros but for a few elements."""
        eqn = self.producer(a)
        if eqn is None or not isinstance(a, Var) or self.uses[a] != 1:
            return None
        op, params = eqn.primitive, eqn.params
        if op is pad_p:
            grows = all(before >= 0 and after >= 0 and between == 0 for before, after, between in params["padding_config"])
            share = SHARE_OF_PAD[any(tuple(one) != (0, 0, 0) for one in params["padding_config"][1:])]
            few = grows and self._is_zero(eqn.invars[1]) and share * eqn.invars[0].aval.size <= a.aval.size
            return eqn if few else None
        if op not in (dynamic_update_slice_p, scatter_p, scatter_add_p) or not self._is_zero(eqn.invars[0]):
            return None
        plain = op is not scatter_p or params["unique_indices"] and params["update_jaxpr"] is None
        return eqn if plain and SHARE * _new_elements(eqn).aval.size <= a.aval.size else None

    def _is_stored(self, a: Atom) -> bool:
        """Whether an array is in memory. A sum with a computed array visits all elements anyway, and paddings fuse into it."""
        eqn = self.producer(a)
        if eqn is None:
            return True
        if eqn.primitive.part is not None:  # a shifted array, which loops keep where it is
            operand = eqn.invars[0]
            return 4 * operand.aval.size >= 3 * a.aval.size and self._is_stored(operand)
        return eqn.primitive.in_place is not None

    def _is_zero(self, a: Atom) -> bool:
        value = splat(a, self.producer)
        return value is not None and value.dtype.names is None and bool(value == 0)

    def _added(self, total: Atom, term: JaxprEqn, out: Var | None) -> Var:
        """total + a sparse term."""
        op, aval = term.primitive, term.outvars[0].aval
        if op is scatter_add_p:
            return self.put(op, [total, *term.invars[1:]], aval, out, **term.params)
        if op is pad_p:
            starts: list[Atom] = [Literal(np.int32(low), _INDEX) for low, _, _ in term.params["padding_config"]]
            value = term.invars[0]
            new = self.put(add_any_p, [self.slice(total, value, starts), value], value.aval)
            return self.put(dynamic_update_slice_p, [total, new, *starts], aval, out)
        value = _new_elements(term)
        new = self.put(add_any_p, [self.old(total, term), value], value.aval)
        return self.updated(total, term, new, out)


Chain = list[tuple[Var, "JaxprEqn | None"]]


class _Choices(_Rewriter):
    """Choices between updates of one array: the updates of all cases follow each other, each masked by its case."""

    def __init__(self, jaxpr: Jaxpr):
        super().__init__(jaxpr)
        self.position = {id(e): k for k, e in enumerate(jaxpr.eqns)}
        self.users: dict[Var, list[JaxprEqn]] = {}
        for e in jaxpr.eqns:
            for a in dict.fromkeys(a for a in e.invars if isinstance(a, Var)):
                self.users.setdefault(a, []).append(e)

    def rule(self, eqn: JaxprEqn) -> bool:
        which, *cases = eqn.invars
        base, updates = self._updates_of_one_array(cases)
        selector = self._selector(which)
        if base is None or selector is None or all(case is cases[0] for case in cases):
            return False
        given, dims = selector
        every = [e for chain in updates for e in chain]
        if any(_axes(e, dims) is None for e in every):
            return False
        if SHARE * sum(_new_elements(e).aval.size for e in every) > base.aval.size:
            return False
        rows = None if not dims else which.aval.shape[0] if dims == (0,) else 0
        between = [self._between(chain, eqn, rows) for chain in updates]
        if None in between:
            return False
        total = base
        for k, (chain, others) in enumerate(zip(updates, between, strict=True)):
            total = self._write_case(total, chain, others or [], partial(self._mask, given, k), dims, every[-1],
                                     eqn.outvars[0])
        return True

    def _updates_of_one_array(self, cases: Sequence[Atom]) -> tuple[Var | None, list[list[JaxprEqn]]]:
        """The array of which all cases are updates (None: there is none), and these updates in order."""
        chains = [self._chain(case) for case in cases]
        shared = [v for v, _ in chains[0] if all(any(v is w for w, _ in chain) for chain in chains[1:])]
        return (shared[0], [_until(chain, shared[0]) for chain in chains]) if shared else (None, [])

    def _chain(self, a: Atom) -> Chain:
        """An array, the array that it is an update of, and so on; each with the equation of the update, if there is one."""
        chain: Chain = []
        while isinstance(a, Var):
            eqn = self.producer(a)
            updates = eqn is not None and (eqn.primitive in _NEUTRAL or eqn.primitive is dynamic_update_slice_p
                                           or eqn.primitive is scatter_p and eqn.params["update_jaxpr"] is None)
            chain.append((a, eqn if updates else None))
            if not updates or eqn is None:
                break
            a = eqn.invars[0]
        return chain

    def _selector(self, which: Atom) -> tuple[Atom, tuple[int, ...]] | None:
        """The array of case numbers before it is broadcast, and its axes in the cases; None if it is as large as the cases."""
        if which.aval.ndim == 0:
            return which, ()
        eqn = self.producer(which)
        if eqn is None or eqn.primitive is not broadcast_in_dim_p:
            return None
        (given,), dims = eqn.invars, tuple(eqn.params["broadcast_dimensions"])
        same = all(which.aval.shape[d] == n for d, n in zip(dims, given.aval.shape, strict=True))
        return (given, dims) if same and given.aval.ndim < which.aval.ndim else None

    def _between(self, chain: Sequence[JaxprEqn], choice: JaxprEqn, rows: int | None) -> list[JaxprEqn] | None:
        """The equations between the updates of a chain: those that read one and compute operands of later ones. None if the
        updates have other readers. rows: their number where each row is chosen by itself, so that rows must stay apart."""
        inside = {id(e) for e in (*chain, choice)}
        found: list[JaxprEqn] = []
        todo = [e.outvars[0] for e in chain]
        if todo and self.uses[todo[-1]] != 1:
            return None
        while todo:
            v = todo.pop()
            users = self.users.get(v, [])
            if self.uses[v] != sum(a is v for e in users for a in e.invars):
                return None  # a result of the program
            for e in (e for e in users if id(e) not in inside):
                if len(found) == MOST_BETWEEN or e.effects or e.primitive.programs or not _keeps_rows(e, v, rows):
                    return None
                inside.add(id(e))
                found.append(e)
                todo += e.outvars
        return sorted(found, key=lambda e: self.position[id(e)])

    def _write_case(self, total: Var, chain: Sequence[JaxprEqn], between: list[JaxprEqn], mask: Callable[[], Atom],
                    dims: tuple[int, ...], last: JaxprEqn, out: Var) -> Var:
        """Writes the masked updates of one case, and copies of the equations between them. out: the result of the last one."""
        renamed: dict[Var, Atom] = {}
        read = lambda a: renamed.get(a, a) if isinstance(a, Var) else a
        for e in chain:
            while between and self.position[id(between[0])] < self.position[id(e)]:
                copied = between.pop(0)
                results = [v.copy() for v in copied.outvars]
                self.result.append(copied.replace(invars=list(map(read, copied.invars)), outvars=results))
                renamed.update(zip(copied.outvars, results, strict=True))
            update = e.replace(invars=[total, *map(read, e.invars[1:])])
            total = self._masked(total, update, mask(), _axes(e, dims) or (), out if e is last else None)
            renamed[e.outvars[0]] = total
        return total

    def _mask(self, which: Atom, k: int) -> Atom:
        """Where case k is chosen."""
        aval = which.aval.update(dtype=np.dtype(bool), weak_type=False)
        if which.aval.dtype == np.dtype(bool):
            return which if k else self.put(not_p, [which], aval)
        number = Literal(np.int32(k), _INDEX)
        return self.put(eq_p, [which, self.filled(number, which.aval.shape) if which.aval.ndim else number], aval)

    def _masked(self, total: Var, update: JaxprEqn, mask: Atom, axes: Sequence[int], out: Var | None) -> Var:
        """An update of `total` where a mask holds, whose axes are these axes of the new elements."""
        value, op = _new_elements(update), update.primitive
        if mask.aval.shape != value.aval.shape:
            mask = self.put(broadcast_in_dim_p, [mask], mask.aval.update(shape=value.aval.shape), shape=value.aval.shape,
                            broadcast_dimensions=tuple(axes))
        if op in _NEUTRAL:
            number = np.asarray(_NEUTRAL[op](value.aval.dtype)).astype(value.aval.dtype)[()]
            kept = self.filled(Literal(number, ShapedArray((), value.aval.dtype)), value.aval.shape)
        else:
            kept = self.old(total, update)
        return self.updated(total, update, self.put(select_n_p, [mask, kept, value], value.aval), out)


_INDEX = ShapedArray((), np.dtype(np.int32))


def _new_elements(eqn: JaxprEqn) -> Atom:
    """The operand of an update that holds its new elements."""
    return eqn.invars[1 if eqn.primitive is dynamic_update_slice_p else 2]


def _keeps_rows(eqn: JaxprEqn, read: Var, rows: int | None) -> bool:
    """Whether an equation computes each row of its result from the same row of the variable `read`; true if rows is None."""
    if rows is None:
        return True
    op, params = eqn.primitive, eqn.params
    if any(not v.aval.shape or v.aval.shape[0] != rows for v in (read, *eqn.outvars)):
        return False
    if op is gather_p:
        numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
        apart = 0 in numbers.operand_batching_dims or sizes[0] == rows and 0 not in numbers.start_index_map
        return apart and eqn.invars[0] is read
    if op in (dynamic_slice_p, slice_p):
        return eqn.invars[0] is read
    if op is broadcast_in_dim_p:
        return params["broadcast_dimensions"][:1] == (0,)
    if op is squeeze_p:
        return 0 not in params["dimensions"]
    if op is reshape_p:
        return params.get("dimensions") is None
    return bool(op.elementwise)


def _until(chain: Sequence[tuple[Var, JaxprEqn | None]], base: Var) -> list[JaxprEqn]:
    """The updates of `base` that a chain ends in, in order."""
    found = []
    for v, eqn in chain:
        if v is base or eqn is None:
            break
        found.append(eqn)
    return found[::-1]


def _axes(update: JaxprEqn, dims: Sequence[int]) -> tuple[int, ...] | None:
    """The axes of an update's new elements that go along whole axes of the array."""
    array, value = update.outvars[0].aval.shape, _new_elements(update).aval.shape
    found: list[int] = []
    for d in dims:
        if update.primitive is dynamic_update_slice_p:
            axis = d
        else:
            numbers = update.params["dimension_numbers"]
            windows = [k for k in range(len(array)) if k not in (*numbers.inserted_window_dims, *numbers.operand_batching_dims)]
            if d in numbers.operand_batching_dims:
                others = [k for k in range(len(value)) if k not in numbers.update_window_dims]
                axis = others[numbers.scatter_indices_batching_dims[numbers.operand_batching_dims.index(d)]]
            elif d in windows:
                axis = numbers.update_window_dims[windows.index(d)]
            else:
                return None
        if value[axis] != array[d]:
            return None
        found.append(axis)
    return tuple(found) if prod(value) and found == sorted(found) else None
