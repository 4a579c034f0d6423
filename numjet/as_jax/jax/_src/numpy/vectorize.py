"""The parts of `vectorize`: signatures, sizes of core dimensions, excluded arguments."""
from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from numjet.numpy.ufuncs.vectorize import (
    Dims, bind_sizes, checked as _checked, parse as _parse_gufunc_signature, vectorize as vectorize,  # noqa: F401
)


def _parse_input_dimensions(args: tuple[Any, ...], input_core_dims: list[Dims], error_context: str = ""
                            ) -> tuple[tuple[int, ...], dict[str, int]]:
    """The shape to which the axes before the core ones broadcast, and the sizes of the core ones by name."""
    if len(args) != len(input_core_dims):
        raise TypeError(f"wrong number of positional arguments: expected {len(input_core_dims)}, got {len(args)} "
                        f"{error_context}")
    sizes: dict[str, int] = {}
    for x, dims in zip(args, input_core_dims, strict=True):
        bind_sizes(sizes, np.shape(x), dims, error_context)
    leads = [np.shape(x)[:np.ndim(x) - len(dims)] for x, dims in zip(args, input_core_dims, strict=True)]
    return np.broadcast_shapes(*leads), sizes


def _check_output_dims(func: Callable[..., Any], dim_sizes: dict[str, int], expected_output_core_dims: list[Dims],
                       error_context: str = "") -> Callable[..., Any]:
    """func, with the shapes of its results compared with the signature."""
    return _checked(func, dim_sizes, expected_output_core_dims, error_context)


def _apply_excluded(func: Callable[..., Any], excluded: Collection[int | str], args: tuple[Any, ...], kwargs: dict[str, Any]
                    ) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The function of the arguments that are not excluded, and these."""
    kept = [i for i in range(len(args)) if i not in excluded]
    fixed = {name: value for name, value in kwargs.items() if name in excluded}

    def of_kept(*values: Any, **named: Any) -> Any:
        placed = list(args)
        for i, value in zip(kept, values, strict=True):
            placed[i] = value
        return func(*placed, **named, **fixed)
    return of_kept, tuple(args[i] for i in kept), {name: value for name, value in kwargs.items() if name not in excluded}
