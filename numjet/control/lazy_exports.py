"""Public names of numjet.control, each imported when it is first asked for: import statements only."""

from numjet.control.branches.cond import cond as cond, switch as switch
from numjet.control.branches.cond_op import cond_p as cond_p
from numjet.control.branches.platform import platform_dependent as platform_dependent, platform_index_p as platform_index_p
from numjet.control.call.call import jit_p as jit_p, named_call as named_call
from numjet.control.call.composite import composite as composite, composite_p as composite_p
from numjet.control.call.metadata_call import xla_metadata_call_p as xla_metadata_call_p
from numjet.control.checks.check_op import check_p as check_p
from numjet.control.custom.checkpoint import checkpoint as checkpoint, checkpoint_p as checkpoint_p, remat as remat
from numjet.control.custom.checkpoint_policies import (
    Offloadable as Offloadable,
    Recompute as Recompute,
    Saveable as Saveable,
    checkpoint_name as checkpoint_name,
    checkpoint_policies as checkpoint_policies,
    name_p as name_p,
)
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
from numjet.control.custom.custom_vmap import custom_vmap as custom_vmap
from numjet.control.custom.linear_call import linear_call as linear_call
from numjet.control.custom.remat_opt import remat_opt_p as remat_opt_p
from numjet.control.custom.solve import custom_linear_solve as custom_linear_solve, custom_root as custom_root
from numjet.control.host.callback import io_callback as io_callback, pure_callback as pure_callback
from numjet.control.host.debug_print import debug_print as debug_print
from numjet.control.host.progress_op import progress_p as progress_p
from numjet.control.loops.associative import associative_scan as associative_scan
from numjet.control.loops.checkpoint_scan import checkpoint_scan as checkpoint_scan, checkpoint_scan_p as checkpoint_scan_p
from numjet.control.loops.map import map as map
from numjet.control.loops.scan import scan as scan
from numjet.control.loops.scan_op import scan_p as scan_p
from numjet.control.loops.while_loop import fori_loop as fori_loop, while_loop as while_loop
from numjet.control.loops.while_op import while_p as while_p
