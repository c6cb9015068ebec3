"""DualCOF: routing by a price of quality that is moved until the average over queries is at the bar."""

from frugalbandits.core.contextual.dual_cof.algorithm import DualCOF

__all__ = ["DualCOF"]
