"""Arrays in files, in NumPy's formats: save, savez, load."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.numpy.core.arrays import asarray, numbers_of_text
from numjet.numpy.core.promotion import array_arg

_TWO_BYTES = np.dtype("V2")


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Writes an array to a file (a path or a binary file) in NumPy's .npy format.

    >>> import io
    >>> file = io.BytesIO()
    >>> save(file, asarray([1, 2])), file.seek(0), load(file).tolist()
    (None, 0, [1, 2])
    """
    python = isinstance(arr, (bool, int, float, complex, list, tuple))  # saved with all its bits
    objects = isinstance(arr, np.ndarray) and arr.dtype.hasobject   # pickled, where allowed
    np.save(file, np.asarray(arr if python or objects else array_arg("save", arr)), allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Writes arrays to a file in NumPy's .npz format, under names given as keywords (else arr_0, ...).

    >>> import io
    >>> file = io.BytesIO()
    >>> savez(file, x=asarray([1, 2])), file.seek(0), load(file)["x"].tolist()
    (None, 0, [1, 2])
    """
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle, **{k: np.asarray(v) for k, v in kwds.items()})


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Reads a file of `save` or `savez`: an array, or a mapping of names to NumPy arrays. Arguments as of numpy.load.

    Files say of dtypes that NumPy does not know how many bytes they have: two mean bfloat16. TypeError for the others. Arrays
    of objects, which need allow_pickle=True, stay NumPy's.

    >>> import io
    >>> file = io.BytesIO()
    >>> save(file, asarray([1.5])), file.seek(0), load(file).tolist()
    (None, 0, [1.5])
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray) or found.dtype.hasobject:
        return found
    return asarray(found.view(dtypes.bfloat16) if found.dtype == _TWO_BYTES else found)


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """As `savez`, compressed.

    >>> import io
    >>> file = io.BytesIO()
    >>> savez_compressed(file, x=asarray([1, 2])), file.seek(0), load(file)["x"].tolist()
    (None, 0, [1, 2])
    """
    np.savez_compressed(file, *map(np.asarray, args), allow_pickle=allow_pickle, **{k: np.asarray(v) for k, v in kwds.items()})


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:
    """Writes an array of rank 1 or 2 as text; arguments as of numpy.savetxt.

    >>> import io
    >>> file = io.StringIO()
    >>> savetxt(file, asarray([1, 2]), fmt="%d"), file.getvalue()
    (None, '1\\n2\\n')
    """
    np.savetxt(fname, np.asarray(array_arg("savetxt", X)), *args, **kwargs)


def loadtxt(fname: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
    """The numbers of a text, as an array; arguments as of numpy.loadtxt.

    >>> import io
    >>> loadtxt(io.StringIO("1 2"), dtype="int32").tolist()
    [1, 2]
    """
    return numbers_of_text(lambda dtype: np.loadtxt(fname, dtype, *args, **kwargs), dtypes.as_dtype(dtype))


def genfromtxt(fname: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
    """The numbers of a text with gaps, as an array; arguments as of numpy.genfromtxt. TypeError for columns of other kinds.

    >>> import io
    >>> genfromtxt(io.StringIO("1,,3"), delimiter=",").tolist()
    [1.0, nan, 3.0]
    """
    if dtype is None:  # as the text says
        return asarray(np.genfromtxt(fname, dtype, *args, **kwargs))
    return numbers_of_text(lambda dtype: np.genfromtxt(fname, dtype, *args, **kwargs), np.dtype(dtype))
