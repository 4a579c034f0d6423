"""Printing rules of operations that hold programs, and their parameters that are functions; see core.printer."""

from __future__ import annotations

from numjet.control.call.call import jit_p
from numjet.control.custom.custom_jvp import custom_jvp_call_p
from numjet.control.custom.custom_vjp_call import custom_lin_p, custom_vjp_call_p
from numjet.core.op import extend
from numjet.core.printer import PrintingRule

_CALL = {
    "inline": False,
    "keep_unused": False,
    "donated": lambda ins, outs: (False,) * len(ins),
}
extend(jit_p, "printing", PrintingRule(first=("name", "jaxpr"), implied=_CALL, called="jaxpr"))
extend(custom_jvp_call_p, "printing", PrintingRule(first=("name", "call_jaxpr"), implied={"num_consts": 0}))
extend(custom_vjp_call_p, "printing", PrintingRule(first=("name", "call_jaxpr"), implied={"num_consts": 0}))
extend(custom_jvp_call_p, "functions", frozenset({"jvp"}))
extend(custom_vjp_call_p, "functions", frozenset({"fwd", "bwd"}))
extend(custom_lin_p, "functions", frozenset({"bwd"}))
