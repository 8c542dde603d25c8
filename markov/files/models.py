"""Models of files: reachable states, chain, rewards, events at given times, and values of properties."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import permutations
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hopflow.checks import choice, file_path, instance
from hopflow.fork_safety import cached_property
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.parameters import param, validate_parameters
from hopflow.results import OnFailure, deliver, same
from hopflow.units import WithUnit
from markov.chains import MarkovChain
from markov.computing.matrices import leads_to
from markov.computing.resources import MAX_SECONDS, TooLargeError, rates_in_range, time_limit
from markov.files.chains import chain_of
from markov.files.csl import Checker
from markov.files.jani import parse_jani
from markov.files.language import Batch, FileError, Value, check_boolean, constant, names_in, nearest_whole
from markov.files.language import Literal as LiteralTree
from markov.files.prism import parse_prism
from markov.files.program import NUMBER_BITS, Instance, Program, Variable, evaluate_constants, instantiate
from markov.files.properties import Definitions, Evaluation, InitialStateEvaluation, PropertyResult, answer_property
from markov.files.queries import Operator, Properties, has_times, parse_properties, parse_property
from markov.files.rules import field_names
from markov.files.search import StateSpace, explore
from markov.generators.building import MAX_STATES
from markov.models.bare import named_state
from markov.models.spaces import Space
from markov.time.exponentials import TimedJump

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.chains import ListedStates
    from markov.files.program import Reset

__all__ = ["FileModel", "explore_with_resets", "program_of_list", "read_jani", "read_prism", "reward_rates"]

LIMITS_NOTE = (
    'the limits, which change a probability by at most that of "outside"; amounts are 0 there, and means have no bound'
)
"""What an error bound does not cover in a network (SBML) with limits that it may exceed."""
FOR_STEPS = "DiscreteChain solves chains in steps, by their matrix or by rules"

# --------------------------------------------------------------------------------------------- rewards


def reward_rates(
    name: str, program: Program, state_space: StateSpace
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a reward structure's rates in each state, without and with transition rewards, shape (states,) each.

    Raises
    ------
    FileError
        If a reward is a truth value, or not finite in a state that earns it.
    """
    if program.listed is not None:
        return program.listed.state_rewards[name], program.listed.reward_arrays[name]
    c, scope = state_space.batch, state_space.instance.scope
    state_rewards, transition_rewards = np.zeros(c.count), np.zeros(c.count)
    for item in program.rewards[name]:
        location = program.file, item.line
        guard = check_boolean(scope.value(item.guard), location, "the condition of a reward")
        value = scope.value(item.value)
        if value.kind == "bool":
            raise FileError(location, "a reward is a truth value: must be a number")
        with np.errstate(all="ignore"):
            holds = np.flatnonzero(np.broadcast_to(np.asarray(guard.run(c)), c.count))
            part = np.broadcast_to(np.asarray(value.run(c.take(holds)), float), len(holds))
        if not np.isfinite(part).all():
            raise FileError(location, "a reward that is no finite number")
        if item.action is None:
            state_rewards[holds] += part
        else:
            transition_rewards[holds] += part * state_space.action_rates[item.action][holds]
    if name in program.steps:
        transition_rewards += state_space.gains[list(program.steps).index(name)]
    return state_rewards, state_rewards + transition_rewards


# ------------------------------------------------------------------------------- events at given times


def explore_with_resets(instance: Instance, max_states: int) -> tuple[StateSpace, tuple[TimedJump, ...]]:
    """Return the states reachable from start and events, and the events as jumps between these states.

    Each event happens once. Its values are computed in the states that are possible at its time, after the earlier
    events.

    Raises
    ------
    FileError
        If a time is not a positive number, two events at one time assign the same variable or their order
        matters, or a value is out of its range.
    TooLargeError
        If there are more than ``max_states`` states.
    """
    if any(r.is_window for r in instance.ranges):
        message = f"events at given times: the variables have more than 2^{NUMBER_BITS} combinations"
        raise FileError((instance.program.file, None), message)
    simultaneous: dict[tuple[float, bool], list[Reset]] = {}
    for reset in instance.program.resets:
        simultaneous.setdefault((_event_time(reset, instance), reset.after), []).append(reset)
    for (time, _), resets in simultaneous.items():
        _check_order(instance, time, resets)
    result = explore(instance, max_states)
    numbers = result.batch.states
    assert numbers is not None
    sources, extra = numbers[result.initial], numbers[:0]
    steps: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # states before an event, and after it
    ordered = sorted(simultaneous)
    for moment in ordered:
        before = _reachable_numbers(result, sources)
        after = _numbers_after(result, before, simultaneous[moment])
        steps.append((before, after))
        sources = np.unique(after)
        new = np.setdiff1d(sources, numbers)
        if len(new):
            extra = np.union1d(extra, new)
            result = explore(instance, max_states, extra)
            assert result.batch.states is not None
            numbers = result.batch.states
    jumps = []
    for moment, (before, after) in zip(ordered, steps, strict=True):
        targets = np.full(len(numbers), -1, dtype=np.int64)
        targets[np.searchsorted(numbers, before)] = np.searchsorted(numbers, after)
        jumps.append(TimedJump(*moment, targets))
    return result, tuple(jumps)


def _check_order(instance: Instance, time: float, resets: list[Reset]) -> None:
    """Raise FileError for simultaneous events whose result depends on their order, which SBML leaves open."""
    location = instance.program.file, None
    names = [change.name for reset in resets for change in reset.changes]
    if len(names) > len(set(names)):
        raise FileError(location, f"events at time {time:g} assign the same variable: their order is not given")
    formulas = instance.program.formulas
    for first, other in permutations(resets, 2):
        assigned = {change.name for change in other.changes}
        used: set[str] = set()
        unvisited = {name for change in first.changes for name in names_in(change.value)}
        while unvisited:
            used |= unvisited
            unvisited = {part for name in unvisited & formulas.keys() for part in names_in(formulas[name])} - used
        if first.at_execution and used & assigned:
            message = f"{first.name} has useValuesFromTriggerTime = false and uses {min(used & assigned)!r}"
            raise FileError(
                location, f"{message}, which {other.name} assigns at the same time: their order is not given"
            )


def _event_time(reset: Reset, instance: Instance) -> float:
    """Return the time of an event in s; FileError unless it is a constant, positive and finite."""
    value = instance.scope.value(reset.time)
    time = float(value.single()) if value.fixed and value.kind != "bool" else math.nan
    if not 0.0 < time < math.inf:
        message = f"an event at time {time:g}: must be > 0, and finite"
        raise FileError((instance.program.file, None), message)
    return time


def _reachable_numbers(result: StateSpace, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the states reachable from the states of the numbers ``first``."""
    numbers = result.batch.states
    assert numbers is not None
    marks = np.zeros(len(numbers), dtype=bool)
    marks[np.searchsorted(numbers, first)] = True
    reached: NDArray[np.int64] = numbers[leads_to(result.Q, marks)]
    return reached


def _numbers_after(result: StateSpace, before: NDArray[np.int64], resets: list[Reset]) -> NDArray[np.int64]:
    """Return the numbers of the states after simultaneous events, from the numbers of the states before them.

    A value of a formula above its limit leads to the state outside of the limits, as a reaction would.
    """
    instance = result.instance
    assert result.batch.states is not None
    c = result.batch.take(np.searchsorted(result.batch.states, before))
    index = {r.name: k for k, r in enumerate(instance.ranges)}
    codes = c.codes.copy()
    is_outside, exceeds = _is_outside(codes, index), np.zeros(c.count, dtype=bool)
    for reset in resets:
        for change in reset.changes:
            k = index[change.name]
            r = instance.ranges[k]
            assigned = instance.scope.value(change.value)
            values, is_whole = nearest_whole(np.broadcast_to(np.asarray(assigned.run(c), dtype=float), c.count))
            above = (values > r.limits[1]) & bool(reset.exceeding) & ~is_outside
            wrong = ~((values >= r.limits[0]) & ((values <= r.limits[1]) | above) & is_whole) & ~is_outside
            if assigned.kind == "bool" or wrong.any():
                given = np.broadcast_to(assigned.run(c), c.count)
                message = f"an event assigns {given[wrong][:1]} to {r.name!r}: "
                message += f"must be a whole number from {r.low} to {r.high}"
                raise FileError((instance.program.file, None), message)
            exceeds |= above
            codes[k] = np.where(is_outside | above, codes[k], values)
    for reset in resets:
        for change in reset.exceeding:
            codes[index[change.name], exceeds] = instance.scope.value(change.value).single()
    return instance.numbers(codes)


def _is_outside(codes: NDArray[np.int64], index: dict[str, int]) -> NDArray[np.bool_]:
    """Return whether each state is the state outside of the species' limits, which no event changes."""
    if "outside" not in index:
        return np.zeros(codes.shape[1], dtype=bool)
    return np.asarray(codes[index["outside"]] == 1)


# ---------------------------------------------------------------------------------------------- models


def read_prism(path: str | File, *, constants: Mapping[str, Any] | None = None, most: int = MAX_STATES) -> FileModel:
    """Return the Markov chain model of a file in the PRISM language.

    Parameters
    ----------
    path
        The file: a continuous-time Markov chain (``ctmc``). A ``dtmc`` is parsed, and refused where its chain or a
        property is asked for.
    constants
        Values of constants by name, required for constants without a value; they replace values in the file.
    most
        Largest number of states; with more, TooLargeError.

    Raises
    ------
    FileError
        A ValueError, with the line and the reason, where the file cannot be used.

    Notes
    -----
    Nothing in a file is run as Python. Files above 64 MiB and expressions nested more than 60 deep are refused. Only
    reachable states count, however large the product of the variables is.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_prism
    >>> text = '''ctmc
    ... const double fails = 0.01;
    ... module machine
    ...   up : bool init true;
    ...   [] up -> fails : (up' = false);
    ...   [] !up -> 1 : (up' = true);
    ... endmodule
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "machine.sm")
    ...     _ = path.write_text(text)
    ...     model = read_prism(path, constants={"fails": 0.25})
    >>> model.property("S=? [ up ]").value
    0.8
    """
    return FileModel(parse_prism(path), constants, most)


def read_jani(path: str | File, *, constants: Mapping[str, Any] | None = None, most: int = MAX_STATES) -> FileModel:
    """Return the Markov chain model of a JANI file, with its properties; arguments as for `read_prism`.

    Raises
    ------
    FileError
        A ValueError, with the place in the file and the reason, where it cannot be used: it is no
        JSON, no continuous-time Markov chain, or uses arrays or other extensions.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_jani, stationary
    >>> def edge(source, target, rate):
    ...     ends = [{"location": target}]
    ...     return {"location": source, "rate": {"exp": rate}, "destinations": ends}
    >>> machine = {
    ...     "name": "machine",
    ...     "locations": [{"name": "up"}, {"name": "down"}],
    ...     "initial-locations": ["up"],
    ...     "edges": [edge("up", "down", 0.25), edge("down", "up", 1.0)],
    ... }
    >>> system = {"elements": [{"automaton": "machine"}]}
    >>> model = {"jani-version": 1, "name": "machine", "type": "ctmc", "system": system}
    >>> model |= {"variables": [], "automata": [machine], "properties": []}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "machine.jani")
    ...     _ = path.write_text(json.dumps(model))
    ...     found = read_jani(path)
    >>> stationary(found).pi.tolist()
    [0.8, 0.2]
    """
    program, properties = parse_jani(file_path("path", path))
    model = FileModel(program, constants, most)
    model.properties = properties
    return model


@contextmanager
def _nesting_error_of_file(file: str) -> Iterator[None]:
    """Context that turns a RecursionError into a FileError: expressions are nested too deep."""
    try:
        yield
    except RecursionError:
        raise FileError((file, None), "formulas and expressions are nested too deep") from None


@validate_parameters
class FileModel:
    """A Markov chain model read from a file; `stationary`, `transient` and `passage` take it as it is.

    Parameters
    ----------
    program
        Contents of the file.
    constants
        Values of constants by name.
    most
        Largest number of states; with more, TooLargeError.

    Examples
    --------
    See `read_prism`, which returns one.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_prism, stationary
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "light.sm")
    ...     text = "ctmc module m x : [0..1] init 0; [] true -> 1 + x : (x' = 1 - x); endmodule"
    ...     _ = path.write_text(text)
    ...     model = read_prism(path)
    >>> model.chain.size, stationary(model).pi.round(4).tolist()
    (2, [0.6667, 0.3333])
    """

    SWEPT_BY = "markov.sweeps"

    def __init__(
        self,
        program: Program,
        constants: Mapping[str, Any] | None = None,
        most: int = param(MAX_STATES, at_least=1, at_most=10**12),
    ) -> None:
        self.program, self.most = program, most
        values = dict(instance("constants", {} if constants is None else constants, Mapping))
        # other names may be constants of properties
        model_constants = {name: value for name, value in values.items() if name in program.constants}
        self._property_constants = {name: value for name, value in values.items() if name not in model_constants}
        self._model_constants = model_constants
        with _nesting_error_of_file(program.file):
            self.instance: Instance = instantiate(program, model_constants)
        if program.listed is not None:
            _name_listed_values(self.instance, program.listed)
        self.properties: Properties | None = None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.program.file

    def unproved_limits(self, measures: Mapping[str, Any]) -> tuple[str, ...]:
        """Return a note on limits of species (SBML) that the error bound of an answer does not cover; empty without.

        ``measures`` has the scalar measures of a long-run answer by name; it is empty for other answers.
        """
        if not self._has_limits:
            return ()
        share = measures.get("outside")
        if share is None:
            return (LIMITS_NOTE,)
        return (f"the network without limits, which exceeds them with probability {share:.3g}",) if share else ()

    @property
    def _has_limits(self) -> bool:
        """Whether the file is a network (SBML) with limits of its species."""
        return bool(self.program.reactions) and "outside" in self.program.labels

    @property
    def state_outside(self) -> int | None:
        """Index of the state that stands for all beyond limits (SBML), with amounts of 0; None without one."""
        if not self._has_limits:
            return None
        outside = np.flatnonzero(self.label_arrays["outside"])
        return int(outside[0]) if len(outside) else None

    @cached_property
    def state_space(self) -> StateSpace:
        """The reachable states and the rates between them, explored on first use."""
        return self._exploration[0]

    @cached_property
    def _exploration(self) -> tuple[StateSpace, tuple[TimedJump, ...]]:
        """The reachable states and the timed events as jumps, explored on first use."""
        self._check_names(self._property_constants)
        if (listed := self.program.listed) is not None:
            starts = listed.initial_states
            is_start_assumed = listed.default_start and not len(starts)
            if is_start_assumed:
                starts = np.zeros(1, np.int64)
            states = Batch(listed.codes, self.instance.numbers(listed.codes))
            no_steps = np.zeros((0, len(listed.loops)))
            Q, loops = listed.chain.Q, listed.loops
            return StateSpace(self.instance, states, Q, loops, starts, {}, no_steps, is_start_assumed), ()
        with _nesting_error_of_file(self.name):
            if self.program.resets:
                return explore_with_resets(self.instance, self.most)
            return explore(self.instance, self.most), ()

    def _check_names(self, names: Mapping[str, Any]) -> None:
        """Raise ValueError for names that are constants of neither the model nor its properties."""
        property_constants = () if self.properties is None else self.properties.constants
        choices = (*self.program.constants, *property_constants)
        for name in names:
            choice("constants", name, choices)

    @property
    def timed_jumps(self) -> tuple[TimedJump, ...]:
        """Events at fixed times (SBML) as jumps between states; only `transient` supports them."""
        return self._exploration[1] if self.program.resets else ()

    @cached_property
    def chain(self) -> MarkovChain:
        """The `MarkovChain` of the reachable states; labels and rewards of the file are its measures.

        Raises
        ------
        FileError
            For a model with discrete time, and for events at given times, between which alone rates are constant.
        """
        self._check_no_resets()
        return self.chain_between_events

    @cached_property
    def chain_between_events(self) -> MarkovChain:
        """The `MarkovChain` whose rates hold between events at fixed times (SBML)."""
        if self.program.kind != "ctmc":
            raise FileError((self.name, None), f"a model with discrete time: must be a ctmc; {FOR_STEPS}")
        return chain_of(self, self.state_space.Q) if self.program.listed is None else self.program.listed.chain

    def _check_no_resets(self) -> None:
        """Raise FileError for a model with events at fixed times."""
        if self.program.resets:
            message = "events at given times: only transient, from the model's start, takes them"
            raise FileError((self.name, None), message)

    @cached_property
    def space(self) -> Space:
        """The components of a state: a field for each variable, with its values in reachable states."""
        ranges = self.state_space.instance.ranges
        fields = field_names([r.name for r in ranges])
        values = {
            field: [False, True] if r.kind == "bool" else range(int(c.min()), int(c.max()) + 1)
            for field, r, c in zip(fields, ranges, self.codes, strict=True)
        }
        return Space(named_state("State", tuple(values)), values)

    @property
    def codes(self) -> NDArray[np.int64]:
        """Values of the variables in the reachable states, ascending by state, shape (variables, states)."""
        return self.state_space.batch.codes

    @property
    def initial_states(self) -> NDArray[np.int64]:
        """Indices of the initial states among the reachable states."""
        return self.state_space.initial

    def indices_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of states from the values of their variables, shape (variables, ...)."""
        return self.state_space.indices_of(codes)

    @cached_property
    def label_arrays(self) -> dict[str, NDArray[np.bool_]]:
        """Whether each state has each label of the file: boolean arrays of shape (states,), by label."""
        batch = self.state_space.batch
        labels = {}
        for name in self.program.labels:
            value = self.label_values(name)
            assert value is not None
            labels[name] = np.broadcast_to(np.asarray(value.run(batch), dtype=bool), batch.count)
        return labels

    @cached_property
    def reward_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Reward rates per second, with transition rewards: arrays of shape (states,), by reward structure."""
        names = enumerate(self.program.rewards, start=1)
        return {name or f"reward {k}": self.rewards(name)[1] for k, name in names}

    @property
    def constants(self) -> dict[str, Any]:
        """Values of the model's constants by name."""
        return dict(self.instance.constants)

    def checker(self, proof: Literal[True, "tight"] = True) -> Checker:
        """Return the evaluator of CSL operators on the chain; one per kind of proof is cached with its solutions."""
        checkers: dict[Any, Checker] = self.__dict__.setdefault("_checkers", {})
        if proof not in checkers:
            checkers[proof] = Checker(self.state_space.Q, self.state_space.loops, proof)
        return checkers[proof]

    def with_constants(self, changes: Mapping[str, Any]) -> FileModel:
        """Return a new model of the same program with changed values of constants."""
        return FileModel(self.program, {**self._property_constants, **self._model_constants, **changes}, self.most)

    def with_properties(self, path: str | File) -> FileModel:
        """Return the model with the properties of a file, which ``property(name)`` evaluates.

        Raises
        ------
        FileError
            For a malformed file, and for constants, labels and properties with a name that the model uses.
        """
        model = FileModel.__new__(FileModel)
        model.__dict__.update(self.__dict__)
        model.properties = parse_properties(path)
        self._check_names_of_properties(model.properties)
        return model

    def _check_names_of_properties(self, properties: Properties) -> None:
        """Raise FileError for names of a properties file that the model has too: either could be meant."""
        names, labels = self.program.names(), self.program.labels
        lines = {name: constant.line for name, constant in properties.constants.items() if name in names}
        lines |= {name: tree.line for name, tree in properties.labels.items() if name in labels}
        lines |= {name: line for name, line in properties.lines.items() if name in labels}
        for name, line in lines.items():
            raise FileError((properties.file, line), f"{name!r} is defined in {self.name} too: must have another name")

    @validate_parameters
    def property(
        self,
        text: str,
        *,
        constants: Mapping[str, Any] | None = None,
        proof: Literal[True, "tight"] = param(True, choices=(True, "tight")),
        max_seconds: WithUnit = param(MAX_SECONDS, "time", above=0.0),
        on_failure: OnFailure = "raise",
    ) -> PropertyResult:
        """Return the value of a CSL property, with a bound on its error.

        Parameters
        ----------
        text
            The property, ``'S=? [ x > 3 ]'`` or ``'"often": S=? [ x > 3 ]'``, or its name in the file
            of properties. Names in quotes stand for other properties of that file.
        constants
            Values of the properties' constants, by name.
        proof
            Proof of stationary distributions, as for `stationary`: ``"tight"`` bounds them sharply for iterative
            methods as well. The value has the bound of the measure either way.
        max_seconds
            Limit in s: an operator over a time whose predicted computation exceeds it is refused, with the prediction.
        on_failure
            ``"raise"`` or ``"return"``: what to do where the property is undecided, or without a bound.

        Raises
        ------
        FileError
            With the reason, for a string that is no CSL property of this model.
        UndecidedError
            Where a number lies within its error of the threshold. ``on_failure="return"`` gives the
            result, whose value is None.
        """
        watch = Stopwatch()
        query, properties = self._parse_query(text)
        text = properties.text_of(text)
        try:
            with _nesting_error_of_file(self.name):
                evaluation = self._evaluation(properties, constants, proof)
                with rates_in_range(evaluation.checker.Q), time_limit(float(max_seconds)):
                    result = answer_property(evaluation, query, text)
        except TooLargeError:
            declared = self._constants_of_properties(properties, constants)
            unlisted = InitialStateEvaluation(self.instance, declared, self.most)
            result = unlisted.result(query, text, lambda: self._stationary)
        return deliver(replace(result, uncovered=self.unproved_limits({}), seconds=watch.seconds()), on_failure)

    def follows_time(self, text: str) -> bool:
        """Return whether a property (or the property of that name) has an operator over a time, such as ``F<=1``."""
        query, properties = self._parse_query(text)
        return has_times(query, properties.properties)

    def long_run_functions(self, texts: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """Return f, shape (states,), by property, where the property's value is the long-run mean of f.

        Parameters
        ----------
        texts
            Properties ``S=? [ states ]`` and ``R=? [ S ]``, or their names, as `property` takes them.

        Raises
        ------
        FileError
            For other properties.
        """
        functions = {}
        for text in texts:
            query, properties = self._parse_query(text)
            evaluation = self._evaluation(properties, None, True)
            f = (
                evaluation.operators.long_run_function(query)
                if isinstance(query, Operator) and query.start is None and not query.how
                else None
            )
            if f is None or query.sign is not None:
                message = "must be the long-run mean of a function of the state, S=? [ ... ] or R=? [ S ]"
                raise FileError((text, None), message)
            functions[properties.text_of(text)] = f
        return functions

    @cached_property
    def _stationary(self) -> Any:
        """The stationary distribution of the model."""
        from markov.driver import stationary

        return stationary(self)

    def _parse_query(self, text: str) -> tuple[Any, Properties]:
        """Return the tree of a property, from its text or name, and the properties of the model's file."""
        self._check_no_resets()
        if self.program.kind != "ctmc":
            message = "properties of models with discrete time are not read"
            raise FileError((self.name, None), f"{message}; {FOR_STEPS}")
        properties = self.properties or Properties("property")
        named = text in properties.properties
        query = properties.properties[text] if named else parse_property(text)
        if isinstance(query, FileError):
            raise query
        return query, properties

    def _evaluation(
        self, properties: Properties, constants: Mapping[str, Any] | None, proof: Literal[True, "tight"]
    ) -> Evaluation:
        """Return the scope in which the properties are evaluated on the state space."""
        constant_values = self._constants_of_properties(properties, constants)
        defined = Definitions(properties.file, properties.labels, properties.properties)
        checker = self.checker(proof)
        return Evaluation(self.state_space, checker, self.rewards, constant_values, defined, self.label_values)

    def _constants_of_properties(self, properties: Properties, constants: Mapping[str, Any] | None) -> dict[str, Value]:
        """Return the constants of a properties file as typed expressions, by name."""
        self._check_names({} if constants is None else constants)
        values = {**self._property_constants, **(constants or {})}
        declared = evaluate_constants(
            properties.file,
            properties.constants,
            {k: v for k, v in values.items() if k in properties.constants},
            self.instance.scope.symbols,
        )
        return {name: constant(v) for name, v in declared.items()}

    def label_values(self, name: str) -> Value | None:
        """Return the typed expression of a label of the model; None if the model has no such label."""
        labels = self.state_space.instance.scope.labels
        value: Value | None = None if labels is None else labels(name)
        return value

    def rewards(self, name: Any, location: Any = ("model", None)) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a reward structure's rates per second, without and with transition rewards, shape (states,) each.

        Parameters
        ----------
        name
            Name of the reward structure, or its number from one; None: the first.
        location
            Location of the request, in messages.
        """
        names = list(self.program.rewards)
        if not names:
            raise FileError(location, "the model has no rewards")
        if name is None:
            name = names[0]
        if isinstance(name, int):
            if not 1 <= name <= len(names):
                raise FileError(location, f"rewards {name}: must be 1 to {len(names)}")
            name = names[name - 1]
        if name not in names:
            raise FileError(location, f"rewards {name!r}: must be one of {', '.join(map(repr, names))}")
        return reward_rates(name, self.program, self.state_space)

    def _constructor_arguments(self) -> tuple[Any, ...]:
        """Return the arguments that reconstruct the model: program, constants, limit on states, properties."""
        return self.program, {**self._property_constants, **self._model_constants}, self.most, self.properties

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FileModel):
            return NotImplemented
        return self is other or same(self._constructor_arguments(), other._constructor_arguments())

    def __hash__(self) -> int:
        return hash((FileModel, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, self._constructor_arguments()

    def __repr__(self) -> str:
        constants = ", ".join(f"{name}={value}" for name, value in self.instance.constants.items())
        return f"FileModel({self.name!r}{', ' if constants else ''}{constants})"


def _unpickle(
    program: Program, constants: Mapping[str, Any], max_states: int, properties: Properties | None
) -> FileModel:
    """Return a `FileModel` with properties: the inverse of pickling."""
    model = FileModel(program, constants, max_states)
    model.properties = properties
    return model


# ------------------------------------------------------------------------------------- listed states


def program_of_list(listed: ListedStates) -> Program:
    """Return the program of listed states: variables, and the names of labels and rewards, without commands."""
    variables = {}
    for component, values in zip(listed.space.components, listed.codes, strict=True):
        name, line = component.name, 1
        if not isinstance(component.values, range) and list(component.values) == [False, True]:
            variables[name] = Variable(name, "bool", None, None, LiteralTree(False, line), line)
        else:
            low, high = (LiteralTree(int(end), line) for end in (values.min(), values.max()))
            variables[name] = Variable(name, "int", low, high, low, line)
    return Program(
        listed.name,
        "ctmc",
        variables=variables,
        start=LiteralTree(True, 1),
        labels=dict.fromkeys(listed.label_arrays, LiteralTree(False, 1)),
        rewards=dict.fromkeys(listed.reward_arrays, ()),
        listed=listed,
    )


def _name_listed_values(instance: Instance, listed: ListedStates) -> None:
    """Define the labels and the further variables of a file as typed expressions in the instance's scope."""
    numbers = instance.numbers(listed.codes)
    assert (np.diff(numbers) > 0).all()

    def value_of(values: NDArray[Any]) -> Value:
        """Return the typed expression of integers or truth values by listed state, in their order, shape (states,)."""

        def run(c: Batch) -> NDArray[Any]:
            assert c.states is not None
            selected: NDArray[Any] = values[np.searchsorted(numbers, c.states)]
            return selected

        return Value("bool" if values.dtype == bool else "int", run, reads=frozenset(range(len(instance.ranges))))

    labels = {name: value_of(values) for name, values in listed.label_arrays.items()}
    instance.scope.labels = labels.get
    instance.scope.symbols |= {name: value_of(values) for name, values in listed.variables.items()}
