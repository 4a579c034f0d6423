"""Compute types: where on a device operations run, as names of scopes. The innermost one around an operation holds; programs
carry names of scopes through transformations and calls."""
from __future__ import annotations

from collections.abc import Sequence

_HEAD = "compute_on("
in_use: list[bool] = []  # not empty once a scope has one


def scope_name(compute_type: object) -> str:
    """The name of the scope of a compute type. TypeError for what is no text, ValueError for an unknown one."""
    if not isinstance(compute_type, str):
        raise TypeError(f"`compute_on`'s compute_type argument must be a string, got {compute_type!r}")
    stream = compute_type.startswith("gpu_stream:") and compute_type.removeprefix("gpu_stream:").isdigit()
    if not stream and compute_type not in ("device_host", "device", "tpu_sparsecore"):
        raise ValueError(f"Invalid compute type {compute_type}. Current supported values are `device_host`, `device`, "
                         "`tpu_sparsecore`, and `gpu_stream:#`.")
    if not in_use:
        in_use.append(True)
    return f"{_HEAD}{compute_type})"


def of_scopes(names: Sequence[str]) -> str | None:
    """The compute type of an operation in scopes of these names, outermost first; None for the usual one."""
    found = next((n for n in reversed(names) if n.startswith(_HEAD)), None)
    return None if found is None else found[len(_HEAD):-1]
