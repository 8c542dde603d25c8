"""Properties as trees: P, S and R of CSL, with bounds on probabilities and on time, and filters.

C. Baier, B. Haverkort, H. Hermanns, J.-P. Katoen, Model-checking algorithms for continuous-time Markov
chains, IEEE Transactions on Software Engineering 29(6), 2003; rewards as in M. Kwiatkowska, G. Norman,
D. Parker, Stochastic model checking, SFM 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

from markov.files.program import Constant
from markov.files.syntax import Expression, Label

__all__ = ["Accumulated", "Filter", "Interval", "Operator", "Path", "Properties", "has_times"]


@dataclass(frozen=True)
class Interval:
    """Times or steps from low to high; None: from zero, or up to infinity."""

    low: Expression | None = None
    high: Expression | None = None

    @property
    def plain(self) -> bool:
        """Whether both bounds are open."""
        return self.low is None and self.high is None


@dataclass(frozen=True)
class Path:
    """A path formula, of a probability or a reward operator.

    Attributes
    ----------
    kind
        For probabilities: ``"X"``, ``"U"``, ``"W"``, ``"R"`` (release), ``"F"``, ``"G"``, ``"state"``
        (the first state). For rewards: ``"F"`` (until), ``"C"`` (accumulated), ``"I"`` (at a time),
        ``"S"`` (per second in the long run).
    left, right
        Sets of states; a path in place of ``right`` only after X.
    interval
        The times of the formula.
    """

    kind: str
    left: Any = None
    right: Any = None
    interval: Interval = field(default_factory=Interval)
    line: int = 1


class Accumulated(NamedTuple):
    """An expression as a reward (JANI); None for events without reward.

    Attributes
    ----------
    state
        Earned per second in states.
    step
        Name in `Program.steps` of the reward of each transition.
    leaving
        Earned on leaving a state: by each transition out of it, loops included.
    """

    state: Expression | None = None
    step: str | None = None
    leaving: Expression | None = None


@dataclass(frozen=True)
class Operator:
    """``P``, ``S`` or ``R`` with a threshold, or with =? for the number.

    Attributes
    ----------
    kind
        ``"P"``, ``"S"``, ``"R"``; ``"SR"``: the mean reward in the long run, as JANI's S of a number.
    sign, threshold
        ``"<"``, ``"<="``, ``">"``, ``">="`` and a number; None: =?.
    of
        A `Path`; of S a set of states.
    reward
        Name or number of the reward structure, None for the first, or an accumulated expression.
    start, how
        An older way to write a filter: ``{states}{min}``.
    written
        The threshold as it stands in the property, in messages.
    """

    kind: str
    sign: str | None
    threshold: Expression | None
    of: Any
    line: int
    reward: Any = None
    start: Any = None
    how: tuple[str, ...] = ()
    written: str = ""


@dataclass(frozen=True)
class Filter:
    """``filter(how, of, states)``."""

    how: str
    of: Any
    states: Any
    line: int


@dataclass(frozen=True)
class Properties:
    """Contents of a properties file: constants, labels, and properties by name or number."""

    file: str
    constants: dict[str, Constant] = field(default_factory=dict)
    labels: dict[str, Expression] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def text_of(self, name: str) -> str:
        """Return the name of a property, or the text of an unnamed property that is called by its number."""
        return self.texts.get(name, name)


def has_times(query: Any, by_name: Mapping[str, Any]) -> bool:
    """Whether a property has an operator over a time, such as ``F<=1``.

    Parameters
    ----------
    query
        The tree of the property, or a part of it.
    by_name
        Properties by their names in quotes.
    """
    if isinstance(query, Path) and not query.interval.plain:
        return True
    if isinstance(query, Label) and query.name in by_name:
        others = {name: tree for name, tree in by_name.items() if name != query.name}  # a cycle of names ends
        return has_times(by_name[query.name], others)
    parts = query if isinstance(query, tuple) else ()
    if is_dataclass(query):
        parts = tuple(getattr(query, part.name) for part in fields(query))
    return any(has_times(part, by_name) for part in parts)
