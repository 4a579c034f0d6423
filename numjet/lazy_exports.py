"""Lazy exports: functions of numjet that most programs do not need, imported when the first of them is named."""

from numjet.api.autograph.function import autograph as autograph
from numjet.api.benchmark import benchmark as benchmark
from numjet.api.explain import explain as explain
from numjet.api.fwd_and_bwd import fwd_and_bwd as fwd_and_bwd
from numjet.api.memory_stats import memory_stats as memory_stats
from numjet.api.pmap import pmap as pmap
from numjet.api.profile import profile as profile
from numjet.api.progress import progress as progress
from numjet.api.refs import empty_ref as empty_ref, free_ref as free_ref, freeze as freeze, new_ref as new_ref
from numjet.api.sharding.axis_modes import reshard as reshard
from numjet.api.sharding.mesh import make_mesh as make_mesh, set_mesh as set_mesh
from numjet.api.sharding.shard_map import shard_map as shard_map, smap as smap
from numjet.api.sharding.shards import (
    Shard as Shard,
    make_array_from_callback as make_array_from_callback,
    make_array_from_process_local_data as make_array_from_process_local_data,
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from numjet.api.transfer import process_indices as process_indices
from numjet.api.user_context import make_user_context as make_user_context
from numjet.api.visualize import visualize as visualize
from numjet.control.lazy_exports import (
    checkpoint as checkpoint,
    checkpoint_scan as checkpoint_scan,
    io_callback as io_callback,
    pure_callback as pure_callback,
    remat as remat,
)
from numjet.core.sharding.partition_spec import PartitionSpec as P  # noqa: F401
from numjet.core.sharding.shardings import NamedSharding as NamedSharding
from numjet.experimental.sparse_derivatives.derivatives import (
    sparse_hessian as sparse_hessian,
    sparse_jacobian as sparse_jacobian,
)
from numjet.foundation.config import (
    allow_f16_reductions as allow_f16_reductions,
    array_garbage_collection_guard as array_garbage_collection_guard,
    check_tracer_leaks as check_tracer_leaks,
    enable_checks as enable_checks,
    enable_custom_prng as enable_custom_prng,
    no_execution as no_execution,
    no_tracing as no_tracing,
    transfer_guard as transfer_guard,
    transfer_guard_device_to_device as transfer_guard_device_to_device,
    transfer_guard_device_to_host as transfer_guard_device_to_host,
    transfer_guard_host_to_device as transfer_guard_host_to_device,
)
from numjet.lax.indexing.index_slices import ds as ds
