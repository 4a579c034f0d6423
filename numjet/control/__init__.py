"""Operations that hold programs: calls, branches, loops, custom derivatives, checkpoints, callbacks.
Imports `core`, `lax` and `transforms`.
Add an operation to the package of its kind, its type errors to `type_errors`.
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.core.op import later as _later
from numjet.foundation import lazy_import as _lazy_import

if _TYPE_CHECKING:
    from numjet.control.lazy_exports import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_import.names(__name__, "numjet.control.lazy_exports")
_later += ["numjet.control.lazy_exports", "numjet.control.shards.shard_map_op"]
