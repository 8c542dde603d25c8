"""The words of the verdicts, and the rules by which statements, simulators and readings give a label.

Everything that prints a verdict uses these words: pages, JSON, the terminal.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

SIMULATORS = ("ns-2", "ns-3", "Linux")
"""The packet simulators of others whose runs judge claims, each with a column of its own, and the kernel in virtual time."""


class Verdict(enum.StrEnum):
    """Whether a statement holds by one source of evidence: a model, a simulator.

    Examples
    --------
    >>> Verdict.of(2.1 > 2.0)
    <Verdict.HOLDS: 'holds'>
    >>> print(Verdict.all_of([Verdict.HOLDS, Verdict.INCONCLUSIVE]))
    inconclusive

    Attributes
    ----------
    HOLDS, CONTRADICTED
        The statement holds, or its opposite does.
    MARGIN
        It is another verdict with half or with twice of a margin that hopflow chose, not the paper.
    DISAGREE
        It holds in one simulator and is contradicted in another.
    DEPENDS
        It holds in one documented reading of the paper and is contradicted in another, and both were judged.
    INCONCLUSIVE
        Neither the statement nor its opposite can be shown.
    UNDECIDABLE
        The bundled data cannot decide it; the text names the data that would.
    NOT_APPLICABLE
        This source does not bear on the statement.
    """

    HOLDS = "holds"
    CONTRADICTED = "contradicted"
    DEPENDS = "depends"
    MARGIN = "depends on our margin"
    DISAGREE = "simulators disagree"
    INCONCLUSIVE = "inconclusive"
    UNDECIDABLE = "undecidable"
    NOT_APPLICABLE = "not applicable"

    @classmethod
    def of(cls, holds: bool, opposite: bool | None = None) -> Verdict:
        """Return HOLDS if it ``holds``, CONTRADICTED if its ``opposite`` does, else INCONCLUSIVE.

        Without ``opposite`` the statement and its negation are exhaustive.
        """
        if holds:
            return cls.HOLDS
        return cls.CONTRADICTED if opposite is None or opposite else cls.INCONCLUSIVE

    @classmethod
    def all_of(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """Return the verdict on a conjunction: one contradicted part contradicts the whole."""
        seen = [verdict for verdict in verdicts if verdict is not cls.NOT_APPLICABLE]
        for worst in cls.CONTRADICTED, cls.DISAGREE, cls.DEPENDS, cls.MARGIN, cls.INCONCLUSIVE, cls.UNDECIDABLE:
            if worst in seen:
                return worst
        return cls.HOLDS if seen else cls.NOT_APPLICABLE

    @property
    def opposite(self) -> Verdict:
        """The verdict on the opposite statement; itself where nothing was decided."""
        swap = {Verdict.HOLDS: Verdict.CONTRADICTED, Verdict.CONTRADICTED: Verdict.HOLDS}
        return swap.get(self, self)


def over_readings(default: Verdict, others: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a source over all documented readings of the paper.

    DEPENDS needs one reading that holds and one that is contradicted. A reading that the source has not judged, or that
    is inconclusive in it, changes nothing on either side.

    Examples
    --------
    >>> print(over_readings(Verdict.HOLDS, [Verdict.CONTRADICTED]))
    depends
    >>> print(over_readings(Verdict.CONTRADICTED, [Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE]))
    contradicted
    """
    both = {Verdict.HOLDS, Verdict.CONTRADICTED}
    return Verdict.DEPENDS if both <= {default, *others} else default


def agreed(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several simulators on one statement, or on one claim.

    A simulator that decides nothing leaves the verdict to the others. HOLDS beside CONTRADICTED is
    DISAGREE, and one that DEPENDS makes the others depend.

    Examples
    --------
    >>> print(agreed([Verdict.HOLDS, Verdict.INCONCLUSIVE]))
    holds
    >>> print(agreed([Verdict.HOLDS, Verdict.CONTRADICTED]))
    simulators disagree
    """
    seen = {verdict for verdict in verdicts if verdict is not Verdict.NOT_APPLICABLE}
    if {Verdict.HOLDS, Verdict.CONTRADICTED} <= seen:
        return Verdict.DISAGREE
    order = (
        Verdict.DISAGREE, Verdict.DEPENDS, Verdict.CONTRADICTED, Verdict.HOLDS, Verdict.MARGIN,
        Verdict.INCONCLUSIVE, Verdict.UNDECIDABLE,
    )  # fmt: skip
    return next((verdict for verdict in order if verdict in seen), Verdict.NOT_APPLICABLE)


def label(statements: Iterable[tuple[Verdict, bool]]) -> Verdict:
    """Return the label of a claim from the verdicts on its statements, each with whether it is minor.

    The label is the conjunction of the statements that are not minor. Minor ones never decide: a
    source that judges no other statement has the label NOT_APPLICABLE. The ledger gives the reason
    for each minor statement.

    Examples
    --------
    >>> print(label([(Verdict.HOLDS, False), (Verdict.CONTRADICTED, True)]))
    holds
    """
    return Verdict.all_of(verdict for verdict, minor in statements if not minor)


def held(verdicts: Iterable[Verdict]) -> tuple[int, int]:
    """Return how many statements hold, and to how many the source applies.

    Examples
    --------
    >>> held([Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE])
    (1, 2)
    """
    seen = [verdict for verdict in verdicts if verdict is not Verdict.NOT_APPLICABLE]
    return seen.count(Verdict.HOLDS), len(seen)


def in_words(default: Verdict, readings: Mapping[str, Verdict], margins: Mapping[str, Verdict] | None = None) -> str:
    """Return a verdict with the readings of the paper and the margins that are against it, and how many readings were judged.

    Parameters
    ----------
    default
        The verdict in the default reading.
    readings
        The verdicts in the other readings, by name.
    margins
        The other verdicts at half or twice of margins of ours, by such as "half of margin".

    Examples
    --------
    >>> in_words(Verdict.HOLDS, {"direct hosts": Verdict.CONTRADICTED})
    'holds; contradicted if direct hosts'
    >>> in_words(Verdict.CONTRADICTED, {"direct hosts": Verdict.NOT_APPLICABLE, "RED": Verdict.CONTRADICTED})
    'contradicted; 1 of 2 other readings judged'
    >>> in_words(Verdict.HOLDS, {}, {"half of the threshold margin": Verdict.INCONCLUSIVE})
    'holds; inconclusive at half of the threshold margin'
    """
    clauses = [str(default)]
    if over_readings(default, readings.values()) is Verdict.DEPENDS:
        for verdict in (Verdict.HOLDS, Verdict.CONTRADICTED):
            names = [name for name, other in readings.items() if other == verdict is not default]
            if names:
                some = len(names) <= MAX_NAMED_READINGS
                where = f"if {' or '.join(names)}" if some else f"in {len(names)} other readings"
                clauses.append(f"{verdict} {where}")
    clauses += [f"{verdict} at {where}" for where, verdict in (margins or {}).items()]
    judged = sum(verdict in (Verdict.HOLDS, Verdict.CONTRADICTED) for verdict in readings.values())
    if default in (Verdict.HOLDS, Verdict.CONTRADICTED) and judged < len(readings):
        clauses.append(f"{judged} of {len(readings)} other reading{'s' * (len(readings) > 1)} judged")
    return "; ".join(clauses)


MAX_NAMED_READINGS = 3
"""Readings that a verdict in words names; more are counted."""
