"""Properties as trees, and their parser: P, S and R of CSL, with bounds on probabilities and on time, and filters.

C. Baier, B. Haverkort, H. Hermanns, J.-P. Katoen, Model-checking algorithms for continuous-time Markov
chains, IEEE Transactions on Software Engineering 29(6), 2003; rewards as in M. Kwiatkowska, G. Norman,
D. Parker, Stochastic model checking, SFM 2007. The language of properties is PRISM's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path as File
from typing import Any, NamedTuple

from markov.files.language import Expression, FileError, Label, Literal
from markov.files.parsing import (
    RANKS,
    Construct,
    Cursor,
    ExpressionParser,
    Token,
    check_label_name,
    read_text,
    tokenize,
)
from markov.files.program import Constant

__all__ = [
    "PROPERTY_GRAMMAR",
    "Accumulated",
    "Filter",
    "InitialStates",
    "Interval",
    "Operator",
    "Path",
    "Properties",
    "has_times",
    "parse_properties",
    "parse_property",
]

# ----------------------------------------------------------------------------------------------- trees


@dataclass(frozen=True)
class Interval:
    """Bounds of a path formula on time: low to high; None means from zero, or up to infinity."""

    low: Expression | None = None
    high: Expression | None = None

    @property
    def is_unbounded(self) -> bool:
        """Whether the interval has neither a lower nor an upper bound."""
        return self.low is None and self.high is None


@dataclass(frozen=True)
class Path:
    """Tree of a path formula in a probability or reward operator.

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
    """A reward given as expressions (JANI): earned per second in states, by each transition, and on leaving states.

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
    """Tree of an operator ``P``, ``S`` or ``R``, with a threshold, or with =? for its number.

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
class InitialStates:
    """States of a filter: the initial states of the model, whatever its labels are called."""


@dataclass(frozen=True)
class Filter:
    """Tree of a filter over states: ``filter(how, of, states)``; states None are all of them."""

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
        """Return the text of an unnamed property from its number ``#1``; any other name unchanged."""
        return self.texts.get(name, name)


def has_times(query: Any, by_name: Mapping[str, Any]) -> bool:
    """Return whether a property has an operator over a time, such as ``F<=1``, also in properties that it names.

    Parameters
    ----------
    query
        The tree of the property, or a part of it.
    by_name
        Properties by their names in quotes.
    """
    if isinstance(query, Path) and not query.interval.is_unbounded:
        return True
    if isinstance(query, Label) and query.name in by_name:
        others = {
            name: tree for name, tree in by_name.items() if name != query.name
        }  # so that a cycle of names terminates
        return has_times(by_name[query.name], others)
    parts = query if isinstance(query, tuple) else ()
    if is_dataclass(query):
        parts = tuple(getattr(query, part.name) for part in fields(query))
    return any(has_times(part, by_name) for part in parts)


# ---------------------------------------------------------------------------------------------- parser


FILTERS = (
    "min",
    "max",
    "argmin",
    "argmax",
    "count",
    "sum",
    "avg",
    "first",
    "range",
    "forall",
    "exists",
    "state",
    "print",
    "printall",
)
COMPARED = ("<", "<=", ">", ">=")
BINARY = ("U", "W", "R")
BEYOND_CSL = "a path formula beyond CSL (LTL)"
SECOND_FILTER = "a second {...} of its kind: must be one set of states, and one of {min} and {max}"
LTL = f"{BEYOND_CSL}: X, F, G, U, W or R of sets of states is expected; a variable of such a name goes in parentheses"


PROPERTY_GRAMMAR = (
    Construct("property", "Probabilities, with or without a threshold", "P>=0.5 [ F x=1 ]"),
    Construct("property", "`X`, `F`, `G`, `U`, `W`, `R`, with bounds on the time", "P=? [ x=0 U[1,2] y=1 ]"),
    Construct("property", "Long-run probabilities", "S=? [ x=1 ]"),
    Construct(
        "property",
        "Rewards until a set, in total, until a time, at a time, in the long run",
        'R{"r"}=? [ C<=2 ] + R{1}=? [ I=2 ] + R=? [ F x=1 ] + R=? [ S ]',
    ),
    Construct("property", "Filters", "filter(max, P=? [ F x=1 ], y=0)"),
    Construct("property", "Filters in the older form", "P=? [ F x=1 {y=0}{max} ]"),
    Construct("property", "Several sets or extrema in one of these", "P=? [ F x=1 {min}{max} ]", SECOND_FILTER),
    Construct("property", "Names of labels, of `init` and `deadlock`, and of other properties", 'P=? [ F "init" ]'),
    Construct("property", "Names of properties", '"p": S=? [ x=1 ]'),
    Construct("property", "Formulas of LTL", "P=? [ G F x=1 ]", BEYOND_CSL),
    Construct("property", "Path operators in sets of states", "P=? [ F<=3 (x=1 & F<=3 y=1) ]", BEYOND_CSL),
    Construct("property", "`Pmin`, `Pmax`, `Rmin`, `Rmax`", "Pmax=? [ F x=1 ]", "is not of Markov chains"),
    Construct("property", "`A` and `E` of CTL", "E [ F x=1 ]", "is not of Markov chains"),
    Construct("property", "Expected values as Storm writes them", 'R[exp]{"r"}=? [ F x=1 ]'),
    Construct("property", "Variances", 'R[var]{"r"}=? [ F x=1 ]', "an expected value is R or R[exp]"),
    Construct("property", "Several objectives", "multi(P>0.1 [ F x=1 ])", "several objectives (multi) are not read"),
    Construct("property", "Coalitions of players", "<<p>> P=? [ F x=1 ]", "coalitions of players are not read"),
    Construct(
        "property", "Differences of two rewards", 'R{"r"}{"s"}=? [ F x=1 ]', "two rewards in one operator are not read"
    ),
    Construct("property", "Rewards until a path formula", "R=? [ x=0 U x=1 ]", BEYOND_CSL),
)
"""Constructs of properties, read or refused here."""


def parse_property(text: str, name: str = "property") -> Any:
    """Return the tree of one property, with or without a name: ``S=? [ up ]`` or ``"avail": S=? [ up ]``.

    Raises
    ------
    FileError
        With the reason, for a string that is no property.
    """
    parser = _Parser(text, name)
    parser.read_property_name()
    query = parser.expression()
    parser.cursor.accept(";")
    if parser.cursor.token.kind != "end":
        parser.check_no_call()
        hint = ""
        if parser.cursor.tokens[0].text == "const":
            hint = ": constants of properties go into a file of properties, or are those of the model"
        elif parser.cursor.at(":"):
            hint = f': the name of a property is in quotes, "{parser.cursor.tokens[0].text}":'
        raise parser.cursor.error(f"{parser.cursor.token.text!r} after the end of the property{hint}")
    return query


def parse_properties(path: str | File) -> Properties:
    """Return the contents of a PRISM properties file, as trees.

    Raises
    ------
    FileError
        With the line and the reason.
    """
    path = File(path)
    return _Parser(read_text(path), path.name).properties()


def _merge_double_signs(tokens: list[Token]) -> list[Token]:
    """Return the tokens with Storm's ``&&`` and ``||`` replaced by ``&`` and ``|``."""
    merged = tokens[:1]
    for token in tokens[1:]:
        last = merged[-1]
        if token.text in ("&", "|") and last.text == token.text and last.start + 1 == token.start:
            continue
        merged.append(token)
    return merged


class _Parser(ExpressionParser):
    """Recursive-descent parser of properties in PRISM's language, with Storm's words for the same operators."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__(Cursor(_merge_double_signs(tokenize(text, file)), file))
        self.text = text

    def properties(self) -> Properties:
        """Read a properties file to its end and return its contents."""
        cursor, properties = self.cursor, Properties(self.cursor.file)
        while cursor.token.kind != "end":
            if cursor.accept(";"):
                continue
            if cursor.accept("const"):
                self._read_constant(properties)
            elif cursor.accept("label"):
                token = cursor.expect_kind("text", "a name in quotes")
                check_label_name(token, cursor.file)
                name = token.text[1:-1]
                if name in properties.labels or name in properties.properties:
                    raise cursor.error(f'label "{name}" is defined twice, or as a property too')
                cursor.expect("=")
                properties.labels[name] = self.expression()
                cursor.expect(";")
            else:
                self._read_property(properties)
        return properties

    def _read_constant(self, properties: Properties) -> None:
        """Read ``const type name = value;`` into the properties."""
        cursor = self.cursor
        kind = token.text if (token := cursor.accept("int", "double", "bool")) else "int"
        name = cursor.expect_kind("name", "a name")
        if name.text in properties.constants:
            raise FileError((cursor.file, name.line), f"{name.text!r} is defined twice")
        value = self.expression() if cursor.accept("=") else None
        cursor.expect(";")
        properties.constants[name.text] = Constant(name.text, kind, value, name.line)

    def _read_property(self, properties: Properties) -> None:
        """Read one property into the properties; a malformed property becomes a FileError that evaluation raises."""
        cursor = self.cursor
        line, start = cursor.token.line, cursor.token.start
        explicit_name = self.read_property_name()
        name = explicit_name or f"#{len(properties.properties) + 1}"
        if name in properties.properties or name in properties.labels:
            raise FileError((cursor.file, line), f'property "{name}" is defined twice, or as a label too')
        properties.lines[name] = line
        try:
            properties.properties[name] = self.expression()
        except FileError as error:  # raised on evaluation: other properties of the file may be valid
            properties.properties[name] = error
            self._skip_property(line)
        if explicit_name is None:
            last = cursor.tokens[max(cursor.index - 1, 0)]
            properties.texts[name] = " ".join(self.text[start : last.start + len(last.text)].split())
        cursor.accept(";")

    def read_property_name(self) -> str | None:
        """Consume the optional ``"name":`` in front of a property and return the name, or None."""
        cursor = self.cursor
        if cursor.token.kind != "text" or cursor.peek().text != ":":
            return None
        name = cursor.take().text[1:-1]
        cursor.expect(":")
        return name

    def _skip_property(self, line: int) -> None:
        """Move to the next property: after ;, or on another line outside of brackets."""
        self._depth, depth, cursor = 0, 0, self.cursor
        while cursor.index > 0 and cursor.tokens[cursor.index - 1].line >= line:
            cursor.index -= 1
        while cursor.token.kind != "end" and not (depth <= 0 and cursor.at(";")):
            text = cursor.take().text
            depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
            if depth <= 0 and text == "]" and cursor.token.line > line:
                break

    def read_primary(self) -> Any:
        """Consume an operator, a filter, or a primary expression and return its tree."""
        cursor = self.cursor
        after = cursor.peek().text
        if cursor.at("multi") and after == "(":
            raise cursor.error("several objectives (multi) are not read")
        if (cursor.at("<") and after == "<") or (cursor.at("[") and after == "["):
            raise cursor.error("coalitions of players are not read")
        if self._at_storm_operator():
            return self._read_operator()
        if cursor.at("P", "S", "R") and after in ("=", "<", "<=", ">", ">=", "{", "min", "max"):
            return self._read_operator()
        if cursor.at("R") and after == "[":
            return self._read_operator()
        if cursor.at("Pmin", "Pmax", "Rmin", "Rmax", "E", "A") and after in ("=", "["):
            raise cursor.error(f"{cursor.token.text!r} is not of Markov chains: P, S or R is expected")
        if cursor.at("filter") and after == "(":
            return self._read_filter()
        return super().read_primary()

    def _at_storm_operator(self) -> bool:
        """Return whether Storm's LRA or T operator follows, not a variable or constant of that name."""
        cursor = self.cursor
        if not cursor.at("LRA", "T"):
            return False
        asks = cursor.peek().text == "=" and cursor.peek(2).text == "?"
        return asks or (cursor.peek().text in COMPARED and cursor.peek(3).text == "[")

    def _read_filter(self) -> Filter:
        """Read ``filter(how, of, states)`` and return its tree."""
        cursor = self.cursor
        line = cursor.take().line
        cursor.expect("(")
        how = cursor.token.text
        if how not in FILTERS and not cursor.at("&", "|", "+"):
            raise cursor.error(f"{how!r} is no filter: must be one of {', '.join(FILTERS)}")
        cursor.take()
        cursor.expect(",")
        of, states = self.expression(), None
        if cursor.accept(","):
            states = self.expression()
        cursor.expect(")")
        return Filter({"&": "forall", "|": "exists", "+": "sum"}.get(how, how), of, states, line)

    def _read_operator(self) -> Operator:
        """Read a P, S or R operator and return its tree."""
        cursor = self.cursor
        token = cursor.take()
        kind = {"LRA": "S", "T": "R"}.get(token.text, token.text)
        reward: Any = Accumulated(Literal(1, token.line)) if token.text == "T" else None
        if token.text == "R" and cursor.accept("["):
            if not cursor.accept("exp"):
                raise cursor.error(f"R[{cursor.token.text}]: not read, an expected value is R or R[exp]")
            cursor.expect("]")
        if token.text == "R" and cursor.accept("{"):
            reward_token = cursor.take()
            reward = reward_token.text[1:-1] if reward_token.kind == "text" else self._reward_number(reward_token.text)
            cursor.expect("}")
            if cursor.at("{", "\\"):
                raise cursor.error("two rewards in one operator are not read")
        sign, threshold, written = None, None, ""
        if cursor.at(*COMPARED):
            sign = cursor.take().text
            begin = cursor.index
            threshold = self._read_binary(RANKS["+"])
            written = "".join(token.text for token in cursor.tokens[begin : cursor.index])
        else:
            cursor.expect("=")
            cursor.expect("?")
        cursor.expect("[")
        of = self._read_formula(kind)
        start: Any = None
        how: list[str] = []
        while cursor.accept("{"):
            if how if cursor.at("min", "max") else start is not None:
                raise cursor.error(SECOND_FILTER)
            if cursor.at("min", "max"):
                how.append(cursor.take().text)
            else:
                start = self.expression()
            cursor.expect("}")
        if not cursor.at("]"):
            raise cursor.error(LTL if kind == "P" else f"{cursor.token.text!r} where ']' is expected")
        cursor.take()
        options = token.line, reward, start, tuple(how), written
        return Operator(kind, sign, threshold, of, *options)

    def _read_formula(self, kind: str) -> Any:
        """Read what stands in the brackets of an operator and return its tree.

        Raises
        ------
        FileError
            For a malformed formula; it names a path operator in a set of states, which is read as a name at first.
        """
        cursor, begin = self.cursor, self.cursor.index
        try:
            return self.expression() if kind == "S" else self._read_path() if kind == "P" else self._read_reward_path()
        except FileError as error:
            begin += kind != "S"  # the operator of the path itself
            nested = [n for n in range(begin, cursor.index) if any(self._at_path(sign, n) for sign in "XFG")]
            nested += [cursor.index] if cursor.at(*BINARY) else []
            if BEYOND_CSL in error.reason or not nested:
                raise
            reason = f"{error.reason}; {cursor.tokens[nested[-1]].text!r} in a set of states makes {BEYOND_CSL}"
            raise FileError((error.file, error.line), reason) from None

    def _reward_number(self, text: str) -> int:
        """Return the number of a reward structure; FileError for other texts."""
        if not text.isdigit():
            raise self.cursor.error(f"{text!r}: a name in quotes or a number of rewards is expected")
        return int(text)

    def _read_path(self) -> Path:
        """Read a path formula, one level deeper, and return its tree."""
        cursor = self.cursor
        line = cursor.token.line
        self._depth += 1
        if self._depth > 60:
            raise cursor.error("paths nested more than 60 deep")
        path = self._read_path_inside(line)
        self._depth -= 1
        return path

    def _read_path_inside(self, line: int) -> Path:
        """Read a path formula and return its tree."""
        cursor = self.cursor
        if self._at_path("X"):
            cursor.take()
            interval = self._read_interval()
            if self._at_path("X"):
                return Path("X", right=self._read_path(), interval=interval, line=line)
            return Path("X", right=self._read_states(), interval=interval, line=line)
        if self._at_path("F") or self._at_path("G"):
            kind = cursor.take().text
            interval = self._read_interval()
            return Path(kind, right=self._read_states(), interval=interval, line=line)
        if cursor.at("(") and (inner := self._read_parentheses()) is not None:
            return inner
        left = self._read_states()
        if cursor.at(*BINARY):
            kind = cursor.take().text
            interval = self._read_interval()
            return Path(kind, left, self._read_states(), interval, line)
        return Path("state", right=left, line=line)

    def _read_parentheses(self) -> Path | None:
        """Read a path in parentheses and return it; None, without moving, for a set of states."""
        cursor, index, depth = self.cursor, self.cursor.index, self._depth
        cursor.take()
        try:
            path = self._read_path()
            cursor.expect(")")
        except FileError:
            path = None
        if path is None or path.kind == "state" or cursor.token.text not in ("]", ")", "{"):
            cursor.index, self._depth = index, depth
            return None
        return path

    def _read_states(self) -> Any:
        """Read an expression of states and return its tree; FileError for a nested path formula."""
        cursor = self.cursor
        if self._at_path("X") or self._at_path("F") or self._at_path("G"):
            raise cursor.error(LTL)
        return self._read_binary(RANKS["=>"])

    def _at_path(self, sign: str, index: int | None = None) -> bool:
        """Return whether the path operator ``sign`` follows, or stands at an index, not a variable of that name."""
        tokens, index = self.cursor.tokens, self.cursor.index if index is None else index
        if tokens[index].text != sign:
            return False
        after = tokens[min(index + 1, len(tokens) - 1)]
        starts = after.kind in ("name", "number", "text") and after.text not in BINARY
        return starts or after.text in ("(", "!", "[", "<=", "<", ">=", ">", "=")

    def _read_interval(self) -> Interval:
        """Read the bounds on time of a path operator and return them; without bounds an empty interval."""
        cursor = self.cursor
        if cursor.at("<=", "<", ">=", ">", "="):
            sign = cursor.take().text
            time = self._read_binary(RANKS["+"])
            if sign == "=":
                return Interval(time, time)
            return Interval(high=time) if sign in ("<=", "<") else Interval(low=time)
        if cursor.at("["):
            cursor.take()
            low = self.expression()
            cursor.expect(",")
            high = self.expression()
            cursor.expect("]")
            return Interval(low, high)
        return Interval()

    def _read_reward_path(self) -> Path:
        """Read the path in an R operator: C, I, S or F with their times, and return its tree."""
        cursor = self.cursor
        token = cursor.token
        if token.text == "C" and cursor.peek().text in ("]", "<=", "<", "{"):
            cursor.take()
            return Path("C", interval=self._read_interval(), line=token.line)
        if token.text == "I" and cursor.peek().text == "=":
            cursor.take()
            return Path("I", interval=self._read_interval(), line=token.line)
        if token.text in ("S", "LRA") and cursor.peek().text in ("]", "{"):
            cursor.take()
            return Path("S", line=token.line)
        path = self._read_path()
        if path.kind not in ("F", "state") or not path.interval.is_unbounded:
            raise FileError((cursor.file, token.line), f"R [ {path.kind} ... ]: {LTL}")
        return Path("F", right=path.right, line=token.line)
