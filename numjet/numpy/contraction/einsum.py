"""einsum: sums of products named by letters, as a sequence of dot_generals.

The order of more than two operands comes from opt_einsum (D. G. A. Smith, J. Gray: opt_einsum, JOSS 2018).
"""
from __future__ import annotations

import functools
import reprlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.trace import aval_of
from numjet.foundation import dtypes, lazy_import
from numjet.foundation.dimension import Dimension
from numjet.lax.contraction.dot import DotDimensionNumbers, check_left_sums, dot_general
from numjet.lax.elementwise import convert
from numjet.lax.reduction.reduce import reduce_or, reduce_sum
from numjet.lax.shape import rearrange
from numjet.lax.shape.rearrange import divided
from numjet.numpy.contraction.dot import _times
from numjet.numpy.core.promotion import array_arg, check_out, promote_args
from numjet.numpy.indexing.subscript import getitem

_SUPPOSED = 128  # the size that the order of products is chosen for where sizes are symbolic
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
Term = tuple[Any, str]
Product = Callable[[Any, Any, DotDimensionNumbers], Any]  # dot_general, or a function of the user in its place
opt_einsum = lazy_import.Module("opt_einsum")


# -------------------------------------------------------------------------------------------- subscripts

def _from_lists(args: Sequence[Any]) -> tuple[str, list[Any]]:
    """einsum(x, [0, 1], y, [1, 2], [0, 2]) in letters."""
    operands, lists = list(args[0:len(args) - len(args) % 2:2]), list(args[1::2])
    for names in [*lists, *args[len(args) - len(args) % 2:]]:
        if not isinstance(names, Iterable) or any(not isinstance(k, Hashable) for k in names):
            raise TypeError("einsum: expected subscripts, as in 'ij,jk->ik', or after each operand a list of the names of its "
                            f"axes, ints or strings; got {reprlib.repr(names)} for such a list")
    used = sorted({k for one in [*lists, *([args[-1]] if len(args) % 2 else [])] for k in one if k is not Ellipsis}, key=repr)
    letter = {k: chr(192 + i) if i >= len(_LETTERS) else _LETTERS[i] for i, k in enumerate(sorted(used))}
    text = [("".join("..." if k is Ellipsis else letter[k] for k in one)) for one in lists]
    subscripts = ",".join(text)
    if len(args) % 2:
        subscripts += "->" + "".join("..." if k is Ellipsis else letter[k] for k in args[-1])
    return subscripts, operands


def _wrong_rank(term: str, rank: int, expected: str) -> str:
    return (f"Einstein sum subscript {term!r} does not contain the correct number of indices: the operand has {rank} axes, "
            f"expected {expected}")


def _with_dots(term: str, rank: int, dots: str) -> str:
    """A term in which letters of `dots` stand for its ellipsis."""
    count = rank - len(term.replace("...", ""))
    if "..." not in term:
        if count:
            raise ValueError(_wrong_rank(term, rank, str(len(term))))
        return term
    if count < 0:
        raise ValueError(_wrong_rank(term, rank, f"{len(term) - 3} at least"))
    return term.replace("...", dots[len(dots) - count:])


@functools.lru_cache(maxsize=4096)
def _parse(subscripts: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The letters of each operand and of the result, without ellipses. ValueError for malformed subscripts."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"Number of einsum subscripts, {len(terms)}, must be equal to the number of operands, {len(ranks)}; "
                         f"got {subscripts!r}")
    if any(term.count(".") not in (0, 3) or "." in term.replace("...", "") for term in (*terms, right)):
        raise ValueError(f"einsum: {subscripts!r}: Invalid Ellipses: expected '...' at most once per operand")
    odd = sorted(set(left + right) & set("->"))
    if odd:
        raise ValueError(f"einsum: {subscripts!r}: expected letters, commas, '...' and '->', got {odd}")
    most = max([r - len(t.replace("...", "")) for t, r in zip(terms, ranks, strict=True) if "..." in t], default=0)
    spare = [c for c in (*_LETTERS, *map(chr, range(192, 1000))) if c not in text]
    dots = "".join(spare[:max(most, 0)])
    full = tuple(_with_dots(t, r, dots) for t, r in zip(terms, ranks, strict=True))
    seen = Counter("".join(full))
    if arrow:
        out = right.replace("...", dots)
    else:
        out = dots + "".join(sorted(c for c, n in seen.items() if n == 1 and c not in dots))
    for c in out:
        if c not in seen:
            raise ValueError(f"einsum: {subscripts!r}: Output character {c!r} did not appear in the input")
        if out.count(c) > 1:
            raise ValueError(f"einsum: {subscripts!r}: Output character {c!r} appeared more than once in the output")
    return full, out


def _sizes(subscripts: str, terms: Sequence[str], operands: Sequence[Any]) -> dict[str, int]:
    """The size of each letter. ValueError when two differ and none is 1."""
    sizes: dict[str, int] = {}
    for k, (term, x) in enumerate(zip(terms, operands, strict=True)):
        for c, n in zip(term, x.aval.shape, strict=True):
            if sizes.get(c, 1) not in (n, 1) and n != 1:
                raise ValueError(f"einsum: {subscripts!r}: Size of label {c!r} for operand {k} ({n}) does not match previous "
                                 f"terms ({sizes[c]}), in shapes {[y.aval.shape for y in operands]}")
            sizes[c] = n if c not in sizes or sizes[c] == 1 else sizes[c]
    return sizes


# -------------------------------------------------------------------------------------------- one operand

def _diagonals(x: Any, term: str) -> Term:
    """x with each repeated letter as one axis."""
    for c in [c for c, n in Counter(term).items() if n > 1]:
        axes = [i for i, t in enumerate(term) if t == c]
        others = [i for i in range(len(term)) if i not in axes]
        x = rearrange.transpose(x, [*axes, *others])
        x = getitem(x, (np.arange(x.aval.shape[0], dtype=np.int32),) * len(axes))
        term = c + "".join(term[i] for i in others)
    return x, term


def _prepared(x: Any, term: str, sizes: dict[str, int]) -> Term:
    """x with each letter once, and without the axes of size 1 that broadcast."""
    ones = [i for i, c in enumerate(term) if x.aval.shape[i] == 1 and sizes[c] != 1]
    if ones:
        x, term = rearrange.squeeze(x, ones), "".join(c for i, c in enumerate(term) if i not in ones)
    return _diagonals(x, term) if len(set(term)) < len(term) else (x, term)


def _summed(x: Any, term: str, kept: str, dtype: np.dtype) -> Term:
    """x summed over the letters that occur nowhere else, in the dtype of the result where that is wider."""
    axes = [i for i, c in enumerate(term) if c not in kept]
    if not axes:
        return x, term
    x = _widened(x, dtype)
    fold = reduce_or if x.aval.dtype == np.bool_ else reduce_sum
    return fold(x, axes), "".join(c for c in term if c in kept)


def _widened(x: Any, dtype: np.dtype) -> Any:
    return convert.convert_element_type(x, dtype) if x.aval.dtype.itemsize < dtype.itemsize else x


# -------------------------------------------------------------------------------------------- two operands

def _contract(x: Term, y: Term, kept: str, wanted: str, product: Product, dtype: np.dtype, elementwise: bool) -> Term:
    """The product of two terms, summed over the letters that are not kept. `wanted`: the best order of letters; `dtype`: of
    the result; `elementwise`: whether products without a sum are made here, not by the user's own function."""
    (a, left), (b, right) = _summed(*x, y[1] + kept, dtype), _summed(*y, x[1] + kept, dtype)
    a, b = _widened(a, b.aval.dtype), _widened(b, a.aval.dtype)   # one was summed in a wider dtype
    batch = [c for c in left if c in right and c in kept]
    inner = [c for c in left if c in right and c not in kept]
    own_a, own_b = [c for c in left if c not in right], [c for c in right if c not in left]
    if not inner and elementwise:
        return _multiplied(a, left, b, right, wanted, dtype)
    if "".join([*batch, *own_b, *own_a]) == wanted:
        a, left, own_a, b, right, own_b = b, right, own_b, a, left, own_a
    numbers = ((tuple(map(left.index, inner)), tuple(map(right.index, inner))),
               (tuple(map(left.index, batch)), tuple(map(right.index, batch))))
    return product(a, b, numbers), "".join([*batch, *own_a, *own_b])


def _multiplied(a: Any, left: str, b: Any, right: str, wanted: str, dtype: np.dtype) -> Term:
    """The elementwise product of broadcast arrays, for terms without summed letters: it fuses with surrounding operations."""
    letters = "".join(dict.fromkeys(left + right))
    if sorted(wanted) == sorted(letters):
        letters = wanted
    a, b = (v if v.aval.dtype == dtype else convert.convert_element_type(v, dtype) for v in (a, b))
    return _times(_aligned(a, left, letters), _aligned(b, right, letters)), letters


def _aligned(x: Any, term: str, letters: str) -> Any:
    order = [term.index(c) for c in letters if c in term]
    x = rearrange.transpose(x, order) if order != list(range(len(term))) else x
    missing = [i for i, c in enumerate(letters) if c not in term]
    return rearrange.expand_dims(x, missing) if missing else x


def _path(terms: Sequence[str], out: str, shapes: Sequence[tuple[int, ...]], optimize: Any) -> list[tuple[int, ...]]:
    """The contraction path: the pairs of operands in order; each pair is replaced by its product at the end of the list."""
    count = len(terms)
    if optimize is False:
        return [(0, 1), *[(0, k) for k in range(count - 2, 0, -1)]]
    if isinstance(optimize, (list, tuple)):
        return [tuple(p) for p in optimize if p != "einsum_path"]
    how = "auto" if optimize is True else optimize
    known = [tuple(_SUPPOSED if isinstance(n, Dimension) else n for n in s) for s in shapes]
    path, _ = opt_einsum.contract_path(",".join(terms) + "->" + out, *known, shapes=True, optimize=how)
    return [tuple(p) for p in path]


def _check_left_sums(subscripts: str, operands: Sequence[Any], out_sharding: Any) -> None:
    """Of a product of two operands, as of dot_general."""
    if len(operands) == 2:
        terms, result = _parse(subscripts, tuple(aval_of(x).ndim for x in operands))
        letters = [c for c in terms[0] if c in terms[1] and c not in result]
        check_left_sums(out_sharding, [(x, [t.index(c) for c in letters]) for x, t in zip(operands, terms, strict=True)])


@jit_when_eager("subscripts", "out", "optimize", "precision", "preferred_element_type", "_dot_general", "out_sharding",
       large=False)
def einsum(subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "auto", precision: Any = None,
           preferred_element_type: Any = None, _dot_general: Any = dot_general, out_sharding: Any = None) -> Any:
    """Sums of products by subscripts: "ij,jk->ik" is the matrix product.

    subscripts: for each operand a letter per axis ("..." for those in front that broadcast), after "->" those of the result
    (default: letters that occur once, in order); or operands and lists of ints in turn. optimize: how opt_einsum finds
    the order of more than two operands ("optimal", "greedy", "auto", False: left to right, or a path). precision,
    preferred_element_type: as of matmul. _dot_general: a function that makes products in place of lax.dot_general. ValueError
    for subscripts that don't fit the shapes.

    >>> import numjet.numpy as jnp
    >>> einsum("ij,j->i", jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1])).tolist()
    [3, 7]
    """
    check_out("einsum", out)
    if out_sharding is not None:
        plain = functools.partial(einsum, optimize=optimize, precision=precision, _dot_general=_dot_general,
                                  preferred_element_type=preferred_element_type)
        words, found = (subscripts, list(operands)) if isinstance(subscripts, str) else _from_lists((subscripts, *operands))
        _check_left_sums(words, found, out_sharding)
        return divided("einsum", lambda *xs: plain(words, *xs), out_sharding, *found)
    subscripts, given = (subscripts, list(operands)) if isinstance(subscripts, str) else _from_lists((subscripts, *operands))
    if not given:
        raise ValueError("einsum: expected at least one operand")
    arrays = [array_arg("einsum", x, i) for i, x in enumerate(given)]
    if preferred_element_type is None or not any(x.aval.dtype.itemsize == 1 for x in arrays):
        arrays = promote_args("einsum", *given)  # products of bytes are made as they are: 8-bit floats do not promote
    terms, result = _parse(subscripts, tuple(x.aval.ndim for x in arrays))
    weak = preferred_element_type is None and all(x.aval.weak_type for x in arrays)
    preferred = preferred_element_type
    dtype = arrays[0].aval.dtype if preferred is None else dtypes.check_user_dtype(preferred, "einsum")
    sizes = _sizes(subscripts, terms, arrays)
    product = functools.partial(_dot_general, precision=precision, preferred_element_type=dtype)
    x, letters = _evaluate(arrays, terms, result, sizes, optimize, product, dtype, _dot_general is dot_general)
    order = [letters.index(c) for c in result]
    x = rearrange.transpose(x, order) if order != list(range(len(order))) else x
    return x if (x.aval.dtype, x.aval.weak_type) == (dtype, weak) else convert.convert_dtype(x, dtype, weak)


def _evaluate(arrays: Sequence[Any], terms: Sequence[str], result: str, sizes: dict[str, int], optimize: Any,
              product: Product, dtype: np.dtype, elementwise: bool) -> Term:
    live = [_prepared(x, t, sizes) for x, t in zip(arrays, terms, strict=True)]
    shapes = [x.aval.shape for x, _ in live]
    path = [tuple(range(len(live)))] if len(live) < 3 else _path([t for _, t in live], result, shapes, optimize)
    for step in path:
        group = [live[i] for i in sorted(step, reverse=True)]
        live = [t for i, t in enumerate(live) if i not in step]
        others = "".join(t for _, t in live)
        while len(group) > 1:
            kept = "".join({*result, *others, *"".join(t for _, t in group[:-2])})
            last = not others and len(group) == 2
            y, x = group[-2], group[-1]
            group = [*group[:-2], _contract(x, y, kept, result if last else "", product, dtype, elementwise)]
        live.append(group[0])
    x, letters = _summed(*live[0], result, dtype)
    missing = [c for c in result if c not in letters]
    if missing:  # letters of size 1 in the only operand that has them
        raise ValueError(f"einsum: letters {missing} of the result are in no operand")
    return x, letters


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[list[Any], Any]:
    """The order in which einsum would multiply, and a description of its cost.

    >>> import numjet.numpy as jnp
    >>> x = jnp.ones((2, 2))
    >>> einsum_path("ij,jk,kl->il", x, x, x)[0]
    [(0, 1), (0, 1)]
    """
    subscripts, given = (subscripts, list(operands)) if isinstance(subscripts, str) else _from_lists((subscripts, *operands))
    shapes = [array_arg("einsum_path", x, i).aval.shape for i, x in enumerate(given)]
    how = "auto" if optimize is True else optimize
    return opt_einsum.contract_path(subscripts, *shapes, shapes=True, optimize=how)
