"""The transitions that commands give for listed states, in exact arithmetic, with the standard library alone.

It shares no code with `markov.files`: two readers that agree are evidence that both read a file as its language means.
No search is needed. The states are listed in the certificate; the commands are evaluated in each of them, and the
targets must be listed as well. Numbers are integers and fractions: 0.36 is 36/100.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markov.proofs.checker import LONG_RUN, CertificateError, compared
from markov.proofs.prism_expressions import exact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from markov.proofs.checker import Contents

__all__ = ["Command", "ModelRows", "State"]

State = dict[str, Any]
Command = tuple[str, "Callable[[State], Any]", list[tuple[Any, list[tuple[str, Any]]]]]
"""Label, guard, and choices: a rate and the changed variables each; functions of a state."""


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

    def transitions(self, state: State) -> dict[tuple[Any, ...], Fraction]:
        """Return the rates out of a state by target: tuples of the variables in the file's order."""
        found: dict[tuple[Any, ...], Fraction] = {}
        enabled = [[c for c in module if c[1](state) is True] for module in self.modules]
        groups: list[Any] = [(c,) for module in enabled for c in module if not c[0]]
        for vector in self.vectors:
            groups += product(*([c for c in enabled[k] if c[0] == label] for k, label in vector))
        for group in groups:
            for choice in product(*(command[2] for command in group)):
                rate, target = Fraction(1), dict(state)
                for value, changes in choice:
                    rate *= value(state)
                    target |= {name: to(state) for name, to in changes}
                if rate < 0:
                    raise CertificateError(f"{self.name}: a rate is negative in {state}")
                if rate and target != state:
                    key = tuple(target[name] for name in self.ranges)
                    found[key] = found.get(key, Fraction(0)) + rate
        return found

    def compare(self, certificate: Contents) -> str:
        """Derive the rows of all listed states; CertificateError where one of them differs."""
        states = self.states(certificate.columns, certificate.values)
        places = {tuple(state.values()): n for n, state in enumerate(states)}
        if len(places) != len(states):
            raise CertificateError("a state stands there twice")
        said = (
            compared(self.name, certificate, map(self._placed, states, repeat(places))) + self._said
        )
        first = places.get(tuple(self.initial.values()))
        if certificate.schema == LONG_RUN:
            which = "is" if first == certificate.reference else "is not"
            said += f"; state number {certificate.reference} {which} the initial state"
        elif first is None:
            said += "; the initial state is not listed: this is a closed set of states that it may lead to"
        return said

    def _placed(self, state: State, places: dict[tuple[Any, ...], int]) -> dict[int, Fraction]:
        """Return the rates out of a state by the number of the target."""
        derived = {}
        for target, rate in self.transitions(state).items():
            self.state(target)
            if target not in places:
                raise CertificateError(
                    f"{self.name}: {state} leads to {target}, which is not listed"
                )
            derived[places[target]] = rate
        return derived

    def states(self, columns: Iterable[str], values: Iterable[tuple[int, ...]]) -> list[State]:
        """Return states from the values of named columns, shape (columns,) each."""
        columns = list(columns)
        if set(columns) != set(self.ranges):
            raise CertificateError(f"{self.name}: the variables are {', '.join(self.ranges)}")
        order = [columns.index(name) for name in self.ranges]
        return [self.state([each[k] for k in order]) for each in values]

    def state(self, values: Iterable[Any]) -> State:
        """Return a state from whole numbers or truth values in the file's order, within its ranges."""
        found = {}
        for (name, (low, high)), value in zip(self.ranges.items(), values, strict=True):
            if not low <= value <= high or int(value) != value:
                raise CertificateError(f"{self.name}: {name} = {value}: must be in {low}..{high}")
            found[name] = bool(value) if isinstance(low, bool) else int(value)
        return found
