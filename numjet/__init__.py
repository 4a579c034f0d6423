"""numjet: NumPy's API with composable program transformations, compiled to native code.

>>> import numjet as nj
>>> import numjet.numpy as jnp
>>> nj.jit(nj.grad(lambda x: jnp.sum(x ** 2)))(jnp.arange(3.0)).tolist()
[0.0, 2.0, 4.0]
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.foundation import current_core as _current_core  # before all else
from numjet.foundation import main_interpreter as _main_interpreter

from numjet.core import printer as _printer
from numjet.foundation import lazy_import as _lazy_import
from numjet.runtime import eager as _eager, settings as _settings

from numjet import lax as lax
from numjet import dtypes as dtypes, errors as errors, tree as tree, tree_util as tree_util, typing as typing
from numjet import numpy as numpy
from numjet.api.diagnostics import (
    clear_caches as clear_caches, ensure_compile_time_eval as ensure_compile_time_eval, named_call as named_call,
    print_environment_info as print_environment_info, typeof as typeof,
)
from numjet.api.grad import (
    grad as grad, hessian as hessian, jacfwd as jacfwd, jacobian as jacobian, jacrev as jacrev, jvp as jvp,
    linear_transpose as linear_transpose, linearize as linearize, value_and_grad as value_and_grad, vjp as vjp,
)
from numjet.api.jit import jit as jit
from numjet.api.stages import ShapeDtypeStruct as ShapeDtypeStruct, eval_shape as eval_shape, make_jaxpr as make_jaxpr
from numjet.api.transfer import (
    block_until_ready as block_until_ready, copy_to_host_async as copy_to_host_async, default_backend as default_backend,
    device_count as device_count, device_get as device_get, device_put as device_put, devices as devices,
    effects_barrier as effects_barrier, live_arrays as live_arrays, local_device_count as local_device_count,
    local_devices as local_devices, process_count as process_count, process_index as process_index,
)
from numjet.api.vmap import vmap as vmap
from numjet.control import (
    closure_convert as closure_convert, custom_gradient as custom_gradient, custom_jvp as custom_jvp, custom_vjp as custom_vjp,
)
from numjet.core.refs import Ref as Ref
from numjet.core.trace import ArrayBase as Array
from numjet.foundation.config import (
    checking_leaks as checking_leaks, config as config, debug_infs as debug_infs,
    debug_key_reuse as debug_key_reuse, debug_nans as debug_nans,
    default_device as default_device, default_matmul_precision as default_matmul_precision,
    default_prng_impl as default_prng_impl, disable_jit as disable_jit,
    enable_checks as enable_checks, enable_custom_prng as enable_custom_prng, enable_x64 as enable_x64,
    explain_cache_misses as explain_cache_misses, legacy_prng_key as legacy_prng_key, log_compiles as log_compiles,
    numpy_dtype_promotion as numpy_dtype_promotion, numpy_rank_promotion as numpy_rank_promotion,
    softmax_custom_jvp as softmax_custom_jvp, threefry_partitionable as threefry_partitionable,
    transfer_guard as transfer_guard,
)
from numjet.foundation.dtypes import float0 as float0
from numjet.foundation.source import named_scope as named_scope
from numjet.runtime.device import Device as Device

__version__ = "0.1.0"

if _TYPE_CHECKING:
    from numjet import (
        ad as ad, ad_checkpoint as ad_checkpoint, checkpoint_policies as checkpoint_policies,
        custom_batching as custom_batching,
        custom_derivatives as custom_derivatives, debug as debug, distributed as distributed, dlpack as dlpack,
        example_libraries as example_libraries, experimental as experimental, export as export, extend as extend,
        ffi as ffi, flatten_util as flatten_util, image as image, interpreters as interpreters, memory as memory,
        monitoring as monitoring, nn as nn, ops as ops, profiler as profiler, random as random, ref as ref, scipy as scipy,
        sharding as sharding, stages as stages, test_util as test_util, testing as testing,
    )
    from numjet.lazy_exports import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_import.names(__name__, "numjet.lazy_exports", frozenset({
        "ad", "ad_checkpoint", "checkpoint_policies", "custom_batching", "custom_derivatives", "debug", "distributed", "dlpack",
        "example_libraries", "experimental", "export", "extend", "ffi", "flatten_util", "image", "interpreters", "memory",
        "monitoring", "nn", "ops", "profiler", "random", "ref", "scipy", "sharding", "stages", "test_util", "testing",
    }))
