"""Lazy exports: functions of numjet that most programs do not need, imported when the first of them is named."""

from numjet.api.explain import explain as explain
from numjet.api.pmap import pmap as pmap
from numjet.api.refs import empty_ref as empty_ref, free_ref as free_ref, freeze as freeze, new_ref as new_ref
from numjet.api.sharding import NamedSharding as NamedSharding, PartitionSpec as P, make_mesh as make_mesh  # noqa: F401
from numjet.control.lazy_exports import (
    checkpoint as checkpoint,
    io_callback as io_callback,
    pure_callback as pure_callback,
    remat as remat,
)
