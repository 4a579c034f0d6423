"""Foreign functions: C functions by their address, called from compiled programs. `numjet/ffi.py` shows the names."""
