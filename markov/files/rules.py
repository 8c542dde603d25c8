"""A program's commands as rules of one state, for chains whose variables have no bounds.

`markov.files.transitions` evaluates expressions over batches of states. In this module they are functions of one
state, whose variables may be stand-ins for a box of states (`markov.generators.unbounded`).
"""

from __future__ import annotations

import keyword
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from markov.files.chains import measure_of_reward
from markov.files.language import (
    FUNCTIONS,
    OPERATORS,
    Call,
    Chain,
    Choice,
    Expression,
    FileError,
    Label,
    Name,
    Negation,
    StateFunction,
    is_plain,
)
from markov.files.program import Instance, instantiate
from markov.files.tables import synchronisation_groups
from markov.files.transitions import (
    NEGATIVE,
    NO_ONE_VALUE,
    initial_values,
    moves_of,
    transient_changes,
    with_transient_names,
)
from markov.models.bare import named_state
from markov.models.rules import ChainModel

if TYPE_CHECKING:
    from markov.files.program import Branch, Program

__all__ = ["FileRules", "StateExpressions", "field_names"]

# ---------------------------------------------------------------------------------------------- fields


def field_names(names: list[str]) -> list[str]:
    """Return distinct valid field names of a NamedTuple from the names of variables."""
    fields: list[str] = []
    for name in names:
        field = re.sub(r"\W", "_", name)
        if not field.isidentifier() or field.startswith("_") or keyword.iskeyword(field):
            field = f"v{field}"
        while field in fields:
            field += "_"
        fields.append(field)
    return fields


# ------------------------------------------------------------------------------- expressions and rules


class StateExpressions:
    """Compiler of expression trees to functions of one state, whose values may be stand-ins for a box of states.

    Parameters
    ----------
    instance
        The program with its constants; its scope checks names and types.
    extra_names
        Names of further values behind the variables in a state.
    """

    def __init__(self, instance: Instance, extra_names: Iterable[str] = ()) -> None:
        self.instance = instance
        self.indices = {name: k for k, name in enumerate((*(r.name for r in instance.ranges), *extra_names))}
        self._formulas: dict[Any, StateFunction] = {}

    def function(self, expression: Expression, renamed: Mapping[str, str] | None = None) -> StateFunction:
        """Return an expression, with names replaced by ``renamed``, as a function of one state."""
        value = self.instance.scope.value(expression, renamed)  # checks names and types
        if value.fixed and value.fails:
            return lambda _s: value.single()  # raises where it is evaluated
        if value.fixed:
            constant = value.single()
            return lambda _s: constant
        location = self.instance.location(expression.line)
        match expression:
            case Name(name):
                return self._name_function((renamed or {}).get(name, name), renamed)
            case Label(name):
                return self.function(self.instance.program.labels[name])
            case Negation(sign, of):
                operand = self.function(of, renamed)
                return (lambda s: not operand(s)) if sign == "!" else (lambda s: -operand(s))
            case Chain(first, rest):
                result = self.function(first, renamed)
                for sign, part in rest:
                    result = OPERATORS[sign].single(result, self.function(part, renamed))
                return result
            case Choice(cases, otherwise):
                pairs = [(self.function(c, renamed), self.function(v, renamed)) for c, v in cases]
                return _choice(pairs, self.function(otherwise, renamed))
            case Call(name, of):
                return _call(name, [self.function(part, renamed) for part in of], location)
        raise FileError(location, "an operator of properties where a value is expected")

    def _name_function(self, name: str, renamed: Mapping[str, str] | None) -> StateFunction:
        """Return a variable or a formula as a function of one state."""
        if name in self.indices:
            return operator.itemgetter(self.indices[name])
        key = name, tuple(sorted((renamed or {}).items()))
        if key not in self._formulas:
            self._formulas[key] = self.function(self.instance.program.formulas[name], renamed)
        return self._formulas[key]


def step_functions(instance: Instance) -> list[StateFunction]:
    """Return the rewards of transitions as functions of the target state followed by the transient variables."""
    expressions = StateExpressions(with_transient_names(instance), instance.program.transient)
    return [expressions.function(tree) for tree in instance.program.steps.values()]


def _choice(cases: list[tuple[StateFunction, StateFunction]], otherwise: StateFunction) -> StateFunction:
    """Return the function of a state that has the value of the first condition that holds."""

    def choose(s: Any) -> Any:
        """Return the value in a state."""
        for condition, value in cases:
            if condition(s):
                return value(s)
        return otherwise(s)

    return choose


def _call(name: str, arguments: list[StateFunction], location: Any) -> StateFunction:
    """Return the function of a state that applies a function of `FUNCTIONS` to arguments."""
    call = FUNCTIONS[name].single

    def evaluate(s: Any) -> Any:
        """Return the value in a state; FileError where it is undefined."""
        try:
            return call(*(part(s) for part in arguments))
        except (ValueError, OverflowError) as error:
            raise FileError(location, f"{name}: {error}") from None

    return evaluate


class _Outcome(NamedTuple):
    """One outcome of a command as functions of the state: rate, new values of variables and transient variables."""

    rate: StateFunction
    changes: tuple[tuple[int, StateFunction], ...]
    transient: tuple[tuple[int, StateFunction], ...]
    line: int


class _Move(NamedTuple):
    """A transition out of one state: action, target state, rate in 1/s, and the rewards it earns, by their index."""

    action: str
    target: Any
    rate: Any
    gains: dict[int, Any]


class FileRules(ChainModel):
    """Chain model of a program by rules of single states: variables need no bounds.

    Parameters
    ----------
    program
        Contents of the file.
    constants
        Values of constants by name.

    Raises
    ------
    FileError
        For a faulty command, or an initial state given as a condition.
    """

    def __init__(self, program: Program, constants: Mapping[str, Any]) -> None:
        instance = instantiate(program, constants)
        set_attribute = object.__setattr__
        set_attribute(self, "program", program)
        set_attribute(self, "given", dict(constants))
        set_attribute(self, "params", None)
        set_attribute(self, "instance", instance)
        if program.start is not None:
            message = "init with variables without bounds: give them a range"
            raise FileError(instance.location(program.start.line), message)
        fields = field_names([r.name for r in instance.ranges])
        set_attribute(self, "State", named_state("State", tuple(fields)))
        expressions = StateExpressions(instance)
        set_attribute(self, "_groups", self._build_groups(expressions))
        set_attribute(self, "_named_labels", {n: expressions.function(e) for n, e in program.labels.items()})
        rewards = {
            name: [
                (
                    () if item.action is None else (item.action,),
                    expressions.function(item.guard),
                    expressions.function(item.value),
                )
                for item in items
            ]
            for name, items in program.rewards.items()
        }
        set_attribute(self, "_named_rewards", rewards)
        set_attribute(self, "_initial_values", initial_values(instance))
        set_attribute(self, "_steps", step_functions(instance))

    def start(self) -> Any:
        """Return the initial state."""
        values = (bool(r.start) if r.kind == "bool" else r.start for r in self.instance.ranges)
        return self.State(*values)

    def rules(self, s: Any) -> Iterator[tuple[Any, Any]]:  # type: ignore[override]
        """Yield (target, rate in 1/s) of the transitions out of a state, loops included."""
        for move in self.moves(s):
            yield move.target, move.rate

    def labels(self, s: Any) -> Mapping[str, Any]:
        """Return whether a state has each label of the file, by name."""
        return {name: label(s) for name, label in self._named_labels.items()}

    def rewards(self, s: Any) -> Mapping[str, Any]:
        """Return each reward structure's rate per second in a state, with transition rewards, by measure."""
        by_action: dict[str, Any] = {}
        step_rewards: dict[int, Any] = {}
        for move in self.moves(s):
            by_action[move.action] = by_action.get(move.action, 0) + move.rate
            for k, gain in move.gains.items():
                step_rewards[k] = step_rewards.get(k, 0) + move.rate * gain
        rewards, steps = {}, {name: k for k, name in enumerate(self.program.steps)}
        for k, (name, items) in enumerate(self._named_rewards.items(), start=1):
            total: Any = 0
            for action, guard, value in items:
                if guard(s):
                    weight = 1 if not action else by_action.get(action[0], 0)
                    total = total + value(s) * weight
            if name in steps:
                total = total + step_rewards.get(steps[name], 0)
            rewards[measure_of_reward(name or f"reward {k}", self._named_labels)] = total
        return rewards

    def moves(self, s: Any) -> Iterator[_Move]:
        """Yield the transitions out of a state with their actions and rewards, loops included."""
        for action, members in self._groups:
            combinations: list[tuple[_Outcome, ...]] = [()]
            for commands in members:
                enabled = [outcome for guard, branches in commands if guard(s) for outcome in branches]
                combinations = [(*combination, outcome) for combination in combinations for outcome in enabled]
            for combination in combinations:
                rates = [outcome.rate(s) for outcome in combination]
                if len(combination) > 1:  # a product hides the signs of its factors
                    for outcome, factor in zip(combination, rates, strict=True):
                        if is_plain(factor):
                            self.check_rate(s, factor, outcome.line)
                rate = rates[0]
                for factor in rates[1:]:
                    rate = rate * factor
                if is_plain(rate):
                    self.check_rate(s, rate, combination[0].line)
                target = self._target(s, combination, rate)
                yield _Move(action, target, rate, self._gains(s, combination, target))

    def check_rate(self, s: Any, rate: float, line: int = 0) -> None:
        """Raise FileError if a rate out of a state is negative or not finite."""
        if not 0.0 <= rate < math.inf:
            message = f"rate {rate:g} in state {tuple(s)}: must be finite, >= 0"
            raise self.program.command_error(line, message, NEGATIVE if rate < 0.0 else "")

    def _target(self, s: Any, outcomes: tuple[_Outcome, ...], rate: Any) -> Any:
        """Return the target state of a combination of outcomes; FileError if a variable leaves its range."""
        values = list(s)
        for outcome in outcomes:
            for k, change in outcome.changes:
                r, value = self.instance.ranges[k], change(s)
                values[k] = value
                low, high = r.limits
                if r.kind != "bool" and not (low <= value <= high) and rate != 0:
                    message = f"{r.name!r} leaves its range from state {tuple(s)}"
                    raise self.program.range_error(outcome.line, message)
        return self.State(*values)

    def _gains(self, s: Any, outcomes: tuple[_Outcome, ...], target: Any) -> dict[int, Any]:
        """Return the rewards that a transition earns, by their index in `Program.steps`."""
        if not self._steps:
            return {}
        values = dict(enumerate(self._initial_values))
        assigned_variables: set[int] = set()
        for outcome in outcomes:
            for k, function in outcome.transient:
                value = function(s)
                if (k in assigned_variables and value != values[k]) or (is_plain(value) and not math.isfinite(value)):
                    name = list(self.program.transient)[k]
                    message = f"{name!r} in a transition from state {tuple(s)}: {NO_ONE_VALUE}"
                    raise self.program.command_error(outcome.line, message)
                assigned_variables.add(k)
                values[k] = value
        after = (*target, *values.values())
        return {k: step(after) for k, step in enumerate(self._steps)}

    # ------------------------------------------------------------------ from the program

    def _build_groups(self, expressions: StateExpressions) -> list[Any]:
        """Return pairs of an action and the commands of each module that takes part in it."""
        instance = self.instance
        groups = synchronisation_groups(moves_of(instance))  # refuses faulty commands
        if groups is None:
            raise FileError((instance.program.file, None), "too many modules synchronise")
        commands: dict[Any, list[Any]] = {}
        for module in instance.program.modules.values():
            for command in module.commands:
                renamed = module.renamed
                branches = [self._outcome(expressions, b, renamed, command.line) for b in command.branches]
                key = module.name, renamed.get(command.action, command.action)
                guard = expressions.function(command.guard, renamed)
                commands.setdefault(key, []).append((guard, branches))
        return [
            (action, [commands.get((part.name, part_action), []) for part, part_action in members])
            for action, members in groups
        ]

    def _outcome(
        self, expressions: StateExpressions, branch: Branch, renamed: Mapping[str, str], line: int
    ) -> _Outcome:
        """Return a branch of a command as functions of the state."""
        changes = (
            (
                expressions.indices[renamed.get(c.name, c.name)],
                expressions.function(c.value, renamed),
            )
            for c in branch.changes
        )
        assigned = transient_changes(self.program, branch)
        transient = ((k, expressions.function(value, renamed)) for k, value in assigned)
        rate = expressions.function(branch.rate, renamed)
        return _Outcome(rate, tuple(changes), tuple(transient), line)

    # ------------------------------------------------------------------ the object

    @property
    def name(self) -> str:
        """The file's name."""
        return str(self.program.file)

    @property
    def constants(self) -> dict[str, Any]:
        """Values of the program's constants by name."""
        return dict(self.instance.constants)

    def replace(self, **changes: Any) -> FileRules:
        """Return the model with changed values of constants."""
        return FileRules(self.program, {**self.given, **changes})

    def __reduce__(self) -> Any:
        return FileRules, (self.program, self.given)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FileRules):
            return NotImplemented
        return bool(self.program == other.program and self.constants == other.constants)

    def __hash__(self) -> int:
        return hash((self.program.file, tuple(self.instance.constants.items())))

    def __repr__(self) -> str:
        constants = ", ".join(f"{name}={value}" for name, value in self.instance.constants.items())
        return f"FileModel({self.name!r}, {constants})"
