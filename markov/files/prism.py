"""Models in the PRISM language: continuous- and discrete-time Markov chains.

The language is that of M. Kwiatkowska, G. Norman, D. Parker, PRISM 4.0: verification of probabilistic
real-time systems, CAV 2011, and of the tool's manual. `GRAMMAR` is the documentation's table, with the constructs of
expressions (`markov.files.parsing`) and of properties (`markov.files.queries`). They follow the grammar of PRISM 4.8
("The PRISM Language" and "Property Specification"), including older words that it accepts.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopflow.checks import file_path
from markov.files.language import FUNCTIONS, Expression, FileError, Literal, Name
from markov.files.parsing import (
    EXPRESSION_GRAMMAR,
    Construct,
    Cursor,
    ExpressionParser,
    Token,
    check_label_name,
    read_text,
    tokenize,
)
from markov.files.program import (
    Assignment,
    Branch,
    Command,
    Composition,
    Constant,
    Module,
    Program,
    RewardItem,
    Variable,
)
from markov.files.queries import PROPERTY_GRAMMAR

__all__ = ["GRAMMAR", "parse_prism"]

# --------------------------------------------------------------------------------------------- grammar


GRAMMAR = (
    Construct(
        "model",
        "Constants; `int` where no type is given",
        "const int k = 2; const double r = k; const bool b = true; const m = 1;",
    ),
    Construct("model", "Constants in the older words `rate` and `prob`", "rate r = 2; prob p = 0.5;"),
    Construct("model", "Formulas", "formula both = x + y;"),
    Construct("model", "Labels", 'label "one" = x = 1;'),
    Construct("model", "Labels with the name of a built-in one", 'label "init" = x = 1;', "is built in"),
    Construct("model", "Global variables", "global g : [0..2] init 1;"),
    Construct(
        "model",
        "Variables with a range, truth values, whole numbers without bounds",
        "module C u : [0..1] init 1; v : bool; w : int init 3; endmodule",
    ),
    Construct("model", "Clocks", "module C z : clock; endmodule", "clocks of timed automata are not read"),
    Construct("model", "Arrays", "module C z : array [0..1] of int; endmodule", "arrays are not read"),
    Construct(
        "model",
        "Invariants",
        "module C z : [0..1]; invariant z < 2 endinvariant endmodule",
        "invariants of timed automata are not read",
    ),
    Construct(
        "model",
        "Commands, with one update, several, none (`true`)",
        "module C z : [0..1]; [] z = 0 -> 2 : (z' = 1) + 1 : true; [a] true -> (z' = 0); endmodule",
    ),
    Construct(
        "model",
        "Markovian commands of Storm, which are like others",
        "module C z : [0..1]; <> z = 0 -> 2 : (z' = 1); <a> true -> (z' = 0); endmodule",
    ),
    Construct(
        "model",
        "Intervals of rates or probabilities",
        "module C z : [0..1]; [] true -> [0.1, 0.2] : (z' = 1); endmodule",
        "intervals of rates or probabilities are not read",
    ),
    Construct("model", "Copies of modules with other names", "module C = A [x = z, a = c] endmodule"),
    Construct(
        "model",
        "Copies of modules with other functions",
        "module C = A [x = z, min = max] endmodule",
        "functions are not renamed",
    ),
    Construct(
        "model",
        "Rewards of states and of transitions, with or without a name",
        'rewards "r" x = 1 : 2; [a] true : 3; [] true : 1; endrewards rewards true : 1; endrewards',
    ),
    Construct("model", "Initial states by a condition", "init x = 0 endinit"),
    Construct(
        "model",
        "Initial states by a condition, beside initial values",
        "module C z : [0..1] init 1; endmodule init z = 1 endinit",
        "has an initial value beside init ... endinit",
    ),
    Construct("model", "Systems: `||`", "system A || B endsystem"),
    Construct("model", "Systems: `|||`", "system A ||| B endsystem"),
    Construct("model", "Systems: on given actions", "system A |[a]| B endsystem"),
    Construct(
        "model",
        "Systems: actions that no command has",
        "system A |[q]| B endsystem",
        "no command has the action 'q'",
    ),
    Construct("model", "Systems: hidden and renamed actions, parentheses", "system (A / {a}) || B {a <- c} endsystem"),
    Construct(
        "model",
        "Named systems; the one without a name is the model, otherwise the first",
        'system "S" || B endsystem system "S" A endsystem',
    ),
    Construct(
        "model",
        "Systems: `||` and `|||` in a row, `|[a]|` twice, without parentheses",
        "system A || B ||| C endsystem",
        "write parentheses",
    ),
    Construct(
        "model",
        "Observations",
        "observables x endobservables",
        "observations of partially observable models are not read",
    ),
    Construct(
        "model",
        "Observations with names",
        'observable "o" = x;',
        "observations of partially observable models are not read",
    ),
    Construct("model", "Players of games", "player p A endplayer", "players of games are not read"),
    Construct(
        "model",
        "Other types of models than `ctmc`, `stochastic`, `dtmc` and `probabilistic`",
        "mdp",
        "models of type mdp are not read",
    ),
    *EXPRESSION_GRAMMAR,
    *PROPERTY_GRAMMAR,
)


# ---------------------------------------------------------------------------------------------- parser


KINDS = {"ctmc": "ctmc", "stochastic": "ctmc", "dtmc": "dtmc", "probabilistic": "dtmc"}
OTHER_KINDS = (
    "mdp",
    "nondeterministic",
    "pta",
    "pomdp",
    "popta",
    "imdp",
    "ipomdp",
    "idtmc",
    "lts",
    "smg",
    "tsg",
    "csg",
    "stpg",
    "ma",
    "ctmdp",
    "ictmc",
    "gsmp",
    "fdctmc",
    "actmc",
)
"""Types of models of PRISM, of its extensions for games, intervals and general delays, and of Storm."""
REFUSED = {
    "clock": "clocks of timed automata",
    "invariant": "invariants of timed automata",
    "observables": "observations of partially observable models",
    "observable": "observations of partially observable models",
    "player": "players of games",
    "array": "arrays",
}
"""Refused words of the language, with the constructs that begin with them."""
MAX_MODULES = 10_000
MAX_PARENTHESES = 60


def parse_prism(path: str | Path) -> Program:
    """Return the program in a file in the PRISM language.

    Raises
    ------
    FileError
        With the line and the reason, for other files than Markov chains in the PRISM language.
    """
    path = file_path("path", path)
    return _Parser(read_text(path), path.name).program()


class _Parser(ExpressionParser):
    """Recursive-descent parser of PRISM models into a `Program`, with one method per construct."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__(Cursor(tokenize(text, file), file))
        self.contents = Program(file, "")
        self.kind: str | None = None
        self.start: Expression | None = None
        self.renamed_actions: set[str] = set()  # in systems
        self.system_actions: list[Token] = []  # that systems synchronise, hide or rename
        self.renamed_names: list[Token] = []  # in copies of modules
        self.systems: dict[str, tuple[Token, Composition]] = {}  # by name; "" without a name
        self.module_variables: dict[str, list[Variable]] = {}  # by module, for copies of modules
        self.declarations = {
            "const": self._read_constant,
            "rate": self._read_old_constant,
            "prob": self._read_old_constant,
            "formula": self._read_formula,
            "label": self._read_label,
            "global": self._read_variable,
            "init": self._read_init,
            "rewards": self._read_rewards,
            "module": self._read_module,
            "system": self._read_system,
        }

    def program(self) -> Program:
        """Read the file to its end and return its program."""
        cursor = self.cursor
        while cursor.token.kind != "end":
            self._check_refused()
            token = cursor.take()
            if token.text in KINDS or token.text in OTHER_KINDS:
                self._set_kind(token)
            elif token.kind == "name" and token.text in self.declarations:
                self.declarations[token.text]()
            else:
                hint = (
                    ", and a type of model must be ctmc or dtmc" if self.kind is None and token.kind == "name" else ""
                )
                raise FileError((cursor.file, token.line), f"{token.text!r} begins no declaration{hint}")
        if self.kind is None:
            raise FileError((cursor.file, 1), "no type of model: ctmc or dtmc is expected")
        if not self.contents.modules:
            raise cursor.error("no module")
        actions = set().union(*(module.alphabet for module in self.contents.modules.values()), self.renamed_actions)
        # names that would have no effect, or two effects: PRISM refuses them too
        for token in self.system_actions:
            if token.text not in actions:
                raise FileError((cursor.file, token.line), f"system: no command has the action {token.text!r}")
        for token in self.renamed_names:
            if token.text in self.contents.formulas:
                message = f"{token.text!r}: a formula is not renamed, rename the names in it"
                raise FileError((cursor.file, token.line), message)
            if token.text in FUNCTIONS:  # PRISM renames them, as in [x=y, min=max]
                message = f"{token.text!r}: functions are not renamed, write a second module"
                raise FileError((cursor.file, token.line), message)
            if token.text not in actions | self.contents.variables.keys() | self.contents.constants.keys():
                location = f"{cursor.file}, line {token.line}"
                warnings.warn(f"{location}: {token.text!r} is renamed, but the file has no such name", stacklevel=4)
        if self.start is not None:
            for variable in self.contents.variables.values():
                if variable.start is not None:
                    message = f"{variable.name!r} has an initial value beside init ... endinit: must be one of them"
                    raise FileError((cursor.file, variable.line), message)
        # rewards of actions that no command and no renaming has
        for items in self.contents.rewards.values():
            for item in items:
                if item.action and item.action not in actions:
                    location = f"{self.cursor.file}, line {item.line}"
                    actions_named = (
                        f"the actions are {', '.join(sorted(actions))}" if actions else "there are no actions"
                    )
                    message = (
                        f"{location}: rewards of action [{item.action}], which no command has, are 0; {actions_named}"
                    )
                    warnings.warn(message, stacklevel=4)
        every = tuple(Composition("module", (name,)) for name in self.contents.modules)
        system = self._main_system() if self.systems else Composition("shared", every)
        return replace(self.contents, kind=self.kind, start=self.start, composition=system)

    def _check_refused(self) -> None:
        """Raise FileError if the next token begins a construct of PRISM that is not read."""
        token = self.cursor.token
        if token.kind == "name" and token.text in REFUSED:
            raise self.cursor.error(f"{token.text!r}: {REFUSED[token.text]} are not read")

    def _set_kind(self, token: Token) -> None:
        """Set the kind of model from its keyword; FileError for others than ctmc and dtmc, and for a second one."""
        location = self.cursor.file, token.line
        if token.text in OTHER_KINDS:
            message = f"models of type {token.text} are not read: must be ctmc or dtmc"
            raise FileError(location, message)
        if self.kind is not None:
            raise FileError(location, "a second type of model")
        self.kind = KINDS[token.text]

    def read_primary(self) -> Any:
        """Consume a primary expression and return its tree; FileError for arguments of an unknown function."""
        result = super().read_primary()
        if isinstance(result, Name):
            self.check_no_call()
        return result

    def _new_name(self) -> Token:
        """Consume a name and return its token; FileError if the name is declared already."""
        name = self.cursor.expect_kind("name", "a name")
        self.contents.check_new(name.text, name.line)
        return name

    # ------------------------------------------------------------------ declarations by keyword

    def _read_constant(self) -> None:
        """Read ``const type name = value;`` into the program."""
        cursor = self.cursor
        kind = token.text if (token := cursor.accept("int", "double", "bool")) else "int"
        self._read_constant_of(kind)

    def _read_old_constant(self) -> None:
        """Read ``rate name = value;`` or ``prob name = value;``, older words for ``const double``."""
        self._read_constant_of("double")

    def _read_constant_of(self, kind: str) -> None:
        """Read ``name = value;`` of a constant of this type into the program."""
        cursor = self.cursor
        name = self._new_name()
        value = self.expression() if cursor.accept("=") else None
        cursor.expect(";")
        self.contents.constants[name.text] = Constant(name.text, kind, value, name.line)

    def _read_formula(self) -> None:
        """Read ``formula name = value;`` into the program."""
        name = self._new_name()
        self.cursor.expect("=")
        self.contents.formulas[name.text] = self.expression()
        self.cursor.expect(";")

    def _read_label(self) -> None:
        """Read ``label "name" = condition;`` into the program."""
        name = self.cursor.expect_kind("text", "a name in quotes")
        self.cursor.expect("=")
        check_label_name(name, self.cursor.file)
        if name.text[1:-1] in self.contents.labels:
            raise FileError((self.cursor.file, name.line), f"label {name.text} is defined twice")
        self.contents.labels[name.text[1:-1]] = self.expression()
        self.cursor.expect(";")

    def _read_init(self) -> None:
        """Read ``init condition endinit`` as the condition on initial states."""
        if self.start is not None:
            raise self.cursor.error("a second set of initial states")
        self.start = self.expression()
        self.cursor.expect("endinit")

    def _read_rewards(self) -> None:
        """Read ``rewards "name" ... endrewards`` into the program."""
        cursor, items = self.cursor, []
        name = cursor.take().text[1:-1] if cursor.token.kind == "text" else ""
        while not cursor.accept("endrewards"):
            line, action = cursor.token.line, None
            if cursor.accept("["):
                action = "" if cursor.at("]") else cursor.expect_kind("name", "an action").text
                cursor.expect("]")
            guard = self.expression()
            cursor.expect(":")
            items.append(RewardItem(action, guard, self.expression(), line))
            cursor.expect(";")
        if name in self.contents.rewards:
            if name:
                raise cursor.error(f'rewards "{name}" are defined twice')
            name = f"#{len(self.contents.rewards) + 1}"
        self.contents.rewards[name] = tuple(items)

    def _read_module(self) -> None:
        """Read ``module name ... endmodule`` into the program."""
        cursor, modules = self.cursor, self.contents.modules
        name = cursor.expect_kind("name", "a name of a module")
        if name.text in modules:
            raise FileError((cursor.file, name.line), f"module {name.text} is defined twice")
        if len(modules) >= MAX_MODULES:
            raise cursor.error(f"more than {MAX_MODULES} modules")
        if cursor.accept("="):
            modules[name.text] = self._read_module_copy(name)
            return
        commands, before = [], len(self.contents.variables)
        while not cursor.accept("endmodule"):
            if cursor.peek().text != ":":  # a word before : is the name of a variable
                self._check_refused()
            if cursor.at("[", "<"):
                commands.append(self._read_command())
            else:
                self._read_variable()
        self.module_variables[name.text] = list(self.contents.variables.values())[before:]
        modules[name.text] = Module(name.text, tuple(commands), name.line)

    def _read_variable(self) -> None:
        """Read ``name : range init value;`` into the program."""
        cursor, low, high = self.cursor, None, None
        name = self._new_name()
        cursor.expect(":")
        if cursor.accept("["):
            kind, low = "int", self.expression()
            cursor.expect("..")
            high = self.expression()
            cursor.expect("]")
        else:
            self._check_refused()
            kind = cursor.expect("bool", "int").text
        start = self.expression() if cursor.accept("init") else None
        cursor.expect(";")
        self.contents.variables[name.text] = Variable(name.text, kind, low, high, start, name.line)

    def _read_module_copy(self, name: Token) -> Module:
        """Return the module of ``module name = other [ old=new, ... ] endmodule``."""
        cursor = self.cursor
        renames: dict[str, str] = {}
        base = cursor.expect_kind("name", "a module").text
        if base not in self.contents.modules:
            raise cursor.error(f"module {base!r} is not defined before")
        cursor.expect("[")
        while not cursor.accept("]"):
            old = cursor.expect_kind("name", "a name")
            if old.text in renames:
                raise FileError((cursor.file, old.line), f"{old.text!r} is renamed twice")
            self.renamed_names.append(old)
            cursor.expect("=")
            renames[old.text] = cursor.expect_kind("name", "a name").text
            cursor.accept(",")
        cursor.expect("endmodule")
        original = self.contents.modules[base]
        renamed = {old: renames.get(new, new) for old, new in original.renamed.items()}
        renamed = {**renames, **renamed}
        variables = []
        for variable in self.module_variables[base]:
            new = renames.get(variable.name, variable.name)
            self.contents.check_new(new, name.line)
            copy = replace(variable, name=new, line=name.line, renamed=renamed)
            variables.append(copy)
            self.contents.variables[new] = copy
        self.module_variables[name.text] = variables
        return Module(name.text, original.commands, name.line, renamed)

    def _read_command(self) -> Command:
        """Read ``[action] guard -> updates;``, or with ``<action>`` as in Storm, and return the command."""
        cursor = self.cursor
        bracket = cursor.expect("[", "<")
        line, end = bracket.line, "]" if bracket.text == "[" else ">"
        action = "" if cursor.at(end) else cursor.expect_kind("name", "an action").text
        cursor.expect(end)
        guard = self.expression()
        cursor.expect("->")
        branch_lines = [cursor.token.line]
        has_rate = [not self._update_follows()]
        branches = [self._read_branch()]
        while cursor.accept("+"):
            branch_lines.append(cursor.token.line)
            has_rate.append(not self._update_follows())
            branches.append(self._read_branch())
        cursor.expect(";")
        if len(branches) > 1 and any(has_rate) and not all(has_rate):
            location = f"{cursor.file}, line {branch_lines[has_rate.index(False)]}"
            message = "an update without a rate in a sum of updates with rates: its rate is taken as 1"
            warnings.warn(f"{location}: {message}; write 1: in front of it", stacklevel=6)
        return Command(action, guard, tuple(branches), line)

    def _read_branch(self) -> Branch:
        """Read ``rate: (x'=...) & (y'=...)`` and return the branch; without a rate it is 1."""
        cursor = self.cursor
        rate: Expression = Literal(1, cursor.token.line)
        if cursor.at("["):
            raise cursor.error("'[': intervals of rates or probabilities are not read")
        if not self._update_follows():
            rate = self.expression()
            cursor.expect(":")
        if cursor.accept("true"):
            return Branch(rate, ())
        changes = [self._read_assignment()]
        while cursor.accept("&"):
            changes.append(self._read_assignment())
        return Branch(rate, tuple(changes))

    def _update_follows(self) -> bool:
        """Return whether an update without a rate follows."""
        cursor = self.cursor
        if cursor.at("true"):
            return cursor.peek().text in ("+", ";")
        ahead = 1 if cursor.at("(") else 0
        return cursor.peek(ahead).kind == "name" and cursor.peek(ahead + 1).text == "'"

    def _read_assignment(self) -> Assignment:
        """Read ``(name' = value)`` and return the assignment."""
        cursor = self.cursor
        parenthesis = cursor.accept("(")
        name = cursor.expect_kind("name", "a variable")
        cursor.expect("'")
        cursor.expect("=")
        value = self.expression()
        if parenthesis:
            cursor.expect(")")
        return Assignment(name.text, value, name.line)

    # ------------------------------------------------------------------ system ... endsystem

    def _read_system(self) -> None:
        """Read ``system ... endsystem``, which may have a name in quotes."""
        cursor = self.cursor
        begins = cursor.token
        starts_part = cursor.peek().text in ("|", "/", "{", "endsystem")
        name = cursor.take().text[1:-1] if begins.kind == "text" and not starts_part else ""
        if name in self.systems:
            raise FileError((cursor.file, begins.line), f"a second system{f' {name!r}' if name else ' without a name'}")
        self.systems[name] = begins, self._read_parallel()
        cursor.expect("endsystem")

    def _main_system(self) -> Composition:
        """Return the unnamed system, or the first, with named systems in place of their names."""
        first = "" if "" in self.systems else next(iter(self.systems))
        return self._expand_systems(self.systems[first][1], (first,))

    def _expand_systems(self, part: Composition, outer: tuple[str, ...]) -> Composition:
        """Return a composition with named systems in place of their names; FileError for cycles."""
        if part.how == "module":
            return part
        if part.how != "system":
            return replace(part, of=tuple(self._expand_systems(inner, outer) for inner in part.of))
        (token,) = part.of
        name, location = token.text[1:-1], (self.cursor.file, token.line)
        if name not in self.systems:
            raise FileError(location, f"named system {token.text} is not defined")
        if name in outer:
            raise FileError(location, f"{' -> '.join([*outer, name])}: named systems in a circle")
        if len(outer) > MAX_PARENTHESES:
            raise FileError(location, f"named systems nested more than {MAX_PARENTHESES} deep")
        return self._expand_systems(self.systems[name][1], (*outer, name))

    def _read_parallel(self) -> Composition:
        """Read parts joined by || or by ||| and return their composition; a mixture needs parentheses."""
        cursor, result, first = self.cursor, self._read_synchronised(), ""
        while cursor.at("|") and cursor.peek().text == "|":
            sign = "|||" if cursor.peek(2).text == "|" else "||"
            if first and sign != first:
                raise cursor.error(
                    f"{sign!r} after {first!r}: write parentheses, since their order is not the same in all versions"
                )
            first = sign
            for _ in sign:
                cursor.expect("|")
            result = Composition("interleaved" if sign == "|||" else "shared", (result, self._read_synchronised()))
        return result

    def _read_synchronised(self) -> Composition:
        """Read one part, or two joined by |[a, b]|, which binds more tightly than || and |||."""
        cursor, result = self.cursor, self._read_part()
        if not (cursor.at("|") and cursor.peek().text == "["):
            return result
        cursor.expect("|")
        cursor.expect("[")
        actions = self._read_actions("]")
        cursor.expect("|")
        result = Composition("only", (result, self._read_part()), actions)
        if cursor.at("|") and cursor.peek().text == "[":
            raise cursor.error("'|[': a second one needs parentheses")
        return result

    def _read_part(self) -> Composition:
        """Read a module, a named system or a composition in parentheses, with hidden and renamed actions."""
        cursor = self.cursor
        self._depth += 1
        if self._depth > MAX_PARENTHESES:
            raise cursor.error(f"parts nested more than {MAX_PARENTHESES} deep")
        if cursor.accept("("):
            part = self._read_parallel()
            cursor.expect(")")
        elif cursor.token.kind == "text":
            part = Composition("system", (cursor.take(),))
        else:
            name = cursor.expect_kind("name", "a module or a named system").text
            part = Composition("module", (name,))
        while cursor.at("/", "{"):
            if cursor.take().text == "/":
                cursor.expect("{")
                part = Composition("hidden", (part,), self._read_actions("}"))
            else:
                renaming = self._read_renaming()
                self.renamed_actions.update(renaming.values())
                part = Composition("renamed", (part,), renaming)
        self._depth -= 1
        return part

    def _read_actions(self, end: str) -> tuple[str, ...]:
        """Read names of actions and the closing sign ``end``; return the names."""
        actions: list[str] = []
        while not self.cursor.accept(end):
            action = self.cursor.expect_kind("name", "an action")
            if action.text in actions:
                raise FileError((self.cursor.file, action.line), f"action {action.text!r} is named twice")
            self.system_actions.append(action)
            actions.append(action.text)
            self.cursor.accept(",")
        return tuple(actions)

    def _read_renaming(self) -> dict[str, str]:
        """Read ``old <- new, ...`` and the closing brace; return the mapping from old to new names."""
        cursor = self.cursor
        renaming: dict[str, str] = {}
        while not cursor.accept("}"):
            old = cursor.expect_kind("name", "an action")
            if old.text in renaming:
                raise FileError((cursor.file, old.line), f"action {old.text!r} is renamed twice")
            self.system_actions.append(old)
            cursor.expect("<")
            cursor.expect("-")
            renaming[old.text] = cursor.expect_kind("name", "an action").text
            cursor.accept(",")
        return renaming
