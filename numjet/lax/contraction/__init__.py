"""Sums of products: dot_general, ragged products, convolutions.
Imports the elementwise, shape, indexing and reduction families.
Add a form of product as a function of the records that stand here.
"""
