"""Resampling of images, under JAX's names.
Imports `api`, `lax` and `numpy`.
Add a kernel to `methods`, a function to `resampling` and its name here.
"""

from numjet.image.methods import ResizeMethod as ResizeMethod
from numjet.image.resampling import resize as resize, scale_and_translate as scale_and_translate
