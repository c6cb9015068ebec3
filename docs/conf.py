import re
from typing import Any

project = "frugalbandits"
author = "The frugalbandits authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx-mathjax-offline"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 2
exclude_patterns = ["_build", "benchmark-output.md"]
html_theme = "furo"
html_title = "frugalbandits"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
# Fields of a class are one list: several may share a line, and array types are too long to read.
napoleon_use_ivar = True
napoleon_attr_annotations = False
# Compiled functions and array types of numpy have no pages to link to.
nitpicky = False
html_show_copyright = False


def whole_sentence(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep napoleon from reading `Status: one of ...` in the docstring of an attribute as a type and a text.

    It looks for that in the first line alone, so an empty comment comes first.
    """
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def list_fields(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Write fields as a list: Sphinx takes the first name of `cost, quality` for the type of the other."""
    found, written = False, []
    for line in lines:
        field = re.fullmatch(r":ivar (.+?): *(.*)", line)
        if field is not None:
            written += [] if found else [".. rubric:: Fields", ""]
            written.append(f"* **{field[1]}**: {field[2]}")
            found = True
        elif found and line.startswith(" "):
            written.append(f"  {line.strip()}")
        else:
            written.append(line)
    lines[:] = written


def skip_aliases(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out fields of named tuples that have no text of their own: the class describes them."""
    doc = getattr(thing, "__doc__", None) or ""
    return True if doc.startswith("Alias for field number") else None


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", whole_sentence, priority=400)
    app.connect("autodoc-process-docstring", list_fields, priority=600)
    app.connect("autodoc-skip-member", skip_aliases)
