"""Errors that methods and rules raise, under one name here."""
from __future__ import annotations

from hopflow.errors import RuleError, RuleWarning
from hopflow.status import ConvergenceError, UndecidedError

__all__ = ["ConvergenceError", "RuleError", "RuleWarning", "UndecidedError"]
