"""Default constants of rules: each has its source where it stands, and docs/rules.md has their values."""

from __future__ import annotations

import inspect
import math
import runpy
from typing import Any

import pytest

import responsefn
from responsefn import BIC, NSCC, TIMELY, FixedRate, Swift, Vegas, linux
from responsefn.rule_catalogue import REGISTRY
from responsefn.rule_index import index_files
from responsefn.rules.index import RULES
from tests.surface import ROOT

GENERATED = runpy.run_path(str(ROOT / "docs" / "generated.py"))
WITHOUT_SOURCE = ("numerical", "numbers of states")
"""Comments at constants that no source has."""
FUNCTIONS = {  # default, and where it is from
    "LossHistory.n": (8, "RFC 5348, Sect. 5.4: n = 8 loss intervals"),
    "LossHistory.discounting": (True, "RFC 5348, Sect. 5.5: history discounting"),
    "LossHistory.least_discount": (1 / 4, "RFC 5348, Sect. 5.5: THRESHOLD = 0.25"),
    "convergence_time.fair": (1 / 10, "own choice: within a tenth of equal shares"),
    "convergence_time.share": (9 / 10, "own choice: begins with nine tenths of the capacity"),
    "hystart.css_growth_divisor": (4, "RFC 9406, Sect. 4.3: CSS_GROWTH_DIVISOR = 4"),
    "hystart.css_rounds": (5, "RFC 9406, Sect. 4.3: CSS_ROUNDS = 5"),
    "hystart.max_rtt_thresh": (16e-3, "RFC 9406, Sect. 4.3: MAX_RTT_THRESH = 16 ms"),
    "hystart.min_rtt_divisor": (8, "RFC 9406, Sect. 4.3: MIN_RTT_DIVISOR = 8"),
    "hystart.min_rtt_thresh": (4e-3, "RFC 9406, Sect. 4.3: MIN_RTT_THRESH = 4 ms"),
    "hystart.n_rtt_sample": (8, "RFC 9406, Sect. 4.3: N_RTT_SAMPLE = 8"),
    "limited_slow_start.max_ssthresh": (100, "RFC 3742, Sect. 2: 100 segments are recommended"),
}
NO_CONSTANTS = {"seed", "unit_check", "rtt", "window", "p", "loss", "duration", "events", "rounds", "least_packets"}  # fmt: skip
"""Parameters of functions that say where, and for how long: not constants of an algorithm."""


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("rules.md", "rule_constants"),
        ("rules.md", "rule_parameters"),
        ("rules.md", "rules"),
        ("responses.md", "capacities"),
        ("known-limits.md", "recoveries"),
    ],
)
def test_pages_have_the_constants_and_the_lists_of_the_code(name: str, part: str) -> None:
    """The independent copy of each number: a constant that is changed by mistake differs from the page."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    table = page[page.index(f"<!-- {part}:") :].partition("<!-- end -->")
    text = table[0] + table[1]
    assert GENERATED["filled"](text) == text, "run `make generated`, and read what it changes"


def test_every_parameter_of_a_rule_says_where_its_default_is_from() -> None:
    for name in RULES:
        kind: Any = REGISTRY.named("rule", name)
        for field in kind.Params._fields:
            assert field in kind.declared, f"{name}.{field}: declare it by param(default, source=...)"
    for rule, parameter, *_, source in GENERATED["_rule_parameters"]():
        assert len(source) >= 8, f"{rule}, {parameter}: param(..., source=...) is missing"


INFINITE = math.inf
ENDS: tuple[tuple[Any, dict[str, float], dict[str, float]], ...] = (
    (BIC, {"smallest": 0.5, "largest": 0.5}, {"smallest": 0.5, "largest": 0.499}),
    (Vegas, {"alpha": 2.0, "beta": 2.0}, {"alpha": 2.0, "beta": 1.999}),
    (Vegas, {"gamma": 1e-3}, {"gamma": 0.0}),
    (Vegas, {"gamma": INFINITE}, {"gamma": -INFINITE}),
    (FixedRate, {"sending_rate": 1e-3}, {"sending_rate": 0.0}),
    (TIMELY, {"t_low": 1e-4, "t_high": 1e-4}, {"t_low": 1e-4, "t_high": 0.99e-4}),
    (NSCC, {"qa_gate": 0.0, "qa_threshold": 0.0}, {"qa_gate": -1e-3}),
    (NSCC, {"qa_gate": INFINITE, "qa_threshold": INFINITE}, {"qa_threshold": -1e-3}),
    (Swift, {"fs_min_cwnd": 0.5, "fs_max_cwnd": 0.501}, {"fs_min_cwnd": 0.5, "fs_max_cwnd": 0.5}),
)
"""Values at the ends of ranges that depend on other parameters, or that may be infinite, and values beyond them."""


@pytest.mark.parametrize(("kind", "allowed", "refused"), ENDS, ids=lambda value: getattr(value, "__name__", None))
def test_the_ends_of_ranges_that_are_not_constants(kind: Any, allowed: Any, refused: Any) -> None:
    rule = kind(**allowed)
    assert {name: getattr(rule, name) for name in allowed} == allowed
    with pytest.raises(ValueError, match=f"^{list(refused)[-1]} = "):
        kind(**refused)


def test_every_constant_of_a_module_of_rules_says_where_it_is_from() -> None:
    rows = list(GENERATED["_rule_constants"]())
    assert len(rows) > 70
    for module, constant, _, comment in rows:
        assert comment, f"{constant} of {module}: say in a comment where it is from"
        assert comment in WITHOUT_SOURCE or len(comment) >= 12, constant


def test_a_default_of_a_function_is_that_of_its_source() -> None:
    found = {}
    for module in (responsefn, linux):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or name == "LossHistory":
                for key, parameter in inspect.signature(value).parameters.items():
                    if isinstance(parameter.default, (int, float)) and key not in NO_CONSTANTS:
                        found[f"{name}.{key}"] = parameter.default
    assert found == pytest.approx({name: value for name, (value, _) in FUNCTIONS.items()})


def test_index_and_stubs_have_the_rules_of_the_folder() -> None:
    for path, text in index_files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run `make generated`"
