"""Functions exported for many shapes: shapes with symbolic dimensions, and programs made for the sizes of a call."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from numjet.api.stages import ShapeDtypeStruct, abstract
from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.foundation.dimension import Dimension, is_symbolic
from numjet.foundation.symbolic.dims import Size, SymbolicDim, substituted
from numjet.foundation.symbolic.parse import parse_shape
from numjet.foundation.symbolic.scope import SymbolicScope
from numjet.foundation.symbolic.solve import Axis
from numjet.foundation.tree import broadcast_prefix, tree_flatten, tree_unflatten
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.dimension import dim_as_value_p


def symbolic_shape(shape_spec: str | None, *, constraints: Sequence[str] = (), scope: SymbolicScope | None = None,
                   like: Sequence[int | None] | None = None) -> tuple[Size, ...]:
    """A shape with symbolic dimensions, for the ShapeDtypeStructs that a function is exported for.

    shape_spec: sizes with commas between them: numbers, variables, and expressions of them with `+`, `-`, `*`, `^`,
    `floordiv(a, b)`, `mod(a, b)`, `max(a, b)` and `min(a, b)`; `_` is the size of that axis of `like`, and `...` stands for
    the others. None: all of `like`.
    constraints: what holds for the variables, see SymbolicScope; or scope: the scope that they belong to. Default: a new one.
    Variables are at least 1. Raises ValueError for other text.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> from numjet import export
    >>> rows, columns = export.symbolic_shape("n, 2*m")
    >>> rows * columns, columns // 2
    (2*m*n, m)
    >>> e = export.export(nj.jit(jnp.sum))(nj.ShapeDtypeStruct((rows, columns), "float32"))
    >>> float(e.call(jnp.ones((3, 4)))), float(e.call(jnp.ones((2, 2))))
    (12.0, 4.0)
    """
    if shape_spec is None:
        shape_spec = "..."
    if not isinstance(shape_spec, str):
        raise ValueError(f"A polymorphic shape spec should be None or a string such as 'a, 2*b', got {shape_spec!r}")
    return parse_shape(shape_spec, _scope(constraints, scope, "symbolic_shape"), like)


def symbolic_args_specs(args: Any, shapes_specs: Any, constraints: Sequence[str] = (),
                        scope: SymbolicScope | None = None) -> Any:
    """ShapeDtypeStructs with symbolic shapes for arguments: what `export.export(f)` is called with.

    shapes_specs: a pytree of texts, see `symbolic_shape`, or a prefix of one; None and `...` take sizes from the arguments.
    constraints, scope: as for `symbolic_shape`; all variables are of one scope.

    >>> import numjet.numpy as jnp
    >>> symbolic_args_specs((jnp.ones((2, 3)), jnp.ones(3)), ("a, b", "b"))
    (ShapeDtypeStruct(shape=(a, b), dtype=float32), ShapeDtypeStruct(shape=(b,), dtype=float32))
    """
    common = _scope(constraints, scope, "symbolic_args_specs")
    leaves, tree = tree_flatten(args)
    is_spec = lambda x: x is None or isinstance(x, str)
    prefix = tuple(shapes_specs) if isinstance(shapes_specs, list) and isinstance(args, tuple) else shapes_specs
    specs = broadcast_prefix(prefix, args, is_leaf=is_spec)
    found = [abstract(x) for x in leaves]
    return tree_unflatten(tree, [ShapeDtypeStruct(symbolic_shape(spec, scope=common, like=a.shape), a.dtype)
                                 for spec, a in zip(specs, found, strict=True)])


def _scope(constraints: Sequence[str], scope: SymbolicScope | None, caller: str) -> SymbolicScope:
    if scope is None:
        return SymbolicScope(constraints)
    if constraints:
        raise ValueError(f"{caller}: give constraints or a scope, which has its own constraints, not both")
    return scope


def is_symbolic_dim(p: Any) -> bool:
    """Whether a size is symbolic.

    >>> is_symbolic_dim(symbolic_shape("a")[0]), is_symbolic_dim(3)
    (True, False)
    """
    return isinstance(p, SymbolicDim)


def common_scope(paths: Sequence[str], avals: Sequence[ShapedArray], fun_name: str) -> SymbolicScope | None:
    """The scope of the dimensions in the arguments of a function; None without symbolic dimensions. ValueError for two."""
    first: tuple[str, SymbolicScope] | None = None
    for path, aval in zip(paths, avals, strict=True):
        for n in aval.shape:
            if not isinstance(n, SymbolicDim):
                continue
            if first is None:
                first = path, n.scope
            elif n.scope is not first[1]:
                raise ValueError(f"Invalid mixing of symbolic scopes when exporting {fun_name}.\nExpected current (from "
                                 f"{first[0]}) {first[1]}\nand found for '{n}' ({path}) {n.scope}\nMake all symbolic shapes of "
                                 "a function with one scope: symbolic_shape(..., scope=scope), or symbolic_args_specs.")
    return None if first is None else first[1]


def axes_of(paths: Sequence[str], specs: Sequence[ShapedArray], shapes: Sequence[Sequence[Size]]) -> list[Axis]:
    """The axes of the arguments that have symbolic sizes, with the sizes of a call."""
    return [Axis(f"{path}.shape[{k}]", spec, size)
            for path, aval, shape in zip(paths, specs, shapes, strict=True)
            for k, (spec, size) in enumerate(zip(aval.shape, shape, strict=True)) if isinstance(spec, Dimension)]


def shapes_text(paths: Sequence[str], specs: Sequence[ShapedArray]) -> str:
    """The symbolic shapes of arguments, for messages."""
    return ", ".join(f"{path}.shape = {aval.shape}" for path, aval in zip(paths, specs, strict=True) if is_symbolic(aval.shape))


# ------------------------------------------------------------------------------------------------ programs

def specialized(program: ClosedJaxpr, values: Mapping[str, Size]) -> ClosedJaxpr:
    """Specialization of a program for the values of its dimension variables."""
    return _Specializer(values).closed(program)


def aval_at(aval: ShapedArray, values: Mapping[str, Size]) -> ShapedArray:
    """An aval with values for dimension variables."""
    if not isinstance(aval, ShapedArray) or not is_symbolic(aval.shape):
        return aval
    return ShapedArray(tuple(substituted(n, values) for n in aval.shape), aval.dtype, aval.weak_type)


class _Specializer:
    """Copies of programs with values in the place of dimension variables; a program that occurs twice is copied once."""

    def __init__(self, values: Mapping[str, Size]):
        self.values = values
        self.copies: dict[int, Jaxpr] = {}
        self.closed_copies: dict[int, ClosedJaxpr] = {}

    def closed(self, program: ClosedJaxpr) -> ClosedJaxpr:
        if id(program) not in self.closed_copies:
            self.closed_copies[id(program)] = ClosedJaxpr(self.jaxpr(program.jaxpr), program.consts)
        return self.closed_copies[id(program)]

    def jaxpr(self, jaxpr: Jaxpr) -> Jaxpr:
        if id(jaxpr) not in self.copies:
            env: dict[Atom, Atom] = {}
            constvars, invars = self.bind(jaxpr.constvars, env), self.bind(jaxpr.invars, env)
            eqns: list[JaxprEqn] = []
            self.equations(jaxpr, env, eqns)
            outvars = [env.get(a, a) for a in jaxpr.outvars]
            self.copies[id(jaxpr)] = Jaxpr(constvars, invars, outvars, eqns, debug=jaxpr.debug)
        return self.copies[id(jaxpr)]

    def equations(self, jaxpr: Jaxpr, env: dict[Atom, Atom], eqns: list[JaxprEqn]) -> None:
        """Appends copies of the equations of a program; the programs of functions with rules of their own in their place."""
        for eqn in jaxpr.eqns:
            call = eqn.primitive.inline(eqn) if eqn.primitive.functions else None
            if call is None:
                eqns += self.equation(eqn, env)
                continue
            program, operands = call
            called: dict[Atom, Atom] = dict(zip(program.jaxpr.invars, [env.get(a, a) for a in operands], strict=True))
            self.equations(program.jaxpr, called, eqns)
            env.update(zip(eqn.outvars, [called.get(a, a) for a in program.jaxpr.outvars], strict=True))

    def bind(self, variables: Sequence[Var], env: dict[Atom, Atom]) -> list[Var]:
        made = [Var(aval_at(v.aval, self.values)) for v in variables]
        env.update(zip(variables, made, strict=True))
        return made

    def equation(self, eqn: JaxprEqn, env: dict[Atom, Atom]) -> list[JaxprEqn]:
        """The copy of an equation; none for a size that became a number."""
        params = {name: self.parameter(value) for name, value in eqn.params.items()}
        if eqn.primitive is dim_as_value_p and not isinstance(params["dim"], Dimension):
            aval = eqn.outvars[0].aval
            env[eqn.outvars[0]] = Literal(np.asarray(params["dim"], aval.dtype)[()], aval)
            return []
        if eqn.primitive is iota_p and params["dtype"].kind in "iu":
            _check_counters(params["shape"][params["dimension"]], params["dtype"])
        operands = [env.get(a, a) for a in eqn.invars]
        return [JaxprEqn(operands, self.bind(eqn.outvars, env), eqn.primitive, params, eqn.effects, eqn.source)]

    def parameter(self, value: Any) -> Any:
        if isinstance(value, ClosedJaxpr):
            return self.closed(value)
        if isinstance(value, Jaxpr):
            return self.jaxpr(value)
        if isinstance(value, Dimension):
            return substituted(value, self.values)
        if isinstance(value, ShapedArray):
            return aval_at(value, self.values)
        return _items_mapped(self.parameter, value)


def _check_counters(size: Size, dtype: np.dtype) -> None:
    """ValueError for positions beyond 32 bits: with symbolic sizes, operations that count in 32 bits could not check it."""
    if not isinstance(size, Dimension) and dtype.itemsize == 4 and size > 1 << 32:
        raise ValueError(f"an exported function counts {size} positions in {dtype.name}: for axes of more than 2**32 elements "
                         "export it with this size as a number")


def _items_mapped(f: Callable[[Any], Any], value: Any) -> Any:
    """A container of parameters with f applied to its items; other values as they are."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(f, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(f, value))
    if type(value) is dict:
        return {k: f(v) for k, v in value.items()}
    return value
