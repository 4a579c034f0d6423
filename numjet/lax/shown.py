"""How operations of this package print in jaxprs, and which classes of parameters read back; see core.show, core.parse."""
from __future__ import annotations

from numjet.core.op import extend
from numjet.core.show import Shown, register_parameter_type
from numjet.lax.conv_shapes import ConvDimensionNumbers
from numjet.lax.dimension_numbers import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from numjet.lax.dot import dot_general_p
from numjet.lax.fft import FftType
from numjet.lax.rng_bits import RandomAlgorithm
from numjet.lax.shape import broadcast_in_dim_p

extend(broadcast_in_dim_p, "show", Shown(implied={"shape": lambda ins, outs: outs[0].shape, "broadcast_dimensions": ()}))
extend(dot_general_p, "show", Shown(implied={"precision": None}, lists=frozenset({"dimension_numbers"})))
for _cls in (GatherDimensionNumbers, ScatterDimensionNumbers, GatherScatterMode, ConvDimensionNumbers, FftType,
             RandomAlgorithm):
    register_parameter_type(_cls)
