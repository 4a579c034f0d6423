"""The documentation site: `sphinx-build -W -c docs . build/site`, from the root, with the packages of the extra `docs`."""
project = "numjet"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "examples/README.md"]
exclude_patterns = ["build", ".venv"]
myst_heading_anchors = 3
highlight_language = "none"   # blocks without a language are listings of programs, jaxprs and commands
