"""Data-dependent shapes: arrays whose sizes the program computes, padded to a bound (docs/dynamic-shapes.md).
Imports what `api` imports; loaded when a function is first traced with `dynamic_shapes`.
Add the rule of an operation to the module of `rules` for its kind.
"""
