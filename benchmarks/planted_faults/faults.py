"""Single faults in Python source: which there are in a file, and the text with one of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "is not": "is", "is": "is not", "not in": "in", "in": "not in",
}  # fmt: skip
OPERATORS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
NAMES = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum",
    "floor": "ceil", "ceil": "floor", "all": "any", "any": "all",
}  # fmt: skip
RELATIVE_CHANGE = 0.025
"""By which a number that is not an integer is changed: CUBIC's 0.4 becomes 0.41."""
FOR_PEOPLE = re.compile(
    r"^(__repr__|__str__|_repr_html_|plot|draw|summary|rows|table|cite|caption|_?text.*|_?message.*|refus.*)$"
)
"""Functions that return or draw what people read: no answer depends on them."""
UNSEEN = (ast.Raise, ast.Assert, ast.JoinedStr)
"""Syntax without answers: what errors say."""


@dataclass(frozen=True)
class Fault:
    """One change of one file.

    Attributes
    ----------
    path
        File, relative to the checkout.
    kind
        ``"constant"``, ``"comparison"``, ``"sign"``, ``"product"``, ``"extremum"``, ``"range"``, ``"not"`` or
        ``"and/or"``.
    line
        First line of the change, counted from one.
    start, stop
        Bytes of the file that are replaced.
    before, after
        What stands there, and what replaces it.
    function
        Qualified name of the function around it, empty at the level of the module.
    """

    path: str
    kind: str
    line: int
    start: int
    stop: int
    before: str
    after: str
    function: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}"
        return f"{place} {self.function or 'module'}: {self.before!r} -> {self.after!r}"


def with_fault(source: str, fault: Fault) -> str:
    """Return the source with a fault; it still parses.

    Raises
    ------
    ValueError
        If the source is not the one in which the fault was found.
    """
    data = source.encode()
    if data[fault.start : fault.stop].decode() != fault.before:
        raise ValueError(f"{fault.path} is not the file of this fault: no {fault.before!r} there")
    changed = (data[: fault.start] + fault.after.encode() + data[fault.stop :]).decode()
    ast.parse(changed)
    return changed


def faults_of(path: str, source: str, functions: str = "") -> list[Fault]:
    """Return all single faults of a file, in its order.

    A few of them do not parse, for parentheses between operands: `with_fault` raises SyntaxError then.

    Parameters
    ----------
    path
        For the record.
    source
        Text of the file.
    functions
        Pattern of the functions that count, by the name of a function or of what it returns; all without one.
    """
    return list(_Finder(path, source, functions).found())


def relocated(source: str, fault: Fault) -> Fault:
    """Return the same change of the same function where lines have moved: the nearest one.

    Raises
    ------
    ValueError
        If the function holds no such change any more.
    """
    same = [
        each
        for each in faults_of(fault.path, source)
        if (each.function, each.kind, each.before, each.after)
        == (fault.function, fault.kind, fault.before, fault.after)
    ]
    if not same:
        raise ValueError(f"{fault.path} has no {fault.before!r} in {fault.function} any more")
    return min(same, key=lambda each: abs(each.line - fault.line))


class _Finder:
    """Faults of one file."""

    def __init__(self, path: str, source: str, functions: str) -> None:
        self.path, self.data, self.functions = path, source.encode(), functions
        self.tree = ast.parse(source)
        lines = self.data.splitlines(keepends=True)
        self.offsets = [0]
        for line in lines:
            self.offsets.append(self.offsets[-1] + len(line))

    def found(self) -> list[Fault]:
        faults = list(self._visit(self.tree, "", not self.functions))
        return sorted(faults, key=lambda fault: (fault.start, fault.stop))

    def _visit(self, node: ast.AST, function: str, counts: bool) -> Iterator[Fault]:
        if isinstance(node, UNSEEN) or _is_for_types(node):
            return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if isinstance(node, ast.FunctionDef):
                if FOR_PEOPLE.match(node.name):
                    return
                counts = counts or self._is_asked_for(node)
            function = f"{function}.{node.name}".lstrip(".")
        if counts:
            for kind, start, stop, after in self._changes(node):
                before = self.data[start:stop].decode()
                line = getattr(node, "lineno", 1) + self._lines_before(node, start)
                yield Fault(self.path, kind, line, start, stop, before, after, function)
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params"}:
                continue
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from self._visit(part, function, counts)

    def _is_asked_for(self, node: ast.FunctionDef) -> bool:
        returned = ast.unparse(node.returns) if node.returns else ""
        return bool(re.search(self.functions, f"{node.name} -> {returned}"))

    def _lines_before(self, node: ast.AST, start: int) -> int:
        return self.data[self._start(node) : start].count(b"\n") if hasattr(node, "lineno") else 0

    def _start(self, node: ast.AST) -> int:
        return self.offsets[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def _stop(self, node: ast.AST) -> int:
        return self.offsets[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def _between(self, left: ast.AST, right: ast.AST, token: str) -> tuple[int, int] | None:
        """Return where an operator stands between two operands."""
        first, last = self._stop(left), self._start(right)
        words = re.escape(token).replace(r"\ ", r"\s+")
        words = rf"\b{words}\b" if token[0].isalpha() else words
        match = re.search(words, self.data[first:last].decode())
        return (first + match.start(), first + match.end()) if match else None

    def _changes(self, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:
        """Yield kind, first and last byte, and the text that replaces them."""
        match node:
            case ast.Constant(value=bool()):
                return
            case ast.Constant(value=int() | float()):
                yield from self._numbers(node)
            case ast.Compare():
                yield from self._comparisons(node)
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                if not (_is_text(node.left) or _is_text(node.right)):
                    old, new = OPERATORS[type(node.op)]
                    if place := self._between(node.left, node.right, old):
                        kind = "sign" if old in "+-" else "product"
                        yield (kind, *place, new)
            case ast.AugAssign(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                old, new = OPERATORS[type(node.op)]
                if not _is_text(node.value) and (place := self._between(node.target, node.value, old)):
                    yield ("sign" if old in "+-" else "product", *place, new)
            case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
                yield "sign", self._start(node), self._start(node) + 1, ""
            case ast.UnaryOp(op=ast.Not()):
                yield "not", self._start(node), self._start(node) + 4, ""
            case ast.BoolOp():
                old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    if place := self._between(left, right, old):
                        yield ("and/or", *place, new)
            case ast.Call():
                yield from self._calls(node)

    def _numbers(self, node: ast.Constant) -> Iterator[tuple[str, int, int, str]]:
        value, place = node.value, (self._start(node), self._stop(node))
        if isinstance(value, int):
            yield ("constant", *place, repr(value + 1))
            if value > 0:
                yield ("constant", *place, repr(value - 1))
        elif isinstance(value, float):
            if value:
                for change in (1.0 + RELATIVE_CHANGE, 1.0 - RELATIVE_CHANGE):
                    yield ("constant", *place, repr(float(f"{value * change:.12g}")))
            else:
                yield ("constant", *place, repr(RELATIVE_CHANGE))

    def _comparisons(self, node: ast.Compare) -> Iterator[tuple[str, int, int, str]]:
        left = node.left
        words = {
            ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
            ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
        }  # fmt: skip
        for op, right in zip(node.ops, node.comparators, strict=True):
            old = words[type(op)]
            if place := self._between(left, right, old):
                yield ("comparison", *place, COMPARISONS[old])
            left = right

    def _calls(self, node: ast.Call) -> Iterator[tuple[str, int, int, str]]:
        called = node.func
        name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
        if name in NAMES:
            stop = self._stop(called)
            yield "extremum", stop - len(name), stop, NAMES[name]
        if name == "range" and node.args and not node.keywords:
            last = node.args[1] if len(node.args) > 1 else node.args[0]
            if not isinstance(last, (ast.Constant, ast.Starred)):
                text = self.data[self._start(last) : self._stop(last)].decode()
                yield "range", self._start(last), self._stop(last), f"({text}) - 1"


def _is_for_types(node: ast.AST) -> bool:
    """Whether a statement only serves type checkers, or lists names."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in {"__all__", "__slots__"}


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    kinds = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
    return isinstance(node, kinds) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
