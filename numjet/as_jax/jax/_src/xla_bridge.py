"""Backends and devices."""
from typing import Any

from numjet.api.transfer import (
    default_backend as default_backend, device_count as device_count, devices as devices,
    local_device_count as local_device_count, local_devices as local_devices, process_count as process_count,
    process_index as process_index,
)
from numjet.runtime.device import devices_are_known


def __getattr__(name: str) -> Any:
    """`_backends`: those whose devices were asked for, by platform, so that how many there are cannot change any more."""
    if name != "_backends":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return {d.platform: d.client for d in devices()} if devices_are_known() else {}
