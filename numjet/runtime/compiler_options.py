"""Compiler options: settings of XLA for one program. Programs for XLA's devices are compiled with them; numjet's own compiler
knows their names and values, and logs a warning that it does not read them."""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from numjet.foundation import events
from numjet.foundation.errors import JaxRuntimeError
from numjet.foundation.flags import parse_bool

Options = Mapping[str, Any]
_INT32 = 1 << 31


def _bool(value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        raise ValueError
    return parse_bool(value)


def _int32(value: Any) -> int:
    number = int(value)
    if isinstance(value, (bool, float)) or not -_INT32 <= number < _INT32:
        raise ValueError
    return number


_KINDS: dict[str, Callable[[Any], Any]] = {"bool": _bool, "int32": _int32, "float": float, "string": str}
_NAMES: dict[str, str] = {
    **dict.fromkeys("""xla_embed_ir_in_executable xla_dump_hlo_as_text xla_dump_hlo_as_proto xla_dump_hlo_as_dot
        xla_dump_hlo_as_html xla_dump_hlo_as_url xla_dump_hlo_snapshots xla_dump_include_timestamp xla_dump_fusion_visualization
        xla_dump_large_constants xla_dump_module_metadata xla_hlo_profile xla_eliminate_hlo_implicit_broadcast
        xla_allow_excess_precision
        xla_cpu_enable_fast_math xla_cpu_enable_fast_min_max xla_cpu_fast_math_honor_nans xla_cpu_fast_math_honor_infs
        xla_cpu_fast_math_honor_division xla_cpu_fast_math_honor_functions xla_cpu_multi_thread_eigen xla_cpu_use_onednn
        xla_cpu_use_thunk_runtime xla_cpu_use_acl xla_cpu_strict_dot_conv_math xla_llvm_disable_expensive_passes
        xla_llvm_enable_noalias_metadata xla_llvm_enable_alias_scope_metadata xla_llvm_enable_invariant_load_metadata
        xla_gpu_enable_fast_min_max xla_gpu_enable_triton_gemm xla_gpu_triton_gemm_any xla_gpu_enable_cudnn_fmha
        xla_gpu_enable_latency_hiding_scheduler xla_gpu_enable_command_buffer xla_gpu_deterministic_ops
        xla_gpu_exclude_nondeterministic_ops xla_gpu_ftz xla_gpu_crash_on_verification_failures xla_gpu_enable_pipelined_p2p
        xla_gpu_enable_while_loop_double_buffering xla_gpu_strict_conv_algorithm_picker
        xla_detailed_logging""".split(), "bool"),
    **dict.fromkeys("""xla_dump_max_hlo_modules xla_backend_optimization_level xla_cpu_parallel_codegen_split_count
        xla_gpu_autotune_level xla_gpu_max_kernel_unroll_factor xla_gpu_all_reduce_combine_threshold_bytes
        xla_gpu_all_gather_combine_threshold_bytes xla_gpu_reduce_scatter_combine_threshold_bytes
        xla_gpu_graph_min_graph_size xla_force_host_platform_device_count""".split(), "int32"),
    **dict.fromkeys("""xla_gpu_auto_spmd_partitioning_memory_budget_ratio exec_time_optimization_effort
        memory_fitting_effort""".split(), "float"),
    **dict.fromkeys("""xla_dump_to xla_dump_hlo_module_re xla_dump_hlo_pass_re xla_disable_hlo_passes xla_cpu_max_isa
        xla_cpu_prefer_vector_width xla_gpu_cuda_data_dir xla_gpu_pgle_profile_file_or_directory_path""".split(), "string"),
}


def not_read(options: Options | None) -> None:
    """Logs a warning of options for numjet's own compiler. JaxRuntimeError for unknown ones and values of another type."""
    for name, value in (options or {}).items():
        kind = _NAMES.get(name)
        if kind is None:
            raise JaxRuntimeError(f"INVALID_ARGUMENT: No such compile option: {name!r}. numjet's compiler is set by flags of "
                                  "numjet.config, and knows the names of XLA's common options only.")
        try:
            _KINDS[kind](value)
        except (ValueError, TypeError):
            raise JaxRuntimeError(f"INVALID_ARGUMENT: While setting option {name}, {str(value)!r} is not a valid {kind} "
                                  "value.") from None
        events.log_debug(functools.partial(_text, name), asked=True)


def _text(name: str) -> str:
    return (f"the compiler option {name} is one of XLA's, and numjet's own compiler, which compiles this program for the CPU, "
            "does not read it")
