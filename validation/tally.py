"""How many claims have which verdict, paper by paper, models and packets apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from validation.records import entries
from validation.verdicts import Claim, Finding, Verdict

__all__ = ["OWN", "Table", "headline", "tables"]

OWN = "hopflow"
"""The paper of hopflow's own comparisons."""
COLUMNS = {
    "reproduced": (Verdict.REPRODUCED,),
    "contradicted": (Verdict.CONTRADICTED,),
    "depends": (Verdict.DEPENDS,),
    "neither shown": (Verdict.NOT_REPRODUCED,),
    "no model yet": (Verdict.OPEN,),
    "undecidable": (Verdict.UNDECIDABLE,),
    "does not apply": (Verdict.NOT_APPLICABLE,),
}


class Table(NamedTuple):
    """Counts of claims by paper: a row for each, and for all papers, of the columns named."""

    columns: tuple[str, ...]
    rows: dict[str, tuple[int, ...]]


def tables(findings: Mapping[Claim, Finding]) -> dict[str, Table]:
    """Return the tallies of models and of packets; claims without a check are a column of theirs."""
    sides = {
        "Models": {claim: finding.model for claim, finding in findings.items()},
        "Packets": {claim: finding.simulation for claim, finding in findings.items()},
    }
    return {title: _table(verdicts) for title, verdicts in sides.items()}


def headline(findings: Mapping[Claim, Finding]) -> str:
    """Return one sentence: how many of the papers' claims are judged, and how."""
    of_papers = [finding for claim, finding in findings.items() if claim.paper != OWN]
    total = sum(entry.paper != OWN for entry in entries().values())
    sides = {"models": "model", "packets": "simulation"}
    counts = []
    for name, attribute in sides.items():
        seen = [getattr(finding, attribute) for finding in of_papers]
        said = (f"{seen.count(v)} {v}" for v in Verdict if v in seen and v in _DECIDED)
        counts.append(f"{name}: {', '.join(said) or 'none decided'}")
    own = len(findings) - len(of_papers)
    apart = f" Comparisons of hopflow's own: {own}." if own else ""
    return f"{len(of_papers)} of the papers' {total} claims judged; {'; '.join(counts)}.{apart}"


_DECIDED = (Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.DEPENDS)


def _table(verdicts: Mapping[Claim, Verdict]) -> Table:
    papers = list(dict.fromkeys(entry.paper for entry in entries().values()))
    papers = [paper for paper in papers if any(claim.paper == paper for claim in verdicts)]
    rows = {}
    for paper in papers:
        seen = [verdict for claim, verdict in verdicts.items() if claim.paper == paper]
        claims = sum(entry.paper == paper for entry in entries().values())
        counts = [sum(seen.count(v) for v in kinds) for kinds in COLUMNS.values()]
        rows[paper] = (claims, *counts, claims - len(seen))
    of_papers = [counts for paper, counts in rows.items() if paper != OWN]
    if of_papers:
        own = rows.pop(OWN, None)
        rows["all papers"] = tuple(map(sum, zip(*of_papers, strict=True)))
        if own:
            rows[OWN] = own
    columns = ("claims", *COLUMNS, "not judged")
    kept = [n for n in range(len(columns)) if any(counts[n] for counts in rows.values())]
    return Table(
        tuple(columns[n] for n in kept),
        {paper: tuple(counts[n] for n in kept) for paper, counts in rows.items()},
    )
