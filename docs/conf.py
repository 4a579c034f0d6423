"""The documentation site: `sphinx-build -W -j 2 -c docs . build/site`, from the root, with the packages of the extra `docs`."""
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_extensions")]

import numjet  # noqa: E402

html_show_copyright = False
project = "numjet"
author = "the numjet authors"
version = release = numjet.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx.ext.viewcode",
              "sphinx_copybutton", "sphinx_design", "sphinx_gallery.gen_gallery", "docstrings", "api_pages", "word_breaks"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "docs/api/**.rst", "docs/gallery/**.rst", "examples/README.md"]
exclude_patterns = ["build", ".venv"]
html_extra_path = ["_extra"]      # index.html, which leads to docs/index.html
highlight_language = "none"   # blocks without a language are listings of programs, jaxprs and commands

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "attrs_inline"]

suppress_warnings = ["ref.python"]   # classes of one name in two modules: the reference goes to either
default_role = "code"
autodoc_typehints = "none"    # annotations stand in the signatures; most are `ArrayLike`
autodoc_member_order = "bysource"
autosummary_generate = False
napoleon_numpy_docstring = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True
add_module_names = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "examples/gallery",
    "gallery_dirs": "docs/gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
}

html_theme = "furo"
html_title = "numjet"
html_static_path = ["_static"]
html_css_files = ["numjet.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f6f50", "color-brand-content": "#1f6f50"},
    "dark_css_variables": {"color-brand-primary": "#6fd3a8", "color-brand-content": "#6fd3a8"},
}
