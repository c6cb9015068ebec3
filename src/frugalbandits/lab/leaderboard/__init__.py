"""Every policy on many problems."""
