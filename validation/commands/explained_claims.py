"""``hopflow explain`` with the claims that it can explain, beside scenarios."""

from __future__ import annotations

from functools import partial
from typing import Any

from dfcmodel._cli import commands, explained
from validation.display.waterfalls import ABOUT

__all__ = ["commands"]


def _arguments(id: str) -> dict[str, Any]:
    """Return what ``hopflow explain`` compares for a claim."""
    from validation.claims.explained import arguments

    return arguments(id)


explained |= {id: partial(_arguments, id) for id in ABOUT}
