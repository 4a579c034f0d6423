"""`xla_metadata_value`: the identity, which gives the operation that made an array attributes for XLA."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from numjet.core.op import LINEAR, Op, Samples
from numjet.core.traits import EXACT, FREE
from numjet.foundation import xla_metadata
from numjet.lax.templates import ANY, elementwise

xla_metadata_value_p: Op = elementwise(
    "xla_metadata_value", accepts=ANY, params=("xla_metadata_kvs",), eager=lambda x, *, xla_metadata_kvs: np.copy(x),
    jvp=LINEAR, transpose=lambda ct, x, *, xla_metadata_kvs: ct, cpu=lambda b, x, *, xla_metadata_kvs: x,
    hlo=lambda b, x, *, xla_metadata_kvs: b.tag(x, dict(xla_metadata_kvs)), linear_in=(0,), traits=FREE | EXACT,
    samples=Samples(shapes=((), (2, 3)), params=({"xla_metadata_kvs": (("a", "b"),)},), dtypes=("float32", "bool", "int8"),
                    ulps=0))


def tagged(x: Any, attributes: Mapping[str, Any]) -> Any:
    """The array x, whose operation has attributes for XLA; TypeError for values that are no text, number or None."""
    xla_metadata.check(attributes)
    return xla_metadata_value_p(x, xla_metadata_kvs=tuple(sorted(attributes.items())))
