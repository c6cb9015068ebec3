"""Doors from other people's programs to sessions; each has an extra of its own."""
