"""Binary serialization of the structure of pytrees, and the registration of a user's node types for it."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numjet.api.export.codec import Corrupt, Reader, Writer, read_value, write_value
from numjet.foundation.record import Record
from numjet.foundation.tree import PyTreeDef, is_tree_node, tree_structure

T = TypeVar("T")
_DEEPEST = 200


class _Registration(Record):
    nodetype: type
    name: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    from_children: Callable[[Any, Sequence[Any]], Any] | None


_by_type: dict[type, _Registration] = {}
_by_name: dict[str, _Registration] = {}
_BUILTIN: tuple[type, ...] = (tuple, list, dict, OrderedDict)
_LEAF, _NONE, _REGISTERED, _FIRST = 0, 1, 2, 3


def register_pytree_node_serialization(nodetype: type[T], *, serialized_name: str,
                                       serialize_auxdata: Callable[[Any], bytes],
                                       deserialize_auxdata: Callable[[bytes], Any],
                                       from_children: Callable[[Any, Sequence[Any]], Any] | None = None) -> type[T]:
    """Lets exported functions take and return nodes of a type; the reading process must register it under the same name.

    serialize_auxdata, deserialize_auxdata: the auxiliary data of a node as bytes, and back. from_children(auxdata, children):
    makes a node; default: the function given to register_pytree_node.
    ValueError for a type or name registered already, and for a type that is no node.
    """
    if from_children is None and not is_tree_node(nodetype):
        raise ValueError("If `from_children` is not present, you must call first `jax.tree_util.register_pytree_node` for "
                         f"{nodetype}")
    for known, what in ((_by_type.get(nodetype), ""), (_by_name.get(serialized_name), " for serialized_name")):
        if known is not None:
            raise ValueError(f"Duplicate serialization registration{what} of type `{nodetype}` and serialized_name "
                             f"'{serialized_name}': previously registered as `{known.nodetype}` with serialized_name "
                             f"'{known.name}'")
    made = _Registration(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children)
    _by_type[nodetype] = _by_name[serialized_name] = made
    return nodetype


def register_namedtuple_serialization(nodetype: type[T], *, serialized_name: str) -> type[T]:
    """Lets exported functions take and return a namedtuple; the reading process must register it under the same name.

    ValueError for a class that is no namedtuple, and for a type or name registered already.

    >>> from collections import namedtuple
    >>> Pair = register_namedtuple_serialization(namedtuple("Pair", "a b"), serialized_name="docs.Pair")
    """
    if not (isinstance(nodetype, type) and issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(f"{nodetype} is no namedtuple. Use `export.register_pytree_node_serialization`.")
    return register_pytree_node_serialization(
        nodetype, serialized_name=serialized_name, serialize_auxdata=lambda aux: b"",
        deserialize_auxdata=lambda data: nodetype, from_children=lambda aux, children: nodetype(*children))


def write_tree(w: Writer, tree: PyTreeDef) -> None:
    """Appends the structure of a pytree. ValueError for nodes of types that are not registered for serialization."""
    node = tree.node_data()
    if node is None:
        w.data.append(_LEAF if tree.num_leaves else _NONE)
        return
    kind, aux = node
    if kind in _BUILTIN:
        w.data.append(_FIRST + _BUILTIN.index(kind))
        write_value(w, aux)
    elif kind in _by_type:
        w.data.append(_REGISTERED)
        w.text(_by_type[kind].name)
        w.raw(_by_type[kind].write(aux))
    elif kind is type(None):
        w.data.append(_NONE)
        return
    else:
        raise ValueError(f"Cannot serialize a pytree that contains a node of the unregistered type {kind}. Use "
                         "`export.register_pytree_node_serialization` or `export.register_namedtuple_serialization`.")
    w.count(len(tree.children()))
    for child in tree.children():
        write_tree(w, child)


def read_tree(r: Reader, depth: int = 0) -> PyTreeDef:
    """The structure at the reader's position."""
    if depth > _DEEPEST:
        raise Corrupt(f"a pytree nested more than {_DEEPEST} deep")
    tag = r.byte()
    if tag == _LEAF:
        return tree_structure(0)
    if tag == _NONE:
        return tree_structure(None)
    if tag == _REGISTERED:
        return _registered(r, depth)
    if tag >= _FIRST + len(_BUILTIN):
        raise Corrupt(f"unknown kind {tag} of a pytree at {r.at - 1}")
    kind, aux = _BUILTIN[tag - _FIRST], read_value(r)
    children = r.several(lambda: read_tree(r, depth + 1))
    return _built_in(kind, aux, children)


def _built_in(kind: type, aux: Any, children: list[PyTreeDef]) -> PyTreeDef:
    if kind in (tuple, list):
        like: Any = kind([0] * len(children))
    else:
        if len(set(aux)) != len(children):
            raise Corrupt(f"{len(children)} entries of a dictionary with the keys {aux!r}")
        like = kind((key, 0) for key in aux)
    return _with_children(tree_structure(like), children)


def _registered(r: Reader, depth: int) -> PyTreeDef:
    name, data = r.text(), r.raw()
    found = _by_name.get(name)
    if found is None:
        raise Corrupt(f"pytree nodes of a type registered as {name!r}. Call `export.register_pytree_node_serialization` or "
                      "`export.register_namedtuple_serialization` before loading")
    aux = found.read(data)
    children = r.several(lambda: read_tree(r, depth + 1))
    if found.from_children is None:
        return PyTreeDef.from_node_data_and_children(None, (found.nodetype, aux), children)
    return _with_children(tree_structure(found.from_children(aux, [0] * len(children))), children)


def _with_children(like: PyTreeDef, children: list[PyTreeDef]) -> PyTreeDef:
    if len(like.children()) != len(children):
        raise Corrupt(f"{len(children)} children of a node with {len(like.children())}")
    return PyTreeDef.from_node_data_and_children(None, like.node_data(), children)
