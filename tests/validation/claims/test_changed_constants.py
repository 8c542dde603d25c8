"""Constants that judges use, halved and doubled one at a time: those that turn a verdict are settings, or the paper's.

What was measured stays. Thresholds are default values of parameters, which a changed constant does not reach; `hopflow judge` varies
them. Limits that a measurement uses are found by `test_hidden_constants`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from validation import ledger
from validation.checks import Subject, subjects
from validation.records import entries, group_of

pytestmark = pytest.mark.slow

HOME = "validation.claims"
FACTORS = (0.5, 2.0)
SETTING = "a setting of the runs"
PAPER = "the number is the paper's"
UNITS = "a unit, or rounding of whole packets"
POINTS = "other points are readings"
EXCUSED = {
    "PACKET_BITS": UNITS, "gain: 100.0": UNITS, "cost: 100.0": UNITS, "Spread.off_normal: 0.5": UNITS,
    "INCREASE_RATE": PAPER, "QUEUEING_DELAY": PAPER, "FACTOR": PAPER, "FAIR": PAPER, "PEAK": PAPER, "MERGE": PAPER,
    "judge: 2.0": "the order of the method", "LinkShares.agree: 0.5": "the larger of two shares",
    "B1": SETTING, "B2": SETTING, "SHORT_RTT": SETTING, "HIGH": SETTING, "RTT": SETTING, "PACKET": SETTING, "START": SETTING,
    "BUFFER": SETTING, "CAPACITY": SETTING,
    "LAST": POINTS, "ABOVE": POINTS,
    "MILD": "tests/validation/claims/malhotra2005/test_claims.py has all others",
}  # fmt: skip
"""Constants that turn a verdict, and why none of them is a choice of ours that a threshold or a reading would have to vary."""


def _modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.startswith(HOME)}


def _used(subject: Subject[Any]) -> dict[str, ModuleType]:
    """Return the modules of claims that a check uses, those that it imports from among them."""
    known, found, left = _modules(), {}, list(subject.check.modules())
    while left:
        name = left.pop()
        if name in known and name not in found:
            found[name] = known[name]
            for value in vars(known[name]).values():
                own = value.__name__ if isinstance(value, ModuleType) else None
                left.append(own or getattr(value, "__module__", None) or "")
    return found


def _verdicts(subject: Subject[Any]) -> Any:
    """Return the verdicts of all sources on all statements in all readings; an error is none."""
    try:
        found = subject.in_all_readings(subject.measured(), {})
    except (ArithmeticError, LookupError, RuntimeWarning, ValueError):
        return None  # points that no run has
    return found.parts, [reading.parts for reading in found.readings]


def _codes(code: CodeType, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield the numbers in a function and in those within it, by their place."""
    for n, value in enumerate(code.co_consts):
        if isinstance(value, CodeType):
            yield from _codes(value, (*path, n))
        elif isinstance(value, float) and abs(value) not in (0.0, 1.0):
            yield (*path, n), value


def _changed(code: CodeType, path: tuple[int, ...], value: float) -> CodeType:
    """Return a function's code with another number at a place."""
    first, *rest = path
    new = _changed(code.co_consts[first], tuple(rest), value) if rest else value
    consts = (*code.co_consts[:first], new, *code.co_consts[first + 1 :])
    return code.replace(co_consts=consts)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions and methods of a module."""
    for value in vars(module).values():
        inside = vars(value).values() if isinstance(value, type) else (value,)
        for each in inside:
            each = getattr(each, "fget", each)
            if isinstance(each, FunctionType) and each.__module__ == module.__name__:
                yield each


Change = Callable[[pytest.MonkeyPatch, float], None]


def _constants(modules: dict[str, ModuleType]) -> Iterator[tuple[str, Change]]:
    """Yield the numbers of modules by name, in all that have them, and those in functions, each with what changes it."""
    known: dict[tuple[str, float], list[ModuleType]] = {}
    for module in modules.values():
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, int | float):
                known.setdefault((name, value), []).append(module)
    for (name, value), homes in known.items():

        def renew(patch: pytest.MonkeyPatch, factor: float, name=name, value=value, homes=homes):
            for home in homes:
                patch.setattr(home, name, type(value)(value * factor))

        yield name, renew
    for module in modules.values():
        for function in _functions(module):
            for path, value in _codes(function.__code__):

                def renew_in(patch, factor, function=function, path=path, value=value):
                    code = _changed(function.__code__, path, value * factor)
                    patch.setattr(function, "__code__", code)

                yield f"{function.__qualname__}: {value}", renew_in


def turning(subject: Subject[Any]) -> set[str]:
    """Return the constants of which half or twice turns a verdict of a claim."""
    before, found = _verdicts(subject), set()
    for name, change in _constants(_used(subject)):
        for factor in FACTORS:
            with pytest.MonkeyPatch.context() as patch:
                change(patch, factor)
                after = _verdicts(subject)
            if after is not None and after != before:
                found.add(name)
    return found


PAPERS = [id for id, entry in entries().items() if group_of(entry.paper) == "papers"]


@pytest.mark.parametrize("id", PAPERS)
def test_no_constant_that_is_ours_turns_a_verdict(id: str) -> None:
    ledger()
    assert turning(subjects()[id]) - set(EXCUSED) == set()


def test_constants_that_turn_a_verdict_are_found() -> None:
    ledger()
    assert "MILD" in turning(subjects()["M05"])
    assert "FAIR" in turning(subjects()["D14"])
