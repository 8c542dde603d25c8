"""Parameters of models and constants of files by name, and entries of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from markov import PauseTandem, read_prism, stationary
from markov.analysis.model_parameters import entry_of, is_real, parameters_of


class Params(NamedTuple):
    servers: int = 2
    rate: float = 1
    rates: tuple[float, ...] = (1, 2)


MODEL = SimpleNamespace(params=Params())


def test_parameters_are_those_of_the_model(tmp_path: Path) -> None:
    assert parameters_of(MODEL) == {"servers": 2, "rate": 1, "rates": (1, 2)}
    assert parameters_of(PauseTandem(rtt=2.0))["rtt"] == 2.0
    assert parameters_of(SimpleNamespace(params=None)) == {}
    path = tmp_path / "two.sm"
    path.write_text(
        "ctmc const double a = 2; module m x : bool; [] !x -> a : (x'=true); [] x -> 1 : (x'=false); endmodule"
    )
    assert parameters_of(stationary(read_prism(path)).chain.model) == {"a": 2.0}


def test_an_entry_has_a_number() -> None:
    known = parameters_of(MODEL)
    assert entry_of(known, "rate") == ("rate", None, 1)
    assert entry_of(known, "rates[1]") == ("rates", 1, (1, 2))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("speed", "parameter = 'speed': must be one of servers, rate, rates"),
        ("rates", r"must be one of rates\[0\], rates\[1\]"),
        ("rates[2]", r"must be one of rates\[0\], rates\[1\]"),
    ],
)
def test_an_unknown_entry_is_named(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        entry_of(parameters_of(MODEL), name)


@pytest.mark.parametrize(
    ("name", "real"), [("servers", False), ("rate", True), ("rates", True), ("none", False)]
)
def test_a_declared_float_is_a_real_number(name: str, real: bool) -> None:
    assert is_real(MODEL, name) == real
    assert not is_real(SimpleNamespace(), name)
