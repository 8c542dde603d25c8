"""The claims that are checked, a package for each paper.

A module measures, judges and draws; its text is the Markdown file of the same name.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import re

from hopflow.checks import choice
from validation.checks import subjects
from validation.judgements.verdicts import Claim
from validation.records import entries

__all__ = ["claims_of_figure", "figures", "find", "ledger"]


def _load_all() -> None:
    """Import every module of this package, which registers its claims."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)


@functools.cache
def ledger() -> dict[str, Claim]:
    """Return every claim that has a check, by id, paper by paper in the order of the tables.

    Examples
    --------
    >>> len([id for id in ledger() if id.startswith("K")])
    12
    """
    _load_all()
    checked = subjects()
    return {
        id: Claim(id, entry.paper, entry.where, entry.setting, entry.text, checked[id].finding)
        for id, entry in entries().items()
        if id in checked
    }


def find(id: str) -> Claim:
    """Return the claim with this id, in capitals or not.

    Raises
    ------
    ValueError
        For an unknown id; the message lists those known.
    """
    return ledger()[choice("claim", str(id).upper(), ledger())]


def claims_of_figure(name: str) -> list[Claim]:
    """Return the claims about a figure or table of a paper, or the one of this id.

    Parameters
    ----------
    name
        ``paper/figure``, such as "malhotra2005/4" or "yang2001/Table 4", or the id of a claim.

    Raises
    ------
    ValueError
        When no claim is about it; the message lists the places of the paper's claims.

    Examples
    --------
    >>> [claim.id for claim in claims_of_figure("malhotra2005/7")]
    ['M07', 'M12']
    """
    papers = {claim.paper: claim for claim in ledger().values()}
    if "/" not in name:
        near = [paper for paper in papers if paper.startswith(name.casefold())]
        near = near or difflib.get_close_matches(name.casefold(), papers, 3, cutoff=0.6)
        if near and name.upper() not in ledger():
            own = [claim for claim in ledger().values() if claim.paper == near[0]]
            places = sorted({place for claim in own for place in _named(claim.where)})
            listed = ", ".join(f"{near[0]}/{place}" for place in places)
            raise ValueError(f"figure = {name!r}: must be PAPER/FIGURE, or the id of a claim; did you mean {listed}?")
        return [find(name)]
    paper, _, place = name.partition("/")
    own = [claim for claim in ledger().values() if claim.paper == choice("paper", paper, papers)]
    found = [claim for claim in own if place in _places(claim.where)]
    if not found:
        known = sorted({place for claim in own for place in _named(claim.where)})
        raise ValueError(f"figure = {name!r}: no claim is about it; known are {', '.join(known)}")
    return found


def figures() -> dict[str, list[Claim]]:
    """Return the claims about every figure, table and place of the papers, as `claims_of_figure`.

    Examples
    --------
    >>> [claim.id for claim in figures()["malhotra2005/7"]]
    ['M07', 'M12']
    """
    found: dict[str, list[Claim]] = {}
    for claim in ledger().values():
        for place in sorted(_named(claim.where)):
            found.setdefault(f"{claim.paper}/{place}", []).append(claim)
    return found


def _named(where: str) -> set[str]:
    """Return the figures and tables that a place names; the place itself where it names none.

    Examples
    --------
    >>> sorted(_named("Fig. 4 and Sect. VI")), sorted(_named("Sect. VI"))
    (['4'], ['Sect. VI'])
    """
    return _places(where) - {where} or {where}


def _places(where: str) -> set[str]:
    """Return the figures that a place names, by their numbers, and the place itself.

    Examples
    --------
    >>> sorted(_places("Figs. 5-6 simulation"))
    ['5', '6', 'Figs. 5-6 simulation']
    """
    found = {where}
    for kind, first, last in re.findall(r"(Figs?|Tables?)\. ?(\d+)(?:-(\d+))?", f"{where}."):
        numbers = range(int(first), int(last or first) + 1)
        found |= {str(n) if kind.startswith("Fig") else f"Table {n}" for n in numbers}
    return found | set(re.findall(r"Table \d+", where))
