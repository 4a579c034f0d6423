"""Implicit differentiation: `custom_linear_solve` and `custom_root`, whose derivatives follow from the solved equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numjet.control.call.body_tracing import Body, trace_body
from numjet.control.call.jaxpr_transforms import (
    batch_program,
    holds_effects,
    jvp_program,
    nonzero_flags,
    only_nonzero,
    transpose_program,
    with_zeros,
)
from numjet.control.custom.custom_jvp import apply_custom_jvp
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Undefined, Zero
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.foundation import source, tree
from numjet.foundation.util import split_list
from numjet.lax.elementwise.arithmetic import neg_p
from numjet.lax.elementwise.convert import convert_element_type
from numjet.lax.tangent import add_any, instantiate, no_tangent
from numjet.lax.templates import broadcast_batch, in_front
from numjet.transforms.jvp import jvp_flat

_NO_TRANSPOSE = "transpose_solve required for backwards mode automatic differentiation of custom_linear_solve"


class Programs(NamedTuple):
    """The programs of a linear system A x = b: x -> A x, x -> A^T x, b -> A^-1 b, b -> A^-T b. Each begins with constants
    of its own. The two of the transposed system may be missing."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any


def _parts(args: Sequence[Any], counts: Programs) -> tuple[Programs, list[Any]]:
    """The operands, by the program whose constants they are, and right-hand sides."""
    *consts, right = split_list(args, list(counts))
    return Programs(*consts), right


def _abstract(*avals: ShapedArray, jaxprs: Programs, **_: Any) -> list[ShapedArray]:
    return jaxprs.solve.out_avals


def _eager(*args: Any, jaxprs: Programs, const_lengths: Programs) -> list[Any]:
    consts, right = _parts(args, const_lengths)
    return eval_closed(jaxprs.solve, *consts.solve, *right)


def _solve(b: Any, *args: Any, jaxprs: Programs, const_lengths: Programs) -> list[Any]:
    consts, right = _parts(args, const_lengths)
    return b.inline(jaxprs.solve, [*consts.solve, *right])


def _bind(jaxprs: Programs, consts: Programs, right: Sequence[Any]) -> list[Any]:
    lengths = Programs(*map(len, consts))
    return linear_solve_p.bind(*[c for group in consts for c in group], *right, jaxprs=jaxprs, const_lengths=lengths)


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxprs: Programs, const_lengths: Programs
) -> tuple[list[Any], list[Any]]:
    """A dx = db - dA x. Values that only the solver closes over are not differentiated."""
    consts, right = _parts(primals, const_lengths)
    consts_t, right_t = _parts(tangents, const_lengths)
    outs = _bind(jaxprs, consts, right)
    count = len(right)
    x, aux = outs[:count], outs[count:]
    rest = list(map(no_tangent, aux))
    flags = (*nonzero_flags(consts_t.matvec), *[False] * count)
    if any(flags):
        made = jvp_program(jaxprs.matvec, flags, False)
        found = eval_closed(made.jaxpr, *made.consts, *consts.matvec, *x, *only_nonzero(consts_t.matvec))
        change = with_zeros(made.flags, found[count:], jaxprs.matvec.out_avals)
        right_t = [t if type(c) is Zero else add_any(neg_p.bind(c), t) for c, t in zip(change, right_t, strict=True)]
    if all(type(t) is Zero for t in right_t):
        return outs, [*map(no_tangent, x), *rest]
    return outs, [*_bind(jaxprs, consts, [instantiate(t) for t in right_t])[:count], *rest]


def _transpose(cts: Sequence[Any], *args: Any, jaxprs: Programs, const_lengths: Programs) -> list[Any]:
    """The cotangent of b solves the transposed system."""
    consts, right = _parts(args, const_lengths)
    if jaxprs.transpose_solve is None:
        raise TypeError(_NO_TRANSPOSE)
    if any(isinstance(c, Undefined) for group in consts for c in group):
        raise NotImplementedError("custom_linear_solve is linear in the right-hand side only")
    swapped = Programs(jaxprs.vecmat, jaxprs.matvec, jaxprs.transpose_solve, jaxprs.solve)
    operands = Programs(consts.vecmat, consts.matvec, consts.transpose_solve, consts.solve)
    found = _bind(swapped, operands, [instantiate(c) for c in cts[: len(right)]])[: len(right)]
    given = [c if isinstance(b, Undefined) else None for b, c in zip(right, found, strict=True)]
    return [*[None] * sum(const_lengths), *given]


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, jaxprs: Programs, const_lengths: Programs,
           axis_name: Any = None) -> tuple[list[Any], list[int]]:
    """Every right-hand side and solution has the batch, in axis 0."""
    consts, right = _parts(in_front(args, dims), const_lengths)
    const_dims, right_dims = _parts(dims, const_lengths)
    right = [broadcast_batch(b, None, size) if d is None else b for b, d in zip(right, right_dims, strict=True)]
    made = [
        None if p is None else batch_program(p, size, (*[d is not None for d in ds], *[True] * len(right)), True, axis_name)
        for p, ds in zip(jaxprs, const_dims, strict=True)
    ]
    programs = Programs(*[None if m is None else m.jaxpr for m in made])
    operands = Programs(*[[*(m.consts if m else ()), *c] for m, c in zip(made, consts, strict=True)])
    outs = _bind(programs, operands, right)
    return outs, [0] * len(outs)


linear_solve_p = Op(name="custom_linear_solve", params=("const_lengths", "jaxprs"), multiple=True, programs=True,
                    abstract=_abstract, eager=_eager, jvp=_jvp, transpose=_transpose, batch=_batch, effects=holds_effects,
                    cpu=_solve, hlo=_solve, samples=Missing("holds programs"))


@source.api_boundary
def custom_linear_solve(matvec: Callable[[Any], Any], b: Any, solve: Callable[[Callable[[Any], Any], Any], Any],
                        transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None, symmetric: bool = False,
                        has_aux: bool = False) -> Any:
    """The x with matvec(x) = b, found by `solve`, with the derivatives that the equation implies.

    Args:
      matvec: a linear function of pytrees like b.
      b: pytree of arrays.
      solve: (matvec, b) -> x. It is not differentiated, so it may use any method.
      transpose_solve: (vecmat, b) -> x of the transposed system, for reverse mode; vecmat is matvec's transpose.
      symmetric: matvec is symmetric: `solve` serves for the transposed system, too.
      has_aux: the solvers return (x, aux), and aux, which has no derivatives, is returned, too.

    Raises:
      ValueError: matvec or a solver returns other shapes than b's.
      TypeError: a structure differs from b's; reverse mode without transpose_solve.

    >>> import numpy as np
    >>> from numjet.control.custom.solve import custom_linear_solve
    >>> float(custom_linear_solve(lambda x: 2 * x, np.float32(6), lambda matvec, b: b / 2))
    3.0
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    right, structure = tree.tree_flatten(b)
    avals = [aval_of(x) for x in right]
    in_tree = tree.tree_structure((b,))
    product = trace_body(matvec, in_tree, avals, "custom_linear_solve")
    _check("matvec", product, structure, avals, False)
    solver = trace_body(lambda rhs: solve(matvec, rhs), in_tree, avals, "custom_linear_solve")
    out_tree = _check("solve", solver, structure, avals, has_aux)
    transposed = back = None
    if transpose_solve is not None:
        transposed = product if symmetric else _transposed(product, len(right))
        vecmat = matvec if symmetric else _function(transposed, structure)
        back = trace_body(lambda rhs: transpose_solve(vecmat, rhs), in_tree, avals, "custom_linear_solve")
        _check("transpose_solve", back, structure, avals, has_aux)
    bodies = [product, transposed, solver, back]
    jaxprs = Programs(*[None if m is None else m.jaxpr for m in bodies])
    consts = Programs(*[[] if m is None else m.consts for m in bodies])
    return tree.tree_unflatten(out_tree, _bind(jaxprs, consts, right))


def _transposed(product: Body, count: int) -> Body:
    """The transpose of a linear program, as a program of the same form."""
    linear = (*[False] * len(product.consts), *[True] * count)
    made = transpose_program(product.jaxpr, linear, (True,) * count, True)
    return Body(made.jaxpr, [*made.consts, *product.consts], product.out_tree)


def _function(body: Body, structure: Any) -> Callable[[Any], Any]:
    """A program as a function of pytrees."""

    def fun(x: Any) -> Any:
        return tree.tree_unflatten(structure, eval_closed(body.jaxpr, *body.consts, *tree.tree_leaves(x)))

    return fun


def _without_aux(name: str, structure: Any) -> Any:
    """The structure of x in a pair (x, aux)."""
    children = structure.children()
    if len(children) != 2:
        raise ValueError(f"{name}() produced a pytree with structure {structure}, but a pytree tuple with auxiliary output was "
                         "expected because has_aux was set to True. Return (x, aux).")
    return children[0]


def _check(name: str, body: Body, structure: Any, avals: Sequence[ShapedArray], has_aux: bool) -> Any:
    """The structure of a program's result. TypeError or ValueError unless it is like b (and aux)."""
    found = _without_aux(name, body.out_tree) if has_aux else body.out_tree
    outs = body.jaxpr.out_avals[: found.num_leaves]
    shapes, expected = [a.shape for a in outs], [a.shape for a in avals]
    if shapes != expected:
        raise ValueError(f"{name}() output shapes must match b, got {shapes} and {expected}")
    if found != structure:
        raise TypeError(f"{name}() output pytree structure must match b, got {found} and {structure}.")
    return body.out_tree


# ------------------------------------------------------------------------------------------------------- custom_root


@source.api_boundary
def custom_root(f: Callable[[Any], Any], initial_guess: Any, solve: Callable[[Callable[[Any], Any], Any], Any],
                tangent_solve: Callable[[Callable[[Any], Any], Any], Any], has_aux: bool = False) -> Any:
    """A root of f, found by `solve`, with the derivatives of the implicit function theorem.

    Derivatives are with respect to values that f closes over; the guess and the steps of `solve` have none.

    Args:
      f: a function of a pytree like initial_guess that returns one of the same structure.
      initial_guess: pytree of arrays.
      solve: (f, initial_guess) -> root. It may use any method.
      tangent_solve: (g, y) -> x with g(x) = y, for the linear g that is f's derivative at the root; for scalars
        lambda g, y: y / g(1.0), for vectors lambda g, y: solve(jacobian(g)(y), y). Must be linear in y.
      has_aux: `solve` returns (root, aux), and aux, which has no derivatives, is returned, too.

    Raises TypeError when structures differ.

    >>> import numpy as np
    >>> from numjet.control.custom.solve import custom_root
    >>> float(custom_root(lambda x: x - 3, np.float32(0), lambda f, x: x - f(x), lambda g, y: y / g(np.float32(1))))
    3.0
    """
    guess, structure = tree.tree_flatten(initial_guess)
    in_tree = tree.tree_structure((initial_guess,))
    body = trace_body(f, in_tree, [aval_of(x) for x in guess], "custom_root")
    if body.out_tree != structure:
        raise TypeError(f"f() output pytree structure must match initial_guess, got {body.out_tree} and {structure}.")
    count = len(guess)
    solve_it = lambda start: solve(_function(body, structure), start)
    solver = trace_body(solve_it, in_tree, [aval_of(x) for x in guess], "custom_root")
    expected = _without_aux("solve", solver.out_tree) if has_aux else solver.out_tree
    if expected != structure:
        raise TypeError(f"solve() output pytree structure must match initial_guess, got {expected} and {structure}.")

    tangent = _tangent_body(body, solver.jaxpr.out_avals[:count], structure, tangent_solve)

    def root(*args: Any) -> list[Any]:
        return eval_closed(solver.jaxpr, *args[len(body.consts) + len(tangent.consts) :])

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        consts, own, _ = split_list(primals, [len(body.consts), len(tangent.consts)])
        outs = apply_custom_jvp(root, rule, "custom_root", True, primals)
        x = outs[:count]
        change = jvp_flat(lambda *cs: eval_closed(body.jaxpr, *cs, *x), consts, tangents[: len(consts)])[1]
        if all(type(t) is Zero for t in change):
            return outs, list(map(no_tangent, outs))
        implied = eval_closed(tangent.jaxpr, *own, *consts, *x, *[neg_p.bind(instantiate(t)) for t in change])
        return outs, [*implied, *map(no_tangent, outs[count:])]

    outs = apply_custom_jvp(root, rule, "custom_root", True, [*body.consts, *tangent.consts, *solver.consts, *guess])
    return tree.tree_unflatten(solver.out_tree, outs)


def _tangent_body(body: Body, avals: Sequence[ShapedArray], structure: Any, tangent_solve: Callable[..., Any]) -> Body:
    """The program (constants of f, x, y) -> dx with f_x dx = y, where f_x is f's derivative at x. It is traced where
    custom_root is called, so that tangent_solve may close over the values that are current there."""

    def solved(consts: Sequence[Any], x: Sequence[Any], y: Any) -> Any:
        still = list(map(no_tangent, consts))

        def linear(t: Any) -> Any:
            ts = [convert_element_type(v, aval_of(p).dtype) for v, p in zip(tree.tree_leaves(t), x, strict=True)]
            outs = jvp_flat(lambda *args: eval_closed(body.jaxpr, *args), [*consts, *x], [*still, *ts])[1]
            return tree.tree_unflatten(structure, [instantiate(o) for o in outs])

        return tangent_solve(linear, y)

    in_tree = tree.treedef_tuple([tree.tree_structure(body.consts), tree.tree_structure(list(avals)), structure])
    given = [*map(aval_of, body.consts), *avals, *(a.to_tangent_aval() for a in avals)]
    made = trace_body(solved, in_tree, given, "custom_root")
    if made.out_tree != structure:
        raise TypeError(f"tangent_solve() output pytree structure must match x, got {made.out_tree} and {structure}.")
    return made
