project = "frugalbandits"
author = "The frugalbandits authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx-mathjax-offline"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 2
exclude_patterns = ["_build", "benchmark-output.md"]
html_theme = "furo"
html_title = "frugalbandits"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
# Compiled functions and array types of numpy have no pages to link to.
nitpicky = False
html_show_copyright = False
