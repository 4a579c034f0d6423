"""Guard against sub-interpreters, imported before the rest of numjet. Python may give them a copy of the native module's
names without calling its init function; they would then share the objects of one interpreter."""
from numjet import _native

_native.check_interpreter()
