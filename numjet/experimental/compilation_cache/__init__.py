"""The compilation cache on disk, under JAX's names."""

from numjet.experimental.compilation_cache import compilation_cache as compilation_cache
