"""Python control flow on traced values: `autograph` rewrites a function, and this room's other files run what it became.
Imports what `api` imports.
Add a statement to `rewrite`, what it does when traced to `branches` or `loops`.
"""
