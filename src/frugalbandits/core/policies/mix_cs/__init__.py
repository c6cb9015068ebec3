"""MIX-CS: the average quality at the bar, at the least cost, by a mix of two arms."""

from frugalbandits.core.policies.mix_cs.algorithm import MixCS

__all__ = ["MixCS"]
