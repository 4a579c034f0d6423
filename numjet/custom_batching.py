"""Functions with batching rules of their own."""

from numjet.control.custom.custom_vmap import custom_vmap as custom_vmap, sequential_vmap as sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
