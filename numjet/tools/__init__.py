"""Command line tools: python -m numjet.tools.<name>.
Imports everything but `demo`.
Add a tool as a module with `main()`, and a test in `tests/tools/`.
"""
