"""Helpers for tests: cases made from the records, comparison in ulps, random programs."""
