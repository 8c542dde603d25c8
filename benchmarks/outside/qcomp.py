"""The quantitative verification benchmark set: models as PRISM or JANI, results in ``index.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.outside.prism import loaded
from benchmarks.outside.rows import Question
from markov.files import FileModel


def questions(suites: Path) -> Iterator[Question]:
    """Yield the reference results, model by model."""
    folder = suites / "qcomp" / "benchmarks" / "ctmc"
    for index in sorted(folder.glob("*/index.json")):
        about = json.loads(index.read_text(encoding="utf-8"))
        for file in about["files"]:
            fixed = file.get("file-parameter-values") or []
            for case in file.get("open-parameter-values", []):
                values = [*fixed, *(case.get("values") or [])]
                for result in case.get("results", []):
                    yield _question(index.parent, file, case, values, result)


def _question(folder: Path, file: dict[str, Any], case: dict[str, Any], values: list[Any], result: Any) -> Question:
    given = {v["name"]: v["value"] for v in values}
    sources = [*file.get("original-file", [])]
    prism = next((f for f in sources if f.endswith(".prism")), None)
    props = next((f for f in sources if f.endswith(".props")), None)
    low, high = _interval(result["value"])
    states = next((s["number"] for s in case.get("states", [])), None)

    def ask() -> tuple[Any, float]:
        names = tuple(sorted(given.items()))
        model = (
            loaded(folder / prism, folder / props, names) if prism and props else _jani(folder / file["file"], names)
        )
        found = model.property(result["property"], on_failure="return")
        return found.value, found.error_bound

    shown = ", ".join(f"{name}={value}" for name, value in given.items())
    name = prism or file["file"]
    exact = isinstance(result["value"], dict) and "num" in result["value"]
    return Question("qcomp", name, shown, result["property"], low, high, states, ask, exact)


def _interval(value: Any) -> tuple[Fraction, Fraction]:
    if not isinstance(value, dict):
        return Fraction(value), Fraction(value)
    if "num" in value:
        exact = Fraction(int(value["num"]), int(value["den"]))
        return exact, exact
    return Fraction(str(value["lower"])), Fraction(str(value["upper"]))


@lru_cache(maxsize=2)
def _jani(path: Path, given: tuple[tuple[str, Any], ...]) -> FileModel:
    """Read with those of the parameters that are constants: of others there is a file for each value."""
    from markov.files import read_jani

    declared = {c["name"] for c in json.loads(path.read_text(encoding="utf-8-sig"))["constants"]}
    return read_jani(path, constants={name: v for name, v in given if name in declared})
