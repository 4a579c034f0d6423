"""Programs as data: avals, jaxprs, traces, records of operations, the builder protocols; no operation is named here.
Imports `foundation` only.
Add a slot of records to `op`, a method of builders to `emit`, a hook between layers to `hooks`,
a name for users to `lazy_exports`.
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.foundation import lazy_import as _lazy_import

if _TYPE_CHECKING:
    from numjet.core.lazy_exports import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_import.names(__name__, "numjet.core.lazy_exports")
