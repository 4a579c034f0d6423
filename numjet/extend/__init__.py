"""For those who write transformations, primitives and libraries, under JAX's names: jaxprs, traces, flat functions, backends.
May import interpreters, libraries, api and all below.
A module has the name of JAX's; machinery stands in core, foundation and interpreters.
"""
from numjet.extend import (
    backend as backend,
    core as core,
    linear_util as linear_util,
    lowering as lowering,
    mlir as mlir,
    pallas as pallas,
    random as random,
    sharding as sharding,
    source_info_util as source_info_util,
    xla as xla,
)
