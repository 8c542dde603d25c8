"""The check of certificates as users run it, ``hopflow check``."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.surface import invoke

__all__ = ["checked", "holds", "refusal"]


def checked(certificate: Path, model: Path | None = None, const: str = "") -> dict[str, Any]:
    """Return what a certificate proves, with the rows that a model's file gives or its own."""
    rows = [] if model is None else [str(model), "--const", const]
    found = invoke(["check", str(certificate), *rows, "--json"])
    assert found.exit_code == 0, found.output
    proved: dict[str, Any] = json.loads(found.stdout)
    return proved


def refusal(certificate: Path, model: Path, const: str = "") -> str:
    """Return why a certificate is refused."""
    found = invoke(["check", str(certificate), str(model), "--const", const])
    assert found.exit_code == 1, found.output
    return str(found.exception) if found.output == "" else found.output


def holds(found: dict[str, Any], name: str, exact: Fraction | int) -> bool:
    """Return whether the proved interval of a mean, 1e-28 wide or less, holds a number."""
    low, high = (Fraction(found["means"][name][end]) for end in ("low", "high"))
    return low <= exact <= high <= low + Fraction(1, 10**28)
