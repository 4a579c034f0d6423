"""Namespace information of the array API standard, 2024.12: dtypes, devices and capabilities."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.runtime.device import Device, devices as runtime_devices

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",), "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"), "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]
_DEFAULTS: dict[str, type] = {"real floating": float, "complex floating": complex, "integral": int, "indexing": int}


def _available(names: Iterable[str]) -> dict[str, np.dtype]:
    """Dtypes by name; 64 bits only with jax_enable_x64."""
    found = {name: np.dtype(name) for name in names}
    return {name: dtype for name, dtype in found.items() if dtypes.canonicalize_dtype(dtype) == dtype}


def _check_device(device: Any) -> None:
    if device is not None and not isinstance(device, Device):
        raise ValueError(f"expected None or a device, one of {runtime_devices()}, got {device!r}")


class ArrayNamespaceInfo:
    """What the standard's functions can ask about numjet.numpy.

    >>> ArrayNamespaceInfo().capabilities()["max dimensions"]
    64
    """

    def capabilities(self) -> dict[str, Any]:
        """Results whose shape depends on values: none, as functions under jit have none."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """None: arrays are uncommitted unless a device is asked for."""
        return None

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of results of functions that are not told one, by kind. ValueError for other objects than devices."""
        _check_device(device)
        return {kind: dtypes.python_scalar_dtype(number) for kind, number in _DEFAULTS.items()}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype]:
        """The standard's dtypes that arrays can have, by name; of a kind, or of several. ValueError for other kinds."""
        _check_device(device)
        kinds = (*_KINDS,) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        unknown = [k for k in kinds if k not in (*_KINDS,)]
        if unknown:
            raise ValueError(f"dtypes: expected kinds among {', '.join(_KINDS)}, got {unknown[0]!r}")
        return _available(dict.fromkeys(name for k in kinds for name in _KINDS[k]))

    def devices(self) -> list[Any]:
        """None, the default, and the devices."""
        return [None, *runtime_devices()]

