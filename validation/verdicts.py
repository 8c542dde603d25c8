"""The data model of a cross-check: verdicts, statements, rows of evidence, pictures, findings."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Claim",
    "Finding",
    "Judgement",
    "Number",
    "Part",
    "Picture",
    "Sides",
    "Threshold",
    "Verdict",
    "model_only",
    "packets_only",
]

T = TypeVar("T")
S = TypeVar("S")


class Verdict(enum.StrEnum):
    """Whether a statement holds, in a model or in a packet simulation.

    Examples
    --------
    >>> Verdict.of(2.1 > 2.0)
    <Verdict.REPRODUCED: 'reproduced'>
    >>> print(Verdict.all_of([Verdict.REPRODUCED, Verdict.NOT_REPRODUCED]))
    not reproduced
    """

    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    NOT_REPRODUCED = "not reproduced"
    NOT_APPLICABLE = "not applicable"
    UNDECIDABLE = "undecidable"

    @classmethod
    def of(cls, holds: bool, opposite: bool | None = None) -> Verdict:
        """Return REPRODUCED if it ``holds``, CONTRADICTED if its ``opposite`` does, else neither.

        Without ``opposite`` the statement and its negation are exhaustive.
        """
        if holds:
            return cls.REPRODUCED
        return cls.CONTRADICTED if opposite is None or opposite else cls.NOT_REPRODUCED

    @classmethod
    def all_of(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """Return the verdict on a conjunction: one contradicted part contradicts the whole."""
        seen = [verdict for verdict in verdicts if verdict is not cls.NOT_APPLICABLE]
        for worst in (cls.CONTRADICTED, cls.NOT_REPRODUCED, cls.UNDECIDABLE, cls.REPRODUCED):
            if worst in seen:
                return worst
        return cls.NOT_APPLICABLE

    @property
    def opposite(self) -> Verdict:
        """The verdict on the opposite statement."""
        swap = {
            Verdict.REPRODUCED: Verdict.CONTRADICTED,
            Verdict.CONTRADICTED: Verdict.REPRODUCED,
        }
        return swap.get(self, self)


class Sides(NamedTuple, Generic[T]):
    """One thing twice: in the model, and in the packet simulation.

    Examples
    --------
    >>> Sides(model=0.499, packets=0.503).each(lambda share: round(share, 1))
    Sides(model=0.5, packets=0.5)
    """

    model: T
    packets: T

    def each(self, function: Callable[[T], S]) -> Sides[S]:
        """Return ``function`` of both sides."""
        return Sides(function(self.model), function(self.packets))

    def items(self) -> tuple[tuple[str, T], tuple[str, T]]:
        """Return the sides by name."""
        return ("model", self.model), ("packets", self.packets)


Judgement: TypeAlias = dict[str, Sides[Verdict]]
"""The verdicts on the statements of a claim, by the keys that its text gives them."""


def model_only(verdict: Verdict) -> Sides[Verdict]:
    """Return the verdicts on a statement that has no packet simulation."""
    return Sides(verdict, Verdict.NOT_APPLICABLE)


def packets_only(verdict: Verdict) -> Sides[Verdict]:
    """Return the verdicts on a statement that has no model."""
    return Sides(Verdict.NOT_APPLICABLE, verdict)


@dataclass(frozen=True)
class Part:
    """One statement of a claim, with its verdict in the model and in the packet simulation."""

    statement: str
    model: Verdict
    simulation: Verdict


@dataclass(frozen=True)
class Number:
    """One row of evidence. ``tolerance`` states its reason; values are formatted text."""

    quantity: str
    model: str = ""
    simulation: str = ""
    paper: str = ""
    tolerance: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of the report, drawn on demand; ``alt`` describes it to readers who cannot see it."""

    draw: Callable[[], Figure]
    caption: str
    alt: str


@dataclass(frozen=True)
class Threshold:
    """A number that a verdict depends on by definition, and the verdicts at half and twice of it.

    Attributes
    ----------
    name, meaning
        The parameter of the judging function, and the quantity that it limits.
    value
        The number used.
    half, twice
        The verdicts on the whole claim with half and with twice this number.
    """

    name: str
    meaning: str
    value: float
    half: Sides[Verdict]
    twice: Sides[Verdict]


@dataclass(frozen=True)
class Finding:
    """The result of the cross-check of one claim.

    Attributes
    ----------
    parts
        The statements that the claim consists of; its verdicts are their conjunction.
    summary
        The result in one or two sentences.
    explanation
        Why model, packet simulation and paper differ, where they do.
    numbers
        The rows of evidence.
    pictures
        The figures.
    cases
        The bundled data that were used.
    thresholds
        The thresholds of the verdicts, and how much the verdicts depend on them.

    Examples
    --------
    >>> part = Part("the gain grows", Verdict.REPRODUCED, Verdict.NOT_REPRODUCED)
    >>> finding = Finding((part,), summary="It grows in the chain.")
    >>> print(finding.model, finding.simulation, sep=", ")
    reproduced, not reproduced
    """

    parts: tuple[Part, ...]
    summary: str
    explanation: str = ""
    numbers: tuple[Number, ...] = ()
    pictures: tuple[Picture, ...] = ()
    cases: tuple[str, ...] = ()
    thresholds: tuple[Threshold, ...] = ()

    @property
    def model(self) -> Verdict:
        """Verdict of the model."""
        return Verdict.all_of(part.model for part in self.parts)

    @property
    def simulation(self) -> Verdict:
        """Verdict of the packet simulation."""
        return Verdict.all_of(part.simulation for part in self.parts)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, in our words, and the function that checks it.

    Examples
    --------
    >>> from validation import ledger
    >>> ledger()["M02"].where
    'Sect. III.A'
    >>> print(ledger()["D01"].check().model)
    reproduced
    """

    id: str
    paper: str
    where: str
    setting: str
    text: str
    check: Callable[[], Finding]
