"""The configuration of the documentation: what the reference leaves out."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

CONF = Path(__file__).resolve().parents[1] / "docs" / "conf.py"


class Place(NamedTuple):
    """A state, as of chains and rules.

    Attributes
    ----------
    queued
        Packets.
    """

    queued: int

    def empty(self) -> bool:
        """Return whether there are no packets."""
        return self.queued == 0


@pytest.mark.parametrize(("member", "skipped"), [("queued", True), ("empty", None)])
def test_fields_of_named_tuples_are_described_once(member: str, skipped: bool | None) -> None:
    """Python's own docstring of a field, its number, would be another entry for each of them."""
    hooks: dict[str, object] = {}
    conf = runpy.run_path(str(CONF))
    conf["setup"](SimpleNamespace(connect=hooks.__setitem__))
    hook = hooks["autodoc-skip-member"]
    assert hook(None, "class", member, getattr(Place, member), False, None) is skipped
