"""The names of jaxlib's client that programs ask isinstance about or catch."""

from numjet.core.trace import ArrayBase as Array, ArrayBase as ArrayImpl  # noqa: F401
from numjet.foundation.errors import JaxRuntimeError as XlaRuntimeError  # noqa: F401
from numjet.runtime.device import Device as Device
