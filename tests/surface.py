"""What tests of several packages share: the packages, their public modules, and the ``hopflow`` command."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from hopflow.commands import app
from hopflow.public_modules import PUBLIC

__all__ = ["PACKAGES", "PUBLIC", "ROOT", "app", "invoke"]
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"][
        "targets"
    ]["wheel"]["packages"]
)
"""The packages of the distribution."""


def invoke(words: Sequence[str], **given: Any) -> Any:
    """Return what the ``hopflow`` command does with some words, in this process."""
    return CliRunner().invoke(app, words, **given)
