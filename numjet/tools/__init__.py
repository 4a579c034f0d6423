"""Command line tools: python -m numjet.tools.<name>."""
