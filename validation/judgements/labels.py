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
    DISAGREE
        It holds in one simulator and is contradicted in another.
    DEPENDS
        It holds in the default reading of the paper and is contradicted in another documented
        reading; or it is contradicted in the default reading and not in every other one.
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
        for worst in cls.CONTRADICTED, cls.DISAGREE, cls.DEPENDS, cls.INCONCLUSIVE, cls.UNDECIDABLE:
            if worst in seen:
                return worst
        return cls.HOLDS if seen else cls.NOT_APPLICABLE

    @property
    def opposite(self) -> Verdict:
        """The verdict on the opposite statement; itself where nothing was decided."""
        swap = {Verdict.HOLDS: Verdict.CONTRADICTED, Verdict.CONTRADICTED: Verdict.HOLDS}
        return swap.get(self, self)

    def turned_by(self, other: Verdict) -> bool:
        """Return whether the verdict in another reading ends that of the default reading.

        A contradiction has to stand in every documented reading: one that is inconclusive, or that
        the source has not judged, ends it. A statement that holds is ended by its opposite alone.

        Examples
        --------
        >>> Verdict.HOLDS.turned_by(Verdict.CONTRADICTED)
        True
        >>> Verdict.CONTRADICTED.turned_by(Verdict.INCONCLUSIVE)
        True
        >>> Verdict.HOLDS.turned_by(Verdict.INCONCLUSIVE)
        False
        """
        if self is Verdict.CONTRADICTED:
            return other is not self
        return other is not self and other is self.opposite


def agreed(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several simulators on one statement.

    A simulator that decides nothing leaves the verdict to the others; HOLDS beside CONTRADICTED is
    DISAGREE.

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
        Verdict.DISAGREE, Verdict.CONTRADICTED, Verdict.HOLDS, Verdict.DEPENDS,
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


def in_words(default: Verdict, turned: Mapping[str, str]) -> str:
    """Return a verdict with its direction: what it is by default, and under which readings it is not.

    Parameters
    ----------
    default
        The verdict in the default reading.
    turned
        The verdicts in the readings that turn it, or how far it was judged in them, by name.

    Examples
    --------
    >>> in_words(Verdict.HOLDS, {"direct hosts": Verdict.CONTRADICTED})
    'holds; contradicted if direct hosts'
    >>> in_words(Verdict.CONTRADICTED, {"direct hosts": Verdict.NOT_APPLICABLE})
    'contradicted; not judged if direct hosts'
    >>> in_words(Verdict.HOLDS, {})
    'holds'
    """
    clauses = [str(default)]
    for verdict in dict.fromkeys(turned.values()):
        names = [name for name, other in turned.items() if other == verdict]
        word = "not judged" if verdict == Verdict.NOT_APPLICABLE else verdict
        some = len(names) <= MAX_NAMED_READINGS
        where = f"if {' or '.join(names)}" if some else f"in {len(names)} other readings"
        clauses.append(f"{word} {where}")
    return "; ".join(clauses)


MAX_NAMED_READINGS = 3
"""Readings that a verdict in words names; more are counted."""
