"""How a claim is checked: four small things under one name.

Measure
    computes what the statements are about, in the model and from the bundled data, and returns it
    as a frozen dataclass;
judge
    turns the measurement into verdicts, by `validation.statistics`;
draw
    makes the figures;
text
    words the result, in the Markdown file beside the module (`validation.texts`).

::

    @claim("M06", cases=(THRESHOLDS,))
    def measure() -> Thresholds: ...

    @measure.judge
    def judge(found: Thresholds, *, margin: float = 0.1) -> Judgement: ...

    @measure.draw
    def gains(found: Thresholds) -> Figure: ...

The thresholds of a verdict are keyword parameters of `judge`: the finding tells the verdicts at half
and at twice of each. A claim may have three functions more, with the same keyword parameters or less:
``readings`` returns the verdicts in other documented readings of the paper, of those statements that
a reading changes, ``same_process`` those of packet runs of the model's own events,
``packet_level`` those of hopflow's own packet level, ``level_in_readings`` the same in other readings, and
``simulators`` those of each simulator, where the cases of a claim come from several. Statements without
these belong to all simulators of the cases.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from validation import evidence, records, texts
from validation.labels import agreed
from validation.verdicts import (
    Finding,
    Judgement,
    Part,
    Picture,
    Reading,
    Sides,
    Threshold,
    Verdict,
    packets_only,
)
from validation.waterfalls import gap_of, waterfall_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Basis", "ByReading", "BySimulator", "Check", "Subject", "claim", "subjects"]

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
    """

    simulators: tuple[str, ...] = ()
    minor: Mapping[str, str] = field(default_factory=dict)
    statements: frozenset[str] = frozenset()
    undecidable: Mapping[str, str] = field(default_factory=dict)

    @property
    def beside(self) -> Judgement:
        """The verdicts on the statements that no function judges."""
        return dict.fromkeys(self.undecidable, packets_only(Verdict.UNDECIDABLE))


@dataclass(frozen=True)
class Subject(Generic[T]):
    """One claim: its check, possibly shared with similar claims, and the arguments of the check."""

    id: str
    check: Check[T]
    arguments: tuple[object, ...]
    cases: tuple[str, ...]

    def measured(self) -> T:
        """Return the measurement, computed once."""
        return self.check(*self.arguments)

    @property
    def basis(self) -> Basis:
        """The simulators of its cases, and its statements in the ledger."""
        tools = {str(evidence.provenance(case)["tool"]) for case in self.cases} - {"hopflow"}
        ledger = records.statements_of_papers().get(self.id, {})
        undecidable = records.undecidable_statements().get(self.id, {})
        return Basis(
            tuple(sorted(tools)),
            records.minor_statements().get(self.id, {}) | undecidable,
            frozenset(ledger),
            {key: ledger[key].text for key in undecidable},
        )

    def found(self, measured: T) -> Finding:
        """Judge a measurement, and return the finding with its text filled in."""
        return self.check.finding(measured, self.cases, self.basis)

    def in_all_readings(self, measured: T, thresholds: Mapping[str, float]) -> Finding:
        """Return the verdicts in all readings as a finding whose statements are their keys."""
        return self.check.in_all_readings(measured, thresholds, self.basis)

    def finding(self) -> Finding:
        """Measure, judge, and return the finding with its text filled in, and the step from the fluid to packets."""
        finding = self.found(self.measured())
        if (gap := gap_of(self.id)) is None:
            return finding
        pictures = (*finding.pictures, waterfall_of(self.id))
        return replace(finding, gap=gap, pictures=pictures, cases=(*finding.cases, gap.case))


_SUBJECTS: dict[str, Subject[Any]] = {}


def subjects() -> dict[str, Subject[Any]]:
    """Return the claims registered by the modules loaded so far, by id."""
    return dict(_SUBJECTS)


class Check(Generic[T]):
    """A check that several claims can share: functions to measure, judge and draw, and a text.

    Calling it returns the cached measurement; `measure` computes it anew. The text may refer to
    fields and properties of the measurement, and to constants of the module.
    """

    def __init__(self, measure: Callable[..., T], text: str | None = None) -> None:
        self.measure = measure
        module = Path(inspect.getfile(measure))
        self.text = module.with_name(text) if text else module.with_suffix(".md")
        self._cached = functools.cache(measure)
        self._judge: Callable[..., Judgement] | None = None
        self._readings: Callable[..., dict[str, Judgement]] = lambda _: {}
        self._process: Callable[..., dict[str, Verdict]] = lambda _: {}
        self._level: Callable[..., dict[str, Verdict]] = lambda _: {}
        self._levels: Callable[..., ByReading] = lambda _: {}
        self._simulators: Callable[..., BySimulator] = lambda _: {}
        self._pictures: dict[str, Callable[[T], Figure]] = {}
        self._modules = [sys.modules[measure.__module__]]

    def __call__(self, *arguments: object) -> T:
        """Return the measurement, computed once."""
        return self._cached(*arguments)

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

    def draw(self, draw: Callable[[T], Figure]) -> Callable[[T], Figure]:
        """Register the function below as the one that draws the figure of its name in the text."""
        self._pictures[draw.__name__] = draw
        return draw

    @property
    def pictures(self) -> tuple[str, ...]:
        """The names of the functions that draw."""
        return tuple(self._pictures)

    def modules(self) -> set[str]:
        """Return the names of the modules of the functions that measure, judge and draw."""
        functions = (
            self.measure,
            self._judge,
            self._readings,
            self._process,
            self._level,
            self._levels,
            self._simulators,
        )
        found = {each.__module__ for each in (*functions, *self._pictures.values()) if each}
        return found | {module.__name__ for module in self._modules}

    def constants_of(self, *modules: ModuleType) -> None:
        """Make the constants of these modules available to the text."""
        self._modules[:0] = modules

    def judged(self, found: T, **thresholds: float) -> Judgement:
        """Return the verdicts on the statements, with other thresholds where given."""
        if self._judge is None:
            raise TypeError(f"{self.text.stem} has no function that judges")
        return self._judge(found, **thresholds)

    def judged_process(self, found: T, **thresholds: float) -> dict[str, Verdict]:
        """Return the verdicts on packet runs of the model's own events, with their thresholds."""
        return _with(self._process, found, thresholds)

    def thresholds(self) -> dict[str, float]:
        """Return the thresholds of the verdicts: the keyword parameters of the judging function."""
        assert self._judge is not None
        parameters = inspect.signature(self._judge).parameters.values()
        return {p.name: float(p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}

    def names(self) -> set[str]:
        """Return the names that the text may use, without measuring."""
        kind = self.measure.__globals__[self.measure.__annotations__["return"]]
        return {*kind.__dataclass_fields__, *_public(kind), *self._constants()}

    def values(self, found: T) -> dict[str, object]:
        """Return the values that the text may use, by name."""
        return self._constants() | {name: getattr(found, name) for name in _public(found)}

    def _constants(self) -> dict[str, object]:
        names = (vars(module).items() for module in self._modules)
        return {name: value for each in names for name, value in each if name.isupper()}

    def finding(self, found: T, cases: tuple[str, ...] = (), basis: Basis | None = None) -> Finding:
        """Return the finding; its pictures are drawn on demand."""
        basis = basis or Basis()
        verdicts = self.judged(found)
        judged = self.in_all_readings(found, {}, basis)
        text = texts.render(self.text, self.values(found))
        wording = text.statements | dict(basis.undecidable)
        for what, said, made in (
            ("statements", text.statements, verdicts),
            ("thresholds", text.thresholds, self.thresholds()),
            ("pictures", text.pictures, self._pictures),
        ):
            if set(said) != set(made):
                raise ValueError(f"{self.text.name}: {what} are {list(said)}, not {list(made)}")

        def worded(parts: dict[str, Part]) -> tuple[Part, ...]:
            return tuple(replace(parts[key], statement=words) for key, words in wording.items())

        keys = [*verdicts, *basis.undecidable]
        named = [
            (reading.name, dict(zip(keys, reading.parts, strict=True)))
            for reading in judged.readings
        ]
        return Finding(
            parts=worded(dict(zip(keys, judged.parts, strict=True))),
            readings=tuple(Reading(name, worded(parts)) for name, parts in named),
            experiments=text.experiments,
            summary=text.summary,
            explanation=text.explanation,
            numbers=text.numbers,
            pictures=tuple(
                Picture(functools.partial(self._pictures[name], found), *words)
                for name, words in text.pictures.items()
            ),
            cases=cases,
            thresholds=tuple(self._robustness(found, text.thresholds, basis)),
        )

    def in_all_readings(
        self, found: T, thresholds: Mapping[str, float], basis: Basis | None = None
    ) -> Finding:
        """Return the verdicts in all readings as a finding whose statements are their keys."""
        basis = basis or Basis()
        default = self.judged(found, **thresholds) | basis.beside
        process = self.judged_process(found, **thresholds)
        level = _with(self._level, found, thresholds)
        apart = _with(self._simulators, found, thresholds)
        others = _with(self._readings, found, thresholds)
        levels = _with(self._levels, found, thresholds)
        self._refuse_unknown(default, others, (apart, levels), basis)

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
                        level=levels.get(name, {}).get(key, NONE),
                    )
                    for key in default
                ),
            )
            for name, new in others.items()
        )
        return Finding(tuple(parts), "", readings=tuple(readings))

    def _refuse_unknown(
        self,
        default: Judgement,
        others: Mapping[str, Judgement],
        sources: tuple[BySimulator, ByReading],
        basis: Basis,
    ) -> None:
        """Refuse verdicts on statements or readings that the claim does not have."""
        if basis.statements and (other := basis.statements ^ set(default)):
            raise ValueError(f"{self.text.name}: not judged as in statements.csv: {sorted(other)}")
        named = {repr(name): set(new) for name, new in others.items()}
        apart, levels = sources
        named |= {f"simulators in {name!r}": set(new) for name, new in apart.items()}
        named |= {f"packet level in {name!r}": set(new) for name, new in levels.items()}
        named["minor statements of the ledger"] = set(basis.minor)
        for what, keys in named.items():
            if not keys <= set(default):
                raise ValueError(f"{self.text.name}: {what} judge {keys - set(default)}")
        if unknown := set(apart) - {"", *others}:
            raise ValueError(f"{self.text.name}: simulators judge the readings {unknown}")
        if unknown := set(levels) - set(others):
            raise ValueError(f"{self.text.name}: the packet level judges the readings {unknown}")

    def _robustness(self, found: T, meanings: dict[str, str], basis: Basis) -> Iterator[Threshold]:
        def whole(**changed: float) -> Sides[Verdict]:
            finding = self.in_all_readings(found, changed, basis)
            return Sides(finding.model, finding.simulation)

        for name, value in self.thresholds().items():
            half, twice = whole(**{name: value / 2}), whole(**{name: value * 2})
            yield Threshold(name, meanings[name], value, half, twice)


NOT_JUDGED = Sides(NONE, NONE)
"""The verdicts on a statement that a reading does not judge."""


def _with(function: Callable[..., S], found: object, thresholds: Mapping[str, float]) -> S:
    """Call a function with those thresholds that are among its parameters."""
    known = inspect.signature(function).parameters
    return function(found, **{name: value for name, value in thresholds.items() if name in known})


def claim(
    id: str, *arguments: object, cases: tuple[str, ...] = (), text: str | None = None
) -> Callable[[Callable[..., T]], Check[T]]:
    """Register the decorated function as the measurement of the claim with this id.

    Parameters
    ----------
    id
        As in ``published/claims.csv`` or ``own_claims.csv``, written out in the module.
    arguments
        Arguments of the function for this claim.
    cases
        The bundled cases that it uses.
    text
        The name of its text beside the module; None: the module's own name.

    Raises
    ------
    ValueError
        When the claim has a check already.
    """

    def register(measure: Callable[..., T]) -> Check[T]:
        if id in _SUBJECTS:
            raise ValueError(f"id = {id!r}: this claim has a check already")
        check = measure if isinstance(measure, Check) else Check(measure, text)
        _SUBJECTS[id] = Subject(id, check, arguments, cases)
        return check

    return register


def _public(thing: object) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]
