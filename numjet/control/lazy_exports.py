"""Lazy exports: what most programs do without, imported when the first of it is named."""

from numjet.control.branches.platform import platform_dependent as platform_dependent, platform_index_p as platform_index_p
from numjet.control.call.composite import composite as composite, composite_p as composite_p
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
from numjet.control.custom.custom_vmap import custom_vmap as custom_vmap
from numjet.control.custom.linear_call import linear_call as linear_call
from numjet.control.custom.remat_opt import remat_opt_p as remat_opt_p
from numjet.control.custom.solve import custom_linear_solve as custom_linear_solve, custom_root as custom_root
from numjet.control.host.callback import io_callback as io_callback, pure_callback as pure_callback
from numjet.control.host.debug_print import debug_print as debug_print
from numjet.control.host.progress_op import progress_p as progress_p
from numjet.control.loops.associative import associative_scan as associative_scan
from numjet.control.loops.checkpoint_scan import checkpoint_scan as checkpoint_scan, checkpoint_scan_p as checkpoint_scan_p
