// The jit call path.
#include "native.h"

int jitcall_init(PyObject*) { return 0; }
