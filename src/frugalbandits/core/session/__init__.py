"""Online decisions: the session, its stored form, and what it says of itself."""

from frugalbandits.core.session.explanation import ArmReport, Explanation
from frugalbandits.core.session.feedback import Decision
from frugalbandits.core.session.history import Change, Changes
from frugalbandits.core.session.online import Session

__all__ = ["ArmReport", "Change", "Changes", "Decision", "Explanation", "Session"]
