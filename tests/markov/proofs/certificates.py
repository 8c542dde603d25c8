"""The check of certificates as users run it, ``hopflow check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.surface import invoke

__all__ = ["checked", "refusal"]


def checked(certificate: Path, model: Path, const: str = "") -> dict[str, Any]:
    """Return what a certificate proves whose rows a model's file gives."""
    found = invoke(["check", str(certificate), str(model), "--const", const, "--json"])
    assert found.exit_code == 0, found.output
    proved: dict[str, Any] = json.loads(found.stdout)
    return proved


def refusal(certificate: Path, model: Path, const: str = "") -> str:
    """Return why a certificate is refused."""
    found = invoke(["check", str(certificate), str(model), "--const", const])
    assert found.exit_code == 1, found.output
    return str(found.exception) if found.output == "" else found.output
