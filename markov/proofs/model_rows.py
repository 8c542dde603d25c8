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
from markov.proofs.checker import LONG_RUN, CertificateError, compared
from markov.proofs.prism_expressions import exact
from markov.proofs.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from markov.proofs.checker import Contents

__all__ = ["Command", "ModelRows", "State"]

State = dict[str, Any]
Command = tuple[str, "Callable[[State], Any]", list[tuple[Any, list[tuple[str, Any]]]]]
"""Label, guard, and choices: a rate and the changed variables each; functions of a state."""


class _Command:
    """A command whose guard and choices are evaluated once for each combination of values.

    Choices are rates with the changed variables: pairs of the place in the file's order and the value.
    """

    def __init__(self, command: Command, places: Mapping[str, int]) -> None:
        self.label, guard, self._of = command
        self._places = places
        self.guard, self.choices = Remembered(guard), Remembered(self._choices)

    def _choices(self, state: State) -> list[tuple[Fraction, list[tuple[int, Any]]]]:
        return [
            (Fraction(rate(state)), [(self._place(name), to(state)) for name, to in changes])
            for rate, changes in self._of
        ]

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise CertificateError(f"{name!r} has no value here")
        return self._places[name]


class ModelRows:
    """The transitions of commands: a `Source` of rows. Readers of languages derive from it.

    Parameters
    ----------
    path
        The file.
    constants
        Values of constants by name: int, bool, or a string or Fraction for a real number.

    Attributes
    ----------
    ranges, initial
        Least and largest value of each variable in the file's order, and the initial state.
    modules
        Commands; those without a label go by themselves.
    vectors
        Which go together: pairs of the number of a module and a label.
    """

    def __init__(self, path: str | Path, constants: Mapping[str, Any] | None) -> None:
        given = dict(constants or {})
        self.name = Path(path).name
        self._said = "".join(f", {key} = {value}" for key, value in given.items())
        self.given = {key: exact(value) for key, value in given.items()}
        self.ranges: dict[str, tuple[Any, Any]] = {}
        self.initial: State = {}
        self.modules: list[list[Command]] = []
        self.vectors: list[list[tuple[int, str]]] = []

    def check_given(self, known: Iterable[str]) -> None:
        """Raise CertificateError where values were given for constants that the file does not have."""
        if unknown := set(self.given) - set(known):
            raise CertificateError(f"{self.name}: has no constants {', '.join(sorted(unknown))}")

    @cached_property
    def _commands(self) -> list[list[_Command]]:
        """The commands of each module, whose results are kept."""
        places = {name: place for place, name in enumerate(self.ranges)}
        return [[_Command(command, places) for command in module] for module in self.modules]

    def transitions(self, state: State) -> dict[tuple[Any, ...], Fraction]:
        """Return the rates out of a state by target: tuples of the variables in the file's order."""
        here = tuple([state[name] for name in self.ranges])
        found: dict[tuple[Any, ...], Fraction] = {}
        enabled = [[c for c in module if c.guard(state) is True] for module in self._commands]
        groups: list[Any] = [(c,) for module in enabled for c in module if not c.label]
        for vector in self.vectors:
            groups += product(*([c for c in enabled[k] if c.label == label] for k, label in vector))
        for group in groups:
            for choice in product(*(command.choices(state) for command in group)):
                if any(factor.numerator < 0 for factor, _ in choice):  # a product would hide the signs of its factors
                    raise CertificateError(f"{self.name}: a rate is negative in {state}")
                (rate, changes), *others = choice
                target = list(here)
                for place, value in changes:
                    target[place] = value
                for factor, changes in others:
                    rate *= factor
                    for place, value in changes:
                        target[place] = value
                key = tuple(target)
                if rate.numerator and key != here:
                    found[key] = found[key] + rate if key in found else rate
        return found

    def compare(self, certificate: Contents) -> str:
        """Derive the rows of all listed states; CertificateError where one of them differs."""
        places = self.places(certificate.columns, certificate.values)
        said = compared(self.name, certificate, self.rows(places)) + self._said
        first = places.get(tuple(self.initial.values()))
        if certificate.schema == LONG_RUN:
            which = "is" if first == certificate.reference else "is not"
            said += f"; state number {certificate.reference} {which} the initial state"
        elif first is None:
            said += "; the initial state is not listed: this is a closed set of states that it may lead to"
        return said

    def places(self, columns: Iterable[str], values: Iterable[tuple[int, ...]]) -> dict[tuple[Any, ...], int]:
        """Return the numbers of states by their variables in the file's order.

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
        found: dict[tuple[Any, ...], int] = {}
        for number, each in enumerate(values):
            state = self.state([each[k] for k in order])
            if found.setdefault(tuple(state.values()), number) != number:
                raise CertificateError("a state stands there twice")
        return found

    def rows(self, places: Mapping[tuple[Any, ...], int]) -> Iterator[dict[int, Fraction]]:
        """Yield the rates out of each state by the number of the target, for the numbers of the states."""
        for values in places:
            state, row = dict(zip(self.ranges, values, strict=True)), {}
            for target, rate in self.transitions(state).items():
                number = places.get(target)
                if number is None:
                    self.state(target)
                    raise CertificateError(f"{self.name}: {state} leads to {target}, which is not listed")
                row[number] = rate
            yield row

    def state(self, values: Iterable[Any]) -> State:
        """Return a state from whole numbers or truth values in the file's order, within its ranges."""
        found = {}
        for (name, (low, high)), value in zip(self.ranges.items(), values, strict=True):
            if not low <= value <= high or int(value) != value:
                raise CertificateError(f"{self.name}: {name} = {value}: must be in {low}..{high}")
            found[name] = bool(value) if isinstance(low, bool) else int(value)
        return found
