"""The experiments of the paper, its claims, its figures and its report."""
