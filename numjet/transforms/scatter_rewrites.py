"""Arrays that differ in a few places: sums with arrays of zeros but for those, and choices between old and updated ones.

Reverse mode makes a whole array of zeros of every read x[i], to add the cotangent of that one element; `vmap` of a branch
that updates an array makes a choice between two whole arrays. Either costs as much as the array is large. Written as
updates, which may be made in place, they cost what they change:

    c + zeros.at[i].set(v)      ->  c.at[i].set(c[i] + v)
    where(p, x.at[i].set(v), x) ->  x.at[i].set(where(p, v, x[i]))

What changes is the sign of zeros that a zero would have been added to, and the order in which cotangents add up.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Op
from numjet.foundation import dtypes
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

LEAST = 64          # elements of an array for which it matters
SHARE = 2           # an array has at least so many elements for one of an update
SHARE_OF_PAD = 4, 64   # and of a padding along the first axis, or others: what lanes go through is fused better
MOST = 64           # equations between the updates of a choice
_NEUTRAL: dict[Op, Callable[[np.dtype], Any]] = {
    scatter_add_p: lambda dtype: -0.0 if dtypes.kind(dtype) in "fc" else 0, scatter_sub_p: lambda dtype: 0,
    scatter_mul_p: lambda dtype: 1, scatter_min_p: highest, scatter_max_p: lowest}


def write_updates(jaxpr: Jaxpr) -> Jaxpr:
    """The program with such sums, then such choices, written as updates; derivatives of those are updates, too."""
    for op in (add_any_p, select_n_p):
        if any(e.primitive is op and e.outvars[0].aval.size >= LEAST for e in jaxpr.eqns):
            eqns = _Writer(jaxpr.eqns, jaxpr.outvars).written(op)
            if len(eqns) != len(jaxpr.eqns):
                jaxpr, _ = dce_jaxpr(jaxpr.replace(eqns=eqns), keep_inputs=True)
    return jaxpr


class _Writer:
    """Rewrites the equations of one program."""

    def __init__(self, eqns: Sequence[JaxprEqn], outvars: Sequence[Atom]):
        self.eqns = eqns
        self.uses = Counter(a for e in eqns for a in e.invars if isinstance(a, Var))
        self.uses.update(a for a in outvars if isinstance(a, Var))
        self.makers: dict[Var, JaxprEqn] = {v: e for e in eqns for v in e.outvars}
        self.position = {id(e): k for k, e in enumerate(eqns)}
        self.users: dict[Var, list[JaxprEqn]] = {}
        for e in eqns:
            for a in dict.fromkeys(a for a in e.invars if isinstance(a, Var)):
                self.users.setdefault(a, []).append(e)
        self.result: list[JaxprEqn] = []
        self.source: Any = None

    def written(self, op: Op) -> list[JaxprEqn]:
        """The equations, and for those of an operation what takes their place. What is not needed any more is still there."""
        inner = {a for e in self.eqns if e.primitive is add_any_p for a in e.invars if self._adds(a)}
        rule = self._sum if op is add_any_p else self._choice
        for eqn in self.eqns:
            self.source = eqn.source
            mine = eqn.primitive is op and eqn.outvars[0].aval.size >= LEAST and eqn.outvars[0] not in inner
            if not (mine and rule(eqn)):
                self.result.append(eqn)
        return self.result

    def producer(self, a: Atom) -> JaxprEqn | None:
        return self.makers.get(a) if isinstance(a, Var) else None

    def put(self, op: Op, invars: Sequence[Atom], aval: ShapedArray, out: Var | None = None, **params: Any) -> Var:
        """Writes an equation down; its result."""
        out = Var(aval) if out is None else out
        self.result.append(JaxprEqn(op, list(invars), [out], params, self.source))
        return out

    # -- sums
    def _adds(self, a: Atom) -> bool:
        """Is this a sum that nothing but a sum reads?"""
        maker = self.producer(a)
        return maker is not None and maker.primitive is add_any_p and isinstance(a, Var) and self.uses[a] == 1

    def _terms(self, eqn: JaxprEqn) -> list[Atom]:
        """What a tree of sums adds, in order."""
        terms: list[Atom] = []
        todo = list(eqn.invars[::-1])
        while todo:
            a = todo.pop()
            maker = self.producer(a)
            if maker is not None and self._adds(a):
                todo += maker.invars[::-1]
            else:
                terms.append(a)
        return terms

    def _sum(self, eqn: JaxprEqn) -> bool:
        """Writes a sum with terms that are zero but for a few places, if it is one."""
        terms = self._terms(eqn)
        few = [self._few(t) for t in terms]
        if not all(self._is_array(t) for t, f in zip(terms, few, strict=True) if f is None) or None not in few:
            few = [None if f is not None and f.primitive is pad_p else f for f in few]
        if not any(f is not None for f in few) or len(terms) == 1:
            return False
        first = few.index(None) if None in few else 0
        order = [first, *(k for k in range(len(terms)) if k != first)]
        total = terms[first]
        for k in order[1:]:
            out = eqn.outvars[0] if k == order[-1] else None
            term = few[k]
            if term is None:
                total = self.put(add_any_p, [total, terms[k]], eqn.outvars[0].aval, out)
            else:
                total = self._added(total, term, out)
        return True

    def _few(self, a: Atom) -> JaxprEqn | None:
        """The equation that makes an array of zeros but for a few places."""
        eqn = self.producer(a)
        if eqn is None or not isinstance(a, Var) or self.uses[a] != 1:
            return None
        op, params = eqn.primitive, eqn.params
        if op is pad_p:
            low = all(before >= 0 and after >= 0 and between == 0 for before, after, between in params["padding_config"])
            share = SHARE_OF_PAD[any(tuple(one) != (0, 0, 0) for one in params["padding_config"][1:])]
            few = low and self._is_zero(eqn.invars[1]) and share * eqn.invars[0].aval.size <= a.aval.size
            return eqn if few else None
        if op not in (dynamic_update_slice_p, scatter_p, scatter_add_p) or not self._is_zero(eqn.invars[0]):
            return None
        plain = op is not scatter_p or params["unique_indices"] and params["update_jaxpr"] is None
        return eqn if plain and SHARE * _update(eqn).aval.size <= a.aval.size else None

    def _is_array(self, a: Atom) -> bool:
        """Is this in memory? A sum with what is computed goes through whole arrays anyway, and paddings are fused into it."""
        eqn = self.producer(a)
        if eqn is None:
            return True
        if eqn.primitive.part is not None:  # a shifted array, which loops keep where it is
            whole = eqn.invars[0]
            return 4 * whole.aval.size >= 3 * a.aval.size and self._is_array(whole)
        return eqn.primitive.in_place is not None

    def _is_zero(self, a: Atom) -> bool:
        value = splat(a, self.producer)
        return value is not None and value.dtype.names is None and bool(value == 0)

    def _added(self, total: Atom, term: JaxprEqn, out: Var | None) -> Var:
        """total + term."""
        op, aval = term.primitive, term.outvars[0].aval
        if op is pad_p:
            starts: list[Atom] = [Literal(np.int32(low), _INDEX) for low, _, _ in term.params["padding_config"]]
            value = term.invars[0]
            new = self.put(add_any_p, [self._slice(total, value, starts), value], value.aval)
            return self.put(dynamic_update_slice_p, [total, new, *starts], aval, out)
        if op is scatter_add_p:
            return self.put(op, [total, *term.invars[1:]], aval, out, **term.params)
        value = _update(term)
        new = self.put(add_any_p, [self._old(total, term), value], value.aval)
        return self._updated(total, term, new, out)

    # -- choices
    def _choice(self, eqn: JaxprEqn) -> bool:
        """Writes a choice between an array and updates of it, if it is one."""
        which, *cases = eqn.invars
        chains = [self._chain(case) for case in cases]
        shared = [v for v, _ in chains[0] if all(any(v is w for w, _ in chain) for chain in chains[1:])]
        spread = self._spread(which)
        if not shared or spread is None or all(case is cases[0] for case in cases):
            return False
        updates = [_until(chain, shared[0]) for chain in chains]
        every = [e for chain in updates for e in chain]
        axes = [_axes(e, spread[1]) for e in every]
        rows = which.aval.shape[0] if spread[1] else None
        if None in axes or SHARE * sum(_update(e).aval.size for e in every) > shared[0].aval.size:
            return False
        between = [self._between(chain, eqn, rows if spread[1] in ((), (0,)) else 0) for chain in updates]
        if None in between:
            return False
        total: Var = shared[0]
        for k, (chain, others) in enumerate(zip(updates, between, strict=True)):
            seen: dict[Var, Atom] = {}
            left = list(others or ())
            for e in chain:
                while left and self.position[id(left[0])] < self.position[id(e)]:
                    self._again(left.pop(0), seen)
                now = e.replace(invars=[total, *(seen.get(a, a) if isinstance(a, Var) else a for a in e.invars[1:])])
                total = self._masked(total, now, self._mask(spread[0], k), _axes(e, spread[1]) or (),
                                     eqn.outvars[0] if e is every[-1] else None)
                seen[e.outvars[0]] = total
        return True

    def _chain(self, a: Atom) -> list[tuple[Var, JaxprEqn | None]]:
        """An array, what it is an update of, and so on; each with the equation that makes it, if it is an update."""
        chain: list[tuple[Var, JaxprEqn | None]] = []
        while isinstance(a, Var):
            eqn = self.producer(a)
            updates = eqn is not None and (eqn.primitive in _NEUTRAL or eqn.primitive is dynamic_update_slice_p
                                           or eqn.primitive is scatter_p and eqn.params["update_jaxpr"] is None)
            chain.append((a, eqn if updates else None))
            if not updates or eqn is None:
                break
            a = eqn.invars[0]
        return chain

    def _between(self, chain: Sequence[JaxprEqn], choice: JaxprEqn, rows: int | None) -> list[JaxprEqn] | None:
        """The equations between the updates of a chain: what reads one and computes what later ones are given. None if that
        is not all they are there for. rows: if each row is chosen for itself, how many there are: then rows stay apart."""
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
                if len(found) == MOST or e.effects or e.primitive.programs or not _keeps_rows(e, v, rows):
                    return None
                inside.add(id(e))
                found.append(e)
                todo += e.outvars
        return sorted(found, key=lambda e: self.position[id(e)])

    def _again(self, e: JaxprEqn, seen: dict[Var, Atom]) -> None:
        """Writes an equation down once more, for what is in `seen` in place of what that stands for."""
        fresh = [Var(v.aval) for v in e.outvars]
        self.result.append(e.replace(invars=[seen.get(a, a) if isinstance(a, Var) else a for a in e.invars], outvars=fresh))
        seen.update(zip(e.outvars, fresh, strict=True))

    def _spread(self, which: Atom) -> tuple[Atom, tuple[int, ...]] | None:
        """What says which case is chosen, and along which axes of the cases; None where that is an array like them."""
        if which.aval.ndim == 0:
            return which, ()
        eqn = self.producer(which)
        if eqn is None or eqn.primitive is not broadcast_in_dim_p:
            return None
        (given,), dims = eqn.invars, tuple(eqn.params["broadcast_dimensions"])
        same = all(which.aval.shape[d] == n for d, n in zip(dims, given.aval.shape, strict=True))
        return (given, dims) if same and given.aval.ndim < which.aval.ndim else None

    def _mask(self, which: Atom, k: int) -> Atom:
        """Where case k is chosen."""
        aval = which.aval.update(dtype=np.dtype(bool), weak_type=False)
        if which.aval.dtype != np.dtype(bool):
            number: Atom = Literal(np.int32(k), _INDEX)
            if which.aval.ndim:
                number = self.put(broadcast_in_dim_p, [number], which.aval.update(weak_type=False), shape=which.aval.shape,
                                  broadcast_dimensions=())
            return self.put(eq_p, [which, number], aval)
        return which if k else self.put(not_p, [which], aval)

    def _masked(self, total: Var, update: JaxprEqn, mask: Atom, axes: Sequence[int], out: Var | None) -> Var:
        """An update of `total` where a mask holds, which counts along these axes of the updates."""
        value, op = _update(update), update.primitive
        if mask.aval.shape != value.aval.shape:
            mask = self.put(broadcast_in_dim_p, [mask], mask.aval.update(shape=value.aval.shape), shape=value.aval.shape,
                            broadcast_dimensions=tuple(axes))
        if op in _NEUTRAL:
            number = np.asarray(_NEUTRAL[op](value.aval.dtype)).astype(value.aval.dtype)[()]
            scalar = Literal(number, ShapedArray((), value.aval.dtype))
            old: Atom = self.put(broadcast_in_dim_p, [scalar], ShapedArray(value.aval.shape, value.aval.dtype),
                                 shape=value.aval.shape, broadcast_dimensions=())
        else:
            old = self._old(total, update)
        return self._updated(total, update, self.put(select_n_p, [mask, old, value], value.aval), out)

    # -- updates
    def _old(self, x: Atom, update: JaxprEqn) -> Var:
        """What is in x where the update goes."""
        value = _update(update)
        if update.primitive is dynamic_update_slice_p:
            return self._slice(x, value, update.invars[2:])
        numbers, mode = update.params["dimension_numbers"], update.params["mode"]
        sizes = window_sizes(x.aval.shape, value.aval.shape, numbers)
        return self.put(gather_p, [x, update.invars[1]], value.aval, dimension_numbers=as_gather(numbers), slice_sizes=sizes,
                        mode=GatherScatterMode.FILL_OR_DROP if drops(mode) else mode, fill_value=0 if drops(mode) else None,
                        indices_are_sorted=False, unique_indices=False)

    def _slice(self, x: Atom, like: Atom, starts: Sequence[Atom]) -> Var:
        return self.put(dynamic_slice_p, [x, *starts], like.aval, slice_sizes=like.aval.shape)

    def _updated(self, x: Atom, update: JaxprEqn, value: Atom, out: Var | None) -> Var:
        """The same update of another array by another value."""
        place = update.invars[2:] if update.primitive is dynamic_update_slice_p else update.invars[1:2]
        operands = [x, value, *place] if update.primitive is dynamic_update_slice_p else [x, *place, value]
        return self.put(update.primitive, operands, update.outvars[0].aval, out, **update.params)


_INDEX = ShapedArray((), np.dtype(np.int32))


def _update(eqn: JaxprEqn) -> Atom:
    """The new elements of an update."""
    return eqn.invars[1 if eqn.primitive is dynamic_update_slice_p else 2]


def _keeps_rows(eqn: JaxprEqn, read: Var, rows: int | None) -> bool:
    """Does an equation compute each row of its result from the same row of what it reads? Always, if rows is None."""
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
    array, value = update.outvars[0].aval.shape, _update(update).aval.shape
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
