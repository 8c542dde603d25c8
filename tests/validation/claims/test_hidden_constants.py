"""No constant in the modules of the claims turns a verdict unseen: it is a threshold, or it is excused here with a reason."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import validation.claims
from validation import ledger
from validation.checks import subjects
from validation.records import recorded_thresholds

FOLDER = Path(inspect.getfile(validation.claims)).parent
PAPERS = ("takano2006", "malhotra2005", "kaneko2007", "zheng2002", "yang2001")
MODULES = sorted(
    f"{paper}.{path.stem}"
    for paper in PAPERS
    for path in (FOLDER / paper).glob("*.py")
    if path.stem != "__init__"
)
UNITS = (0.0, 1.0)
"""Signs, and quantities relative to their like."""
OWN = "a comparison of hopflow's own (S01 to S08), with tolerances stated before"
SETTING = "a setting of the runs, not a limit of a verdict"
PAPER = "the number is the paper's"
SHOWN = "for a number of the text, which decides nothing"
EXCUSED = {
    ("takano2006.level", "START"): SETTING,
    ("takano2006.level", "SETTLED"): SETTING,
    ("takano2006.queues", "START"): SETTING,
    ("takano2006.scenario_6", "FAIR - studies.NEAR"): SHOWN,
    ("takano2006.studies", "START"): SETTING,
    ("takano2006.vegas_runs", "SETTLED"): SETTING,
    ("takano2006.queues_with_dfc", "BUFFER"): SETTING,
    ("takano2006.shares", "0.1"): SETTING,
    ("takano2006.shares", "0.5"): "the larger of two shares",
    ("takano2006.shares", "ROUNDING"): "rounding of an algebraic identity",
    ("malhotra2005.conservation", "chain.B1"): SETTING,
    ("malhotra2005.conservation", "chain.B2"): SETTING,
    ("malhotra2005.level", "B2"): SETTING,
    ("malhotra2005.level", "LONG_RTT"): SETTING,
    ("malhotra2005.low_threshold", "HIGH"): SETTING,
    ("malhotra2005.signalling", "HIGH"): SETTING,
    ("malhotra2005.spacing", "chain.NU"): SETTING,
    ("malhotra2005.traffic", "HIGH"): SETTING,
    ("malhotra2005.endless_files", "LONG_RTT"): "the end of a range that is a reading",
    ("malhotra2005.rtt", "FIRST"): "the end of a range whose other ends are readings",
    ("malhotra2005.rtt", "chain.B2 - chain.B1"): SETTING,
    ("malhotra2005.large_rtt", "0.01"): "whether a product has its limit",
    ("malhotra2005.threshold", "SHARES[0]"): PAPER,
    ("malhotra2005.threshold", "SHARES[1]"): PAPER,
    ("malhotra2005.simulator", "MIN_EVENTS"): OWN,
    ("kaneko2007.one_rule", "WARM_UP"): SETTING,
    ("kaneko2007.one_rule", "BDP"): SETTING,
    ("kaneko2007.random_loss", "0.0001"): SETTING,
    ("kaneko2007.rule_pairs", "NEAR"): SHOWN,
    ("zheng2002.independent_loss", "200"): OWN,
    ("zheng2002.loss_sweeps", "0.05"): "digits of a number of the text",
    ("zheng2002.loss_sweeps", "0.0005"): "digits of a number of the text",
    ("zheng2002.level", "WARM + BIN / 2"): SETTING,
    ("zheng2002.more_flows", "BOTH[0]"): "the numbers of flows that were run on both links",
    ("zheng2002.more_flows", "BOTH[1]"): "the numbers of flows that are not few",
    ("zheng2002.one_kind", "1 - VISIBLE"): SHOWN,
    ("zheng2002.one_kind", "1.0 - VISIBLE"): SHOWN,
    ("zheng2002.queues", "SLOW.most"): SETTING,
    ("zheng2002.responses_to_change", "ROUNDING * 1.0001"): "the digits that ns-2 prints",
    ("zheng2002.one_kind", "FULL"): PAPER,
    ("zheng2002.one_kind", "PEAK"): PAPER,
    ("yang2001.load", "LONG_TRANSFER"): "sizes whose times are judged apart from the smaller ones'",
    ("yang2001.load", "PAST_SLOW_START"): "sizes whose rate is judged",
    ("yang2001.load", "EARLY"): PAPER,
    ("yang2001.load", "LATE"): PAPER,
    ("yang2001.load", "-SMALL_CHANGE"): PAPER,
    ("yang2001.load", "LONGEST"): SETTING,
    ("yang2001.load", "UDP_FLOWS"): SETTING,
    ("yang2001.sharing", "UDP_RATE"): SETTING,
    ("yang2001.spreads", "0.5"): "most are more than half",
}


def number(node: ast.expr, module: ModuleType) -> float | None:
    """Return the constant that an expression of a module is, if it is one."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    if not names <= set(vars(module)) or any(isinstance(n, ast.Call) for n in ast.walk(node)):
        return None
    try:
        value = eval(ast.unparse(node), dict(vars(module)))  # a name or a number of ours
    except (AttributeError, TypeError, IndexError, KeyError):
        return None
    return float(value) if isinstance(value, int | float) and value is not True else None


def limits(module: ModuleType, source: str) -> Iterator[tuple[str, float]]:
    """Yield the constants that a module orders quantities by, as written."""
    for node in ast.walk(ast.parse(source)):
        found: list[ast.expr] = []
        if isinstance(node, ast.Compare) and any(
            isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops
        ):
            found = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "beyond":
            found = node.args[1:]
        for each in found:
            value = number(each, module)
            if value is not None and abs(value) not in UNITS:
                yield ast.unparse(each), value


def hidden(name: str, source: str) -> list[str]:
    """Return the limits of a module that are neither a threshold of its claims nor excused."""
    ledger()
    module = importlib.import_module(f"validation.claims.{name}")
    full = module.__name__
    claims = {id for id, subject in subjects().items() if full in subject.check.modules()}
    known = {t.value for (id, _), t in recorded_thresholds().items() if id in claims}
    return [
        text
        for text, value in limits(module, source)
        if abs(value) not in known and (name, text) not in EXCUSED
    ]


@pytest.mark.parametrize("name", MODULES)
def test_every_limit_is_a_threshold_or_excused(name: str) -> None:
    path = FOLDER / Path(*name.split(".")).with_suffix(".py")
    assert hidden(name, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    ["far = gain > 1.3", "far = beyond(gain, 1.3)", "far = PEAK < gain", "far = -1.3 > gain"],
)
def test_a_new_limit_is_found(line: str) -> None:
    """One of the claim M13, which has no threshold but its level; PEAK is a name of another module."""
    found = hidden("malhotra2005.tcp", line)
    assert found == ([] if "PEAK" in line else [line.split()[2 if "-" in line else -1].rstrip(")")])


@pytest.mark.parametrize(
    ("name", "constant", "forged"),
    [
        ("zheng2002.one_kind", "VISIBLE", 2e-3),
        ("yang2001.best_effort", "FAR", 1.1),
        ("malhotra2005.traffic", "HIGH", None),
    ],
)
def test_a_forged_constant_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, constant: str, forged: float | None
) -> None:
    """Of the excused ones only the name is known: these are settings."""
    path = FOLDER / Path(*name.split(".")).with_suffix(".py")
    module = importlib.import_module(f"validation.claims.{name}")
    if forged is None:
        assert (name, constant) in EXCUSED
    else:
        monkeypatch.setattr(module, constant, forged)
        assert constant in " ".join(hidden(name, path.read_text(encoding="utf-8")))


DECIDING = {"bounds", "everywhere", "mostly", "ranked", "settles", "swings"}
"""Functions of `validation.statistics` that decide at a level of significance, the last argument of each."""
OF_TEXTS = {
    ("takano2006.speeds", "ranked(dfc.mean, means, LEVEL)"),
    ("malhotra2005.low_threshold", "everywhere([-self.gains[rtt][0] for rtt in TWO_RTTS], LEVEL)"),
}
"""Decisions that a text shows and no judge uses."""


def fixed_levels(name: str, source: str) -> set[tuple[str, str]]:
    """Return the decisions of a module whose level is a constant, as written."""
    return {
        (name, ast.unparse(node))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in DECIDING
        and isinstance(node.args[-1], ast.Constant | ast.Name)
        and getattr(node.args[-1], "id", "LEVEL") == "LEVEL"
    }


def test_the_level_of_every_decision_is_a_threshold() -> None:
    """`hopflow judge` can vary it: rank tests, sign tests and Student's intervals have no fixed one."""
    found = set()
    for name in MODULES:
        path = FOLDER / Path(*name.split(".")).with_suffix(".py")
        found |= fixed_levels(name, path.read_text(encoding="utf-8"))
    assert found == OF_TEXTS
    assert fixed_levels("x", "ranked(a, b, 0.01)") == {("x", "ranked(a, b, 0.01)")}


def test_excuses_are_of_limits_that_exist() -> None:
    for name, text in EXCUSED:
        source = (FOLDER / Path(*name.split(".")).with_suffix(".py")).read_text(encoding="utf-8")
        module = importlib.import_module(f"validation.claims.{name}")
        assert text in {found for found, _ in limits(module, source)}, (name, text)
