"""Public names of numjet, each imported when it is first asked for: import statements only."""

from numjet.api.autograph.function import autograph as autograph
from numjet.api.benchmark import benchmark as benchmark
from numjet.api.diagnostics import (
    clear_caches as clear_caches,
    ensure_compile_time_eval as ensure_compile_time_eval,
    named_call as named_call,
    print_environment_info as print_environment_info,
    typeof as typeof,
)
from numjet.api.explain import explain as explain
from numjet.api.fwd_and_bwd import fwd_and_bwd as fwd_and_bwd
from numjet.api.grad import (
    grad as grad,
    hessian as hessian,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
    jvp as jvp,
    linear_transpose as linear_transpose,
    linearize as linearize,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from numjet.api.jit import jit as jit
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
from numjet.api.stages import ShapeDtypeStruct as ShapeDtypeStruct, eval_shape as eval_shape, make_jaxpr as make_jaxpr
from numjet.api.transfer import (
    block_until_ready as block_until_ready,
    copy_to_host_async as copy_to_host_async,
    default_backend as default_backend,
    device_count as device_count,
    device_get as device_get,
    device_put as device_put,
    devices as devices,
    effects_barrier as effects_barrier,
    live_arrays as live_arrays,
    local_device_count as local_device_count,
    local_devices as local_devices,
    process_count as process_count,
    process_index as process_index,
    process_indices as process_indices,
)
from numjet.api.user_context import make_user_context as make_user_context
from numjet.api.visualize import visualize as visualize
from numjet.api.vmap import vmap as vmap
from numjet.control import (
    checkpoint as checkpoint,
    checkpoint_scan as checkpoint_scan,
    closure_convert as closure_convert,
    custom_gradient as custom_gradient,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    io_callback as io_callback,
    pure_callback as pure_callback,
    remat as remat,
)
from numjet.core.refs import Ref as Ref
from numjet.core.sharding.partition_spec import PartitionSpec as P  # noqa: F401
from numjet.core.sharding.shardings import NamedSharding as NamedSharding
from numjet.experimental.sparse_derivatives.derivatives import (
    sparse_hessian as sparse_hessian,
    sparse_jacobian as sparse_jacobian,
)
from numjet.foundation.config import (
    allow_f16_reductions as allow_f16_reductions,
    array_garbage_collection_guard as array_garbage_collection_guard,
    auto_pcast as auto_pcast,
    check_tracer_leaks as check_tracer_leaks,
    checking_leaks as checking_leaks,
    config as config,
    debug_infs as debug_infs,
    debug_key_reuse as debug_key_reuse,
    debug_nans as debug_nans,
    default_device as default_device,
    default_matmul_precision as default_matmul_precision,
    default_prng_impl as default_prng_impl,
    disable_jit as disable_jit,
    enable_checks as enable_checks,
    enable_custom_prng as enable_custom_prng,
    enable_x64 as enable_x64,
    explain_cache_misses as explain_cache_misses,
    legacy_prng_key as legacy_prng_key,
    log_compiles as log_compiles,
    no_execution as no_execution,
    no_tracing as no_tracing,
    numpy_dtype_promotion as numpy_dtype_promotion,
    numpy_rank_promotion as numpy_rank_promotion,
    remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type,
    softmax_custom_jvp as softmax_custom_jvp,
    threefry_partitionable as threefry_partitionable,
    transfer_guard as transfer_guard,
    transfer_guard_device_to_device as transfer_guard_device_to_device,
    transfer_guard_device_to_host as transfer_guard_device_to_host,
    transfer_guard_host_to_device as transfer_guard_host_to_device,
)
from numjet.foundation.dtypes import float0 as float0
from numjet.foundation.source import named_scope as named_scope
from numjet.lax.indexing.index_slices import ds as ds
from numjet.runtime.device import Device as Device
