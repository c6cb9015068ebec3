"""Simulation and everything of research: problems whose truth is known, bounds, figures, the paper."""
