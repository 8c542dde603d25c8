"""Known deviations: reasons why cases fail, from a file of the user, and from hopflow's file on its own rules."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from hopflow.text_files import parse_toml, read_text

if TYPE_CHECKING:
    from responsefn import WindowRule

__all__ = ["deviations_of_own_rules", "read_known"]

OWN = "known_deviations.toml"
"""Tables by class of hopflow's own rules, each of cases with reasons."""
FORM = 'lines such as "rfc9438/fast-convergence" = "why it deviates"'


def read_known(path: Path) -> dict[str, str]:
    """Return reasons of known deviations from a TOML file, by "suite/case".

    Raises
    ------
    ValueError
        For a file that is not TOML, or has entries other than strings.
    """
    text = read_text("known", path)
    try:
        return _reasons(path, parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"known = {str(path)!r}: must be TOML with {FORM}: {error}") from None


def deviations_of_own_rules(rule: WindowRule) -> dict[str, str]:
    """Return reasons by "suite/case" for hopflow's own rules; empty for others, subclasses of its rules included."""
    kind = type(rule)
    if kind.__module__.partition(".")[0] != "responsefn":
        return {}
    text = resources.files(__package__ or "").joinpath(OWN).read_text(encoding="utf-8")
    return _reasons(OWN, parse_toml(text).get(kind.__name__, {}))


def _reasons(path: object, table: Mapping[str, object]) -> dict[str, str]:
    """Return a copy of a table; ValueError for entries that are not strings, or names without "/"."""
    reasons = {}
    for name, reason in table.items():
        if not isinstance(reason, str) or "/" not in name:
            raise ValueError(f"known = {str(path)!r}: {name} = {reason!r}: must be {FORM}")
        reasons[name] = reason
    return reasons
