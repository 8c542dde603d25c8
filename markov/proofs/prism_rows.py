"""Derive the transitions of a PRISM model for a list of states, in exact arithmetic, with the standard library alone.

The subset: ``ctmc``; constants; formulas; modules with variables ``[low..high]`` and ``bool``, and copies of modules
with other names; commands, with labels that modules share; ``label`` and ``rewards``, which are skipped. All else is
refused by name.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markov.proofs.checker import CertificateError
from markov.proofs.model_rows import Command, ModelRows, State
from markov.proofs.prism_expressions import Tokens, always

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PrismRows"]


class PrismRows(ModelRows):
    """Reader of a PRISM file that derives the exact transitions of listed states: a `Source` of rows.

    Parameters as for `ModelRows`.
    """

    def __init__(self, path: str | Path, constants: Mapping[str, Any] | None = None) -> None:
        super().__init__(path, constants)
        self._names: dict[str, Any] = {}  # of constants and formulas
        self._words: dict[str, list[tuple[str, int]]] = {}  # of modules and formulas
        try:
            self._read(Tokens(Path(path).read_text(encoding="utf-8")))
        except (OSError, UnicodeError, ZeroDivisionError) as error:
            raise CertificateError(f"{self.name}: {error}") from None
        self.check_constants(self._names)
        labels = {label for module in self.modules for label, _, _ in module if label}
        self.vectors = [
            [(k, label) for k, module in enumerate(self.modules) if label in {c[0] for c in module}] for label in labels
        ]

    def _read(self, tokens: Tokens) -> None:
        """Read all declarations of a PRISM file."""
        tokens.take("ctmc")
        while tokens.next_token:
            kind = tokens.word()
            if kind == "const":
                self._read_constant(tokens)
            elif kind == "formula":
                name = tokens.word()
                tokens.take("=")
                first = tokens.index
                self._names[name] = tokens.expression(self._value_of)
                self._words[f"formula {name}"] = tokens.words[first : tokens.index]
                tokens.take(";")
            elif kind == "label":
                tokens.skip(";")
            elif kind == "rewards":
                tokens.skip("endrewards")
            elif kind == "module":
                self._read_module(tokens)
            else:
                tokens.refuse(f"{kind!r}: this reader knows const, formula, module, label and rewards")

    def _read_constant(self, tokens: Tokens) -> None:
        """Read the declaration of a constant; the values of the user replace those of the file."""
        kind = tokens.word() if tokens.next_token in ("int", "double", "bool") else "int"
        name, value = tokens.word(), None
        if tokens.next_token == "=":
            tokens.take("=")
            value = tokens.expression(self._value_of)
        tokens.take(";")
        if name in self.constants:
            constant = self.constants[name]
        elif value is None:
            raise CertificateError(f"{self.name}: the constant {name} needs a value")
        else:
            constant = value({})
        if kind == "int" and constant != int(constant):
            raise CertificateError(f"{self.name}: the constant {name} = {constant}: must be whole")
        self._names[name] = always(constant)

    def _read_module(self, tokens: Tokens) -> None:
        """Read a module, or a copy of a module, after the word ``module``."""
        name = tokens.word()
        if tokens.next_token == "=":
            self._read_copy(tokens)
            return
        first = tokens.index
        self._read_body(tokens)
        self._words[f"module {name}"] = tokens.words[first : tokens.index]

    def _read_copy(self, tokens: Tokens) -> None:
        """Read ``= other [x = y, ...] endmodule``: the commands of another module with names replaced."""
        tokens.take("=")
        base, names = tokens.word(), dict[str, str]()
        if f"module {base}" not in self._words:
            tokens.refuse(f"{base!r}: must be a module that stands before")
        sign = "["
        while tokens.next_token == sign:
            tokens.take(sign)
            old = tokens.word()
            tokens.take("=")
            names[old], sign = tokens.word(), ","
        tokens.take("]")
        tokens.take("endmodule")
        words = self._words[f"module {base}"]
        self._refuse_renamed_formulas(tokens, words, names)
        self._read_body(tokens.parser_of([(names.get(word, word), line) for word, line in words]))

    def _refuse_renamed_formulas(self, tokens: Tokens, words: list[tuple[str, int]], names: dict[str, str]) -> None:
        """Raise CertificateError if a copy of a module uses a formula with a name that the copy replaces."""
        left, seen = [word for word, _ in words], set[str]()
        while left:
            inner = self._words.get(f"formula {(name := left.pop())}", [])
            if name in seen:
                continue
            seen.add(name)
            for word, _ in inner:
                if word in names:
                    tokens.refuse(f"formula {name!r} has {word!r}, which a copy of a module renames")
            left += [word for word, _ in inner]

    def _read_body(self, tokens: Tokens) -> None:
        """Read the variables and commands of a module up to ``endmodule``."""
        commands: list[Command] = []
        while tokens.next_token != "endmodule":
            if tokens.next_token == "[":
                commands.append(self._read_command(tokens))
            else:
                self._read_variable(tokens)
        tokens.take("endmodule")
        self.modules.append(commands)

    def _read_variable(self, tokens: Tokens) -> None:
        """Read the declaration of a variable: its range and its initial value."""
        name = tokens.word()
        tokens.take(":")
        if tokens.next_token == "bool":
            tokens.take("bool")
            low, high = False, True
        else:
            tokens.take("[")
            low = tokens.expression(self._value_of)({})
            tokens.take("..")
            high = tokens.expression(self._value_of)({})
            tokens.take("]")
        first = low
        if tokens.next_token == "init":
            tokens.take("init")
            first = tokens.expression(self._value_of)({})
        tokens.take(";")
        self.ranges[name], self.initial[name] = (low, high), first

    def _read_command(self, tokens: Tokens) -> Command:
        """Read a command ``[label] guard -> choices;`` and return its label, guard and choices."""
        tokens.take("[")
        label = "" if tokens.next_token == "]" else tokens.word()
        tokens.take("]")
        guard = tokens.expression(self._value_of)
        tokens.take("->")
        choices = [self._read_choice(tokens)]
        while tokens.next_token == "+":
            tokens.take("+")
            choices.append(self._read_choice(tokens))
        tokens.take(";")
        return label, guard, choices

    def _read_choice(self, tokens: Tokens) -> Any:
        """Read ``rate : (x'=1) & (y'=2)``; return the rate (1 if it is absent) and the pairs of variable and value."""
        rate: Any = always(Fraction(1))
        if not tokens.is_update():
            rate = tokens.expression(self._value_of)
            tokens.take(":")
        if tokens.next_token == "true":
            tokens.take("true")
            return rate, []
        changes = [self._read_change(tokens)]
        while tokens.next_token == "&":
            tokens.take("&")
            changes.append(self._read_change(tokens))
        return rate, changes

    def _read_change(self, tokens: Tokens) -> tuple[str, Any]:
        """Read ``(x'=value)``; return the name of the variable and the value, a function of the state."""
        tokens.take("(")
        name = tokens.word()
        tokens.take("'")
        tokens.take("=")
        value = tokens.expression(self._value_of)
        tokens.take(")")
        return name, value

    def _value_of(self, name: str, state: State) -> Any:
        """Return the value of a variable, constant or formula in a state, by its name."""
        if name in state:
            return state[name]
        if name not in self._names:
            raise CertificateError(f"{self.name}: {name!r} has no value here")
        return self._names[name](state)
