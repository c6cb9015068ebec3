"""Many cells, computed once, kept on disk, here or on a cluster."""
