"""What needs no arrays: configuration, errors, dtypes, trees, printing, source locations, events."""
