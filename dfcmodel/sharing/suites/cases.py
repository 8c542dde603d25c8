"""Suites as tables of cases: observed quantity, expected value of the source, and tolerance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from responsefn import WindowRule

__all__ = ["ANY", "NotJudged", "Observation", "Suite", "SuiteCase", "Tolerance", "Undecided", "truth"]

ANY: tuple[str, ...] = ()
"""Claims of a suite that applies to every rule."""


class NotJudged(Exception):
    """Raised by a case that does not apply to a rule, or that lacks data of the rule; its message is the reason."""

    verdict = "not judged"


class Undecided(NotJudged):
    """Raised by a case whose runs do not suffice for a verdict; its message is the reason."""

    verdict = "undecided"


class Tolerance(NamedTuple):
    """Accepted difference: an absolute part in the quantity's unit, and a part relative to the expected value."""

    absolute: float = 0.0
    relative: float = 0.0

    def width(self, expected: float) -> float:
        """Return the accepted difference from an expected value, in the quantity's unit."""
        return self.absolute + self.relative * abs(expected)

    def __str__(self) -> str:
        parts = [f"{self.absolute:g}"] if self.absolute else []
        parts += [f"{self.relative:.3g} of it"] if self.relative else []
        return " + ".join(parts) or "0"


class Observation(NamedTuple):
    """An observed value after an event, and the value that the source expects there; both may have a text.

    Values without a unit of their own, such as a state, have texts.
    """

    event: str
    expected: float
    found: float
    expected_text: str = ""
    found_text: str = ""


def truth(event: str, holds: object, expected: str, found: str) -> Observation:
    """Return an observation with 1 as the expected value, and 1 as the found one if ``holds``, otherwise 0."""
    return Observation(event, 1.0, 1.0 if holds else 0.0, expected, found)


@dataclass(frozen=True)
class SuiteCase:
    """A case of a suite.

    Attributes
    ----------
    id
        Name within the suite.
    quantity, unit
        Observed quantity and its unit; "" for a ratio.
    expectation
        Requirement of the source, as a sentence.
    relation
        ``"="``, ``">="`` or ``"<="``: how an observed value compares with the expected one.
    tolerance
        Accepted difference.
    source
        Document and section.
    observe
        Function of a rule that yields observations in the order of events. It raises `NotJudged` if it cannot.
    about_tolerance
        Origin of the tolerance.
    known
        Reason for which every rule fails, a lack of the simulation; "": none.
    """

    id: str
    quantity: str
    unit: str
    expectation: str
    relation: str
    tolerance: Tolerance
    source: str
    observe: Callable[[WindowRule], Iterable[Observation]] = field(compare=False)
    about_tolerance: str = ""
    known: str = ""

    def holds(self, observation: Observation) -> bool:
        """Return whether an observation is within the case's tolerance; False for NaN."""
        return self.excess(observation) <= 0.0

    def excess(self, observation: Observation) -> float:
        """Return by how much an observation exceeds its bound, in the quantity's unit; negative inside the bound."""
        difference, width = observation.found - observation.expected, self.tolerance.width(observation.expected)
        return {"=": abs(difference), ">=": -difference, "<=": difference}[self.relation] - width

    def describe(self, observation: Observation) -> tuple[str, str]:
        """Return (expected value with relation and tolerance, found value) as strings with units."""
        if observation.expected_text:
            return observation.expected_text, observation.found_text
        expected = observation.expected
        prefix = {"=": "", ">=": "at least ", "<=": "at most "}[self.relation]
        width = self.tolerance.width(expected)
        margin = f" +- {width:.3g}" if width else ""
        return f"{prefix}{expected:.5g}{margin} {self.unit}".rstrip(), f"{observation.found:.5g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Suite:
    """A versioned table of cases.

    Attributes
    ----------
    name, version
        The version changes with the cases, expectations or tolerances.
    source
        Document that the suite tests.
    claims
        Claims of rules to which it applies; `ANY`: to all.
    cases
        The table.
    shares_runs
        Whether the first case makes the runs of all: what ends one ends all.
    """

    name: str
    version: int
    source: str
    claims: tuple[str, ...]
    cases: tuple[SuiteCase, ...]
    shares_runs: bool = False

    @property
    def label(self) -> str:
        """Name and version, such as ``rfc9438@1``."""
        return f"{self.name}@{self.version}"

    def applies_to(self, rule: WindowRule) -> bool:
        """Return whether the rule's claim is one of the suite's; True for a suite of any rule."""
        return not self.claims or rule.claims in self.claims
