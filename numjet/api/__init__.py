"""Functions that take a user's function and return one: where meaning meets backend."""
