"""Policies of `checkpoint`: which values the backward pass keeps, and which it computes again."""

from numjet.control.custom.checkpoint_policies import (
    dots_saveable as checkpoint_dots,
    dots_saveable as dots_saveable,
    dots_with_no_batch_dims_saveable as checkpoint_dots_with_no_batch_dims,
    dots_with_no_batch_dims_saveable as dots_with_no_batch_dims_saveable,
    everything_saveable as everything_saveable,
    nothing_saveable as nothing_saveable,
    offload_dot_with_no_batch_dims as offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names as save_and_offload_only_these_names,
    save_any_names_but_these as save_any_names_but_these,
    save_anything_except_these_names as save_anything_except_these_names,
    save_from_both_policies as save_from_both_policies,
    save_only_these_names as save_only_these_names,
)

__all__ = [
    "checkpoint_dots", "checkpoint_dots_with_no_batch_dims", "dots_saveable", "dots_with_no_batch_dims_saveable",
    "everything_saveable", "nothing_saveable", "offload_dot_with_no_batch_dims", "save_and_offload_only_these_names",
    "save_any_names_but_these", "save_anything_except_these_names", "save_from_both_policies", "save_only_these_names",
]
