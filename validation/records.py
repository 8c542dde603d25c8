"""The recorded tables of ``published/``: the claims, the verdicts found, and the thresholds used."""

from __future__ import annotations

import csv
import functools
import re
from dataclasses import dataclass

from validation.judgements.labels import SIMULATORS
from validation.judgements.verdicts import Sides, Threshold, Verdict
from validation.manifest import PUBLISHED

__all__ = [
    "FABRICS",
    "OWN",
    "PUBLISHED",
    "Entry",
    "LedgerStatement",
    "Paraphrase",
    "Sentence",
    "deciding_seeds",
    "entries",
    "excused_cases",
    "expectations",
    "group_of",
    "headline_of",
    "minor_statements",
    "paraphrases",
    "recorded_levels",
    "recorded_readings",
    "recorded_simulators",
    "recorded_thresholds",
    "recorded_verdicts",
    "rows",
    "stated_thresholds",
    "statements_of_papers",
    "undecidable_statements",
    "unstated",
    "without_explanation",
    "without_packet_level",
]

OWN = "hopflow"
"""The paper of hopflow's own comparisons."""
FABRICS = ("zhu2015", "zhu2016", "li2019", "mittal2018", "hu2016", "guo2016", "goyal2022")
"""The papers on fabrics, whose claims are counted apart."""


@dataclass(frozen=True)
class Entry:
    """A row of ``claims.csv``, ``own_claims.csv`` or ``fabric_claims.csv``: the claim, its place in the paper, the setting."""

    id: str
    paper: str
    where: str
    setting: str
    text: str


@dataclass(frozen=True)
class Sentence:
    """What a paper says, in our words.

    Attributes
    ----------
    place
        Section, paragraph and sentence, or the figure, table or slide.
    text
        The paraphrase.
    modality
        How the paper says it: as a fact, hedged, shown in a figure; "no claim of the paper" for checks of ours.
    """

    place: str
    text: str
    modality: str


@dataclass(frozen=True)
class Paraphrase(Sentence):
    """What a claim paraphrases: a row of ``paraphrases.csv``.

    Attributes
    ----------
    scope
        The settings of which the paper says it.
    """

    scope: str


@dataclass(frozen=True)
class LedgerStatement(Sentence):
    """What a statement of a claim paraphrases and what decides it: a row of ``statements.csv``.

    Attributes
    ----------
    quantity
        What is measured.
    statistic
        How the quantity decides.
    """

    quantity: str
    statistic: str


NO_CLAIM = "no claim of the paper"
"""The modality of checks of ours."""


@functools.cache
def unstated() -> frozenset[str]:
    """Return the claims that no sentence of a paper states, such as one read off a table: they are not counted.

    Examples
    --------
    >>> sorted(unstated())
    ['Y06']
    """
    return frozenset(id for id, said in paraphrases().items() if said.modality == NO_CLAIM)


def group_of(paper: str) -> str:
    """Return with which claims those of a paper are counted: "papers", "fabrics", or "own" comparisons.

    Examples
    --------
    >>> group_of("takano2006"), group_of("zhu2015"), group_of("hopflow")
    ('papers', 'fabrics', 'own')
    """
    return "own" if paper == OWN else "fabrics" if paper in FABRICS else "papers"


@functools.cache
def _headlines() -> dict[str, dict[str, str]]:
    """Return the rows of ``headlines.csv`` by claim."""
    return {row["id"]: row for row in rows("headlines.csv")}


def headline_of(id: str, verdicts: Sides[Verdict]) -> str:
    """Return the answer to a claim in at most twenty words, if it was written for these verdicts.

    Otherwise, or for a claim without one, "": the answer would be that of other verdicts.

    Examples
    --------
    >>> headline_of("M02", Sides(Verdict.HOLDS, Verdict.HOLDS))[:4]
    'Yes:'
    >>> headline_of("M02", Sides(Verdict.CONTRADICTED, Verdict.HOLDS))
    ''
    """
    row = _headlines().get(id)
    if row is None or (row["model"], row["packets"]) != verdicts:
        return ""
    return row["headline"]


@functools.cache
def expectations() -> dict[tuple[str, str], dict[str, str]]:
    """Return what was expected of claims on fabrics before their first run, by claim and statement.

    Each has how the sentence is known, statistic and threshold, and the verdicts expected of the model and of the packet level.
    """
    return {(row["claim"], row["statement"]): row for row in rows("fabric_expectations.csv")}


@functools.cache
def paraphrases() -> dict[str, Paraphrase]:
    """Return what the papers say, by claim; hopflow's own comparisons have none."""
    return {
        row["id"]: Paraphrase(row["place"], row["paraphrase"], row["modality"], row["scope"])
        for row in rows("paraphrases.csv")
    }


@functools.cache
def statements_of_papers() -> dict[str, dict[str, LedgerStatement]]:
    """Return the statements of the ledger by claim and key; hopflow's own comparisons have none.

    Examples
    --------
    >>> statements_of_papers()["M02"]["off"].place
    'Sect. III.A, paragraph after rule 13'
    """
    found: dict[str, dict[str, LedgerStatement]] = {}
    for row in rows("statements.csv"):
        found.setdefault(row["claim"], {})[row["statement"]] = LedgerStatement(
            row["place"], row["paraphrase"], row["modality"], row["quantity"], row["statistic"]
        )
    return found


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of one of the published tables."""
    with (PUBLISHED / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@functools.cache
def entries() -> dict[str, Entry]:
    """Return all claims by id, paper by paper in the order of the files, checked or not."""
    known = {row["id"]: row for row in [*rows("claims.csv"), *rows("own_claims.csv"), *rows("fabric_claims.csv")]}
    letters = list(dict.fromkeys(id[0] for id in known))  # one per paper
    return {
        id: Entry(id, row["paper"], row["where"], row["setting"], _text(row, known))
        for id, row in sorted(known.items(), key=lambda item: (letters.index(item[0][0]), item[0]))
    }


def _text(row: dict[str, str], known: dict[str, dict[str, str]]) -> str:
    """Return the text of a claim; where it refers to another claim, with that claim's text."""
    reference = re.match(r"same as ([A-Z]\d+)", row["claim"])
    return f"{row['claim']} ({known[reference[1]]['claim']})" if reference else row["claim"]


def recorded_verdicts() -> dict[str, Sides[Verdict]]:
    """Return the verdicts of ``verdicts.csv`` by claim."""
    return {row["id"]: Sides(Verdict(row["model"]), Verdict(row["simulation"])) for row in rows("verdicts.csv")}


def recorded_simulators() -> dict[str, dict[str, Verdict]]:
    """Return the verdicts of each simulator in ``verdicts.csv``, by claim, those that apply."""
    found = {row["id"]: {name: Verdict(row[name]) for name in SIMULATORS} for row in rows("verdicts.csv")}
    none = Verdict.NOT_APPLICABLE
    return {id: {n: v for n, v in each.items() if v is not none} for id, each in found.items()}


def recorded_levels() -> dict[str, Verdict]:
    """Return the verdicts of hopflow's packet level in ``verdicts.csv``, by claim."""
    return {row["id"]: Verdict(row["packet level"]) for row in rows("verdicts.csv")}


def recorded_readings() -> dict[str, Sides[tuple[str, ...]]]:
    """Return the readings that turn the verdicts of ``verdicts.csv``, by claim."""
    columns = "model depends on", "simulation depends on"
    return {
        row["id"]: Sides(*(tuple(filter(None, row[column].split("; "))) for column in columns))
        for row in rows("verdicts.csv")
    }


def recorded_thresholds() -> dict[tuple[str, str], Threshold]:
    """Return the rows of ``thresholds.csv`` by claim and name, without their meanings."""
    return {
        (row["id"], row["threshold"]): Threshold(
            row["threshold"],
            "",
            float(row["value"]),
            _verdicts_at(row, "half"),
            _verdicts_at(row, "twice"),
        )
        for row in rows("thresholds.csv")
    }


def _verdicts_at(row: dict[str, str], at: str) -> dict[str, Verdict]:
    """Return the verdicts of a row of ``thresholds.csv`` at half or at twice the threshold, by source."""
    names = {"packets": "simulation", "same process": "process", "packet level": "level"}
    columns = [column for column in row if column.endswith(f" at {at}")]
    titles = {column: column.removesuffix(f" at {at}") for column in columns}
    named = ((names.get(title, title), row[column]) for column, title in titles.items())
    return {name: Verdict(verdict) for name, verdict in named if verdict}


def excused_cases() -> dict[tuple[str, str], str]:
    """Return why a claim does not use a bundled case that is tagged with it, by case and claim."""
    return {(row["case"], row["claim"]): row["reason"] for row in rows("excused_cases.csv")}


@functools.cache
def minor_statements() -> dict[str, dict[str, str]]:
    """Return why a statement does not decide the label of its claim, by claim and key."""
    found: dict[str, dict[str, str]] = {}
    for row in rows("minor_statements.csv"):
        found.setdefault(row["claim"], {})[row["statement"]] = row["reason"]
    return found


@functools.cache
def stated_thresholds() -> dict[str, dict[str, str]]:
    """Return where papers state thresholds of their claims, by claim and name; the others are margins of ours."""
    found: dict[str, dict[str, str]] = {}
    for row in rows("stated_thresholds.csv"):
        found.setdefault(row["claim"], {})[row["threshold"]] = row["place"]
    return found


@functools.cache
def undecidable_statements() -> dict[str, dict[str, str]]:
    """Return why no bundled data decide a statement, by claim and key."""
    found: dict[str, dict[str, str]] = {}
    for row in rows("undecidable_statements.csv"):
        found.setdefault(row["claim"], {})[row["statement"]] = row["reason"]
    return found


@functools.cache
def deciding_seeds() -> dict[str, dict[tuple[str, str], str]]:
    """Return how many times today's seeds a statement needs, by claim, and by key and simulator.

    They decide it where it is inconclusive, and give its verdict in four of five draws otherwise (``python -m benchmarks.null_worlds``).
    """
    factors: dict[str, dict[tuple[str, str], str]] = {}
    for row in rows("null_worlds.csv"):
        if row["runs"]:
            factors.setdefault(row["claim"], {})[row["statement"], row["source"]] = row["runs"]
    return factors


def without_packet_level() -> dict[str, str]:
    """Return why a claim is not judged at hopflow's own packet level, by claim."""
    return {row["id"]: row["reason"] for row in rows("without_packet_level.csv")}


def without_explanation() -> dict[str, str]:
    """Return why `dfcmodel.explain` has nothing to say on a claim whose model and packets differ, by claim."""
    return {row["id"]: row["reason"] for row in rows("without_explanation.csv")}
