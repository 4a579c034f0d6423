"""Backends and devices."""
from typing import Any

from numjet.api.transfer import (
    default_backend as default_backend, device_count as device_count, devices as devices,
    local_device_count as local_device_count, local_devices as local_devices, process_count as process_count,
    process_index as process_index,
)

_backends: dict[str, Any] = {}  # those of XLA that were started; numjet's own needs no start
