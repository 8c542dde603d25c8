"""One queue, written in every way that people write rules: each is run, and means the same.

The queue has arrivals at rate 2 below its capacity and departures at rate 3 above zero. What is put
into its rules is given as text; each variant is a module of its own, as a user's file is. A second model has
rates that go wrong, or are hard to get right, in one of its states: plain Python says what they are.
"""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from markov import ChainModel, generator
from markov.errors import RuleError

TEXTS = tomllib.loads(Path(__file__).with_name("ways_to_write.toml").read_text(encoding="utf-8"))
HEAD, REST = f"\n{TEXTS['head']}\n\n", f"\n{TEXTS['rest']}"


def variants() -> dict[str, str]:
    found = {"as in the docs": TEXTS["plain"]}
    for target in TEXTS["targets"]:
        found[f"target {target}"] = TEXTS["plain"].replace("s._replace(n=s.n + 1)", target)
    for text in TEXTS["rates"]:
        found[f"rate {text}"] = TEXTS["plain"].replace("2.0", text)
    for name, body in TEXTS["bodies"].items():
        head = "@staticmethod\ndef rules(s, q):\n"
        found[name] = head + indent(body + REST, "    ")
    return found | TEXTS["whole"]


VARIANTS = variants()


def model_of(text: str, folder: Path, number: int, head: str = HEAD) -> Any:
    """Import the module of a variant, as a user's file is imported."""
    name = f"written_{number}"
    path = folder / f"{name}.py"
    path.write_text(head + indent(text, "    "), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def check(found: Any, capacity: int) -> None:
    """Compare a matrix with that of the queue: rates are sums and products of two roundings at most."""
    ends = [np.full(capacity, 3.0), np.full(capacity, 2.0)]
    rates = sp.diags(ends, (-1, 1), format="csr")
    expected = rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())
    assert abs(found - expected).max() <= 1e-15 * 5.0


@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=list(VARIANTS))
def test_each_means_the_same_at_every_size(number, tmp_path):
    text = list(VARIANTS.values())[number]
    queue: type[ChainModel] = model_of(text, tmp_path, number).Queue
    for capacity in (12, 2400):
        check(generator(queue(capacity=capacity)), capacity)


GRID = f"{HEAD}\n\n{TEXTS['grid']}\n"
WRONG, RIGHT = TEXTS["wrong"], TEXTS["right"]
GRIDS = [(7, 6, 3, 2), (47, 43, 37, 5)]
"""Sizes, and where it goes wrong; plain Python alone does fewer than 2,000 states."""


def grid_of(rate: str, folder: Path, number: int, helpers: str = "") -> Any:
    text = GRID.replace("<rate>", rate).replace("<helpers>", helpers)
    return model_of("", folder, number, text).Grid


def outcome(build: Callable[..., Any], model: ChainModel, **given: Any) -> Any:
    """Return the matrix, or the exception."""
    try:
        return build(model, **given)
    except RuleError as error:
        return error


def agree(found: Any, expected: Any) -> bool:
    """Whether a way gives the matrix of plain Python, or its exception in the same state and line."""
    if not isinstance(found, RuleError):
        same_kind = not isinstance(expected, RuleError) and found.shape == expected.shape
        return same_kind and bool(abs(found - expected).max() <= 1e-13 * abs(expected).max())
    given = type(found.__cause__), str(found), found.line
    return isinstance(expected, RuleError) and given == (
        type(expected.__cause__), str(expected), expected.line
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", range(len(WRONG + RIGHT)), ids=WRONG + RIGHT)
def test_where_python_raises_so_does_every_size(number, tmp_path):
    rate = (WRONG + RIGHT)[number]
    grid = grid_of(rate, tmp_path, 2000 + number)
    for width, height, x, y in GRIDS:
        model = grid(width=width, height=height, x=x, y=y)
        found = outcome(generator, model)
        assert isinstance(found, RuleError) == (rate in WRONG)
        if rate in WRONG:
            assert f"Place(n={x}, m={y})" in str(found)
            assert Path(found.file).parent == tmp_path
            assert f"line {found.line}" in str(found)
    assert agree(found, outcome(generator, model, compiled=False))
