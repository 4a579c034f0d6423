"""Strips of rows: which statements can run for some rows of a batch at a time, and these statements for a strip."""
