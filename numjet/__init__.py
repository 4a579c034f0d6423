"""numjet."""
