"""Operations that hold programs: calls, branches, loops, custom derivatives, checkpoints, callbacks.
Imports `core`, `lax` and `transforms`.
Add an operation to the package of its kind, its type errors to `type_errors`.
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.control.branches.cond import cond as cond, switch as switch
from numjet.control.branches.cond_op import cond_p as cond_p
from numjet.control.call.call import jit_p as jit_p, named_call as named_call
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
from numjet.control.loops.map import map as map
from numjet.control.loops.scan import scan as scan
from numjet.control.loops.scan_op import scan_p as scan_p
from numjet.control.loops.while_loop import fori_loop as fori_loop, while_loop as while_loop
from numjet.control.loops.while_op import while_p as while_p
from numjet.core.op import later as _later
from numjet.foundation import lazy_import as _lazy_import

if _TYPE_CHECKING:
    from numjet.control.lazy_exports import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_import.names(__name__, "numjet.control.lazy_exports")
_later += ["numjet.control.lazy_exports", "numjet.control.shards.shard_map_op"]
