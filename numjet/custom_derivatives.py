"""Functions with derivative rules of their own, and what such rules are written with."""

from numjet.control.custom.custom_calls import SymbolicZero as SymbolicZero, zero_from_primal as zero_from_primal
from numjet.control.custom.custom_jvp import custom_jvp as custom_jvp, custom_jvp_call_p as custom_jvp_call_p
from numjet.control.custom.custom_vjp import (
    CustomVJPPrimal as CustomVJPPrimal,
    closure_convert as closure_convert,
    custom_gradient as custom_gradient,
    custom_vjp as custom_vjp,
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
)
from numjet.control.custom.custom_vjp_call import custom_vjp_call_p as custom_vjp_call_p
from numjet.control.custom.linear_call import linear_call as linear_call
from numjet.control.custom.remat_opt import remat_opt_p as remat_opt_p

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_jvp_call_p", "custom_vjp",
    "custom_vjp_call_p", "custom_vjp_primal_tree_values", "linear_call", "remat_opt_p", "zero_from_primal",
]
