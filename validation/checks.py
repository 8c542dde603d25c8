"""How a claim is checked: four small things under one name.

Measure
    computes what the statements are about, in the model and from the bundled data, and returns it
    as a frozen dataclass;
judge
    turns the measurement into verdicts, by `validation.statistics`;
draw
    makes the figures;
text
    words the result, in the Markdown file beside the module (`validation.display.texts`).

::

    @claim("M06", cases=(THRESHOLDS,))
    def measure() -> Thresholds: ...

    @measure.judge
    def judge(found: Thresholds, *, margin: float = 0.1) -> Judgement: ...

    @measure.draw
    def gains(found: Thresholds) -> Figure: ...

Other readings of the paper and other sources of evidence have functions that judge of their own (`validation.judgements.judges`).
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from validation import evidence, records
from validation.display import texts
from validation.display.finding_rows import Picture
from validation.display.waterfalls import gap_of, waterfall_of
from validation.judgements.judges import Basis, Judges
from validation.judgements.verdicts import Finding, Part, Reading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")

OWN_PROGRAMS = {
    "dfc-chain.h": "DFC",
    "pause-chain.cc": "pause",
    "pause-port.h": "pause",
    "rules.h": "Fusion, ARENO, CTCP and RE",
}
"""Programs for ns-3 in which hopflow itself wrote what is examined, by file."""


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
        """The simulators of its cases with their own programs, and its statements in the ledger."""
        records_of_cases = [evidence.provenance(case) for case in self.cases]
        tools = {str(record["tool"]) for record in records_of_cases} - {"hopflow"}
        own = {
            str(record["tool"]): OWN_PROGRAMS[Path(program).name]
            for record in records_of_cases
            for program in record["programs"]
            if Path(program).name in OWN_PROGRAMS
        }
        ledger = records.statements_of_papers().get(self.id, {})
        undecidable = records.undecidable_statements().get(self.id, {})
        return Basis(
            tuple(sorted(tools)),
            records.minor_statements().get(self.id, {}) | undecidable,
            frozenset(ledger),
            {key: ledger[key].text for key in undecidable},
            own,
            records.stated_thresholds().get(self.id, {}),
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


class Check(Judges[T]):
    """A check that several claims can share: functions to measure, judge and draw, and a text.

    Calling it returns the cached measurement; `measure` computes it again. The text may refer to
    fields and properties of the measurement, and to constants of the module.
    """

    def __init__(self, measure: Callable[..., T], text: str | None = None) -> None:
        module = Path(inspect.getfile(measure))
        super().__init__(module.with_name(text) if text else module.with_suffix(".md"))
        self.measure = measure
        self._cached = functools.cache(measure)
        self._pictures: dict[str, Callable[[T], Figure]] = {}
        self._modules = [sys.modules[measure.__module__]]

    def __call__(self, *arguments: object) -> T:
        """Return the measurement, computed once."""
        return self._cached(*arguments)

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
        functions = (self.measure, *self.judging(), *self._pictures.values())
        return {each.__module__ for each in functions} | {module.__name__ for module in self._modules}

    def constants_of(self, *modules: ModuleType) -> None:
        """Make the constants of these modules available to the text."""
        self._modules[:0] = modules

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
        named = [(reading.name, dict(zip(keys, reading.parts, strict=True))) for reading in judged.readings]
        return Finding(
            parts=worded(dict(zip(keys, judged.parts, strict=True))),
            readings=tuple(Reading(name, worded(parts)) for name, parts in named),
            experiments=text.experiments,
            summary=text.summary,
            explanation=text.explanation,
            numbers=text.numbers,
            pictures=tuple(
                Picture(functools.partial(self._pictures[name], found), *words) for name, words in text.pictures.items()
            ),
            cases=cases,
            thresholds=tuple(self.robustness(found, text.thresholds, basis)),
            own_programs=basis.own_programs,
        )


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
