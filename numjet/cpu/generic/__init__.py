"""Programs for all sizes of some axes, from programs for a few of them (docs/dynamic-shapes.md)."""
