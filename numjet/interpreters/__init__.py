"""Rules for primitives that users define, under JAX's names: differentiation, vectorization, lowering, partial evaluation.
May import libraries, api and all below; `extend` imports it.
Add a module with the name of JAX's; what turns a user's rule into a slot of core/op.py stands in `rules`.
"""
