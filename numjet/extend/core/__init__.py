"""Parts of programs, primitives and traces."""
from numjet.core.check import check_jaxpr as check_jaxpr
from numjet.core.effects import Effect as Effect
from numjet.core.ir import (
    ClosedJaxpr as ClosedJaxpr,
    DropVar as DropVar,
    Jaxpr as Jaxpr,
    JaxprEqn as JaxprEqn,
    Literal as Literal,
    Var as Var,
)
from numjet.core.jaxpr_tools import (
    gensym as gensym,
    jaxpr_as_fun as jaxpr_as_fun,
    jaxprs_in_params as jaxprs_in_params,
    new_jaxpr_eqn as new_jaxpr_eqn,
    subjaxprs as subjaxprs,
)
from numjet.core.primitive import Effects as Effects, Primitive as Primitive
from numjet.core.trace_state import (
    TraceTag as TraceTag,
    concrete_or_error as concrete_or_error,
    find_top_trace as find_top_trace,
    get_opaque_trace_state as get_opaque_trace_state,
    mapped_aval as mapped_aval,
    nonempty_axis_env_DO_NOT_USE as nonempty_axis_env_DO_NOT_USE,
    primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype,
    set_current_trace as set_current_trace,
    take_current_trace as take_current_trace,
    unmapped_aval as unmapped_aval,
    unsafe_am_i_under_a_jit_DO_NOT_USE as unsafe_am_i_under_a_jit_DO_NOT_USE,
    unsafe_am_i_under_a_vmap_DO_NOT_USE as unsafe_am_i_under_a_vmap_DO_NOT_USE,
    unsafe_get_axis_names_DO_NOT_USE as unsafe_get_axis_names_DO_NOT_USE,
    valid_jaxtype as valid_jaxtype,
)
from numjet.extend.core import primitives as primitives
from numjet.extend.core.calls import CallPrimitive as CallPrimitive, call_impl as call_impl
from numjet.extend.core.constants import (
    AbstractToken as AbstractToken,
    DebugInfo as DebugInfo,
    Token as Token,
    array_types as array_types,
    no_effects as no_effects,
)
from numjet.foundation.errors import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
    JaxprTypeError as JaxprTypeError,
)
