"""The names that `jax.core` shows, imported when they are first asked for: read by numjet.as_jax.jax.core."""

from numjet.api.diagnostics import ensure_compile_time_eval as ensure_compile_time_eval
from numjet.core.aval import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from numjet.core.ir import Atom as Atom
from numjet.core.trace import (
    Trace as Trace,
    Tracer as Tracer,
    aval_rules as pytype_aval_mappings,  # noqa: F401
)
from numjet.core.trace_state import eval_context as eval_context, is_concrete as is_concrete
from numjet.core.walk import eval_jaxpr as eval_jaxpr
from numjet.extend.core import (
    CallPrimitive as CallPrimitive,
    DebugInfo as DebugInfo,
    DropVar as DropVar,
    Effect as Effect,
    Effects as Effects,
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
    JaxprTypeError as JaxprTypeError,
    check_jaxpr as check_jaxpr,
    concrete_or_error as concrete_or_error,
    find_top_trace as find_top_trace,
    gensym as gensym,
    get_opaque_trace_state as get_opaque_trace_state,
    jaxprs_in_params as jaxprs_in_params,
    new_jaxpr_eqn as new_jaxpr_eqn,
    no_effects as no_effects,
    nonempty_axis_env_DO_NOT_USE as nonempty_axis_env_DO_NOT_USE,
    primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype,
    unsafe_am_i_under_a_jit_DO_NOT_USE as unsafe_am_i_under_a_jit_DO_NOT_USE,
    unsafe_am_i_under_a_vmap_DO_NOT_USE as unsafe_am_i_under_a_vmap_DO_NOT_USE,
    unsafe_get_axis_names_DO_NOT_USE as unsafe_get_axis_names_DO_NOT_USE,
    valid_jaxtype as valid_jaxtype,
)
from numjet.foundation.dimension import largest as max_dim, smallest as min_dim  # noqa: F401
