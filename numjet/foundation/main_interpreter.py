"""Guard against sub-interpreters, imported before all else of numjet. Python may give them a copy of the native module's
names without calling its init function, and so share one interpreter's objects."""
from numjet import _native

_native.check_interpreter()
