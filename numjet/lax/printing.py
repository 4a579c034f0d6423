"""How operations of this package print in jaxprs; see core.show."""
from __future__ import annotations

from numjet.core.op import extend
from numjet.core.show import Shown
from numjet.lax.contraction.dot import dot_general_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p

extend(broadcast_in_dim_p, "show", Shown(implied={"shape": lambda ins, outs: outs[0].shape, "broadcast_dimensions": ()}))
extend(dot_general_p, "show", Shown(implied={"precision": None}, lists=frozenset({"dimension_numbers"})))
