"""Random numbers: the names of the public module."""
