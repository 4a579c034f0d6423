"""Shardings: how arrays are distributed over devices: specifications, meshes, shardings, shards, and functions of shards.
Imports `foundation`, `core`, `runtime` and `api`. Arrays are on one device; descriptions of several devices (shapes of parts,
abstract meshes) are right for any number, and what would put an array on several raises NotImplementedError.
"""
