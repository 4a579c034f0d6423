"""Pytrees: nested containers of leaves, flattened to a list of leaves and a treedef, and rebuilt from them.

Nodes are list, tuple, dict (ordered by its sorted keys), None (a node without children), OrderedDict, defaultdict,
namedtuples and the registered classes; everything else is a leaf. The walk itself is native. Key paths are in `keys`,
prefixes and differences in `prefix`, registration in `register`, `Partial` in `partial`; add functions of trees here.
"""

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from numjet import _native
from numjet.foundation.tree.keys import (
    DictKey as DictKey, FlattenedIndexKey as FlattenedIndexKey, GetAttrKey as GetAttrKey, KeyEntry as KeyEntry,
    KeyPath as KeyPath, SequenceKey as SequenceKey, keystr as keystr,
)
from numjet.foundation.tree.partial import Partial as Partial
from numjet.foundation.tree.prefix import (
    Difference as Difference, broadcast_prefix as broadcast_prefix, equality_errors as equality_errors,
    equality_errors_treedef as equality_errors_treedef, flatten_axes as flatten_axes, prefix_errors as prefix_errors,
    tree_equal_structure as tree_equal_structure,
)
from numjet.foundation.tree.register import (
    PyTreeDef as PyTreeDef, PyTreeRegistry as PyTreeRegistry, default_registry as default_registry,
    register_dataclass as register_dataclass, register_pytree_node as register_pytree_node,
    register_pytree_node_class as register_pytree_node_class, register_pytree_with_keys as register_pytree_with_keys,
    register_pytree_with_keys_class as register_pytree_with_keys_class, register_static as register_static, static as static,
)

T = TypeVar("T")
IsLeaf = Callable[[Any], bool]
_missing: Any = type("_Missing", (), {"__repr__": lambda self: "<missing>"})()


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Leaves, in order, and treedef of a tree.

    Args:
      tree: nested containers.
      is_leaf: predicate called at every node; True makes it a leaf.

    Raises:
      ValueError: a dict's keys cannot be sorted; is_leaf returned no bool.

    >>> tree_flatten({"b": [1, 2], "a": (3, None)})
    ([3, 1, 2], PyTreeDef({'a': (*, None), 'b': [*, *]}))
    """
    return _native.pytree_flatten(tree, is_leaf)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of structure `treedef` with `leaves`; inverse of `tree_flatten`.

    Raises:
      ValueError: too few or too many leaves.

    >>> leaves, treedef = tree_flatten([1, (2, 3)])
    >>> tree_unflatten(treedef, [10 * x for x in leaves])
    [10, (20, 30)]
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Leaves of a tree, in order.

    >>> tree_leaves([1, (2, [3, None])])
    [1, 2, 3]
    """
    return _native.pytree_leaves(tree, is_leaf)


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Treedef of a tree.

    >>> tree_structure([1, (2, None)])
    PyTreeDef([*, (*, None)])
    """
    return _native.pytree_structure(tree, is_leaf)


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree of f(leaf, ...) over the leaves of `tree`.

    Args:
      f: takes one argument per tree.
      tree: gives the structure of the result.
      rest: trees of which `tree` is a prefix; for a leaf of `tree`, f gets their whole subtrees.
      is_leaf: where to stop in `tree`.

    Raises:
      ValueError: `tree` is not a prefix of one of `rest`; names the key path, the expected node and the actual one.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    leaves, treedef = _native.pytree_flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in leaves])
    columns = _columns("tree_map", treedef, rest)
    return treedef.unflatten([f(*row) for row in zip(leaves, *columns, strict=True)])


def _columns(caller: str, treedef: PyTreeDef, rest: tuple[Any, ...]) -> list[list[Any]]:
    return [treedef.flatten_up_to(tree, caller, i) for i, tree in enumerate(rest, 1)]


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """As `tree_flatten`, with pairs (key path, leaf).

    Args:
      tree: nested containers.
      is_leaf: called at every node; True makes it a leaf.
      is_leaf_takes_path: is_leaf is called with (key path, node).

    >>> pairs, _ = tree_flatten_with_path({"a": [1, 2]})
    >>> [(keystr(path), leaf) for path, leaf in pairs]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return _native.pytree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Pairs (key path, leaf) of a tree; see `tree_flatten_with_path`.

    >>> tree_leaves_with_path([5])
    [((SequenceKey(idx=0),), 5)]
    """
    return _native.pytree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def treedef_paths(treedef: PyTreeDef) -> list[KeyPath]:
    """The key path of each leaf of a structure.

    A tree with numbers as leaves has them, if its classes can be made of numbers. Where a constructor refuses numbers, children
    without known keys are named by their positions.

    >>> list(map(keystr, treedef_paths(tree_structure({"a": [1, 2]}))))
    ["['a'][0]", "['a'][1]"]
    """
    try:
        found = [path for path, _ in tree_leaves_with_path(treedef.unflatten(range(treedef.num_leaves)))]
    except Exception:  # by the class of a user, whatever it raises
        found = []
    if len(found) == treedef.num_leaves:
        return found
    levels = zip(treedef.child_keys(), treedef.children(), strict=True)
    return [(key, *path) for key, child in levels for path in treedef_paths(child)]


def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[..., bool] | None = None,
                       is_leaf_takes_path: bool = False) -> Any:
    """As `tree_map`, with the key path as the first argument of f.

    >>> tree_map_with_path(lambda path, x: keystr(path) + "=" + str(x), {"a": [1, 2]})
    {'a': ["['a'][0]=1", "['a'][1]=2"]}
    """
    pairs, treedef = _native.pytree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = _columns("tree_map_with_path", treedef, rest)
    return treedef.unflatten([f(*pair, *row) for pair, *row in zip(pairs, *columns, strict=True)])


def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether all leaves are true.

    >>> tree_all([True, (1, {"a": 2})])
    True
    """
    return all(_native.pytree_leaves(tree, is_leaf))


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _missing, is_leaf: IsLeaf | None = None
) -> Any:
    """`functools.reduce` over the leaves.

    Raises:
      TypeError: no leaves and no initializer.

    >>> tree_reduce(lambda x, y: x + y, [1, (2, 3)])
    6
    """
    leaves = _native.pytree_leaves(tree, is_leaf)
    if initializer is _missing:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[T, T], T], tree: Any, *, identity: Any = _missing, is_leaf: IsLeaf | None = None
) -> Any:
    """Balanced reduction of the leaves, of depth log2 of their number; `operation` must be associative.

    Args:
      operation: takes two values.
      tree: nested containers.
      identity: the result if there are no leaves.
      is_leaf: where to stop.

    Raises:
      TypeError: no leaves and no identity.

    >>> tree_reduce_associative(lambda x, y: f"({x}{y})", ["a", "b", "c", "d"])
    '((ab)(cd))'
    """
    leaves = _native.pytree_leaves(tree, is_leaf)
    if leaves:
        return _reduce_halves(operation, leaves)
    if identity is _missing:
        raise TypeError("tree_reduce_associative: the tree has no leaves; give `identity` for the result")
    return identity


def _reduce_halves(operation: Callable[[Any, Any], Any], items: list[Any]) -> Any:
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    return operation(_reduce_halves(operation, items[:half]), _reduce_halves(operation, items[half:]))


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Transposes a tree of trees: an outer structure of inner ones becomes an inner structure of outer ones.

    Args:
      outer_treedef: the upper structure of `pytree_to_transpose`.
      inner_treedef: the structure at each of its leaves; None: that at the first one.
      pytree_to_transpose: the tree.

    Raises:
      TypeError: the tree does not have the structure outer of inner; names the key path. Containers may be of other types where
        there are as many children; nodes of users' classes may have other children and metadata, with as many leaves.
      ValueError: inner_treedef is None and the outer one has no leaves.

    >>> tree_transpose(tree_structure([0, 0]), None, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    leaves, treedef = _native.pytree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = _first_inner(outer_treedef, pytree_to_transpose)
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected and not _corresponds(expected, treedef):
        raise TypeError(_transpose_mismatch(expected, treedef))
    inner, outer = inner_treedef.num_leaves, outer_treedef.num_leaves
    columns = [[leaves[i * inner + j] for i in range(outer)] for j in range(inner)]
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


def _corresponds(expected: PyTreeDef, found: PyTreeDef) -> bool:
    """Whether two structures have the same leaves in the same places: containers of as many children, dictionaries of equal
    keys. How nodes of users' classes hold their leaves is their own matter."""
    if expected.num_leaves != found.num_leaves:
        return False
    ours, theirs = expected.node_data(), found.node_data()
    if ours is None or theirs is None:
        return ours is theirs
    if not all(kind[0] in (tuple, list, dict) for kind in (ours, theirs)):
        return True
    children, others = expected.children(), found.children()
    if len(children) != len(others) or (ours[0] is dict and theirs[0] is dict and ours[1] != theirs[1]):
        return False
    return all(map(_corresponds, children, others))


def _first_inner(outer_treedef: PyTreeDef, tree: Any) -> PyTreeDef:
    subtrees = outer_treedef.flatten_up_to(tree)
    if not subtrees:
        raise ValueError("tree_transpose: outer_treedef has no leaves, so inner_treedef must be given")
    return _native.pytree_structure(subtrees[0])


def _transpose_mismatch(expected: PyTreeDef, got: PyTreeDef) -> str:
    lines = [f"tree_transpose: Mismatch: the tree's structure is\n  {got}\nbut outer_treedef of inner_treedef is\n  {expected}"]
    for path, thing1, thing2, explanation in equality_errors_treedef(got, expected):
        where = f"at key path {keystr(path)}" if path else "at the root"
        lines.append(f"The tree has a {thing1} {where} where a {thing2} is expected: {explanation}.")
    return "\n".join(lines)


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """A tree like `full_tree` with the leaves of `prefix_tree`, each repeated over its subtree.

    Raises:
      ValueError: `prefix_tree` is not a prefix of `full_tree`; names the key path.

    >>> tree_broadcast({"a": 1, "b": 2}, {"a": [0, 0], "b": 0})
    {'a': [1, 1], 'b': 2}
    """
    return _native.pytree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Whether no item is a node; None is a node.

    >>> all_leaves([1, "a"]), all_leaves([1, (2,)])
    (True, False)
    """
    return all(_native.pytree_structure(item, is_leaf).node_data() is None for item in iterable)


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a treedef has a single node: a leaf, None or an empty container.

    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Treedefs of the root's children.

    >>> treedef_children(tree_structure([1, (2, 3)]))
    [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return treedef.children()


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The treedef of a tuple of trees.

    >>> treedef_tuple([tree_structure(1), tree_structure([2])])
    PyTreeDef((*, [*]))
    """
    return PyTreeDef.from_node_data_and_children(default_registry, (tuple, None), treedefs)


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """A tree of structure `treedef` from nested iterables of children.

    Raises:
      ValueError: a node has another number of children.

    >>> build_tree(tree_structure([1, (2, 3)]), ["x", ["y", "z"]])
    ['x', ('y', 'z')]
    """
    return treedef.from_iterable_tree(xs)


def is_tree_node(typ: type) -> bool:
    """Whether instances of exactly this type are nodes.

    >>> is_tree_node(dict), is_tree_node(float)
    (True, False)
    """
    return _native.pytree_is_node(typ)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Children and node data of a node.

    Raises:
      ValueError: the tree is a leaf.

    >>> flatten_one_level({"a": [1], "b": 2})
    (([1], 2), ('a', 'b'))
    """
    level = _native.pytree_one_level(tree)
    if level is None:
        raise ValueError(f"can't tree-flatten type {type(tree)}: it is not a pytree node type, so the tree is a leaf")
    return level


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """Pairs (key entry, child) and node data of a node.

    Raises:
      ValueError: the tree is a leaf.

    >>> flatten_one_level_with_keys([5])
    (((SequenceKey(idx=0), 5),), None)
    """
    level = _native.pytree_one_level_with_keys(tree)
    if level is None:
        raise ValueError(f"can't tree-flatten type {type(tree)}: it is not a pytree node type, so the tree is a leaf")
    return level
