"""The settings between a paper and a verdict: those of the bundled runs of a claim, and who states each.

What is listed follows from the records of the cases that a claim uses; who states a setting is said by hand in
``published/settings.csv``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from validation import evidence, records
from validation.judgements.labels import Verdict
from validation.judgements.verdicts import Finding

PAPER, READING, OURS = "paper", "reading", "ours"
"""Who states a setting: the paper; nobody, and readings of the paper have several values; nobody, and the value is ours."""
STATED_BY = (PAPER, READING, OURS)
MAX_LEVELS = 8
"""Levels of a factor that are listed; of more the first, the last and their number."""
IDENTIFYING = {
    "seed", "flow", "kind", "time", "setting", "experiment", "sequence", "report", "event", "node", "link", "direction",
    "source", "protocol", "priority", "parameter", "value",
}  # fmt: skip
"""Columns that identify rows and are no setting; parameters that were varied one at a time are those of the cases."""
REPEATED = "packets/"
"""Cases of hopflow's own runs: their settings are those of the simulators' cases that they repeat."""


@dataclass(frozen=True)
class Setting:
    """A setting of the runs that a claim is judged by.

    Attributes
    ----------
    name
        The parameter or factor, as in the records of the cases.
    values
        Its values in these cases, each with its unit.
    stated_by
        One of `STATED_BY`; "" where the table has no row.
    place
        Where the paper states it, or why this value was taken.
    results
        The readings that vary it, each with the verdicts of the sources that judge it in words; none: it is not varied.
    """

    name: str
    values: tuple[str, ...]
    stated_by: str = ""
    place: str = ""
    results: tuple[str, ...] = ()


def listed(cases: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each parameter and factor of cases, by name: parameters of the runs, then columns that identify them.

    Examples
    --------
    >>> from validation.judgements.settings import listed
    >>> listed(["zheng2002/red-droptail-bins"])["bin"]
    ('0.5, 2.5, 10 s',)
    """
    values: dict[str, dict[str, None]] = {}
    factors: dict[str, dict[str, None]] = {}
    for case in cases:
        if case.startswith(REPEATED):
            continue
        record = evidence.provenance(case)
        for name, about in record["parameters"].items():
            values.setdefault(name, {})[f"{about['value']} {about['unit']}".strip()] = None
        for file, about in record["files"].items():
            for column in about["index"]:
                if column not in IDENTIFYING:
                    unit = about["columns"][column]["unit"].removesuffix("1")
                    levels = _levels(case, file.partition(".")[0], column)
                    factors.setdefault(column, {})[f"{levels} {unit}".strip()] = None
    return {name: tuple(each) for name, each in {**values, **factors}.items()}


def _levels(case: str, table: str, column: str) -> str:
    """Return the levels of a column, at most `MAX_LEVELS` of them."""
    words = [each if isinstance(each, str) else f"{each:g}" for each in evidence.levels(case, table, column)]
    if len(words) > MAX_LEVELS:
        return f"{words[0]} to {words[-1]} ({len(words)} values)"
    return ", ".join(words)


def stated(paper: str) -> dict[str, dict[str, str]]:
    """Return the rows of a paper in ``settings.csv``, by the name of the setting."""
    return {row["setting"]: row for row in records.rows("settings.csv") if row["paper"] == paper}


def settings_of(paper: str, finding: Finding) -> Iterator[Setting]:
    """Yield the settings of a claim of a paper, those that are ours first, with what varying them gives.

    Parameters
    ----------
    paper
        As in the ledger; one without rows in ``settings.csv`` has no list.
    finding
        The verdicts on the claim in all readings, its cases, and their settings where they were read.
    """
    known = stated(paper)
    if not known:
        return
    found = [
        Setting(
            name,
            values,
            *((row["stated by"], row["place"]) if (row := known.get(name)) else ("", "")),
            results=tuple(_results(row["varied in"] if row else "", finding)),
        )
        for name, values in (finding.settings or listed(finding.cases)).items()
    ]
    order = {OURS: 0, "": 1, READING: 2, PAPER: 3}
    yield from sorted(found, key=lambda each: (order[each.stated_by], not each.results))


def _results(readings: str, finding: Finding) -> Iterator[str]:
    """Yield the verdicts in each reading whose name begins with one of several parts, separated by semicolons."""
    parts = tuple(filter(None, map(str.strip, readings.split(";"))))
    sources = ("model", *finding.simulators, "level")
    names = {"level": "hopflow's packets"}
    for reading in finding.readings:
        if parts and reading.name.startswith(parts):
            verdicts = {
                names.get(source, source): finding.words_in_reading(reading, source)
                for source in sources
                if finding.in_reading(reading, source) is not Verdict.NOT_APPLICABLE
            }
            words = ", ".join(f"{source} {verdict}" for source, verdict in verdicts.items())
            yield f"{reading.name}: {words or 'not judged'}"


def is_settled(finding: Finding) -> bool:
    """Return whether a claim holds by every source that judges it, in every reading that was judged."""
    sources = [s for s in ("model", *finding.simulators, "level")
               if finding.by_default(s) is not Verdict.NOT_APPLICABLE]  # fmt: skip
    verdicts = [finding.by_default(source) for source in sources]
    verdicts += [finding.in_reading(each, source) for each in finding.readings for source in sources]
    return all(verdict in (Verdict.HOLDS, Verdict.NOT_APPLICABLE) for verdict in verdicts)
