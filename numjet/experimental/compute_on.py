"""Computation on a part of a device."""

from numjet.api.compute_on import compute_on as compute_on, compute_on2 as compute_on2
