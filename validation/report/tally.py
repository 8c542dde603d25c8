"""How many claims have which verdict, paper by paper, models and packets apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from validation.judgements.labels import SIMULATORS
from validation.judgements.verdicts import Verdict
from validation.records import FABRICS, OWN, entries, group_of, unstated
from validation.report.rows import Row, group_of_row

SIDES = {"Models": "model", "Packets": "simulation"}
"""Titles of the sides, and their fields in a row."""
FIELDS = {
    "model": "Model", "packets": "Packets", **dict(zip(SIMULATORS, SIMULATORS, strict=True)), "level": "hopflow's packets"
}  # fmt: skip
"""The sources of evidence as the list of claims names them, with their titles."""
COLUMNS = tuple(Verdict)
LINUX = "Linux"
"""The source of the own comparisons that judge it."""
WORDS = {
    Verdict.HOLDS: "hold",
    Verdict.CONTRADICTED: "are contradicted",
    Verdict.MARGIN: "depend on a margin of ours",
    Verdict.DISAGREE: "hold in one simulator and are contradicted in another",
    Verdict.INCONCLUSIVE: "are inconclusive",
    Verdict.UNDECIDABLE: "are undecidable",
}
OF_SIMULATORS = WORDS | {Verdict.DEPENDS: "depend on the reading of the paper"}
"""Words for the bar of one simulator."""
DEPENDS = {
    Verdict.HOLDS: "hold by default, contradicted in another reading",
    Verdict.CONTRADICTED: "are contradicted by default, hold in another reading",
    Verdict.INCONCLUSIVE: "are inconclusive by default, hold in one reading and are contradicted in another",
}
"""Words of `Verdict.DEPENDS` by the verdict in the default reading."""
OF_ONE = {"hold": "holds", "are": "is", "depend": "depends"}
"""First words of `WORDS` and `DEPENDS` where there is one claim."""


class Table(NamedTuple):
    """Counts of claims by paper: a row for each, and for all papers, of the columns named."""

    columns: tuple[str, ...]
    rows: dict[str, tuple[int, ...]]


class Bar(NamedTuple):
    """The counts of one source; ``field`` is a key of `FIELDS`."""

    title: str
    field: str
    counts: list[Count]


class Count(NamedTuple):
    """How many claims have a verdict, and the end of a sentence that says so."""

    claims: int
    verdict: Verdict
    words: str


def judging(rows: Sequence[Row]) -> list[str]:
    """Return the simulators that judge any of the claims.

    Examples
    --------
    >>> judging([{"simulators": {"ns-3": "holds"}}])
    ['ns-3']
    """
    return [name for name in SIMULATORS if any(name in row["simulators"] for row in rows)]


def fields(rows: Sequence[Row]) -> dict[str, str]:
    """Return those of `FIELDS` that are sources of these claims."""
    left_out = set(SIMULATORS) - set(judging(rows))
    return {field: title for field, title in FIELDS.items() if field not in left_out}


def tables(rows: Sequence[Row]) -> dict[str, Table]:
    """Return the tallies of models and of packets; claims without a check are a column of theirs."""
    return {title: _table(rows, side) for title, side in SIDES.items()}


def bars(rows: Sequence[Row]) -> dict[str, list[Bar]]:
    """Return the counts of models and of packets, those of all simulators first, by their heading.

    Examples
    --------
    >>> row = {"paper": "yang2001", "model": "holds", "simulation": "holds", "simulators": {"ns-2": "holds"}}
    >>> [(each.title, each.counts[0].claims) for each in bars([row])["In packet simulations"]]
    [('all', 1), ('ns-2', 1)]
    """
    packets = [Bar("all", "packets", in_words(rows, "simulation"))]
    packets += [Bar(name, name, _of_simulator(rows, name)) for name in SIMULATORS]
    found = {
        "In packet simulations": [each for each in packets if each.counts],
        "In the models": [Bar("", "model", in_words(rows, "model"))],
    }
    return {title: each for title, each in found.items() if each and each[0].counts}


def _of_simulator(rows: Sequence[Row], name: str) -> list[Count]:
    seen = [row["simulators"].get(name) for row in rows if group_of_row(row) == "papers"]
    found = (_count(seen.count(v), v, words) for v, words in OF_SIMULATORS.items())
    return [count for count in found if count.claims]


def in_words(rows: Sequence[Row], side: str, *, own: bool = False) -> list[Count]:
    """Return the counts of the papers' claims on a side, those to which it does not apply left out.

    Parameters
    ----------
    rows
        The claims.
    side
        A value of `SIDES`.
    own
        True counts hopflow's own comparisons instead.

    Examples
    --------
    >>> row = {"paper": "yang2001", "model": "holds"}
    >>> [(count.claims, count.words) for count in in_words([row, row], "model")]
    [(2, 'hold')]
    >>> in_words([row], "model")[0].words
    'holds'
    """
    chosen = [row for row in rows if group_of_row(row) == ("own" if own else "papers")]
    seen = [Verdict(row[side]) for row in chosen]
    found = [_count(seen.count(v), v, words) for v, words in WORDS.items()]
    default = ("model", "packets")[side != "model"]
    depending = [row["default"][default] for row in chosen if row[side] == Verdict.DEPENDS]
    found += [_count(depending.count(v), Verdict.DEPENDS, words) for v, words in DEPENDS.items()]
    return [count for count in found if count.claims]


def own_models(rows: Sequence[Row]) -> str:
    """Return the sentence on hopflow's own comparisons of models and simulators; "" if none was judged.

    Examples
    --------
    >>> row = {"paper": "hopflow", "model": "contradicted", "simulation": "not applicable", "simulators": {}}
    >>> own_models([row])
    "Of 1 comparison of hopflow's own models with simulators, formulas and a switch, 1 misses the limit set for it."
    """
    own = [row for row in rows if row["paper"] == OWN and not of_linux(row)]
    of_models = [row["model"] for row in own if row["model"] != Verdict.NOT_APPLICABLE]
    of_simulators = [own_verdict(row) for row in own if row["model"] == Verdict.NOT_APPLICABLE]
    counted = {
        "hopflow's own models with simulators, formulas and a switch": of_models,
        "simulators with one another": of_simulators,
    }
    return _limits({what: verdicts for what, verdicts in counted.items() if verdicts})


def of_linux(row: Row) -> bool:
    """Return whether a row is an own comparison of Linux with papers and RFCs."""
    return row["paper"] == OWN and LINUX in row["simulators"]


def on_linux(rows: Sequence[Row]) -> str:
    """Return the sentence on the comparisons of Linux with papers and RFCs; "" if none was judged.

    Examples
    --------
    >>> linux = {"paper": "hopflow", "model": "not applicable", "simulation": "contradicted"}
    >>> on_linux([linux | {"simulators": {"Linux": "contradicted"}}])
    'Of 1 comparison of Linux with papers and RFCs, 1 finds that Linux departs from them.'
    """
    verdicts = [own_verdict(row) for row in rows if of_linux(row)]
    if not verdicts:
        return ""
    departs = verdicts.count(Verdict.CONTRADICTED)
    some = "comparison" if len(verdicts) == 1 else "comparisons"
    find = "finds" if departs == 1 else "find"
    return f"Of {len(verdicts)} {some} of Linux with papers and RFCs, {departs} {find} that Linux departs from them."


def own_verdict(row: Row) -> str:
    """Return the verdict of an own comparison: on hopflow's models, or on simulators where it is on these alone."""
    verdict: str = row["model"] if row["model"] != Verdict.NOT_APPLICABLE else row["simulation"]
    return verdict


def fabric_verdict(row: Row) -> str:
    """Return the verdict on a claim on fabrics: that of hopflow's packets, or of the model where they do not judge it."""
    level: str = row["packet_level"]
    return level if level != Verdict.NOT_APPLICABLE else row["model"]


def on_fabrics(rows: Sequence[Row]) -> str:
    """Return the sentence on claims of papers on fabrics; "" if none was judged.

    Examples
    --------
    >>> row = {"paper": "zhu2015", "model": "holds", "packet_level": "not applicable"}
    >>> on_fabrics([row])
    'Of 1 published claim on fabrics, judged by hopflow alone, 1 holds.'
    """
    seen = [fabric_verdict(row) for row in rows if group_of(row["paper"]) == "fabrics"]
    if not seen:
        return ""
    words = WORDS | {Verdict.DEPENDS: OF_SIMULATORS[Verdict.DEPENDS]}
    counts = (_count(seen.count(v), v, text) for v, text in words.items())
    said = ", ".join(f"{each.claims} {each.words}" for each in counts if each.claims)
    some = "claim" if len(seen) == 1 else "claims"
    return f"Of {len(seen)} published {some} on fabrics, judged by hopflow alone, {said}."


def _limits(compared: dict[str, list[str]]) -> str:
    """Return how many comparisons of each kind miss their limit, in a sentence; "" of none."""
    said: list[str] = []
    for what, verdicts in compared.items():
        missed = len(verdicts) - verdicts.count(Verdict.HOLDS)
        if said:
            said.append(f"of {len(verdicts)} of {what}, {missed}")
        else:
            some = "comparison" if len(verdicts) == 1 else "comparisons"
            misses = "misses the limit set for it" if missed == 1 else "miss the limit set for them"
            said.append(f"Of {len(verdicts)} {some} of {what}, {missed} {misses}")
    return f"{'; '.join(said)}." if said else ""


def _count(claims: int, verdict: Verdict, words: str) -> Count:
    """Return the count with the words for as many claims."""
    verb, *rest = words.split()
    said = [OF_ONE.get(verb, verb) if claims == 1 else verb, *rest]
    return Count(claims, verdict, " ".join(said))


def _table(rows: Sequence[Row], side: str) -> Table:
    papers = list(dict.fromkeys(entry.paper for entry in entries().values()))
    counted = {}
    for paper in papers:
        counted_rows = [row for row in rows if row["paper"] == paper]
        seen = [row[side] for row in counted_rows if row["id"] not in unstated()]
        if not seen:
            continue
        claims = sum(entry.paper == paper for entry in entries().values())
        claims -= sum(entries()[id].paper == paper for id in unstated())
        counts = [seen.count(verdict) for verdict in COLUMNS]
        counted[paper] = (claims, *counts, claims - len(seen))
    of_papers = [counts for paper, counts in counted.items() if group_of(paper) == "papers"]
    if of_papers:
        apart = {paper: counted.pop(paper) for paper in (OWN, *FABRICS) if paper in counted}
        counted["all papers"] = tuple(map(sum, zip(*of_papers, strict=True)))
        counted |= apart
    columns = ("claims", *map(str, COLUMNS), "not judged")
    kept = [n for n in range(len(columns)) if any(counts[n] for counts in counted.values())]
    return Table(
        tuple(columns[n] for n in kept),
        {paper: tuple(counts[n] for n in kept) for paper, counts in counted.items()},
    )
