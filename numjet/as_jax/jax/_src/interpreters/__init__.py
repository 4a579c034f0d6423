"""Rules of transformations."""
