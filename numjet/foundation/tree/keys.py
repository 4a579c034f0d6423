"""Key paths, from the root of a pytree to a leaf.

A key path is a tuple of key entries, one per level. `keystr` prints it as Python syntax: `['layers'][0].weight`.
"""

from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

from numjet import _native
from numjet.foundation.record import Record

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath = tuple[KeyEntry, ...]


class SequenceKey(Record):
    """Position in a list or tuple.

    >>> str(SequenceKey(3))
    '[3]'
    """

    idx: int

    def __post_init__(self) -> None:
        _check_type(self, "idx", self.idx, int)

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


class DictKey(Record):
    """Key of a dict.

    >>> str(DictKey("a"))
    "['a']"
    """

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class GetAttrKey(Record):
    """Attribute of a namedtuple, a dataclass or a registered class.

    >>> str(GetAttrKey("weight"))
    '.weight'
    """

    name: str

    def __post_init__(self) -> None:
        _check_type(self, "name", self.name, str)

    def __str__(self) -> str:
        return f".{self.name}"


class FlattenedIndexKey(Record):
    """Position among the children of a node type that was registered without keys.

    >>> str(FlattenedIndexKey(0))
    '[<flat index 0>]'
    """

    key: int

    def __post_init__(self) -> None:
        _check_type(self, "key", self.key, int)

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


_native.pytree_set_key_types(SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey)


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Prints a key path.

    Args:
      keys: key entries, as `tree_flatten_with_path` gives them.
      simple: print only the index, key or name of each entry.
      separator: text between entries.

    >>> path = (DictKey("layers"), SequenceKey(0), GetAttrKey("weight"))
    >>> keystr(path)
    "['layers'][0].weight"
    >>> keystr(path, simple=True, separator="/")
    'layers/0/weight'
    """
    return separator.join(map(_simple if simple else str, keys))


def _simple(key: Any) -> str:
    match key:
        case SequenceKey(value) | DictKey(value) | GetAttrKey(value) | FlattenedIndexKey(value):
            return str(value)
    return str(key)


def _check_type(key: object, field: str, value: object, expected: type) -> None:
    if not isinstance(value, expected):
        raise TypeError(f"{type(key).__name__}.{field} must be {expected.__name__}, got {value!r}")
