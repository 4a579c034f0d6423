"""Symbolic dimensions: sizes of axes that are known when a function is called, not when it is traced."""
