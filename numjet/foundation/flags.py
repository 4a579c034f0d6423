"""Table of configuration flags: name, accepted values, default, description.

To add a flag, add a row: `config.py` derives its environment variables, attribute, context manager and part of the trace token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numjet.foundation import jax_flags, lazy_import
from numjet.foundation.record import Record

difflib = lazy_import.Module("difflib")

_TRUE = frozenset(("1", "y", "yes", "t", "true", "on"))
_FALSE = frozenset(("0", "n", "no", "f", "false", "off", ""))


def parse_bool(value: Any) -> bool:
    """`True`/`False`, 0/1, or the words that shells use for them."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _TRUE:
        return True
    if isinstance(value, str) and value.strip().lower() in _FALSE:
        return False
    raise ValueError(f"expected a bool, got {value!r} of type {type(value).__name__}")


def parse_int(value: Any) -> int:
    """An integer, or its decimal text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        return int(value)
    raise ValueError(f"expected an int, got {value!r} of type {type(value).__name__}")


def parse_count(value: Any) -> int:
    """An integer of at least 1, or its decimal text."""
    count = parse_int(value)
    if count < 1:
        raise ValueError(f"expected an int of at least 1, got {count}")
    return count


def parse_switch_or_count(value: Any) -> bool | int:
    """`True`/`False`, their words, or an integer of at least 1."""
    if isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in _TRUE | _FALSE):
        return parse_bool(value)
    return parse_count(value)


def parse_float(value: Any) -> float:
    """A number, or its text."""
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"expected a number, got {value!r} of type {type(value).__name__}")


def parse_str(value: Any) -> str:
    """Text, or a path, which becomes text."""
    if isinstance(value, str):
        return value
    if hasattr(value, "__fspath__"):
        return str(value.__fspath__())
    raise ValueError(f"expected a str, got {value!r} of type {type(value).__name__}")


PLATFORMS = frozenset({"cpu", "xla_cpu", "gpu", "cuda", "tpu"})  # names that runtime.backends knows


def parse_device(value: Any) -> Any:
    """A device object, or the name of a platform; the runtime checks that it has devices."""
    if isinstance(value, str) and value in PLATFORMS or hasattr(value, "platform"):
        return value
    raise ValueError("expected a Device object (for example `devices('cpu')[0]`) or a platform name string like 'cpu' or "
                     f"'gpu', got {value!r} of type {type(value).__name__}; the platforms are {sorted(PLATFORMS)}")


def parse_mesh(value: Any) -> Any:
    """A mesh object; there is no text for one."""
    if hasattr(value, "axis_names"):
        return value
    raise ValueError(f"expected a mesh, as set_mesh sets it, got {value!r} of type {type(value).__name__}")


def like(default: Any) -> Callable[[Any], Any]:
    """The parser of values of the type of `default`; of any for None."""
    parsers: dict[type, Callable[[Any], Any]] = {bool: parse_bool, int: parse_int, float: parse_float, str: parse_str}
    return parsers.get(type(default), lambda value: value)


def only(default: Any) -> Callable[[Any], Any]:
    """A parser that accepts exactly `default`."""
    parse_type = like(default)

    def parse(value: Any) -> Any:
        if parse_type(value) != default:
            raise ValueError(f"not supported, it can only be {default!r}")
        return default

    return parse


def one_of(*choices: str) -> Callable[[Any], str]:
    """A parser that accepts exactly `choices`."""

    def parse(value: Any) -> str:
        if value in choices:
            return value
        raise ValueError(f"new enum value must be in {list(choices)}, got {value!r} of type {type(value).__name__}")

    return parse


class Flag(Record):
    """One flag: its parser, its default, and whether programs depend on it."""

    name: str
    parse: Callable[[Any], Any]
    default: Any
    doc: str
    traces: bool = False  # part of the trace token: programs depend on the value
    optional: bool = False  # None is a value, too
    fixed: bool = False  # read when numjet is imported; does not change afterwards
    options: tuple[str, ...] = ()  # of XLA_FLAGS, which set the flag, too
    inert: bool = False  # no value that it accepts changes anything

    @property
    def stem(self) -> str:
        """The name without its prefix: `enable_x64`, `num_threads`."""
        return self.name.removeprefix("numjet_").removeprefix("jax_")

    @property
    def environment(self) -> tuple[str, ...]:
        """Environment variables that set the flag; the first one that is present wins."""
        stem = self.stem.upper()
        own = (f"NUMJET_{stem}",)
        return own if self.name.startswith("numjet_") else (*own, self.name.upper())

    def convert(self, value: Any) -> Any:
        """The value to store; ValueError if the flag does not accept it."""
        if value is None and self.optional:
            return None
        try:
            return self.parse(value)
        except ValueError as error:
            raise ValueError(f"flag {self.name}: {error}") from None


MATMUL_PRECISIONS = ("default", "high", "highest", "bfloat16", "tensorfloat32", "float32")
_DOT_ALGORITHMS = ("ANY_F8_ANY_F8_F32 ANY_F8_ANY_F8_F32_FAST_ACCUM ANY_F8_ANY_F8_ANY ANY_F8_ANY_F8_ANY_FAST_ACCUM "
                   "F16_F16_F16 F16_F16_F32 BF16_BF16_BF16 BF16_BF16_F32 BF16_BF16_F32_X3 BF16_BF16_F32_X6 BF16_BF16_F32_X9 "
                   "TF32_TF32_F32 TF32_TF32_F32_X3 F32_F32_F32 F64_F64_F64").split()
_FILTERS = ("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto")
_GUARDS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")


def _traced(name: str, parse: Callable[[Any], Any], default: Any, doc: str, optional: bool = False) -> Flag:
    return Flag(name, parse, default, doc, traces=True, optional=optional)


FLAGS: tuple[Flag, ...] = (
    # numbers
    _traced("jax_enable_x64", parse_bool, False, "64-bit dtypes; off, they become their 32-bit counterparts."),
    _traced("jax_numpy_rank_promotion", one_of("allow", "warn", "raise"), "allow",
            "What happens when operands of different rank broadcast."),
    _traced("jax_numpy_dtype_promotion", one_of("standard", "strict"), "standard",
            "strict: only Python scalars promote without a cast."),
    _traced("jax_default_matmul_precision", one_of(*MATMUL_PRECISIONS, *_DOT_ALGORITHMS), None,
            "Precision of products where the call names none.", optional=True),
    _traced("jax_allow_f16_reductions", parse_bool, True, "lax.reduce_sum of float16 and bfloat16; off, it raises."),
    _traced("jax_explicit_x64_dtypes", one_of("warn", "error"), "warn", "What happens where a 64-bit dtype is named while "
            "jax_enable_x64 is off."),
    _traced("jax_default_prng_impl", one_of("threefry2x32", "rbg", "unsafe_rbg"), "threefry2x32",
            "Generator of keys whose implementation is not named."),
    _traced("jax_threefry_partitionable", parse_bool, True, "Random bits that do not depend on how arrays are split."),
    _traced("jax_enable_custom_prng", parse_bool, False, "PRNGKey makes typed keys, as key does."),
    _traced("jax_legacy_prng_key", one_of("allow", "warn", "error"), "allow",
            "What happens where a key is an array of words, as PRNGKey makes them."),
    _traced("jax_random_seed_offset", parse_int, 0, "Added to every seed."),
    _traced("jax_high_dynamic_range_gumbel", parse_bool, False, "Two random numbers per sample of gumbel and categorical."),
    _traced("jax_auto_pcast", parse_bool, True, "Operands in shard_map vary over the axes over which others of the operation "
            "do; off: they are refused."),
    _traced("jax_remove_size_one_mesh_axis_from_type", parse_bool, False, "Leave axes of meshes of size 1 out of types."),
    _traced("jax_disable_vmap_shmap_error", parse_bool, False, "Leave out the error for vmap(spmd_axis_name=) of a shard_map "
            "with collectives over that axis."),
    _traced("jax_softmax_custom_jvp", parse_bool, True, "Softmax with its own derivative rule."),
    _traced("numjet_numpy_dispatch", parse_bool, True, "NumPy's functions of arrays are numjet's, and traced; off: they work "
            "with NumPy values, as in JAX."),
    _traced("numjet_loop_checkpoint_bytes", parse_count, 1 << 26, "Memory for the stored states of a while loop in reverse "
            "mode, unless a few states need more; states that are not stored are computed again."),
    _traced("numjet_dynamic_shapes", parse_switch_or_count, False, "Sizes that depend on values, in functions whose jit does "
            "not say otherwise; a number is the bound of sizes that have none."),
    # where and how programs run
    _traced("jax_default_device", parse_device, None, "Device of results that no argument pins.", optional=True),
    _traced("jax_platforms", parse_str, None, "Comma-separated backends to use; the first is the default.", optional=True),
    _traced("jax_platform_name", parse_str, None, "One backend to use by default; jax_platforms is newer.", optional=True),
    _traced("numjet_mesh", parse_mesh, None, "The mesh in use, which set_mesh sets.", optional=True),
    _traced("numjet_mesh_names_only", parse_bool, False, "The mesh in use only says what specifications mean, as in `with "
            "mesh:`; new arrays and results of functions are not put on it."),
    _traced("numjet_compute_type", parse_str, "", "On which part of a device programs run, which compute_on sets; empty: as "
            "usual."),
    _traced("numjet_xla_metadata", parse_str, "", "Attributes of operations for XLA, which set_xla_metadata sets: names of "
            "scopes, one a line."),
    Flag("jax_num_cpu_devices", parse_count, 1, "How many devices the CPU counts as; programs over several need jaxlib. Read "
         "when devices are first asked for. XLA_FLAGS=--xla_force_host_platform_device_count=N sets it, too.",
         options=("xla_force_host_platform_device_count",)),
    Flag("jax_cpu_enable_async_dispatch", parse_bool, True, "Large CPU programs run on another thread, after the call."),
    _traced("jax_disable_jit", parse_bool, False, "Transformed functions run operation by operation."),
    Flag("jax_array_garbage_collection_guard", one_of("allow", "log"), "allow",
         "Whether arrays that the garbage collector frees are logged; 'fatal' is not supported."),
    Flag("jax_transfer_guard", one_of(*_GUARDS), None, "What happens on implicit transfers.", optional=True),
    Flag("jax_transfer_guard_host_to_device", one_of(*_GUARDS), None, "The same from the host to a device.", optional=True),
    Flag("jax_transfer_guard_device_to_device", one_of(*_GUARDS), None, "The same between devices.", optional=True),
    Flag("jax_transfer_guard_device_to_host", one_of(*_GUARDS), None, "The same from a device to the host.", optional=True),
    # which of its implementations JAX uses: numjet has one of each, with the same results, so these change nothing
    Flag("jax_use_direct_linearize", parse_bool, True, "JAX: linearize in one pass. Here: as always.", inert=True),
    Flag("jax_remat3", parse_bool, False, "JAX: its newer checkpoint. Here: as always.", inert=True),
    # checks
    _traced("jax_debug_nans", parse_bool, False, "Raise at the operation that makes a NaN."),
    _traced("jax_debug_infs", parse_bool, False, "Raise at the operation that makes an infinity."),
    _traced("numjet_debug_masked_nans", parse_bool, False, "jax_debug_nans and jax_debug_infs raise for values, too, that no "
            "result of a compiled program shows, such as those that a later `where` replaces."),
    _traced("numjet_index_checks", one_of("off", "eager", "all"), "eager", "Whether x[i] with i out of bounds raises "
            "IndexError: outside of jit, also in compiled programs, or never (so in programs that import JAX): i is clipped."),
    _traced("jax_experimental_unsafe_xla_runtime_errors", parse_bool, False, "Compile programs with a checkify.check that "
            "nobody transformed: where it fails, they raise while they run."),
    _traced("jax_debug_key_reuse", parse_bool, False, "Raise when a random key is used twice."),
    _traced("jax_check_tracer_leaks", parse_bool, False, "Raise when a traced value outlives its trace."),
    _traced("jax_enable_checks", parse_bool, False, "Verify programs between passes."),
    _traced("jax_no_execution", parse_bool, False, "Raise where a program or an operation would run."),
    Flag("jax_no_tracing", parse_bool, False, "Raise when a function would be retraced."),
    # logging and printing
    Flag("jax_log_compiles", parse_bool, False, "Log every compilation."),
    Flag("jax_log_checkpoint_residuals", parse_bool, False, "Log what functions with checkpoint save for the backward pass."),
    Flag("jax_explain_cache_misses", parse_bool, False, "Log why a function is retraced."),
    Flag("jax_traceback_filtering", one_of(*_FILTERS), "auto", "Frames of this package in tracebacks."),
    Flag("jax_logging_level", one_of("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), "NOTSET",
         "Level of the logger of the package, whose messages then go to stderr, too."),
    Flag("jax_debug_log_modules", parse_str, "", "Loggers, separated by commas, whose messages for debugging go to stderr."),
    # the compilation cache on disk
    Flag("jax_compilation_cache_dir", parse_str, None, "Folder of the compilation cache.", optional=True),
    Flag("jax_enable_compilation_cache", parse_bool, True, "Keep compiled programs on disk."),
    Flag("jax_persistent_cache_min_compile_time_secs", parse_float, 0.0, "Cheaper programs are not kept on disk."),
    Flag("jax_persistent_cache_min_entry_size_bytes", parse_int, 0, "Smaller programs are not kept on disk."),
    Flag("jax_compilation_cache_max_size", parse_int, 1 << 30, "Bytes the cache may take; -1: no bound."),
    Flag("jax_raise_persistent_cache_errors", parse_bool, False, "Errors of the cache raise instead of warning."),
    # numjet's own
    Flag("numjet_dump", parse_str, None, "Folder into which every compilation stage is written.", optional=True),
    Flag("numjet_verify", parse_bool, False, "Compare the first call of every compiled program with the reference."),
    Flag("numjet_instruction_set", one_of("native", "avx512", "avx2", "baseline"), "native",
         "The widest instructions to use: those of this CPU, or fewer, to reproduce results of another one.", fixed=True),
    Flag("numjet_num_threads", parse_count, None, "Threads of the CPU backend; none: one per core.", optional=True),
    Flag("numjet_cache", parse_str, None, "Folder of compiled CPU code, before jax_compilation_cache_dir; '1': the "
         "user's cache folder, as by default; '0': none.", optional=True),
    Flag("numjet_tiers", one_of("auto", "one", "quick"), "auto", "auto: large programs are compiled quickly first, and "
         "optimized once they are called again; one: optimized at once; quick: not optimized, for programs that run once and "
         "briefly, such as tests."),
    Flag("numjet_perf_map", parse_bool, False, "Write the addresses of compiled functions to /tmp/perf-PID.map, for perf."),
    # JAX's flags about what numjet does not have
    *(Flag(name, like(default), default, doc, optional=default is None, inert=True) for name, default, doc in jax_flags.FREE),
    *(Flag(name, only(default), default, doc, inert=True) for name, default, doc in jax_flags.KEPT),
)

BY_NAME: dict[str, Flag] = {flag.name: flag for flag in FLAGS}

# Short names of the attributes; `enable_x64` itself names the context manager.
SHORT: dict[str, str] = {
    "x64": "jax_enable_x64",
    "x64_enabled": "jax_enable_x64",
    "rank_promotion": "jax_numpy_rank_promotion",
    "dtype_promotion": "jax_numpy_dtype_promotion",
    "matmul_precision": "jax_default_matmul_precision",
    "checks": "jax_enable_checks",
    "cache_dir": "jax_compilation_cache_dir",
    **{flag.stem: flag.name for flag in FLAGS},
}
ALIASES: dict[str, tuple[str, ...]] = {flag.name: (flag.name,) for flag in FLAGS}
for _short, _full in SHORT.items():
    ALIASES[_full] += (_short,)


def unknown(name: str, known: Iterable[str]) -> AttributeError:
    """The error for an unknown name, with the nearest known ones."""
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return AttributeError(f"Unrecognized config option: {name!r}.{hint} `config.values` lists all of them.")
