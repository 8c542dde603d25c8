"""The data model of a cross-check: verdicts, statements, rows of evidence, pictures, findings."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Claim",
    "Experiment",
    "Finding",
    "Gap",
    "Judgement",
    "Number",
    "Part",
    "Picture",
    "Reading",
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

    Attributes
    ----------
    REPRODUCED, CONTRADICTED
        The statement holds, or its opposite does.
    DEPENDS
        One in the default reading of the paper and the other in another documented reading.
    NOT_REPRODUCED
        Neither the statement nor its opposite can be shown.
    OPEN
        There is no model of it yet.
    UNDECIDABLE
        The bundled data cannot decide it; the text names the data that would.
    NOT_APPLICABLE
        This side has nothing to say on the statement.
    """

    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    DEPENDS = "depends"
    NOT_REPRODUCED = "not reproduced"
    OPEN = "open"
    UNDECIDABLE = "undecidable"
    NOT_APPLICABLE = "not applicable"

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
        for worst in cls.CONTRADICTED, cls.DEPENDS, cls.NOT_REPRODUCED, cls.UNDECIDABLE, cls.OPEN:
            if worst in seen:
                return worst
        return cls.REPRODUCED if seen else cls.NOT_APPLICABLE

    def turned_by(self, other: Verdict) -> bool:
        """Return whether the verdict in another reading takes away that of the default one.

        That is a contradiction of what was reproduced, and anything but a contradiction of what was
        contradicted. A verdict that decides nothing is not turned.

        Examples
        --------
        >>> Verdict.REPRODUCED.turned_by(Verdict.CONTRADICTED)
        True
        >>> Verdict.REPRODUCED.turned_by(Verdict.NOT_REPRODUCED)
        False
        >>> Verdict.CONTRADICTED.turned_by(Verdict.NOT_REPRODUCED)
        True
        """
        cls = type(self)
        if self is cls.REPRODUCED:
            return other is cls.CONTRADICTED
        return self is cls.CONTRADICTED and other in (cls.REPRODUCED, cls.NOT_REPRODUCED)

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
    """One statement of a claim, with its verdicts in the default reading.

    Attributes
    ----------
    model, simulation
        In the model, and in packet simulations of the protocols.
    process
        In packet simulations of the model's own events, which check its solution only.
    level
        At hopflow's own packet level, where it runs the scenario.
    """

    statement: str
    model: Verdict
    simulation: Verdict
    process: Verdict = Verdict.NOT_APPLICABLE
    level: Verdict = Verdict.NOT_APPLICABLE


@dataclass(frozen=True)
class Reading:
    """The statements of a claim in another documented reading of the paper."""

    name: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Experiment:
    """A cause that an explanation names, switched off. Values are formatted text.

    Attributes
    ----------
    cause
        What is switched off, and the quantity that shows it.
    kept, removed
        The quantity with the cause and without it.
    effect
        How much of the difference that it explains goes away.
    """

    cause: str
    kept: str
    removed: str
    effect: str = ""


@dataclass(frozen=True)
class Number:
    """One row of evidence. ``tolerance`` states its reason; values are formatted text.

    ``level`` is the quantity at hopflow's own packet level.
    """

    quantity: str
    model: str = ""
    simulation: str = ""
    paper: str = ""
    tolerance: str = ""
    level: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of the report, drawn on demand; ``alt`` describes it to readers who cannot see it.

    ``svg`` is the figure as drawn before, where it was.
    """

    draw: Callable[[], Figure]
    caption: str
    alt: str
    svg: str = ""


@dataclass(frozen=True)
class Gap:
    """What lies between the bare fluid and packets on the scenario of a claim; its figure is the last of the finding.

    Attributes
    ----------
    about
        What was compared.
    columns
        Names of the rows of the waterfall, in its order.
    rows
        By quantity: a cell for each column.
    sentences
        The certain contributions to each gap, and what is left.
    case
        The bundled results.
    """

    about: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]
    sentences: tuple[str, ...]
    case: str


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
        The statements that the claim consists of; its verdicts are their conjunction, or
        ``depends`` where a reading turns it.
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
    readings
        The statements in other readings of the paper.
    experiments
        The causes that the explanation names, switched off.
    gap
        What lies between the fluid and packets on the claim's scenario, where that was computed.

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
    readings: tuple[Reading, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    gap: Gap | None = None

    @property
    def headline(self) -> str:
        """The first sentence of the summary, which says the result in short."""
        return re.split(r"(?<=[.!])\s+(?=[A-Z`])", self.summary, maxsplit=1)[0]

    @property
    def default(self) -> Sides[Verdict]:
        """The verdicts in the default reading."""
        return _whole(self.parts)

    @property
    def turning(self) -> Sides[tuple[str, ...]]:
        """The readings that turn the verdict of the default one, by side."""
        others = {reading.name: _whole(reading.parts) for reading in self.readings}
        names = (
            tuple(name for name, sides in others.items() if verdict.turned_by(sides[n]))
            for n, verdict in enumerate(self.default)
        )
        return Sides(*names)

    @property
    def model(self) -> Verdict:
        """Verdict of the model."""
        return Verdict.DEPENDS if self.turning.model else self.default.model

    @property
    def simulation(self) -> Verdict:
        """Verdict of the packet simulations of the protocols."""
        return Verdict.DEPENDS if self.turning.packets else self.default.packets

    @property
    def process(self) -> Verdict:
        """Verdict of the packet simulations of the model's own events."""
        return Verdict.all_of(part.process for part in self.parts)

    @property
    def level(self) -> Verdict:
        """Verdict of hopflow's own packet level, of those statements that it has runs for."""
        return Verdict.all_of(part.level for part in self.parts)


def _whole(parts: Iterable[Part]) -> Sides[Verdict]:
    """Return the verdicts on the conjunction of some statements."""
    parts = tuple(parts)
    model = Verdict.all_of(part.model for part in parts)
    return Sides(model, Verdict.all_of(part.simulation for part in parts))


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, in our words, and the function that checks it.

    Examples
    --------
    >>> from validation import ledger
    >>> ledger()["M02"].where
    'Sect. III.A'
    >>> print(ledger()["D01"].check().model)
    depends
    """

    id: str
    paper: str
    where: str
    setting: str
    text: str
    check: Callable[[], Finding]
