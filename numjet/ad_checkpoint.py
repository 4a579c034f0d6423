"""Names and policies for rematerialization, and a list of what a backward pass keeps."""

from numjet.api.saved_residuals import print_saved_residuals as print_saved_residuals
from numjet.control.custom.checkpoint import checkpoint as checkpoint, remat as remat
from numjet.control.custom.checkpoint_policies import (
    Offloadable as Offloadable,
    Recompute as Recompute,
    Saveable as Saveable,
    checkpoint_name as checkpoint_name,
    checkpoint_policies as checkpoint_policies,
)

__all__ = [
    "Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals",
    "remat",
]
