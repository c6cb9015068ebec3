"""`python -m frugalbandits.cli` is the same as `frugal`."""

from frugalbandits.cli import main

main()
