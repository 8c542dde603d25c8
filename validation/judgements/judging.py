"""Judging a claim again, with another threshold or in another documented reading of its paper."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hopflow.checks import choice, instance, one_number
from validation import evidence
from validation.checks import Subject, subjects
from validation.claims import find
from validation.display import texts
from validation.judgements.verdicts import Finding, Sides, Verdict

FACTORS = tuple(2.0 ** (n / 2) for n in range(1, 21))
"""By which a threshold is divided and multiplied to find where a verdict turns: up to a thousand."""
TURN_PRECISION = 1e-6
"""Largest relative distance between the two values that enclose a turn."""


@dataclass(frozen=True)
class Turn:
    """Where the verdict of a source on a claim turns, as a threshold moves away from the value used.

    Attributes
    ----------
    threshold
        Its name.
    source
        Whose verdict (`Finding.verdicts`).
    stays
        The value with the verdict of before that is nearest to ``value``: within `TURN_PRECISION` of it.
    value
        The value from which on the verdict is another one. It lies between the first two of the values tried
        (`FACTORS`) whose verdicts differ.
    verdict
        The other verdict on the whole claim.
    """

    threshold: str
    source: str
    stays: float
    value: float
    verdict: Verdict


@dataclass(frozen=True)
class Rejudged:
    """The verdicts on a claim as it is judged here, and with what was changed.

    Attributes
    ----------
    claim
        Its id.
    before, after
        The finding as it is, and with the changes; that has no text but its statements.
    thresholds
        All thresholds, with those that were changed.
    reading
        The reading that took the place of the default one; "" if none did.
    """

    claim: str
    before: Finding
    after: Finding
    thresholds: dict[str, float]
    reading: str = ""

    @property
    def verdicts(self) -> tuple[Sides[Verdict], Sides[Verdict]]:
        """The verdicts on the whole claim, before and after."""
        before, after = (Sides(each.model, each.simulation) for each in (self.before, self.after))
        return before, after

    def turns(self) -> Iterator[Turn]:
        """Yield, for each threshold and each source that judges, where its verdict turns below and above the value used.

        The other thresholds are as they are. A probability stays below one half.
        """
        subject = subjects()[self.claim]
        measured = subject.measured()
        for name, used in subject.check.thresholds().items():

            @functools.cache
            def at(value: float, name: str = name) -> Finding:
                return subject.in_all_readings(measured, {name: value})

            for values in self.tried(name):
                for source in self.before.verdicts:
                    before = self.before.over_readings(source)
                    stays = used
                    for value in values:
                        if at(value).over_readings(source) is not before:
                            yield _enclosed(at, name, source, stays, value)
                            break
                        stays = value

    def tried(self, name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the values of a threshold that `turns` tries, below the one used and above."""
        value = subjects()[self.claim].check.thresholds()[name]
        above = (value * factor for factor in FACTORS)
        largest = LARGEST_LEVEL if name == "level" else math.inf
        return tuple(value / f for f in FACTORS), tuple(v for v in above if v < largest)

    @property
    def seeds(self) -> list[int]:
        """The seeds of the packet runs of the claim, sorted."""
        records = (evidence.provenance(case) for case in subjects()[self.claim].cases)
        return sorted({seed for record in records for seed in record["seeds"]})

    def without_a_seed(self) -> Iterator[tuple[int, dict[str, Verdict]]]:
        """Yield each seed of the packet runs, and the verdicts by source when its runs are left out.

        Tables with fewer than three seeds are used whole.
        """
        subject = subjects()[self.claim]
        for seed in self.seeds:
            with evidence.leaving_out(seed):
                measured = subject.check.measure(*subject.arguments)
            found = subject.in_all_readings(measured, {})
            yield seed, found.verdicts


def _enclosed(
    at: Callable[[float], Finding],
    threshold: str,
    source: str,
    stays: float,
    value: float,
) -> Turn:
    """Return where a verdict turns between two values with different verdicts, by bisection of their logarithms."""
    before = at(stays).over_readings(source)
    stays, value = narrowed(lambda middle: at(middle).over_readings(source) is before, stays, value)
    return Turn(threshold, source, stays, value, at(value).over_readings(source))


def narrowed(same: Callable[[float], bool], stays: float, value: float) -> tuple[float, float]:
    """Return two values within `TURN_PRECISION` of each other, the first with the verdict of ``stays`` and the second without it.

    ``same`` says of a value whether it has that verdict; their logarithms are bisected.

    Examples
    --------
    >>> stays, value = narrowed(lambda threshold: threshold < 0.3, 0.1, 0.4)
    >>> round(stays, 6), round(value, 6)
    (0.3, 0.3)
    """
    while abs(value / stays - 1.0) > TURN_PRECISION:
        middle = math.sqrt(stays * value)
        if same(middle):
            stays = middle
        else:
            value = middle
    return stays, value


LARGEST_LEVEL = 0.5
"""A probability of error from which on nothing is decided."""


def rejudge(claim: str, thresholds: Mapping[str, float] | None = None, *, reading: str | None = None) -> Rejudged:
    """Judge what was measured for a claim again.

    Parameters
    ----------
    claim
        Its id.
    thresholds
        Other values of some of its thresholds, by name; all are > 0, a ``level`` below 0.5.
    reading
        Another documented reading of the paper, to take the place of the default one; a unique part
        of its name suffices.

    Raises
    ------
    ValueError
        For an unknown claim, threshold or reading, and a value that is not allowed; the message lists
        what there is.

    Examples
    --------
    >>> from validation import rejudge
    >>> again = rejudge("Z10", {"margin": 0.2})
    >>> print(again.before.simulation, again.after.simulation, sep=", ")
    inconclusive, holds
    """
    claim = find(claim).id
    if thresholds is not None:
        instance("thresholds", thresholds, Mapping, "a mapping of names to values, or None")
    if reading is not None:
        instance("reading", reading, str, "a text, or None")
    subject = subjects()[claim]
    used = subject.check.thresholds()
    given = dict(thresholds or {})
    for name, value in given.items():
        choice("threshold", name, used)
        below: dict[str, Any] = {"below": LARGEST_LEVEL} if name == "level" else {}
        given[name] = one_number(f"threshold {name}", value, above=0.0, **below)
    before = subject.finding()
    wanted = _reading(reading, before) if reading is not None else ""
    after = _after(subject, before, given, wanted)
    return Rejudged(claim, before, after, used | given, wanted)


def _reading(part: str, finding: Finding) -> str:
    """Return the name of the reading that has ``part`` in it."""
    names = [reading.name for reading in finding.readings]
    if not names:
        raise ValueError(f"reading = {part!r}: the claim has no reading but the default one")
    found = [name for name in names if part == name] or [name for name in names if part in name]
    return found[0] if len(found) == 1 else choice("reading", part, names)


def _after(subject: Subject[Any], before: Finding, thresholds: dict[str, float], reading: str) -> Finding:
    """Return the finding with the changes, its statements worded as in ``before``."""
    found = subject.in_all_readings(subject.measured(), thresholds)
    order = [*subject.check.judged(subject.measured()), *subject.basis.undecidable]
    worded = dict(zip(_keys(subject), (part.statement for part in before.parts), strict=True))
    kept = {each.name: each for each in found.readings}
    parts = kept[reading].parts if reading else found.parts
    parts = tuple(replace(part, statement=worded[key]) for key, part in zip(order, parts, strict=True))
    return Finding(parts, "", readings=() if reading else found.readings)


def _keys(subject: Subject[Any]) -> list[str]:
    """Return the keys of the statements in the order of the text."""
    check = subject.check
    written = texts.render(check.text, check.values(subject.measured())).statements
    return [*written, *subject.basis.undecidable]
