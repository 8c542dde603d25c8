"""The claims that are checked, a package for each paper.

A module measures, judges and draws; its text is the Markdown file of the same name.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from hopflow.checks import choice
from validation.checks import subjects
from validation.records import entries
from validation.verdicts import Claim

__all__ = ["find", "ledger"]


def _load_all() -> None:
    """Import every module of this package, which registers its claims."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)


@functools.cache
def ledger() -> dict[str, Claim]:
    """Return every claim that has a check, by id, paper by paper in the order of the tables.

    Examples
    --------
    >>> [id for id in ledger() if id.startswith("K")]
    ['K01', 'K11']
    """
    _load_all()
    checked = subjects()
    return {
        id: Claim(id, entry.paper, entry.where, entry.setting, entry.text, checked[id].finding)
        for id, entry in entries().items()
        if id in checked
    }


def find(id: str) -> Claim:
    """Return the claim with this id.

    Raises
    ------
    ValueError
        For an unknown id; the message lists those known.
    """
    return ledger()[choice("claim", id, ledger())]
