"""The functions that judge a claim, of each source of evidence, and their verdicts in all readings of the paper.

The thresholds of a verdict are keyword parameters of the functions that judge: `Judges.robustness` has the verdicts of every source at
half and at twice of each. A claim may have six functions more, with the same keyword parameters, with others, or with ``**asked``, which are
those that are not as usual, for what they call:
``readings`` returns the verdicts in other documented readings of the paper, of those statements that
a reading changes, ``same_process`` those of packet runs of the model's own events,
``process_in_readings`` the same in other readings, ``packet_level`` those of hopflow's own packet level, ``level_in_readings`` the same in other readings, and
``simulators`` those of each simulator, where the cases of a claim come from several. Statements without
these belong to all simulators of the cases.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from validation.judgements.labels import agreed
from validation.judgements.verdicts import (
    Finding,
    Judgement,
    Part,
    Reading,
    Sides,
    Threshold,
    Verdict,
    halved,
    packets_only,
)

T = TypeVar("T")
S = TypeVar("S")
NONE = Verdict.NOT_APPLICABLE

BySimulator = dict[str, dict[str, dict[str, Verdict]]]
"""Verdicts by reading ("" is the default one), key of a statement, and simulator."""
ByReading = dict[str, dict[str, Verdict]]
"""Verdicts of one source by reading and key of a statement."""


@dataclass(frozen=True)
class Basis:
    """What a claim adds to its check.

    Attributes
    ----------
    simulators
        The simulators of its cases.
    minor
        Why a statement is minor, by key.
    statements
        The keys of its statements in the ledger; empty: the ledger has none.
    undecidable
        The wording of those statements that no bundled data decide, by key; `minor` has the reason.
    own_programs
        What hopflow itself wrote of the programs that a simulator ran, by simulator.
    stated
        Where the paper states thresholds, by name.
    """

    simulators: tuple[str, ...] = ()
    minor: Mapping[str, str] = field(default_factory=dict)
    statements: frozenset[str] = frozenset()
    undecidable: Mapping[str, str] = field(default_factory=dict)
    own_programs: Mapping[str, str] = field(default_factory=dict)
    stated: Mapping[str, str] = field(default_factory=dict)

    @property
    def beside(self) -> Judgement:
        """The verdicts on the statements that no function judges."""
        return dict.fromkeys(self.undecidable, packets_only(Verdict.UNDECIDABLE))


class Judges(Generic[T]):
    """The functions that judge a measurement: one for its statements, others for more readings and sources.

    Parameters
    ----------
    text
        The text of the claim, which messages name.
    """

    def __init__(self, text: Path) -> None:
        self.text = text
        self._judge: Callable[..., Judgement] | None = None
        self._readings: Callable[..., dict[str, Judgement]] = lambda _: {}
        self._process: Callable[..., dict[str, Verdict]] = lambda _: {}
        self._processes: Callable[..., ByReading] = lambda _: {}
        self._level: Callable[..., dict[str, Verdict]] = lambda _: {}
        self._levels: Callable[..., ByReading] = lambda _: {}
        self._simulators: Callable[..., BySimulator] = lambda _: {}

    def judging(self) -> Iterator[Callable[..., object]]:
        """Yield the functions that were registered, and those that stand for missing ones."""
        if self._judge is not None:
            yield self._judge
        yield from (self._readings, self._process, self._processes, self._level, self._levels, self._simulators)

    def judge(self, judge: Callable[..., Judgement]) -> Callable[..., Judgement]:
        """Register the decorated function as the one that judges the measurement."""
        self._judge = judge
        return judge

    def readings(self, readings: Callable[..., dict[str, Judgement]]) -> Callable[..., Any]:
        """Register the decorated function as the one that judges other readings, by name."""
        self._readings = readings
        return readings

    def same_process(self, process: Callable[..., dict[str, Verdict]]) -> Callable[..., Any]:
        """Register the decorated function as the one that judges runs of the model's own events."""
        self._process = process
        return process

    def process_in_readings(self, processes: Callable[..., ByReading]) -> Callable[..., Any]:
        """Register the decorated function as the one that judges runs of the model's own events in other readings."""
        self._processes = processes
        return processes

    def packet_level(self, level: Callable[..., dict[str, Verdict]]) -> Callable[..., Any]:
        """Register the decorated function as the one that judges hopflow's own packet level."""
        self._level = level
        return level

    def level_in_readings(self, levels: Callable[..., ByReading]) -> Callable[..., Any]:
        """Register the decorated function as the one that judges hopflow's own packet level in other readings."""
        self._levels = levels
        return levels

    def simulators(self, simulators: Callable[..., BySimulator]) -> Callable[..., Any]:
        """Register the decorated function as the one that judges each simulator by itself."""
        self._simulators = simulators
        return simulators

    def judged(self, found: T, **thresholds: float) -> Judgement:
        """Return the verdicts on the statements, with other thresholds where given."""
        if self._judge is None:
            raise TypeError(f"{self.text.stem} has no function that judges")
        return _with(self._judge, found, thresholds)

    def judged_process(self, found: T, **thresholds: float) -> dict[str, Verdict]:
        """Return the verdicts on packet runs of the model's own events, with their thresholds."""
        return _with(self._process, found, thresholds)

    def thresholds(self) -> dict[str, float]:
        """Return the thresholds of the verdicts: the keyword parameters of all functions that judge.

        Raises
        ------
        TypeError
            When two functions have different values of one threshold by default.
        """
        found: dict[str, float] = {}
        for function in self.judging():
            for parameter in inspect.signature(function).parameters.values():
                if parameter.kind is parameter.KEYWORD_ONLY:
                    value = float(parameter.default)
                    if found.setdefault(parameter.name, value) != value:
                        name = f"{self.text.stem}: {function.__name__}: {parameter.name}"
                        raise TypeError(f"{name} = {value:g}, not {found[parameter.name]:g}")
        return found

    def in_all_readings(self, found: T, thresholds: Mapping[str, float], basis: Basis | None = None) -> Finding:
        """Return the verdicts in all readings as a finding whose statements are their keys."""
        basis = basis or Basis()
        default = self.judged(found, **thresholds) | basis.beside
        process = self.judged_process(found, **thresholds)
        level = _with(self._level, found, thresholds)
        apart = _with(self._simulators, found, thresholds)
        others = _with(self._readings, found, thresholds)
        levels = _with(self._levels, found, thresholds)
        processes = _with(self._processes, found, thresholds)
        self._refuse_unknown(default, others, (apart, levels, processes), basis)

        def part(key: str, sides: Sides[Verdict], reading: str = "") -> Part:
            each = apart.get(reading, {}).get(key)
            if each is not None:
                sides = sides._replace(packets=agreed(each.values()))
            elif sides.packets is not NONE:
                each = dict.fromkeys(basis.simulators, sides.packets)
            minor = basis.minor.get(key, "")
            return Part(key, *sides, simulators=each or {}, minor=minor)

        parts = (
            replace(part(key, sides), process=process.get(key, NONE), level=level.get(key, NONE))
            for key, sides in default.items()
        )
        readings = (
            Reading(
                name,
                tuple(
                    replace(
                        part(key, new.get(key, NOT_JUDGED), name),
                        process=processes.get(name, {}).get(key, NONE),
                        level=levels.get(name, {}).get(key, NONE),
                    )
                    for key in default
                ),
            )
            for name, new in others.items()
        )
        return Finding(tuple(parts), "", readings=tuple(readings), own_programs=basis.own_programs)

    def _refuse_unknown(
        self,
        default: Judgement,
        others: Mapping[str, Judgement],
        sources: tuple[BySimulator, ByReading, ByReading],
        basis: Basis,
    ) -> None:
        """Refuse verdicts on statements or readings that the claim does not have."""
        if basis.statements and (other := basis.statements ^ set(default)):
            raise ValueError(f"{self.text.name}: not judged as in statements.csv: {sorted(other)}")
        named = {repr(name): set(new) for name, new in others.items()}
        apart, levels, processes = sources
        named |= {f"simulators in {name!r}": set(new) for name, new in apart.items()}
        named |= {f"packet level in {name!r}": set(new) for name, new in levels.items()}
        named |= {f"same process in {name!r}": set(new) for name, new in processes.items()}
        named["minor statements of the ledger"] = set(basis.minor)
        for what, keys in named.items():
            if not keys <= set(default):
                raise ValueError(f"{self.text.name}: {what} judge {keys - set(default)}")
        if unknown := set(apart) - {"", *others}:
            raise ValueError(f"{self.text.name}: simulators judge the readings {unknown}")
        for source, judged in (("the packet level", levels), ("the same process", processes)):
            if unknown := set(judged) - set(others):
                raise ValueError(f"{self.text.name}: {source} judges the readings {unknown}")

    def robustness(self, found: T, meanings: dict[str, str], basis: Basis) -> Iterator[Threshold]:
        """Yield each threshold with the verdicts of all sources on the whole claim at half and at twice of it."""
        for name, value in self.thresholds().items():
            half, twice = (self.in_all_readings(found, {name: other}, basis) for other in halved(value))
            contradicted = set(half.contradicted_by_all()) & set(twice.contradicted_by_all())
            yield Threshold(
                name,
                meanings[name],
                value,
                half.verdicts,
                twice.verdicts,
                tuple(sorted(contradicted)),
                basis.stated.get(name, ""),
            )


NOT_JUDGED = Sides(NONE, NONE)
"""The verdicts on a statement that a reading does not judge."""


def _with(function: Callable[..., S], found: object, thresholds: Mapping[str, float]) -> S:
    """Call a function with those thresholds that it has parameters for: with all, where it takes any."""
    known = inspect.signature(function).parameters
    takes_any = any(each.kind is each.VAR_KEYWORD for each in known.values())
    return function(found, **{name: value for name, value in thresholds.items() if takes_any or name in known})
