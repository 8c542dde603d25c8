"""PRISM's regression tests: lines ``// RESULT:`` before the properties of continuous-time chains."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.outside.rows import Question
from markov.files import FileError, FileModel, read_prism
from markov.files.queries import parse_properties

LINE = re.compile(r"^\s*//\s*RESULT\s*(?:\(([^)]*)\))?\s*:\s*(.*?)\s*$")
TYPE = re.compile(r"^\s*(ctmc|stochastic)\b", re.MULTILINE)
TOLERANCE = 1e-5  # relative, of PRISM's own test mode
MODELS = (".sm", ".prism", ".orig")
REWARD_LTL = "a reward until a co-safe LTL formula has come true: needs the product with an automaton"
LTL = "an LTL formula, a Boolean combination of path formulas: needs the product with an automaton"


def questions(suites: Path) -> Iterator[Question]:
    """Yield the results of all properties files of models with continuous time."""
    folder = suites / "prism" / "prism-tests"
    for path in sorted(folder.rglob("*.props")):
        model = _model_of(path)
        if model is not None and TYPE.search(model.read_text(encoding="utf-8", errors="replace")):
            yield from _of_file(folder, path, model)


def _model_of(path: Path) -> Path | None:
    """Return the model that a properties file is of: the longest name that it begins with."""
    found = [
        m for m in path.parent.iterdir() if m.suffix in MODELS and path.name.startswith(m.name.removesuffix(".orig"))
    ]
    return max(found, key=lambda m: len(m.name), default=None)


def _of_file(folder: Path, path: Path, model: Path) -> Iterator[Question]:
    text = path.read_text(encoding="utf-8").splitlines()
    arguments = path.with_name(f"{path.name}.args")
    fallback = model.with_name(f"{model.name}.args")
    switches = next((p.read_text() for p in (arguments, fallback) if p.exists()), "")
    base = _constants(next(iter(re.findall(r"-const\s+(\S+)", switches)), ""))
    properties = parse_properties(path)
    by_line = sorted((line, name) for name, line in properties.lines.items())
    for number, line in enumerate(text, start=1):
        match = LINE.match(line)
        if match is None or match[2] == "?":
            continue
        name = next((n for at, n in by_line if at > number), None)
        given = {**base, **_constants(match[1] or "")}
        yield _question(folder, path, model, name, given, match[2], text)


def _question(
    folder: Path,
    path: Path,
    model: Path,
    name: str | None,
    given: dict[str, Any],
    result: str,
    text: list[str],
) -> Question:
    theirs = _value(result, given)

    def ask() -> tuple[Any, float]:
        if name is None:
            raise ValueError("no property follows")
        read = loaded(model, path, tuple(sorted(given.items())))
        found = read.property(name, on_failure="return")
        return found.value, found.error_bound

    line = parse_properties(path).lines.get(name or "", 1)
    query = text[line - 1].strip().rstrip(";")
    shown = ", ".join(f"{key}={value}" for key, value in given.items())
    where = str(model.relative_to(folder))
    beyond = REWARD_LTL if query.lstrip().startswith("R") else LTL
    return Question("prism", where, shown, query, theirs, theirs, None, ask, False, TOLERANCE, beyond)


@lru_cache(maxsize=2)
def loaded(model: Path, path: Path, given: tuple[tuple[str, Any], ...]) -> FileModel:
    return read_prism(model, constants=dict(given)).with_properties(path)


def _constants(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        value = value.partition(":")[0].strip()
        found[name.strip()] = (
            value == "true"
            if value in ("true", "false")
            else int(value)
            if re.fullmatch(r"-?[0-9]+", value)
            else float(value)
        )
    return found


def _value(text: str, given: dict[str, Any]) -> Any:
    """Return the value of a result line: a truth value, an exact number, inf, or a string."""
    text = text.removeprefix("~").strip()
    if text in ("true", "false"):
        return text == "true"
    if text.lower().startswith("inf"):
        return math.inf
    if text.startswith("Error"):
        return text
    text = re.sub(r"\s*\(.*e\^.*\)$", "", text)
    try:
        return _fraction(text, given)
    except (FileError, ValueError):
        return text


def _fraction(text: str, given: dict[str, Any]) -> Fraction:
    """Return an arithmetic expression of + - * / ^ and constants, exactly."""
    from markov.files.queries import parse_property

    for name, value in given.items():
        text = re.sub(rf"\b{name}\b", f"({value})", text)
    try:
        return Fraction(text)
    except ValueError:
        return _exact(parse_property(text))


def _exact(node: Any) -> Fraction:
    match type(node).__name__:
        case "Literal":
            return Fraction(str(node.value))
        case "Negation":
            return -_exact(node.of)
        case "Call" if node.name == "pow":
            base, exponent = map(_exact, node.of)
            return base ** int(exponent)
        case "Chain":
            total = _exact(node.first)
            for sign, part in node.rest:
                value = _exact(part)
                total = {
                    "+": lambda a, b: a + b,
                    "-": lambda a, b: a - b,
                    "*": lambda a, b: a * b,
                    "/": lambda a, b: a / b,
                }[sign](total, value)
            return total
    raise ValueError(f"{node}: no arithmetic")
