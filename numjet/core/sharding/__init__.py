"""Shardings as data: specifications, meshes, shardings, and the mesh in use. Imports `foundation` only."""
