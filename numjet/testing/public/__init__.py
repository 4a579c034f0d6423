"""Public test helpers, for tests of users' own code: comparison in ulps, counts of events, arrays to test with.
Imports `foundation`, `runtime` and `testing.close`. `numjet.testing` shows the names.
"""
