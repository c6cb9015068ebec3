"""Reports as one structure, written as HTML or as Markdown."""
