"""Rows of JANI files, derived by a second reader in exact decimals, against those of the first one."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from markov import read_jani, stationary
from markov.proofs.checker import CertificateError, check
from markov.proofs.jani_rows import JaniRows
from tests.markov.files.conftest import jani_queue


def joined(sign: str, left: Any, right: Any) -> dict[str, Any]:
    return {"op": sign, "left": left, "right": right}


def shop() -> dict[str, Any]:
    """Two automata: a door that is shut or open, and a queue that fills and empties through it."""
    full = joined("≥", "n", "N")
    rate = {
        "op": "ite",
        "if": joined("∧", "open", {"op": "¬", "exp": full}),
        "then": 0.7,
        "else": joined("/", 1, 3),
    }
    served = {
        "op": "ite",
        "if": joined("⇒", "open", joined(">", "n", 0)),
        "then": joined("pow", 2, 3),
        "else": 0,
    }
    door = {
        "name": "door",
        "locations": [{"name": "shut"}, {"name": "ajar"}],
        "initial-locations": ["shut"],
        "edges": [
            {
                "location": "shut",
                "action": "go",
                "rate": {"exp": rate},
                "destinations": [
                    {
                        "location": "ajar",
                        "probability": {"exp": 0.25},
                        "assignments": [{"ref": "open", "value": True}],
                    },
                    {"location": "shut", "probability": {"exp": 0.75}},
                ],
            },
            {
                "location": "ajar",
                "action": "go",
                "rate": {"exp": 1.5},
                "destinations": [{"location": "ajar"}],
            },
            {
                "location": "ajar",
                "rate": {"exp": 0.1},
                "destinations": [
                    {
                        "location": "shut",
                        "assignments": [
                            {"ref": "open", "value": False},
                            {"ref": "cost", "value": 2},
                        ],
                    }
                ],
            },
        ],
    }
    step = joined("min", joined("+", "n", {"op": "ceil", "exp": 0.5}), "N")
    queue = {
        "name": "queue",
        "locations": [{"name": "l"}],
        "initial-locations": ["l"],
        "edges": [
            {
                "location": "l",
                "action": "enter",
                "rate": {"exp": 1},
                "destinations": [{"location": "l", "assignments": [{"ref": "n", "value": step}]}],
            },
            {
                "location": "l",
                "guard": {"exp": joined("≠", "n", 0)},
                "rate": {"exp": served},
                "destinations": [
                    {"location": "l", "assignments": [{"ref": "n", "value": joined("-", "n", 1)}]}
                ],
            },
        ],
    }
    bounded = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": "N"}
    return {
        "jani-version": 1, "name": "shop", "type": "ctmc", "features": ["derived-operators"],
        "constants": [{"name": "N", "type": "int"}, {"name": "unused", "type": "real", "value": 0.5}],
        "variables": [
            {"name": "n", "type": bounded, "initial-value": 0},
            {"name": "open", "type": "bool", "initial-value": False},
            {"name": "cost", "type": "real", "transient": True, "initial-value": 0},
        ],
        "automata": [door, queue],
        "system": {
            "elements": [{"automaton": "door"}, {"automaton": "queue"}],
            "syncs": [{"synchronise": ["go", "enter"]}, {"synchronise": [None, "never"]}],
        },
        "properties": [],
    }  # fmt: skip


def written(tmp_path: Path, model: Any) -> Path:
    path = tmp_path / "shop.jani"
    path.write_text(json.dumps(model), encoding="utf-8")
    return path


def test_rows_are_those_of_the_other_reader_and_exact(tmp_path: Path) -> None:
    path = written(tmp_path, shop())
    chain = read_jani(path, constants={"N": 3}).chain
    answer = stationary(chain)
    answer.certificate(tmp_path / "exact.cert", model=path, constants={"N": 3})
    source = JaniRows(path, {"N": 3})
    found = check(tmp_path / "exact.cert", source)
    assert found.rows == "re-derived from shop.jani, exactly, N = 3"
    assert (found.states, found.transitions) == (chain.size, chain.Q.nnz - chain.size)
    answer.certificate(tmp_path / "floats.cert")
    assert "rates rounded to float64" in check(tmp_path / "floats.cert", source).rows
    start = {"n": 0, "open": False, "door.location": 0}
    assert source.initial == start
    assert source.transitions(start) == {
        (1, True, 1): Fraction(1, 12), (1, False, 0): Fraction(1, 4),
    }  # fmt: skip


def test_a_file_with_other_rates_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path, jani_queue())
    stationary(read_jani(path, constants={"N": 3})).certificate(tmp_path / "queue.cert")
    check(tmp_path / "queue.cert", JaniRows(path, {"N": 3}))
    with pytest.raises(CertificateError, match=r"has other rates|which is not listed"):
        check(tmp_path / "queue.cert", JaniRows(path, {"N": 4}))
    path.write_text(path.read_text().replace("7.0", "7.000001"))
    with pytest.raises(CertificateError, match=r"shop\.jani: has other rates"):
        check(tmp_path / "queue.cert", JaniRows(path, {"N": 3}))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("type",), "dtmc", "type 'dtmc': must be 'ctmc'"),
        (("features",), ["arrays"], "arrays: not read"),
        (("functions",), [{"name": "f"}], "functions: not read"),
        (("restrict-initial",), {"exp": "open"}, "restrict-initial: not read"),
        (("constants", 0, "value"), joined("⊕", 1, 2), "operator '⊕': not read"),
        (("constants", 0, "name"), "M", "'N' has no value here|the constant M needs a value"),
        (("variables", 0, "type"), "int", "must be bool or a bounded int"),
        (("variables", 0, "name"), "N", "is defined twice"),
        (("system", "elements"), [{"automaton": "door"}], "must have each automaton once"),
        (("automata", 1, "edges", 0, "location"), "m", "is not in list|is no JANI model"),
        (("automata", 0, "edges", 2, "destinations", 0, "assignments", 0, "index"), 1, "index"),
        (("automata",), 3, "is no JANI model"),
    ],
)
def test_what_is_refused(tmp_path: Path, place: Any, value: Any, said: str) -> None:
    model = shop()
    inner: Any = model
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    given = {} if place[0] == "constants" else {"N": 3}
    with pytest.raises(CertificateError, match=said):
        JaniRows(written(tmp_path, model), given)


def test_constants_and_files_that_are_not_there(tmp_path: Path) -> None:
    path = written(tmp_path, shop())
    with pytest.raises(CertificateError, match="the constant N needs a value"):
        JaniRows(path)
    with pytest.raises(CertificateError, match="has no constants K"):
        JaniRows(path, {"N": 3, "K": 1})
    with pytest.raises(CertificateError, match=r"none\.jani: "):
        JaniRows(tmp_path / "none.jani")
    path.write_text("{")
    with pytest.raises(CertificateError, match=r"shop\.jani: "):
        JaniRows(path)
