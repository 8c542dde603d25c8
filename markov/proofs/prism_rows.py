"""Derive the transitions of a PRISM model for a list of states, in exact arithmetic, with the standard library alone.

It shares no code with `markov.files`: two readers that agree are evidence that both read the file as PRISM does.
No search is needed. The states are listed in the certificate; the commands are evaluated in each of them, and the
targets must be listed as well. Numbers are integers and fractions: 0.36 is 36/100.

The subset: ``ctmc``; constants; formulas; modules with variables ``[low..high]`` and ``bool``, and copies of modules with
other names; commands, with labels that modules share; ``label`` and ``rewards``, which are skipped. All else is
refused by name.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markov.proofs.checker import CertificateError, compared
from markov.proofs.prism_expressions import Tokens, always, exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markov.proofs.checker import Contents

__all__ = ["PrismRows"]

State = dict[str, Any]


class PrismRows:
    """The transitions that a PRISM file gives for listed states: a `Source` of rows.

    Parameters
    ----------
    path
        The file.
    constants
        Values of constants by name: int, bool, or a string or Fraction for a real number.
    """

    def __init__(self, path: str | Path, constants: Mapping[str, Any] | None = None) -> None:
        self.name = Path(path).name
        given = dict(constants or {})
        self._said = "".join(f", {key} = {value}" for key, value in given.items())
        self.given = {key: exact(value) for key, value in given.items()}
        self._names: dict[str, Any] = {}  # of constants and formulas
        self._words: dict[str, list[tuple[str, int]]] = {}  # of modules and formulas
        self.ranges: dict[str, tuple[Any, Any]] = {}
        self.initial: State = {}
        self.modules: list[list[tuple[str, Any, list[tuple[Any, list[tuple[str, Any]]]]]]] = []
        try:
            self._read(Tokens(Path(path).read_text(encoding="utf-8")))
        except (OSError, UnicodeError, ZeroDivisionError) as error:
            raise CertificateError(f"{self.name}: {error}") from None
        unknown = set(self.given) - set(self._names)
        if unknown:
            raise CertificateError(f"{self.name}: has no constants {', '.join(sorted(unknown))}")

    def transitions(self, state: State) -> dict[tuple[Any, ...], Fraction]:
        """Return the rates out of a state by target: tuples of the variables in the file's order."""
        found: dict[tuple[Any, ...], Fraction] = {}
        labels = {label for module in self.modules for label, _, _ in module if label}
        alone = (command for module in self.modules for command in module if not command[0])
        groups: list[Any] = [(command,) for command in alone if command[1](state) is True]
        for label in labels:
            parts = [[c for c in module if c[0] == label] for module in self.modules]
            enabled = [[c for c in part if c[1](state) is True] for part in parts if part]
            groups += product(*enabled)
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
        if set(certificate.columns) != set(self.ranges):
            raise CertificateError(f"{self.name}: the variables are {', '.join(self.ranges)}")
        order = [certificate.columns.index(name) for name in self.ranges]
        states = [self.state([values[k] for k in order]) for values in certificate.values]
        places = {tuple(state.values()): n for n, state in enumerate(states)}
        if len(places) != len(states):
            raise CertificateError("a state stands there twice")
        said = (
            compared(self.name, certificate, map(self._placed, states, repeat(places))) + self._said
        )
        if tuple(self.initial.values()) not in places:
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

    def state(self, values: Any) -> State:
        """Return a state from whole numbers or truth values in the file's order, within its ranges."""
        found = {}
        for (name, (low, high)), value in zip(self.ranges.items(), values, strict=True):
            if not low <= value <= high or int(value) != value:
                raise CertificateError(f"{self.name}: {name} = {value}: must be in {low}..{high}")
            found[name] = bool(value) if isinstance(low, bool) else int(value)
        return found

    # ------------------------------------------------------------------ the file

    def _read(self, tokens: Tokens) -> None:
        tokens.take("ctmc")
        while tokens.now:
            kind = tokens.word()
            if kind == "const":
                self._constant(tokens)
            elif kind == "formula":
                name = tokens.word()
                tokens.take("=")
                first = tokens.place
                self._names[name] = tokens.expression(self._value_of)
                self._words[f"formula {name}"] = tokens.words[first : tokens.place]
                tokens.take(";")
            elif kind == "label":
                tokens.skip(";")
            elif kind == "rewards":
                tokens.skip("endrewards")
            elif kind == "module":
                self._module(tokens)
            else:
                tokens.refuse(
                    f"{kind!r}: this reader knows const, formula, module, label and rewards"
                )

    def _constant(self, tokens: Tokens) -> None:
        kind = tokens.word() if tokens.now in ("int", "double", "bool") else "int"
        name, value = tokens.word(), None
        if tokens.now == "=":
            tokens.take("=")
            value = tokens.expression(self._value_of)
        tokens.take(";")
        if name in self.given:
            known = self.given[name]
        elif value is None:
            raise CertificateError(f"{self.name}: the constant {name} needs a value")
        else:
            known = value({})
        if kind == "int" and known != int(known):
            raise CertificateError(f"{self.name}: the constant {name} = {known}: must be whole")
        self._names[name] = always(known)

    def _module(self, tokens: Tokens) -> None:
        name = tokens.word()
        if tokens.now == "=":
            self._copy(tokens)
            return
        first = tokens.place
        self._body(tokens)
        self._words[f"module {name}"] = tokens.words[first : tokens.place]

    def _copy(self, tokens: Tokens) -> None:
        """Read ``= other [x = y, ...] endmodule``: the words of a module with others in place of some."""
        tokens.take("=")
        base, names = tokens.word(), dict[str, str]()
        if f"module {base}" not in self._words:
            tokens.refuse(f"{base!r}: must be a module that stands before")
        sign = "["
        while tokens.now == sign:
            tokens.take(sign)
            old = tokens.word()
            tokens.take("=")
            names[old], sign = tokens.word(), ","
        tokens.take("]")
        tokens.take("endmodule")
        words = self._words[f"module {base}"]
        self._refuse_renamed_formulas(tokens, words, names)
        self._body(tokens.of([(names.get(word, word), line) for word, line in words]))

    def _refuse_renamed_formulas(
        self, tokens: Tokens, words: list[tuple[str, int]], names: dict[str, str]
    ) -> None:
        """Refuse a copy that uses a formula of a name that it replaces."""
        left, seen = [word for word, _ in words], set[str]()
        while left:
            inner = self._words.get(f"formula {(name := left.pop())}", [])
            if name in seen:
                continue
            seen.add(name)
            for word, _ in inner:
                if word in names:
                    tokens.refuse(
                        f"formula {name!r} has {word!r}, which a copy of a module renames"
                    )
            left += [word for word, _ in inner]

    def _body(self, tokens: Tokens) -> None:
        """Read the variables and commands of a module."""
        commands: list[Any] = []
        while tokens.now != "endmodule":
            if tokens.now == "[":
                commands.append(self._command(tokens))
            else:
                self._variable(tokens)
        tokens.take("endmodule")
        self.modules.append(commands)

    def _variable(self, tokens: Tokens) -> None:
        name = tokens.word()
        tokens.take(":")
        if tokens.now == "bool":
            tokens.take("bool")
            low, high = False, True
        else:
            tokens.take("[")
            low = tokens.expression(self._value_of)({})
            tokens.take("..")
            high = tokens.expression(self._value_of)({})
            tokens.take("]")
        first = low
        if tokens.now == "init":
            tokens.take("init")
            first = tokens.expression(self._value_of)({})
        tokens.take(";")
        self.ranges[name], self.initial[name] = (low, high), first

    def _command(self, tokens: Tokens) -> Any:
        tokens.take("[")
        label = "" if tokens.now == "]" else tokens.word()
        tokens.take("]")
        guard = tokens.expression(self._value_of)
        tokens.take("->")
        choices = [self._choice(tokens)]
        while tokens.now == "+":
            tokens.take("+")
            choices.append(self._choice(tokens))
        tokens.take(";")
        return label, guard, choices

    def _choice(self, tokens: Tokens) -> Any:
        """Return rate and changes of ``rate : (x'=1) & (y'=2)``; the rate is 1 where none is given."""
        rate: Any = always(Fraction(1))
        if not tokens.is_update():
            rate = tokens.expression(self._value_of)
            tokens.take(":")
        if tokens.now == "true":
            tokens.take("true")
            return rate, []
        changes = [self._change(tokens)]
        while tokens.now == "&":
            tokens.take("&")
            changes.append(self._change(tokens))
        return rate, changes

    def _change(self, tokens: Tokens) -> tuple[str, Any]:
        tokens.take("(")
        name = tokens.word()
        tokens.take("'")
        tokens.take("=")
        value = tokens.expression(self._value_of)
        tokens.take(")")
        return name, value

    def _value_of(self, name: str, state: State) -> Any:
        """Return the value of a variable, constant or formula."""
        if name in state:
            return state[name]
        if name not in self._names:
            raise CertificateError(f"{self.name}: {name!r} has no value here")
        return self._names[name](state)
