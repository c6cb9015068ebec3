"""The batch contract as a test that anybody's policy can be put through.

`check_policy` draws its own cases from a seed, small ones first, and needs numpy alone. What it cannot check,
because something is not installed, it says in its report.
"""

from frugalbandits.testing.cases import Case
from frugalbandits.testing.check import Checked, ContractBroken, Report, check_policy

__all__ = ["Case", "Checked", "ContractBroken", "Report", "check_policy"]
