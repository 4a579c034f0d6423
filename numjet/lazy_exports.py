"""Lazy exports: functions of numjet that most programs do not need, imported when the first of them is named."""

from numjet.api.explain import explain as explain
from numjet.api.pmap import pmap as pmap
from numjet.api.refs import empty_ref as empty_ref, free_ref as free_ref, freeze as freeze, new_ref as new_ref
from numjet.api.sharding import NamedSharding as NamedSharding, PartitionSpec as P, make_mesh as make_mesh  # noqa: F401
from numjet.control.lazy_exports import (
    checkpoint as checkpoint,
    checkpoint_scan as checkpoint_scan,
    io_callback as io_callback,
    pure_callback as pure_callback,
    remat as remat,
)
from numjet.foundation.config import (
    check_tracer_leaks as check_tracer_leaks,
    enable_checks as enable_checks,
    enable_custom_prng as enable_custom_prng,
    no_tracing as no_tracing,
    transfer_guard as transfer_guard,
    transfer_guard_device_to_device as transfer_guard_device_to_device,
    transfer_guard_device_to_host as transfer_guard_device_to_host,
    transfer_guard_host_to_device as transfer_guard_host_to_device,
)
