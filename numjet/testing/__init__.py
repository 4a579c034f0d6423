"""Test helpers: cases made from the records, the reference interpreter, comparison in ulps, random programs.
Imports everything but `tools` and `demo`.
Add a production of random programs to the `grammar` file of its kind, a check of all records to `records`.
"""
