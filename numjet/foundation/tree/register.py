"""Registry of node types: the container classes, with the functions that flatten and rebuild them.

A type is registered once. Registration is not inherited: a subclass of a node type is a leaf unless it is registered, too.
"""

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from numjet import _native
from numjet.foundation import lazy_import
from numjet.foundation.tree.keys import DictKey

dataclasses = lazy_import.Module("dataclasses")

T = TypeVar("T")
ClassT = TypeVar("ClassT", bound=type)

PyTreeDef = _native.PyTreeDef


class PyTreeRegistry:
    """The registered node types. There is one registry, `default_registry`."""

    def register_node(self, nodetype: type[T], to_iterable: Callable[[T], tuple[Iterable[Any], Any]],
                      from_iterable: Callable[[Any, Any], T],
                      to_iterable_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]] | None = None) -> None:
        """Registers a class; see `register_pytree_node`."""
        _native.pytree_register_node(nodetype, to_iterable, from_iterable, to_iterable_with_keys)
        _note(nodetype)

    def register_dataclass_node(self, nodetype: type, data_fields: Sequence[str], meta_fields: Sequence[str]) -> None:
        """Registers a class that is rebuilt by keyword arguments; see `register_dataclass`."""
        _native.pytree_register_dataclass(nodetype, data_fields, meta_fields)
        _note(nodetype)

    def is_node(self, nodetype: type) -> bool:
        """Whether instances of exactly this type are nodes, not leaves."""
        return _native.pytree_is_node(nodetype)

    def flatten(self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
        """Leaves and treedef of a tree."""
        return _native.pytree_flatten(tree, leaf_predicate)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: Callable[[Any, Any], bool] | None = None
    ) -> tuple[list[tuple[Any, Any]], PyTreeDef]:
        """Pairs (key path, leaf) and treedef of a tree; the predicate gets (path, node)."""
        return _native.pytree_flatten_with_path(tree, leaf_predicate, True)

    def flatten_one_level(self, tree: Any) -> tuple[Iterable[Any], Any] | None:
        """Children and node data; None for a leaf."""
        return _native.pytree_one_level(tree)

    def flatten_one_level_with_keys(self, tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any] | None:
        """Pairs (key entry, child) and node data; None for a leaf."""
        return _native.pytree_one_level_with_keys(tree)


default_registry = PyTreeRegistry()
_LIBRARIES = frozenset(("numpy", "ml_dtypes", *sys.stdlib_module_names))
library_types: list[type] = []   # classes of Python's and NumPy's that somebody else registered


def _note(nodetype: type) -> None:
    if nodetype.__module__.split(".")[0] in _LIBRARIES and nodetype not in (OrderedDict, defaultdict):
        library_types.append(nodetype)


def register_pytree_node(nodetype: type[T], flatten_func: Callable[[T], tuple[Iterable[Any], Any]],
                         unflatten_func: Callable[[Any, Any], T],
                         flatten_with_keys_func: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]] | None = None) -> None:
    """Makes a class a pytree node.

    Args:
      nodetype: the class; its subclasses are not registered with it.
      flatten_func: object -> (children, aux_data). aux_data must be hashable and have ==, and hold no arrays.
      unflatten_func: aux_data, children (a tuple) -> object. Children may be any objects, not only arrays.
      flatten_with_keys_func: object -> ((key entry, child) pairs, aux_data), for key paths.

    Raises:
      ValueError: the type is a node already.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda aux, children: Pair(*children))
    >>> _native.pytree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    default_registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(nodetype: type[T], flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]],
                              unflatten_func: Callable[[Any, Any], T],
                              flatten_func: Callable[[T], tuple[Iterable[Any], Any]] | None = None) -> None:
    """Makes a class a pytree node whose children have key entries.

    Args:
      nodetype: the class.
      flatten_with_keys: object -> ((key entry, child) pairs, aux_data).
      unflatten_func: aux_data, children -> object.
      flatten_func: object -> (children, aux_data), if there is a faster way than dropping the keys.

    Raises:
      ValueError: the type is a node already.
    """

    def without_keys(tree: T) -> tuple[Iterable[Any], Any]:
        pairs, aux = flatten_with_keys(tree)
        return tuple(child for _, child in pairs), aux

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: ClassT) -> ClassT:
    """Class decorator for a class with `tree_flatten(self)` and a classmethod `tree_unflatten(cls, aux, children)`.

    >>> @register_pytree_node_class
    ... class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    ...     def tree_flatten(self):
    ...         return (self.x, self.y), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> _native.pytree_leaves(Point(1, 2))
    [1, 2]
    """
    register_pytree_node(cls, _method(cls, "tree_flatten"), _method(cls, "tree_unflatten"))
    return cls


def register_pytree_with_keys_class(cls: ClassT) -> ClassT:
    """Class decorator: as `register_pytree_node_class`, with `tree_flatten_with_keys(self)`. Flattening without paths uses
    `tree_flatten` if the class has it."""
    flatten = getattr(cls, "tree_flatten", None)
    register_pytree_with_keys(cls, _method(cls, "tree_flatten_with_keys"), _method(cls, "tree_unflatten"), flatten)
    return cls


def _method(cls: type, name: str) -> Any:
    method = getattr(cls, name, None)
    if method is None:
        raise AttributeError(f"{cls!r} cannot be registered as a pytree node: it has no method {name!r}")
    return method


def register_static(cls: ClassT) -> ClassT:
    """Class decorator: instances are nodes without leaves, part of the treedef. They must be hashable and have ==.

    >>> @register_static
    ... class Mode(str):
    ...     pass
    >>> _native.pytree_leaves([Mode("train"), 1.0])
    [1.0]
    """
    register_pytree_node(cls, lambda obj: ((), obj), lambda obj, _: obj, lambda obj: ((), obj))
    return cls


def register_dataclass(nodetype: ClassT, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] | None = None,
                       drop_fields: Sequence[str] = ()) -> ClassT:
    """Makes a dataclass a pytree node; also as a class decorator.

    Args:
      nodetype: a dataclass, or any class whose constructor takes the fields by keyword.
      data_fields: names of the children. By default the fields without `metadata={"static": True}`.
      meta_fields: names of fields that are part of the treedef; hashable, with ==, no arrays.
      drop_fields: fields that are neither; rebuilt objects have their defaults.

    Raises:
      TypeError: only one of data_fields and meta_fields is given, or neither for a class that is no dataclass.
      ValueError: the fields given are not those of the dataclass; the type is a node already.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: object
    ...     name: str = dataclasses.field(metadata={"static": True})
    >>> _native.pytree_flatten(Layer(1.0, "first"))
    ([1.0], PyTreeDef(CustomNode(Layer[('first',)], [*])))
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError("register_dataclass: data_fields and meta_fields must both be specified when either is specified. "
                        f"Got data_fields={data_fields!r} meta_fields={meta_fields!r}.")
    if data_fields is None or meta_fields is None:
        data_fields, meta_fields = _fields_by_metadata(nodetype, drop_fields)
    _check_fields(nodetype, tuple(data_fields), tuple(meta_fields), tuple(drop_fields))
    default_registry.register_dataclass_node(nodetype, tuple(data_fields), tuple(meta_fields))
    return nodetype


def static(**kwargs: Any) -> Any:
    """A dataclass field that `register_dataclass` makes part of the treedef; arguments as for `dataclasses.field`.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Scaled:
    ...     value: object
    ...     unit: str = static(default="mV")
    >>> _native.pytree_structure(Scaled(1.0))
    PyTreeDef(CustomNode(Scaled[('mV',)], [*]))
    """
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


def _fields_by_metadata(nodetype: type, drop_fields: Sequence[str]) -> tuple[list[str], list[str]]:
    if not dataclasses.is_dataclass(nodetype):
        raise TypeError("register_dataclass: data_fields and meta_fields are required when nodetype is not a dataclass. "
                        f"Got nodetype={nodetype!r}.")
    data: list[str] = []
    meta: list[str] = []
    for field in dataclasses.fields(nodetype):
        if field.name not in drop_fields:
            (meta if field.metadata.get("static", False) else data).append(field.name)
    return data, meta


def _check_fields(nodetype: type, data: tuple[str, ...], meta: tuple[str, ...], drop: tuple[str, ...]) -> None:
    twice = set(data) & set(meta)
    if twice or len(set(data)) < len(data) or len(set(meta)) < len(meta):
        raise ValueError(f"register_dataclass: data_fields and meta_fields must not overlap and name a field of {nodetype!r} "
                         f"once. Overlapping fields: {_listed(twice or {*data, *meta})}")
    if not dataclasses.is_dataclass(nodetype):
        return
    expected = {field.name for field in dataclasses.fields(nodetype) if field.init} - set(drop)
    given = set(data) | set(meta)
    if missing := expected - given:
        raise ValueError(f"register_dataclass: data_fields and meta_fields must include all dataclass fields of {nodetype!r}. "
                         f"Missing fields: {_listed(missing)}. Add them there, or to drop_fields to rebuild objects with "
                         "their defaults.")
    if unexpected := given - expected:
        raise ValueError("register_dataclass: data_fields and meta_fields must include all dataclass fields with init=True of "
                         f"{nodetype!r}, and no others. Unexpected fields: {_listed(unexpected)}")


def _listed(names: set[str]) -> str:
    return f"{{{', '.join(map(repr, sorted(names)))}}}"


def _flatten_ordered(tree: OrderedDict[Any, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(tree.values()), tuple(tree.keys())


def _flatten_ordered_with_keys(tree: OrderedDict[Any, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple((DictKey(key), value) for key, value in tree.items()), tuple(tree.keys())


def _unflatten_ordered(keys: tuple[Any, ...], values: tuple[Any, ...]) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(keys, values, strict=True))


def _sorted_keys(tree: defaultdict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(tree))
    except TypeError as error:
        raise TypeError(
            f"cannot flatten a defaultdict whose keys cannot be sorted: {list(tree)!r}; use keys of one type"
        ) from error


def _flatten_default(tree: defaultdict[Any, Any]) -> tuple[tuple[Any, ...], Any]:
    keys = _sorted_keys(tree)
    return tuple(tree[key] for key in keys), (tree.default_factory, keys)


def _flatten_default_with_keys(tree: defaultdict[Any, Any]) -> tuple[tuple[Any, ...], Any]:
    keys = _sorted_keys(tree)
    return tuple((DictKey(key), tree[key]) for key in keys), (tree.default_factory, keys)


def _unflatten_default(aux: tuple[Any, tuple[Any, ...]], values: tuple[Any, ...]) -> defaultdict[Any, Any]:
    factory, keys = aux
    return defaultdict(factory, zip(keys, values, strict=True))


register_pytree_node(OrderedDict, _flatten_ordered, _unflatten_ordered, _flatten_ordered_with_keys)
register_pytree_node(defaultdict, _flatten_default, _unflatten_default, _flatten_default_with_keys)
