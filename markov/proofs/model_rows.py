"""The transitions that commands give for listed states, in exact arithmetic, with the standard library alone.

It shares no code with `markov.files`: two readers that agree are evidence that both read a file as its language means.
No search is needed. The states are listed in the certificate; the commands are evaluated in each of them, and the
targets must be listed as well. Numbers are integers and fractions: 0.36 is 36/100.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopflow.fork_safety import cached_property
from markov.proofs.checker import LONG_RUN, CertificateError, compare_rows
from markov.proofs.prism_expressions import exact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from markov.proofs.checker import Contents


__all__ = ["Command", "MemoizedFunction", "ModelRows", "State"]

MAX_RESULTS = 1 << 16  # of one function


class _Recorder(dict[str, Any]):
    """A state, variables by name, that records which variables are read in the order of first use."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__(state)
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        self.read[name] = None
        return value


class MemoizedFunction:
    """A function of a state that stores its results, in a decision tree over the variables that it reads.

    Parameters
    ----------
    function
        Reads values by ``state[name]`` alone, and depends on nothing else: which variable it reads next follows from
        the values that it has read. Errors are not cached.
    """

    def __init__(self, function: Callable[[dict[str, Any]], Any]) -> None:
        self._function = function
        self._free = MAX_RESULTS
        self._root: list[Any] = []
        """A variable and the branches by its value, or None and the result; empty before the first evaluation."""

    def __call__(self, state: dict[str, Any]) -> Any:
        """Return the result of the function in a state, stored or new."""
        node = self._root
        while node:
            name, branches = node
            if name is None:
                return branches
            node = branches.get(state[name])
        return self._evaluate(state)

    def _evaluate(self, state: dict[str, Any]) -> Any:
        """Evaluate the function in a state, store the result and return it."""
        recorder = _Recorder(state)
        result = self._function(recorder)
        if self._free:
            self._free -= 1
            node = self._root
            for name in recorder.read:
                if not node:
                    node[:] = name, {}
                node = node[1].setdefault(state[name], [])
            node[:] = None, result
        return result


State = dict[str, Any]
Command = tuple[str, "Callable[[State], Any]", list[tuple[Any, list[tuple[str, Any]]]]]
"""Label, guard, and choices: a rate and the changed variables each; functions of a state."""


class _Command:
    """A command that evaluates its guard and its choices once for each combination of values.

    Choices are rates with the changed variables: pairs of the position in the file's order and the value.
    """

    def __init__(self, command: Command, positions: Mapping[str, int]) -> None:
        self.label, guard, self._choice_functions = command
        self._positions = positions
        self.guard, self.choices = MemoizedFunction(guard), MemoizedFunction(self._choices)

    def _choices(self, state: State) -> list[tuple[Fraction, list[tuple[int, Any]]]]:
        """Return the rate and the changes (position, value) of each choice in a state."""
        return [
            (Fraction(rate(state)), [(self._position(name), to(state)) for name, to in changes])
            for rate, changes in self._choice_functions
        ]

    def _position(self, name: str) -> int:
        """Return the position of a variable in the file's order; CertificateError for another name."""
        if name not in self._positions:
            raise CertificateError(f"{name!r} has no value here")
        return self._positions[name]


class ModelRows:
    """The exact transitions of a model's commands: a `Source` of rows; readers of languages derive from it.

    Parameters
    ----------
    path
        The file.
    constants
        Values of constants by name: int, bool, or a string or Fraction for a real number.

    Attributes
    ----------
    ranges, initial
        Smallest and largest value of each variable in the file's order, and the initial state.
    modules
        Commands; a command without a label moves alone.
    vectors
        Commands that move together: pairs of the number of a module and a label.
    """

    def __init__(self, path: str | Path, constants: Mapping[str, Any] | None) -> None:
        values = dict(constants or {})
        self.name = Path(path).name
        self._constants_text = "".join(f", {key} = {value}" for key, value in values.items())
        self.constants = {key: exact(value) for key, value in values.items()}
        self.ranges: dict[str, tuple[Any, Any]] = {}
        self.initial: State = {}
        self.modules: list[list[Command]] = []
        self.vectors: list[list[tuple[int, str]]] = []

    def check_constants(self, declared: Iterable[str]) -> None:
        """Raise CertificateError if there are values of constants that the file does not declare."""
        if unknown := set(self.constants) - set(declared):
            raise CertificateError(f"{self.name}: has no constants {', '.join(sorted(unknown))}")

    @cached_property
    def _commands(self) -> list[list[_Command]]:
        """The commands of each module, which store their results."""
        positions = {name: position for position, name in enumerate(self.ranges)}
        return [[_Command(command, positions) for command in module] for module in self.modules]

    def transitions(self, state: State) -> dict[tuple[Any, ...], Fraction]:
        """Return the exact rates out of a state by target state, a tuple of values in the file's order."""
        source = tuple([state[name] for name in self.ranges])
        rates: dict[tuple[Any, ...], Fraction] = {}
        enabled = [[c for c in module if c.guard(state) is True] for module in self._commands]
        groups: list[Any] = [(c,) for module in enabled for c in module if not c.label]
        for vector in self.vectors:
            groups += product(*([c for c in enabled[k] if c.label == label] for k, label in vector))
        for group in groups:
            for choice in product(*(command.choices(state) for command in group)):
                if any(factor.numerator < 0 for factor, _ in choice):  # a product would hide the signs of its factors
                    raise CertificateError(f"{self.name}: a rate is negative in {state}")
                (rate, changes), *others = choice
                target = list(source)
                for position, value in changes:
                    target[position] = value
                for factor, changes in others:
                    rate *= factor
                    for position, value in changes:
                        target[position] = value
                key = tuple(target)
                if rate.numerator and key != source:
                    rates[key] = rates[key] + rate if key in rates else rate
        return rates

    def compare(self, certificate: Contents) -> str:
        """Return a remark if the derived rates of all listed states equal a certificate's; CertificateError if not."""
        numbers_of = self.numbers_of_states(certificate.columns, certificate.values)
        remark = compare_rows(self.name, certificate, self.rows(numbers_of)) + self._constants_text
        initial_number = numbers_of.get(tuple(self.initial.values()))
        if certificate.schema == LONG_RUN:
            verb = "is" if initial_number == certificate.reference else "is not"
            remark += f"; state number {certificate.reference} {verb} the initial state"
        elif initial_number is None:
            remark += "; the initial state is not listed: this is a closed set of states that it may lead to"
        return remark

    def numbers_of_states(
        self, columns: Iterable[str], values: Iterable[tuple[int, ...]]
    ) -> dict[tuple[Any, ...], int]:
        """Return the number of each listed state by its values in the file's order of variables.

        Parameters
        ----------
        columns
            Names of the variables, in another order.
        values
            Of each state.
        """
        columns = list(columns)
        if set(columns) != set(self.ranges):
            raise CertificateError(f"{self.name}: the variables are {', '.join(self.ranges)}")
        order = [columns.index(name) for name in self.ranges]
        numbers_of: dict[tuple[Any, ...], int] = {}
        for number, state_values in enumerate(values):
            state = self.state([state_values[k] for k in order])
            if numbers_of.setdefault(tuple(state.values()), number) != number:
                raise CertificateError("a state stands there twice")
        return numbers_of

    def rows(self, numbers_of: Mapping[tuple[Any, ...], int]) -> Iterator[dict[int, Fraction]]:
        """Yield {number of the target: exact rate} for each listed state, without the diagonal.

        Raises
        ------
        CertificateError
            If a target is not listed or has a value outside of its range.
        """
        for values in numbers_of:
            state, row = dict(zip(self.ranges, values, strict=True)), {}
            for target, rate in self.transitions(state).items():
                number = numbers_of.get(target)
                if number is None:
                    self.state(target)
                    raise CertificateError(f"{self.name}: {state} leads to {target}, which is not listed")
                row[number] = rate
            yield row

    def state(self, values: Iterable[Any]) -> State:
        """Return the state with these values in the file's order; CertificateError outside of their ranges."""
        state = {}
        for (name, (low, high)), value in zip(self.ranges.items(), values, strict=True):
            if not low <= value <= high or int(value) != value:
                raise CertificateError(f"{self.name}: {name} = {value}: must be in {low}..{high}")
            state[name] = bool(value) if isinstance(low, bool) else int(value)
        return state
