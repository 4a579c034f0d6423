"""Symbolic zeros and sums of tangents."""

from numjet.core.op import Zero as Zero
from numjet.control.custom.custom_calls import SymbolicZero as SymbolicZero, zero_from_primal as zero_from_primal
from numjet.interpreters.ad import add_jaxvals as add_jaxvals, add_jaxvals_p as add_jaxvals_p
from numjet.lax.elementwise.bits import stop_gradient_p as stop_gradient_p
from numjet.lax.tangent import add_any_p as add_any_p, instantiate as instantiate, zeros_like_aval as zeros_like_aval
