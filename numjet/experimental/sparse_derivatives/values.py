"""Values of a program of which only the dependence on its input is followed: known arrays, unknown ones, rows of a table."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from numjet.foundation import lazy_import

sparse = lazy_import.Module("scipy.sparse")


class Rows(NamedTuple):
    """An array that depends on the input: a boolean matrix in CSR form, with a row per element in row-major order."""

    table: Any


Value = np.ndarray | Rows | None  # an array that is known, that depends on the input, or neither


def depends(value: Value) -> bool:
    """Whether the value depends on the input."""
    return isinstance(value, Rows)


def empty(rows: int, width: int) -> Any:
    """A table of elements that depend on nothing."""
    return sparse.csr_matrix((rows, width), dtype=bool)


def identity(size: int) -> Rows:
    """The input itself."""
    return Rows(sparse.identity(size, dtype=bool, format="csr"))


def chosen(table: Any, rows: Any) -> Any:
    """The table with a row for each of these numbers, one without elements for negative ones."""
    rows = np.asarray(rows, np.int64).reshape(-1)
    inside = rows >= 0
    found = table[rows[inside]]
    if inside.all():
        return found
    lengths = np.zeros(rows.size + 1, np.int64)
    lengths[1:][inside] = np.diff(found.indptr)
    return sparse.csr_matrix((found.data, found.indices, np.cumsum(lengths)), shape=(rows.size, table.shape[1]))


def masked(table: Any, keep: np.ndarray) -> Any:
    """The table without the elements of rows that are not to be kept."""
    if keep.all():
        return table
    return (sparse.diags(keep.reshape(-1), dtype=bool, format="csr") @ table).tocsr()


def joined(tables: Sequence[Any]) -> Any:
    """The table whose rows have the elements of all tables."""
    total = tables[0]
    for t in tables[1:]:
        total = total + t
    return total


def below(tables: Sequence[Any]) -> Any:
    """The rows of all tables, one after the other."""
    return sparse.vstack(tables, "csr")


def product(size: int, targets: np.ndarray, sources: np.ndarray, table: Any) -> Any:
    """The table of `size` rows in which row targets[k] has the elements of row sources[k] of the given one."""
    targets, sources = (np.asarray(v).reshape(-1) for v in (targets, sources))
    inside = (targets >= 0) & (sources >= 0)
    ones = np.ones(int(inside.sum()), bool)
    links = sparse.csr_matrix((ones, (targets[inside], sources[inside])), shape=(size, table.shape[0]), dtype=bool)
    return (links @ table).tocsr()


def blurred(tables: Sequence[Any], size: int) -> Any:
    """The table of `size` rows that all have every element of the tables."""
    found = np.unique(np.concatenate([t.indices for t in tables]))
    width = tables[0].shape[1]
    starts = np.arange(size + 1) * found.size
    return sparse.csr_matrix((np.ones(size * found.size, bool), np.tile(found, size), starts), shape=(size, width), dtype=bool)


def union(a: Value, b: Value) -> Value:
    """What is true of both values: an array only if they are equal."""
    if isinstance(a, Rows) and isinstance(b, Rows):
        return Rows(a.table + b.table)
    if isinstance(a, Rows) or isinstance(b, Rows):
        return a if isinstance(a, Rows) else b
    same = a is not None and b is not None and np.array_equal(a, b)
    return a if same else None


def equal(a: Value, b: Value) -> bool:
    """Whether nothing more is in one than in the other."""
    if isinstance(a, Rows) and isinstance(b, Rows):
        return (a.table != b.table).nnz == 0
    if a is None or b is None or isinstance(a, Rows) or isinstance(b, Rows):
        return a is b
    return bool(np.array_equal(a, b))


def stacked(values: Sequence[Value], shape: tuple[int, ...], dtype: np.dtype) -> Value:
    """Values of one shape along a new first axis."""
    widths = [v.table.shape[1] for v in values if isinstance(v, Rows)]
    if widths:
        return Rows(below([v.table if isinstance(v, Rows) else empty(prod(shape), widths[0]) for v in values]))
    if any(v is None for v in values):
        return None
    return np.stack([v for v in values if isinstance(v, np.ndarray)]) if values else np.zeros((0, *shape), dtype)


def element(value: Value, i: int, size: int) -> Value:
    """Element i along the first axis; size: of each."""
    if isinstance(value, Rows):
        return Rows(value.table[i * size:(i + 1) * size])
    return None if value is None else value[i]
