"""Values of properties of a model whose states are infinitely many, or too many for a list.

Values are computed from the initial state: long-run means by `stationary`, probabilities until a time on a set of
states that moves with the distribution (`moved`), or, for states without numbers, on a set that grows along the flow
(`Flow`). Probability that has left the set counts as zero for the lower and in full for the upper bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.results import Status
from markov.files.errors import FileError
from markov.files.properties.answers import PropertyResult
from markov.files.properties.queries import Filter, Operator, Path
from markov.files.states.growing import growing_rows
from markov.files.states.state_rules import FileRules, StateExpressions
from markov.files.values import boolean, constant, negate
from markov.generators.plain import Calls
from markov.time.moving import follow_distribution
from markov.time.transients import Flow
from markov.time.uniformization import Uniformized

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from markov.files.binding import Instance
    from markov.files.states.growing import GrowingRows, TargetConditions
    from markov.files.values import Value
    from markov.proofs.bounded import Bounded

__all__ = ["Unlisted"]

TOLERANCE = 1e-9
MAX_FLOW_STATES = 1_000_000
MAX_USEFUL_ERROR = 1e-6
SUM_ROUNDING = 1e-9  # relative, of a sum of up to five million probabilities


class Unlisted:
    """Evaluation of properties from the initial state alone.

    Parameters
    ----------
    instance
        The program.
    names
        Constants of the properties.
    max_states
        Largest number of states.
    """

    def __init__(self, instance: Instance, names: Mapping[str, Value], max_states: int) -> None:
        self.rules, self.names = FileRules(instance.program, instance.constants), names
        self.instance, self.max_states = instance.with_names(names), min(max_states, MAX_FLOW_STATES)
        self.expressions = StateExpressions(self.instance)
        self.reason = ""

    def result(self, query: Any, text: str, stationary: Callable[[], Any]) -> PropertyResult:
        """Return the value of a property, with a bound on its error.

        Parameters
        ----------
        query, text
            The property.
        stationary
            Returns the stationary distribution.

        Raises
        ------
        FileError
            For a property that is not read for such models.
        """
        if isinstance(query, Filter) or not isinstance(query, Operator) or query.sign is not None:
            raise self._refusal(query)
        low, high = self._between(query, stationary)
        value = 0.5 * (low + high)
        half = math.nextafter(max(high - value, value - low), math.inf) if low < high else 0.0
        good = half <= MAX_USEFUL_ERROR * max(1.0, abs(value))
        none: Any = np.zeros(0)
        return PropertyResult(
            text=text,
            value=value,
            error_bound=half,
            values=none,
            errors=none,
            undecided=none.astype(bool),
            status=Status.CONVERGED if good else Status.INACCURATE,
            reason=self.reason,
        )

    def _between(self, query: Operator, stationary: Callable[[], Any]) -> tuple[float, float]:
        if query.kind == "S":
            return _interval(stationary().bound(self._function(query.of)))
        if query.kind == "R" and query.of.kind == "S":
            return _interval(stationary().bound(self._reward(query.reward, query.line)))
        if query.kind != "P":
            raise self._refusal(query)
        path: Path = query.of
        first, last = self.times(path)
        if path.kind not in "UFG" or not math.isfinite(last) or first not in (0.0, last):
            raise self._refusal(query)
        low, high = self._until(path, first, last)
        if path.kind != "G":
            return low, high
        complement = math.nextafter(1.0 - high, 0.0), math.nextafter(1.0 - low, 1.0)
        return complement if low < high else (1.0 - high, 1.0 - low)

    def _until(self, path: Path, first: float, last: float) -> tuple[float, float]:
        """Return bounds on the probability that a set is entered at a time from first to last.

        The set is the target of the path, or its complement for G. ``first`` is 0, or ``last``: then the chain
        continues in states of the set.
        """
        inner = self._function(path.right)
        right = (lambda s: not inner(s)) if path.kind == "G" else inner
        left = self._function(path.left) if path.kind == "U" else lambda _s: True
        at_once = first == 0.0

        def stops(state: Any) -> bool:
            return not left(state) or (at_once and right(state))

        calls = Calls(self.rules, None)
        start = calls.known(self.rules.start())
        if last == 0.0 or stops(start):
            inside = float(bool(right(start)) and (at_once or last == 0.0))
            return inside, inside
        rows = growing_rows(self.instance, self.conditions(path, at_once))
        if rows is not None:
            return self._moving_set(rows, path, at_once, last)
        self.reason = f"in up to {self.max_states} states"
        flow = Flow(calls, start, self.max_states, stops)
        projection, begins, _ = flow.grow(last, 0.5 * TOLERANCE, partial=True)
        distribution = Uniformized(projection.Q).distribution(begins, last, 0.5 * TOLERANCE)
        states = [flow.sets.states[k] for k in projection.numbers[: projection.size]]
        counted = np.array([bool(right(s)) and (at_once or not stops(s)) for s in states])
        low = float(distribution.values[: projection.size][counted].sum()) * (1.0 - SUM_ROUNDING)
        outside = float(distribution.values[projection.size :].sum()) * (1.0 + SUM_ROUNDING)
        error = float(distribution.error)
        return max(low - error, 0.0), min(low * (1.0 + 3.0 * SUM_ROUNDING) + outside + error, 1.0)

    def _moving_set(self, rows: GrowingRows, path: Path, at_once: bool, last: float) -> tuple[float, float]:
        """Return bounds on the probability of a path until a time, or at it, by a set that moves."""
        result = follow_distribution(rows, last, self.max_states)
        counted = np.zeros(len(result.states), dtype=bool)
        if not at_once:
            right = self.conditions(path, True)(rows.instance)[0]
            counted |= np.asarray(right.run(rows.columns(result.states)))
        self.reason = f"in up to {result.max_size} states at once, {result.products} products"
        if result.time < last:
            self.reason += f", followed until {result.time:.3g} s"
        elif result.lost > MAX_USEFUL_ERROR:
            self.reason += f", which {result.lost:.2g} of the probability has left"
        return result.between(counted)

    def conditions(self, path: Path, at_once: bool) -> TargetConditions:
        """Return the conditions of a path, by the instance: its target is reached, and it may continue."""
        location = self.instance.location(path.line)

        def conditions(instance: Instance) -> tuple[Value, Value]:
            scope = instance.with_names(self.names).scope
            is_target, may_continue = constant(False), constant(True)
            if at_once:
                is_target = boolean(scope.value(path.right), location, "what is reached")
                is_target = negate("!", is_target, location) if path.kind == "G" else is_target
            if path.kind == "U":
                may_continue = boolean(scope.value(path.left), location, "what holds until then")
            return is_target, may_continue

        return conditions

    def times(self, path: Path) -> tuple[float, float]:
        """Return the times in s between which a path formula holds."""
        low, high = path.interval.low, path.interval.high
        return self._time(low, 0.0), self._time(high, math.inf)

    def _time(self, tree: Any, otherwise: float) -> float:
        return otherwise if tree is None else float(self.instance.scope.value(tree).single())

    def _function(self, tree: Any) -> Any:
        return self.expressions.function(tree)

    def _reward(self, name: Any, line: int) -> Any:
        names = list(self.instance.program.rewards)
        location = self.instance.location(line)
        if not names:
            raise FileError(location, "the model has no rewards")
        number = (name if isinstance(name, int) else 1) - 1
        chosen = names[number] if name is None or isinstance(name, int) else name
        if not isinstance(chosen, str) or chosen not in names:
            raise FileError(location, f"rewards {name!r}: must be one of {', '.join(names)}")
        key = chosen or f"reward {names.index(chosen) + 1}"
        return lambda state: self.rules.rewards(state)[key]

    def _refusal(self, query: Any) -> FileError:
        message = (
            "the model's states are infinitely many, or too many for a list: properties are S=? [ ... ], "
            "R=? [ S ] and P=? of F<=t, G<=t and U<=t, or at one time, without operators in them"
        )
        return FileError((self.instance.program.file, getattr(query, "line", None)), message)


def _interval(estimate: Bounded) -> tuple[float, float]:
    return estimate.lower, estimate.upper
