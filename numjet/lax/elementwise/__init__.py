"""Elementwise operations and their scalar rules: arithmetic, comparisons, bits, conversions, special functions.
Imports `lax`'s templates and operands; no other family.
Add an operation as a record in the file of its kind, with samples: every generic test runs on it.
"""
