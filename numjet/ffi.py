"""Foreign function interface: C functions called from compiled programs."""

from numjet.api.ffi.calls import ffi_call as ffi_call
from numjet.api.ffi.lowering import ffi_lowering as ffi_lowering
from numjet.api.ffi.targets import (
    include_dir as include_dir,
    pycapsule as pycapsule,
    register_ffi_target as register_ffi_target,
    register_ffi_target_as_batch_partitionable as register_ffi_target_as_batch_partitionable,
    register_ffi_type as register_ffi_type,
)
