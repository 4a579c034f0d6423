"""Printing rules of this package's operations in jaxprs; see core.printer."""
from __future__ import annotations

from numjet.core.op import extend
from numjet.core.printer import PrintingRule
from numjet.lax.contraction.dot import dot_general_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p

extend(broadcast_in_dim_p, "printing",
       PrintingRule(implied={"shape": lambda ins, outs: outs[0].shape, "broadcast_dimensions": ()}))
extend(dot_general_p, "printing", PrintingRule(implied={"precision": None}, lists=frozenset({"dimension_numbers"})))
