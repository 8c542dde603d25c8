"""Statements that certain differences are positive, or that certain ratios are one."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from validation.judgements.labels import agreed
from validation.judgements.verdicts import Sides, Verdict
from validation.statistics import Estimate, combine, everywhere, weakest

Estimates: TypeAlias = tuple[Estimate, ...]
Fixed: TypeAlias = Estimates | Verdict | None
"""What decides a statement by one source: quantities, a verdict, or nothing."""
Decided: TypeAlias = Fixed | Callable[[Mapping[str, float]], Fixed]
"""The same, or a function that returns it for given thresholds."""
EQUAL = 0.1
"""Largest relative difference of quantities that count as equal."""


@dataclass(frozen=True)
class Statement:
    """Quantities that decide a statement, in the model and in packet runs; None: no data.

    Attributes
    ----------
    model, packets
        Quantities that are all positive if the statement holds; for a statement of equality,
        relative deviations that are all within a margin of zero. A verdict is used as is.
        Packets are a mapping where several simulators have runs, each judged by itself. A function
        gets the thresholds of the claim by name.
    equal
        Whether the statement is one of equality.
    level
        The same quantities at hopflow's own packet level.
    least
        The smallest difference that counts, which has been taken off all quantities (`beyond`).
    """

    packets: Decided | Mapping[str, Decided] = None
    model: Decided = None
    equal: bool = False
    level: Decided = None
    least: float = 0.0

    def at(self, thresholds: Mapping[str, float]) -> Statement:
        """Return the statement with these thresholds instead of its own."""

        def fixed(found: Decided) -> Fixed:
            return found(thresholds) if callable(found) else found

        packets: Decided | Mapping[str, Decided]
        if isinstance(self.packets, Mapping):
            packets = {name: fixed(found) for name, found in self.packets.items()}
        else:
            packets = fixed(self.packets)
        given = replace(self, packets=packets, model=fixed(self.model), level=fixed(self.level))
        return given.counting_from(thresholds.get("least"))

    @property
    def quantities(self) -> dict[str, Estimates]:
        """The quantities of packets by simulator, "" where simulators are not told apart; verdicts left out."""
        apart = self.packets if isinstance(self.packets, Mapping) else {"": self.packets}
        return {name: each for name, each in apart.items() if isinstance(each, tuple) and each}

    @property
    def weakest(self) -> Estimate:
        """The packets' estimate that is least certainly positive."""
        assert isinstance(self.packets, tuple)
        return weakest(self.packets)

    def counting_from(self, least: float | None) -> Statement:
        """Return the statement with another smallest difference, if it has one; None: the same.

        A negative one is the largest difference that does not count against the statement.
        """
        if least is None or not self.least:
            return self
        wanted = math.copysign(least, self.least)

        def shifted(found: Decided) -> Decided:
            if not isinstance(found, tuple):
                return found
            return tuple(beyond(e, wanted - self.least) for e in found)

        packets: Decided | Mapping[str, Decided]
        if isinstance(self.packets, Mapping):
            packets = {name: shifted(found) for name, found in self.packets.items()}
        else:
            packets = shifted(self.packets)
        return replace(
            self,
            packets=packets,
            model=shifted(self.model),
            level=shifted(self.level),
            least=wanted,
        )

    def judged(self, level: float, margin: float) -> Sides[Verdict]:
        """Return the verdicts of the model and of packets, all simulators together."""
        apart = self.judged_simulators(level, margin)
        if apart is not None:
            packets = agreed(apart.values())
        else:
            assert not isinstance(self.packets, Mapping)
            packets = self._judged(self.packets, level, margin)
        return Sides(self._judged(self.model, level, margin), packets)

    def judged_simulators(self, level: float, margin: float) -> dict[str, Verdict] | None:
        """Return the verdict of each simulator; None where packets are not told apart."""
        if not isinstance(self.packets, Mapping):
            return None
        return {name: self._judged(found, level, margin) for name, found in self.packets.items()}

    def judged_level(self, level: float, margin: float) -> Verdict:
        """Return the verdict of hopflow's own packet level."""
        return self._judged(self.level, level, margin)

    def _judged(self, estimates: Decided, level: float, margin: float) -> Verdict:
        if callable(estimates):
            raise TypeError("a statement whose quantities depend on thresholds is judged by at()")
        if not estimates:
            return Verdict.NOT_APPLICABLE
        if isinstance(estimates, Verdict):
            return estimates
        if self.equal:
            exact = Estimate(margin, 0.0)
            signs = (1.0, -1.0)
            estimates = tuple(combine((exact, e), (1.0, s)) for e in estimates for s in signs)
        return everywhere(estimates, level)


@dataclass(frozen=True)
class Curve:
    """A quantity over numbers or names: from packet runs with errors, and from the model.

    ``level`` is the same at hopflow's own packet level.
    """

    x: Sequence[float | str]
    packets: Sequence[Estimate] = ()
    model: Sequence[float] = ()
    level: Sequence[Estimate] = ()


@dataclass(frozen=True)
class Effects:
    """Measurement for a claim: statements, curves, other values.

    Attributes
    ----------
    statements
        Statements by their keys in the text.
    curves
        Curves by their labels.
    axes
        Labels of the axes of the curves.
    log
        Logarithmic axes, such as ``"x"``.
    values
        Other numbers of the text, by name.
    readings
        Statements that differ in other readings, by the name of the reading.
    level_readings
        Names of those readings whose statements have a ``level`` of runs in that reading; in others it is not looked at.
    expected
        Values of the curves between which a statement of equality holds at its margin; drawn as a band.
    """

    statements: Mapping[str, Statement]
    curves: Mapping[str, Curve]
    axes: tuple[str, str]
    log: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    readings: Mapping[str, Mapping[str, Statement]] = field(default_factory=dict)
    level_readings: Collection[str] = ()
    expected: tuple[float, float] | None = None


def beyond(estimate: Estimate, least: float) -> Estimate:
    """Return by how much an estimate exceeds the least difference that counts."""
    return combine((estimate, Estimate(least, 0.0)), (1.0, -1.0))
