"""No regular expression takes more than linear time: no text that a user brings makes a reader hang.

Each pattern of the packages is found in their sources, with how it is used. Texts that it matches are drawn; parts of
each are repeated to 100,000 characters.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import hopflow

PACKAGES = ("hopflow", "dfcmodel", "markov", "responsefn")
ROOT = Path(hopflow.__file__).parents[1]
USES: dict[str, Callable[[re.Pattern[Any], Any], object]] = {
    "match": re.Pattern.match,
    "fullmatch": re.Pattern.fullmatch,
    "search": re.Pattern.search,
    "split": re.Pattern.split,
    "findall": re.Pattern.findall,
    "finditer": lambda pattern, text: list(pattern.finditer(text)),
    "sub": lambda pattern, text: pattern.sub(text[:0], text),
}
LENGTH, SECONDS = 100_000, 2.0
"""A linear pass takes 5 ms at most, a quadratic one a minute."""


class Names(dict[str, object]):
    """Names in the source of a pattern: those of the module, and "x" for what a function computes."""

    def __missing__(self, name: str) -> object:
        return "x"


def patterns() -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    """Yield each pattern that is written in the packages: file and line, pattern, methods that it is used with."""
    sources = {path: path.read_text() for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}
    methods = defaultdict(set)
    for source in sources.values():
        for name, method in re.findall(rf"\b(\w+)\.({'|'.join(USES)})\b", source):
            methods[name].add(method)
    for path, source in sources.items():
        if "re." not in source:
            continue
        place = path.relative_to(ROOT)
        module = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
        constants = {}
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    pairs = [(target, node.value)]
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = list(zip(target.elts, node.value.elts, strict=True))
                    constants.update({value: name.id for name, value in pairs if isinstance(name, ast.Name)})
            if not (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.func.attr in {*USES, "compile"}
            ):
                continue
            names = Names(vars(importlib.import_module(module)))
            pattern = eval(compile(ast.Expression(node.args[0]), str(place), "eval"), {}, names)
            flags = 0
            if node.func.attr == "compile" and len(node.args) > 1:
                flags = eval(compile(ast.Expression(node.args[1]), str(place), "eval"), {"re": re})
            used = {node.func.attr} - {"compile"} or methods[constants.get(node)] or {"match", "fullmatch", "search"}
            yield f"{place}:{node.lineno}", re.compile(pattern, flags), used


def repeated(text: Any) -> Iterator[Any]:
    """Yield texts of `LENGTH` characters: a part of ``text`` is repeated, and the rest follows or does not match."""
    for first in range(len(text)):
        for last in range(first + 1, min(first + 4, len(text)) + 1):
            part = text[first:last]
            many = text[:first] + part * (LENGTH // len(part))
            yield many + text[last:]
            yield many + ("\x00" if isinstance(text, str) else b"\x00")


def excess(pattern: re.Pattern[Any], used: set[str]) -> str | None:
    """Return a text with which a use of the pattern takes longer than linear time, shortened, or None."""
    drawn: list[Any] = ["0" * 3, "a" * 3, " " * 3, "_" * 3, "\n" * 3, "." * 3, '"' * 3]
    if isinstance(pattern.pattern, bytes):
        drawn = [text.encode() for text in drawn]

    @settings(
        max_examples=12,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.from_regex(pattern))
    def draw(text: Any) -> None:
        drawn.append(text[:24])

    draw()
    for many in {many for text in drawn for many in repeated(text)}:
        for name in sorted(used):
            for length, most in ((24, 0.05), (LENGTH // 30, 0.1), (LENGTH, SECONDS)):  # the first: exponential time
                start = time.process_time()
                USES[name](pattern, many[:length] + many[LENGTH:])
                if time.process_time() - start > most:
                    return f"{name}: {many[:40]!r} ... {many[-20:]!r}, {length} characters"
    return None


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_no_pattern_takes_more_than_linear_time(package):
    found = [(place, excess(pattern, used)) for place, pattern, used in patterns() if place.startswith(package)]
    assert len(found) > 3
    assert [(place, text) for place, text in found if text] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "method"), [(r"(a+)+b", "match"), (r"\d+\.\d", "search"), (r"x\s*(\s*-)?y", "fullmatch")]
)
def test_a_slow_pattern_is_found(pattern, method):
    assert excess(re.compile(pattern), {method}) is not None
