"""Transformations of programs: each reads the rules from the records of operations."""
