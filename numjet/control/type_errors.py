"""Type errors of loops and branches whose functions do not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.aval import ShapedArray, explicit
from numjet.foundation import tree
from numjet.foundation.errors import compose


def same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Equal shapes and dtypes, whatever the weak types."""
    return a is b or (a.shape == b.shape and a.dtype == b.dtype and a.vma == b.vma and same_placement(a, b))


def same_placement(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether types say the same of Explicit axes; rules of derivatives and batches may leave them to the compiler."""
    return a.placement is b.placement or explicit.is_lenient()


def difference(a: ShapedArray, b: ShapedArray) -> str:
    """`so the shapes do not match`."""
    if a.dtype == b.dtype and a.shape == b.shape:
        if a.memory_space is not b.memory_space:
            return ("the memory spaces do not match. This might be fixed by moving the initial carry value: "
                    f"device_put(x, jax.memory.Space.{b.memory_space.name})")
        if a.vma == b.vma:
            return ("the shardings do not match. This might be fixed by applying `jax.sharding.reshard` to the initial carry "
                    "value")
        return "the varying manual axes do not match"
    if a.dtype != b.dtype:
        return "the dtypes do not match" if a.shape == b.shape else "the dtypes do not match, and the shapes do not match"
    return "the shapes do not match"


def check_carry(kind: str, what: str, in_tree: Any, out_tree: Any, in_avals: Sequence[ShapedArray],
                out_avals: Sequence[ShapedArray], names: Sequence[str], root: str, fun: Callable[..., Any]) -> None:
    """TypeError when a loop's output carry differs from its input carry in structure or types.

    names: the path of each leaf of the carry, as the user wrote it; root: that of the whole carry. fun: the body; its
    attribute `carry_note`, if any, says what the paths are of.
    """
    note = getattr(fun, "carry_note", "")
    if in_tree != out_tree:
        raise TypeError(compose(_structure_error(kind, what, in_tree, out_tree, root), note))
    wrong = [_carry_difference(n, a, b) for n, a, b in zip(names, in_avals, out_avals, strict=True) if not same_type(a, b)]
    if wrong:
        raise TypeError(
            compose(
                f"{kind} {what} carry input and carry output must have equal types, but they differ:",
                _listed(wrong), note, _casts(_carry_casts(names, in_avals, out_avals)),
                "Revise the function so that all output types match the corresponding input types: give the initial "
                "value the dtype and shape that the loop computes, or convert the result, `y.astype(x.dtype)`.",
            )
        )


def _carry_difference(name: str, a: ShapedArray, b: ShapedArray) -> str:
    return (f"the input carry {_component(name)} has type {a} but the corresponding output carry component has type {b}, "
            f"so {difference(a, b)}")


def _component(name: str) -> str:
    return f"component {name}" if "[" in name or "." in name else name


def _carry_casts(names: Sequence[str], in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> list[str]:
    """What to write where a loop computes values that vary over more axes of the mesh than its initial values."""
    found = [(n, _missing(a, b), a, b) for n, a, b in zip(names, in_avals, out_avals, strict=True)]
    return [f"applying {axes} to the initial carry value corresponding to the input carry {_component(n)}"
            for n, axes, a, b in found if axes and a.shape == b.shape]


def _missing(a: ShapedArray, b: ShapedArray) -> str:
    """The cast by which a value of type `a` varies over all axes over which one of type `b` does; empty where it does."""
    axes = ", ".join(repr(x) for x in sorted(b.vma - a.vma, key=str))
    return axes and f"`jax.lax.pcast(..., ({axes},), to='varying')`"


def _casts(clauses: Sequence[str]) -> str:
    """The sentence on casts of shards; empty without any."""
    if len(clauses) == 1:
        return f"This might be fixed by {clauses[0]}."
    return f"This might be fixed by:\n{_listed(clauses)}" if clauses else ""


def _listed(clauses: Sequence[str]) -> str:
    """One clause as a sentence, several as a list."""
    if len(clauses) == 1:
        return f"{clauses[0][0].upper()}{clauses[0][1:]}."
    return ";\n".join(f"  * {clause}" for clause in clauses) + "."


def _structure_error(kind: str, what: str, in_tree: Any, out_tree: Any, root: str) -> str:
    found = [f"the input carry {'component ' if d.path else ''}{root}{tree.keystr(d.path)} is a {d.thing1} but the "
             f"corresponding component of the carry output is a {d.thing2}, so {d.explanation}"
             for d in tree.equality_errors_treedef(in_tree, out_tree)]
    return compose(f"{kind} {what} carry input and carry output must have the same pytree structure, but they differ:",
                   _listed(found or [f"the input carry is {in_tree}, the carry output is {out_tree}"]),
                   "Revise the function so that the carry output has the same pytree structure as the carry input.")


def check_branches(
    kind: str, names: Sequence[str], places: Sequence[str], trees: Sequence[Any], avals: Sequence[Sequence[ShapedArray]]
) -> None:
    """TypeError when branches return different structures or types."""
    for i in range(1, len(trees)):
        pair = "\n".join(f"{names[j]} is {places[j]}" for j in (0, i))
        if trees[i] != trees[0]:
            raise TypeError(_branch_structure_error(kind, pair, names[0], names[i], trees[0], trees[i]))
        wrong = _branch_differences(names[0], names[i], trees[0], avals[0], avals[i])
        if wrong:
            raise TypeError(
                compose(f"{kind} branches must have equal output types but they differ.", pair, "\n".join(wrong),
                        _casts(_branch_casts((names[0], names[i]), trees[0], avals[0], avals[i])),
                        f"Revise {names[0]} and/or {names[i]} so that all output types match.")
            )


def _branch_differences(
    name0: str, name1: str, out_tree: Any, avals0: Sequence[ShapedArray], avals1: Sequence[ShapedArray]
) -> list[str]:
    paths = leaf_paths(out_tree)
    return [
        f"The output of {name0}{f' at path {p}' if p else ''} has type {a} but the corresponding output of {name1} "
        f"has type {b}, so {difference(a, b)}."
        for p, a, b in zip(paths, avals0, avals1, strict=True)
        if not same_type(a, b)
    ]


def _branch_casts(names: Sequence[str], out_tree: Any, avals0: Sequence[ShapedArray], avals1: Sequence[ShapedArray]
                  ) -> list[str]:
    """What to write where results of two branches vary over different axes of the mesh."""
    found: list[str] = []
    for path, a, b in zip(leaf_paths(out_tree), avals0, avals1, strict=True):
        casts = zip((_missing(a, b), _missing(b, a)), names, strict=True) if a.shape == b.shape else ()
        at = f" at path {path}" if path else ""
        found += [f"applying {cast} to the output of {name}{at}" for cast, name in casts if cast]
    return found


def _branch_structure_error(kind: str, pair: str, name0: str, name1: str, tree0: Any, tree1: Any) -> str:
    lines = []
    for d in tree.equality_errors_treedef(tree0, tree1):
        at = f" at path {tree.keystr(d.path)}" if d.path else ""
        lines.append(f"{name0} output{at} is a {d.thing1} but {name1} output{at} is a {d.thing2}, so {d.explanation}.")
    return compose(f"{kind} branch outputs must have the same pytree structure, but they differ:", pair, "\n".join(lines),
                   f"Revise {name0} and/or {name1} so that they have the same pytree structure.")


def leaf_paths(treedef: Any) -> list[str]:
    """The path of every leaf, `['a'][0]`."""
    return list(map(tree.keystr, tree.treedef_paths(treedef)))
