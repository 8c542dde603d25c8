"""The data model of a cross-check: verdicts on statements, in readings and at thresholds, findings, claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from validation.display.finding_rows import Experiment, Gap, Number, Picture
from validation.judgements.labels import Verdict, held, in_words, label, over_readings

__all__ = [
    "Claim",
    "Finding",
    "Judgement",
    "Part",
    "Reading",
    "Sides",
    "Threshold",
    "Verdict",
    "halved",
    "model_only",
    "packets_only",
]

T = TypeVar("T")
S = TypeVar("S")

INDEPENDENT_SOURCES = 2
"""Sources without common code that have to contradict a statement: one alone may err."""


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


NOT_JUDGED = "not judged in this reading"
"""Of a statement that a source judges in the default reading only."""


@dataclass(frozen=True)
class Part:
    """One statement of a claim, with its verdicts in the default reading.

    Attributes
    ----------
    model, simulation
        In the model, and in packet simulations of the protocols, all simulators together.
    process
        In packet simulations of the model's own events, which check its solution only.
    level
        At hopflow's own packet level, where it runs the scenario.
    simulators
        By simulator, such as "ns-2"; a statement that needs runs of two has its verdict under both.
    minor
        Why the statement does not decide the label of its claim (`validation.judgements.labels.label`); "": it
        does.

    Examples
    --------
    >>> part = Part("x", Verdict.HOLDS, Verdict.CONTRADICTED, simulators={"ns-2": Verdict.CONTRADICTED})
    >>> print(part.by("ns-2"), part.by("ns-3"), part.by("model"), sep=", ")
    contradicted, not applicable, holds
    """

    statement: str
    model: Verdict
    simulation: Verdict
    process: Verdict = Verdict.NOT_APPLICABLE
    level: Verdict = Verdict.NOT_APPLICABLE
    simulators: Mapping[str, Verdict] = field(default_factory=dict)
    minor: str = ""

    def by(self, source: str) -> Verdict:
        """Return the verdict of a source: "model", "simulation", "process", "level" or a simulator."""
        if source in ("model", "simulation", "process", "level"):
            verdict: Verdict = getattr(self, source)
            return verdict
        return self.simulators.get(source, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True)
class Reading:
    """The statements of a claim in another documented reading of the paper.

    A statement that was not judged in the reading has the verdict NOT_APPLICABLE.
    """

    name: str
    parts: tuple[Part, ...]


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
        The verdicts on the whole claim with half and with twice this number (`halved`), by source (`Finding.verdicts`).
    contradicted
        The numbers of the statements, from 1, that all evidence contradicts at both
        (`Finding.contradicted_by_all`).
    place
        Where the paper states the number; "": it is ours.
    """

    name: str
    meaning: str
    value: float
    half: Mapping[str, Verdict]
    twice: Mapping[str, Verdict]
    contradicted: tuple[int, ...] = ()
    place: str = ""

    def turning(self, source: str, verdict: Verdict) -> dict[str, Verdict]:
        """Return the other verdicts of a source at half and at twice of the margin; none for one that is not ours."""
        if self.name == "level" or self.place:
            return {}
        other = {f"half of the threshold {self.name}": self.half, f"twice the threshold {self.name}": self.twice}
        return {where: at[source] for where, at in other.items() if at.get(source, verdict) is not verdict}


def halved(threshold: float) -> tuple[float, float]:
    """Return a threshold with half and with twice of its margin.

    A part of a whole or a ratio, between one half and two, has its margin from one: half of the margin of 0.9 is 0.95, twice is 0.8.

    Examples
    --------
    >>> [round(each, 3) for each in (*halved(0.1), *halved(0.9), *halved(1.3))]
    [0.05, 0.2, 0.95, 0.8, 1.15, 1.6]
    """
    near_one = 0.5 < threshold < 2.0 and threshold != 1.0
    base = 1.0 if near_one else 0.0
    return base + 0.5 * (threshold - base), base + 2.0 * (threshold - base)


@dataclass(frozen=True)
class Finding:
    """The result of the cross-check of one claim.

    Attributes
    ----------
    parts
        The statements that the claim consists of; its verdicts follow by `validation.judgements.labels.label`,
        or are ``depends`` where a reading turns them.
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
    own_programs
        What hopflow itself wrote of the programs that a simulator ran for the claim, such as DFC, by
        simulator: its verdict is not independent of the model's.
    settings
        The values of the parameters and factors of its cases, by name; empty where they were not read.

    Examples
    --------
    >>> part = Part("the gain grows", Verdict.HOLDS, Verdict.INCONCLUSIVE)
    >>> finding = Finding((part,), summary="It grows in the chain.")
    >>> print(finding.model, finding.simulation, sep=", ")
    holds, inconclusive
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
    own_programs: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """The first sentence of the summary, which says the result in short."""
        return re.split(r"(?<=[.!])\s+(?=[A-Z`])", self.summary, maxsplit=1)[0]

    @property
    def simulators(self) -> tuple[str, ...]:
        """The simulators that judge any of its statements, in alphabetical order."""
        return tuple(sorted({name for part in self.parts for name in part.simulators}))

    def by_default(self, source: str) -> Verdict:
        """Return the verdict of a source (`Part.by`) in the default reading."""
        return label((part.by(source), bool(part.minor)) for part in self.parts)

    def by_reading(self, source: str) -> dict[str, Verdict]:
        """Return the verdicts of a source on the whole claim in the other readings, by name.

        A reading contradicts a claim as soon as it contradicts one of its statements; it upholds a
        claim only if it was judged for all statements that decide. NOT_APPLICABLE: the source has
        not judged the reading. Packets of the model's own events, which test its solution, have those
        readings only that were run.
        """
        verdicts = {reading.name: self.in_reading(reading, source) for reading in self.readings}
        if source != "process":
            return verdicts
        return {name: verdict for name, verdict in verdicts.items() if verdict is not Verdict.NOT_APPLICABLE}

    def turned(self, source: str) -> dict[str, Verdict]:
        """Return the readings that make a source depend (`over_readings`), with its verdicts in them."""
        default, others = self.by_default(source), self.by_reading(source)
        if over_readings(default, others.values()) is not Verdict.DEPENDS:
            return {}
        decided = {Verdict.HOLDS, Verdict.CONTRADICTED} - {default}
        return {name: verdict for name, verdict in others.items() if verdict in decided}

    def in_reading(self, reading: Reading, source: str) -> Verdict:
        """Return the verdict of a source on the whole claim in one of its readings."""
        judged = self.label_in_reading(reading, source)
        unjudged = self.unjudged_in_reading(reading, source)
        return Verdict.INCONCLUSIVE if judged is Verdict.HOLDS and unjudged else judged

    def label_in_reading(self, reading: Reading, source: str) -> Verdict:
        """Return the label of the statements that a source judges in a reading."""
        pairs = zip(self.parts, reading.parts, strict=True)
        return label((new.by(source), bool(own.minor)) for own, new in pairs)

    def unjudged_in_reading(self, reading: Reading, source: str) -> tuple[int, ...]:
        """Return the numbers, from 1, of statements that decide and that a source judges by default, not in a reading."""
        none = Verdict.NOT_APPLICABLE
        return tuple(
            n
            for n, (own, new) in enumerate(zip(self.parts, reading.parts, strict=True), start=1)
            if new.by(source) is none is not own.by(source) and not own.minor
        )

    def words_in_reading(self, reading: Reading, source: str) -> str:
        """Return the verdict of a source in a reading, with the statements that were not judged in it.

        Examples
        --------
        >>> no, none = Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE
        >>> short = Reading("RTT 0.1 s", (Part("", Verdict.HOLDS, none), Part("", none, none)))
        >>> finding = Finding((Part("", no, none), Part("", no, none)), "", readings=(short,))
        >>> finding.words_in_reading(short, "model")
        'holds; statement 2 not judged in this reading'
        >>> finding.words("model")
        'contradicted; 0 of 1 other reading judged'
        """
        judged = self.label_in_reading(reading, source)
        if judged is Verdict.NOT_APPLICABLE:
            return NOT_JUDGED if self.by_default(source) is not judged else str(judged)
        unjudged = self.unjudged_in_reading(reading, source)
        numbers = " and ".join(map(str, unjudged))
        noun = "statement" if len(unjudged) == 1 else "statements"
        return f"{judged}; {noun} {numbers} {NOT_JUDGED}" if unjudged else str(judged)

    def over_readings(self, source: str) -> Verdict:
        """Return the verdict of a source at the margins used: DEPENDS where the readings of the paper disagree.

        That of all simulators together ("simulation") depends where one of them does.
        """
        default = self.by_default(source)
        decided = default in (Verdict.HOLDS, Verdict.CONTRADICTED)
        if source == "simulation" and decided and Verdict.DEPENDS in map(self.over_readings, self.simulators):
            return Verdict.DEPENDS
        return over_readings(default, self.by_reading(source).values())

    def margins(self, source: str) -> dict[str, Verdict]:
        """Return the other verdicts of a source at half and at twice of margins of ours, where it holds or is contradicted."""
        verdict = self.over_readings(source)
        if verdict not in (Verdict.HOLDS, Verdict.CONTRADICTED):
            return {}
        return {where: other for each in self.thresholds for where, other in each.turning(source, verdict).items()}

    def verdict(self, source: str) -> Verdict:
        """Return the verdict of a source: DEPENDS where the readings of the paper disagree, MARGIN where a margin of ours decides.

        Examples
        --------
        >>> half = Threshold("margin", "", 0.1, {"model": Verdict.INCONCLUSIVE}, {"model": Verdict.HOLDS})
        >>> finding = Finding((Part("x", Verdict.HOLDS, Verdict.NOT_APPLICABLE),), "", thresholds=(half,))
        >>> print(finding.model, finding.words("model"), sep=": ")
        depends on our margin: holds; inconclusive at half of the threshold margin
        """
        return Verdict.MARGIN if self.margins(source) else self.over_readings(source)

    def words(self, source: str) -> str:
        """Return the verdict of a source in words, with the readings and margins that are against it, and how many readings were judged.

        Examples
        --------
        >>> hosts = Reading("direct hosts", (Part("", Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE),))
        >>> part = Part("", Verdict.HOLDS, Verdict.INCONCLUSIVE)
        >>> Finding((part,), "", readings=(hosts,)).words("model")
        'holds; contradicted if direct hosts'
        """
        return in_words(self.by_default(source), self.by_reading(source), self.margins(source))

    def held(self, source: str, *, minor: bool | None = None) -> tuple[int, int]:
        """Return how many statements hold by a source in the default reading, and how many it judges.

        ``minor`` True counts the minor statements alone, False those that decide.
        """
        verdicts = (part.by(source) for part in self.parts if minor is None or bool(part.minor) == minor)
        return held(v for v in verdicts if not minor or v is not Verdict.UNDECIDABLE)

    def judged(self, source: str) -> tuple[int, int]:
        """Return how many of the statements that decide a source judges, and how many there are."""
        deciding = [part.by(source) for part in self.parts if not part.minor]
        return len(deciding) - deciding.count(Verdict.NOT_APPLICABLE), len(deciding)

    def contradicted_by_all(self) -> tuple[int, ...]:
        """Return the numbers of the statements, from 1, that all evidence contradicts.

        Each source that judges the statement contradicts it in the default reading and in every
        other documented one: a reading that a source has not judged, or that is inconclusive,
        counts as not contradicted. At least `INDEPENDENT_SOURCES` of them are independent: hopflow's
        packet level, which repeats the algorithms of ns-2, is not, nor is a simulator that runs a
        program of hopflow's own. Minor and undecidable statements are left out.

        Examples
        --------
        >>> no = Verdict.CONTRADICTED
        >>> part = Part("x", no, no, simulators={"ns-3": no})
        >>> Finding((part,), "").contradicted_by_all()
        (1,)
        >>> Finding((part,), "", own_programs={"ns-3": "DFC"}).contradicted_by_all()
        ()
        """
        sources = ("model", *self.simulators, "level")
        numbers = []
        for n, part in enumerate(self.parts):
            judging = [s for s in sources if part.by(s) is not Verdict.NOT_APPLICABLE]
            independent = {*judging} - {"level", *self.own_programs}
            parts = (part, *(reading.parts[n] for reading in self.readings))
            if (
                not part.minor
                and len(independent) >= INDEPENDENT_SOURCES
                and all(p.by(s) is Verdict.CONTRADICTED for p in parts for s in judging)
            ):
                numbers.append(n + 1)
        return tuple(numbers)

    @property
    def surprising(self) -> tuple[int, ...]:
        """The numbers of the statements that all evidence contradicts, at half and twice of each threshold too."""
        at_all = [set(threshold.contradicted) for threshold in self.thresholds]
        return tuple(sorted(set(self.contradicted_by_all()).intersection(*at_all)))

    @property
    def default(self) -> Sides[Verdict]:
        """The verdicts in the default reading."""
        return Sides(self.by_default("model"), self.by_default("simulation"))

    @property
    def turning(self) -> Sides[tuple[str, ...]]:
        """The readings that turn the verdict of the default one, by side."""
        return Sides(tuple(self.turned("model")), tuple(self.turned("simulation")))

    @property
    def model(self) -> Verdict:
        """Verdict of the model."""
        return self.verdict("model")

    @property
    def simulation(self) -> Verdict:
        """Verdict of the packet simulations of the protocols."""
        return self.verdict("simulation")

    @property
    def process(self) -> Verdict:
        """Verdict of the packet simulations of the model's own events."""
        return self.verdict("process")

    @property
    def level(self) -> Verdict:
        """Verdict of hopflow's own packet level, of those statements that it has runs for."""
        return self.verdict("level")

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts on the whole claim by source (`Part.by`), of the sources that judge any of its statements."""
        names = ("model", "simulation", *self.simulators, "process", "level")
        none = Verdict.NOT_APPLICABLE
        return {name: self.verdict(name) for name in names if any(part.by(name) is not none for part in self.parts)}


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
