"""Functions of SciPy on arrays that can be traced, differentiated, batched and compiled."""
