"""jet: Taylor mode, derivatives of any order along a curve by arithmetic with truncated power series.

Add a recurrence for an operation to `recurrences`, a rule for one that holds programs to `transformation`.
"""

from numjet.experimental.jet.transformation import fact as fact, jet as jet, zero_series as zero_series

__all__ = ["fact", "jet", "zero_series"]
