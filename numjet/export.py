"""Export of jitted functions: as bytes that another process calls, differentiates and batches."""

from numjet.api.export.exported import (
    DisabledSafetyCheck as DisabledSafetyCheck,
    Exported as Exported,
    default_export_platform as default_export_platform,
    export as export,
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from numjet.api.export.files import deserialize as deserialize
from numjet.api.export.native_library import NativeLibrary as NativeLibrary, export_native as export_native
from numjet.api.export.symbolic import (
    is_symbolic_dim as is_symbolic_dim,
    symbolic_args_specs as symbolic_args_specs,
    symbolic_shape as symbolic_shape,
)
from numjet.api.export.trees import (
    register_namedtuple_serialization as register_namedtuple_serialization,
    register_pytree_node_serialization as register_pytree_node_serialization,
)
from numjet.foundation.symbolic.scope import SymbolicScope as SymbolicScope
