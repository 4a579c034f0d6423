"""numjet: NumPy's API with composable program transformations, compiled to native code.

>>> import numjet as nj
>>> import numjet.numpy as jnp
>>> nj.jit(nj.grad(lambda x: jnp.sum(x ** 2)))(jnp.arange(3.0)).tolist()
[0.0, 2.0, 4.0]
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.foundation import collector as _collector

with _collector.paused():
    from numjet.foundation import current_core as _current_core  # before all else

    from numjet.foundation import lazy_import as _lazy_import
    from numjet.runtime import eager as _eager, settings as _settings

    from numjet import numpy as numpy  # gives arrays their methods
    from numjet.core.trace import Array as ArrayImpl  # the type of arrays, which pickles find by this name
    from numjet.core.trace import ArrayBase as Array

__version__ = "0.1.0"

if _TYPE_CHECKING:
    from numjet import (
        ad as ad, ad_checkpoint as ad_checkpoint, checkpoint_policies as checkpoint_policies,
        custom_batching as custom_batching, custom_derivatives as custom_derivatives, debug as debug,
        distributed as distributed, dlpack as dlpack, dtypes as dtypes, errors as errors,
        example_libraries as example_libraries, experimental as experimental, export as export, extend as extend, ffi as ffi,
        flatten_util as flatten_util, image as image, interpreters as interpreters, lax as lax, memory as memory,
        monitoring as monitoring, nn as nn, ops as ops, profiler as profiler, random as random, ref as ref, scipy as scipy,
        sharding as sharding, stages as stages, test_util as test_util, testing as testing, tree as tree,
        tree_util as tree_util, typing as typing,
    )
    from numjet.lazy_exports import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_import.names(__name__, "numjet.lazy_exports", frozenset({
        "ad", "ad_checkpoint", "checkpoint_policies", "custom_batching", "custom_derivatives", "debug", "distributed",
        "dlpack", "dtypes", "errors", "example_libraries", "experimental", "export", "extend", "ffi", "flatten_util", "image",
        "interpreters", "lax", "memory", "monitoring", "nn", "ops", "profiler", "random", "ref", "scipy", "sharding", "stages",
        "test_util", "testing", "tree", "tree_util", "typing",
    }))
