"""The event that a window rule sees, for tests that call its functions themselves."""

from __future__ import annotations

from responsefn.dynamics import Event

__all__ = ["Event"]
