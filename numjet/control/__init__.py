"""Operations that hold programs: calls, branches, loops, functions with derivatives of their own, checkpoints."""

from numjet.control import shown as shown, simplify_rules as simplify_rules
from numjet.control.associative import associative_scan as associative_scan
from numjet.control.call import jit_p as jit_p, named_call as named_call
from numjet.control.checkpoint import checkpoint as checkpoint, checkpoint_p as checkpoint_p, remat as remat
from numjet.control.checkpoint_policies import (
    checkpoint_name as checkpoint_name,
    checkpoint_policies as checkpoint_policies,
    name_p as name_p,
)
from numjet.control.composite import composite as composite, composite_p as composite_p
from numjet.control.cond import cond as cond, switch as switch
from numjet.control.cond_op import cond_p as cond_p
from numjet.control.custom_calls import SymbolicZero as SymbolicZero
from numjet.control.custom_jvp import custom_jvp as custom_jvp, custom_jvp_call_p as custom_jvp_call_p
from numjet.control.custom_vjp import (
    CustomVJPPrimal as CustomVJPPrimal,
    closure_convert as closure_convert,
    custom_gradient as custom_gradient,
    custom_vjp as custom_vjp,
)
from numjet.control.custom_vjp_call import custom_vjp_call_p as custom_vjp_call_p
from numjet.control.map import map as map
from numjet.control.platform import platform_dependent as platform_dependent, platform_index_p as platform_index_p
from numjet.control.scan import scan as scan
from numjet.control.scan_op import scan_p as scan_p
from numjet.control.solve import custom_linear_solve as custom_linear_solve, custom_root as custom_root
from numjet.control.while_loop import fori_loop as fori_loop, while_loop as while_loop
from numjet.control.while_op import while_p as while_p
