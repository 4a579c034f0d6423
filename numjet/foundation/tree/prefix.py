"""Prefixes of trees, and differences between two trees.

A prefix of a tree has the same nodes from the root down to its own leaves; each of its leaves stands for a whole subtree.
An example is `in_axes` of vmap. Differences are found level by level and located by key paths.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from numjet import _native
from numjet.foundation.record import Record
from numjet.foundation.tree.keys import KeyPath, keystr
from numjet.foundation.tree.register import PyTreeDef

IsLeaf = Callable[[Any], bool]


class Difference(NamedTuple):
    """A difference of two trees; the texts fit "is a {thing1} but ... is a {thing2}, so {explanation}"."""

    path: KeyPath
    thing1: str
    thing2: str
    explanation: str


class _Level(Record):
    """The root of a tree and its children; `keys` is None for a leaf."""

    type: type | None
    data: Any
    keys: tuple[Any, ...] | None
    children: tuple[Any, ...]


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Leaves of `prefix_tree`, each repeated for every leaf of the subtree of `full_tree` in its position.

    Args:
      prefix_tree: a prefix of `full_tree`.
      full_tree: any tree.
      is_leaf: where to stop in `prefix_tree`.

    Raises:
      ValueError: `prefix_tree` is not a prefix; names the key path.

    >>> broadcast_prefix((0, 1), ([7, 8], {"a": 9}))
    [0, 0, 1]
    """
    leaves, prefix = _native.pytree_flatten(prefix_tree, is_leaf)
    try:
        counts = prefix.prefix_counts(_native.pytree_structure(full_tree))
    except ValueError:
        for error in prefix_errors(prefix_tree, full_tree, is_leaf):
            raise error("prefix tree") from None
        raise
    return _repeat(leaves, counts)


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any) -> list[Any]:
    """One entry of `axis_tree` per leaf of `treedef`; None is an entry too.

    Args:
      name: of the axes, for the error: "vmap in_axes".
      treedef: structure of the arguments (or results) that have these axes.
      axis_tree: a prefix of `treedef`.

    Raises:
      ValueError: `axis_tree` is not a prefix of `treedef`; names the key path.

    >>> flatten_axes("vmap in_axes", _native.pytree_structure(([1, 2], 3)), (0, None))
    [0, 0, None]
    """
    if axis_tree is None or type(axis_tree) is int:
        return [axis_tree] * treedef.num_leaves
    axes, prefix = _native.pytree_flatten(axis_tree, None, True)
    try:
        counts = prefix.prefix_counts(treedef)
    except ValueError:
        found = [_prefix_error(*levels)(name) for levels in _unlike_levels((), prefix, treedef, _treedef_level, None, True)]
        raise ValueError(
            f"{name} specification must be a tree prefix of the corresponding value; each of its leaves stands for one "
            f"subtree, but {_short(repr(axis_tree))} is not a prefix of {_short(str(treedef))}.\n"
            f"Mismatch details ({len(found)} found):\n" + "\n".join(map(str, found))
        ) from None
    return _repeat(axes, counts)


def _repeat(items: list[Any], counts: list[int]) -> list[Any]:
    return [item for item, count in zip(items, counts, strict=True) for _ in range(count)]


def prefix_errors(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> list[Callable[[str], ValueError]]:
    """The reasons why `prefix_tree` is not a prefix of `full_tree`, each a function from the prefix's name to an exception.

    >>> [error] = prefix_errors({"a": (1, 2)}, {"a": [3, 4]})
    >>> print(error("in_axes"))
    pytree structure error: different types at key path
        in_axes['a']
    in_axes['a'] is a tuple of length 2 but the full tree has a list of length 2 there: their Python types differ.
    """
    found = _unlike_levels((), prefix_tree, full_tree, _tree_level, is_leaf, prefix=True)
    return [_prefix_error(*levels) for levels in found]


def _prefix_error(path: KeyPath, level1: _Level, level2: _Level, explanation: str) -> Callable[[str], ValueError]:
    def error(name: str) -> ValueError:
        where = f"{name}{keystr(path)}"
        text = f"pytree structure error: {_kind(level1, level2)} at key path\n    {where}\n"
        text += f"{where} is a {_describe(level1)} but the full tree has a {_describe(level2)} there: {explanation}."
        if level1.type is dict and level2.type is dict:
            only = set(level1.data) ^ set(level2.data)
            text += "\nThe keys differ, so the symmetric difference on key sets is\n    " + " ".join(sorted(map(str, only)))
        return ValueError(text)

    return error


def _kind(level1: _Level, level2: _Level) -> str:
    """What differs, in the words of JAX's messages."""
    if level1.keys is None or level2.keys is None or level1.type is not level2.type:
        return "different types"
    if len(level1.children) == len(level2.children):
        return "different pytree metadata"
    assert level1.type is not None
    if level1.type in (list, tuple):
        return f"different lengths of {level1.type.__name__}"
    return "different numbers of pytree children"


def equality_errors(tree1: Any, tree2: Any, is_leaf: IsLeaf | None = None) -> Iterator[Difference]:
    """Every difference between the structures of two trees.

    Yields (path, thing1, thing2, explanation), texts for "is a {thing1} but ... is a {thing2}, so {explanation}".

    >>> for path, thing1, thing2, explanation in equality_errors({"a": (1,)}, {"a": (1, 2)}):
    ...     print(f"c{keystr(path)} is a {thing1} but became a {thing2}, so {explanation}")
    c['a'] is a tuple of length 1 but became a tuple of length 2, so the lengths do not match
    """
    return _differences((), tree1, tree2, _tree_level, is_leaf)


def equality_errors_treedef(treedef1: PyTreeDef, treedef2: PyTreeDef) -> Iterator[Difference]:
    """`equality_errors` for treedefs."""
    return _differences((), treedef1, treedef2, _treedef_level, None)


def tree_equal_structure(tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether all trees have the same structure, whatever their leaves.

    >>> tree_equal_structure([1, (2,)], [3.0, ("x",)])
    True
    """
    structure = _native.pytree_structure(tree, is_leaf)
    return all(_native.pytree_structure(other, is_leaf) == structure for other in rest)


def _tree_level(tree: Any, is_leaf: IsLeaf | None) -> _Level:
    level = None if is_leaf is not None and is_leaf(tree) else _native.pytree_one_level_with_keys(tree)
    if level is None:
        return _Level(type(tree), None, None, ())
    pairs, data = level
    return _Level(type(tree), data, tuple(key for key, _ in pairs), tuple(child for _, child in pairs))


def _treedef_level(treedef: PyTreeDef, _: IsLeaf | None) -> _Level:
    root = treedef.node_data()
    if root is None:
        return _Level(None, None, None, ())
    return _Level(*root, tuple(treedef.child_keys()), tuple(treedef.children()))


def _differences(path: KeyPath, tree1: Any, tree2: Any, level_of: Callable[[Any, IsLeaf | None], _Level],
                 is_leaf: IsLeaf | None) -> Iterator[Difference]:
    for where, level1, level2, explanation in _unlike_levels(path, tree1, tree2, level_of, is_leaf):
        yield Difference(where, _beside(level1, level2), _beside(level2, level1), explanation)


def _unlike_levels(path: KeyPath, tree1: Any, tree2: Any, level_of: Callable[[Any, IsLeaf | None], _Level],
                   is_leaf: IsLeaf | None, prefix: bool = False) -> Iterator[tuple[KeyPath, _Level, _Level, str]]:
    """The paths at which two trees differ, with what is there and an explanation."""
    level1 = level_of(tree1, is_leaf)
    if prefix and level1.keys is None:
        return
    level2 = level_of(tree2, None if prefix else is_leaf)
    if explanation := _explain(level1, level2):
        yield path, level1, level2, explanation
        return
    for key, child1, child2 in zip(level1.keys or (), level1.children, level2.children, strict=True):
        yield from _unlike_levels((*path, key), child1, child2, level_of, is_leaf, prefix)


def _explain(level1: _Level, level2: _Level) -> str:
    """The difference at this level; empty if there is none."""
    if level1.keys is None or level2.keys is None:
        return "" if level1.keys is level2.keys else "their Python types differ"
    if level1.type is not level2.type:
        return "their Python types differ"
    if len(level1.children) != len(level2.children):
        if level1.type in (list, tuple):
            return "the lengths do not match"
        return f"the numbers of children do not match{_keys(level1, level2)}"
    return "" if level1.data == level2.data else "the pytree node metadata does not match"


def _keys(level1: _Level, level2: _Level) -> str:
    """The keys that only one of two dictionaries has."""
    if level1.type is not dict:
        return ""
    only = sorted(map(repr, set(level1.data) ^ set(level2.data)))
    return f", with the symmetric difference of key sets: {{{', '.join(only)}}}"


def _describe(level: _Level) -> str:
    """What is there."""
    if level.keys is None:
        return "leaf" if level.type is None else f"leaf of type {level.type.__name__}"
    assert level.type is not None
    name = level.type.__name__
    if level.type is type(None):
        return name
    if level.type in (list, tuple):
        return f"{name} of length {len(level.children)}"
    if level.type is dict:
        return f"dict with keys {_short(repr(list(level.data)))}"
    if issubclass(level.type, tuple) and hasattr(level.type, "_fields"):
        return f"namedtuple {name}"
    children = "1 child" if len(level.children) == 1 else f"{len(level.children)} children"
    return f"{name} with {children} and metadata {_short(repr(level.data))}"


def _beside(level: _Level, other: _Level) -> str:
    """As much of what is there as differs from the other, in the words of JAX's messages."""
    if level.type is None:
        return "pytree leaf"
    if level.keys is None or other.keys is None or level.type is not other.type:
        return str(level.type)
    if level.type in (list, tuple):
        return f"{level.type.__name__} of length {len(level.children)}"
    if len(level.children) != len(other.children):
        return f"{level.type} with {len(level.children)} {'child' if len(level.children) == 1 else 'children'}"
    data = tuple(level.data) if level.type is dict else level.data
    return f"{level.type} with pytree metadata {_short(repr(data))}"


def _short(text: str, longest: int = 400) -> str:
    return text if len(text) <= longest else text[:longest] + "..."
