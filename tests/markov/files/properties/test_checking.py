"""Properties that cannot be evaluated say why."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hopflow import Status
from markov.errors import FileError
from tests.markov.files.conftest import model_of

WALK = """ctmc
module m
 s : [0..4] init 1;
 [] s=1 -> 1 : (s'=0) + 1 : (s'=2);
 [] s=2 -> 1 : (s'=1) + 1 : (s'=3);
 [] s=3 -> 1 : (s'=4);
 [] s=4 -> 2 : (s'=3);
endmodule
label "lost" = s=0;
rewards "time" true : 1; endrewards
"""
"""A walk that is absorbed in 0 or goes on for ever in 3 and 4: from 1 it is lost with probability 2/3."""


PROPERTIES = tomllib.loads(Path(__file__).with_name("walk.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", PROPERTIES)
def test_a_property_is_true_false_or_undecided(tmp_path: Path, text: str) -> None:
    expected = None if PROPERTIES[text] == "undecided" else PROPERTIES[text]
    found = model_of(tmp_path, WALK).property(text, on_failure="return")
    assert found.value is expected or found.value == expected is not None
    assert (found.status is Status.UNDECIDED) == (expected is None)
    assert ("undecided (" in repr(found)) == (expected is None)


def test_a_threshold_is_quoted_as_it_is_written(queue: Any) -> None:
    with pytest.raises(FileError, match=r"S>1\.0000000000000002: must be a probability"):
        queue.property("S>1.0000000000000002 [ n=0 ]")
    found = queue.property(
        "P>=0.10000000000000001 [ X n=5 ] & S>=0.008645201348245047 [ n=N ] | S<=0.0086452013482450470 [ n=10 ]",
        on_failure="return",
    )
    assert "S>=0.008645201348245047: within" in found.reason
    assert "S<=0.0086452013482450470: within" in found.reason


NAMES = """const double limit = 0.1;
label "long" = n > 7;
"often": S=? [ "long" ];
"rare": "often" < limit;
"both": "rare" & P>0 [ F "long" ];
"circle": "round" | n=3;
"round": P>0.5 [ F "circle" ];
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("const double arrival = 2;\nP=? [ F<=arrival n=3 ]", "queue.props, line 1: 'arrival' is defined in .* too"),
        ("const int n = 2;", "line 1: 'n' is defined in .* too: must have another name"),
        ('\nlabel "full" = n > 2;', "line 2: 'full' is defined in .* too"),
        ('"full": S=? [ n > 2 ]', "line 1: 'full' is defined in .* too"),
        ('label "long" = n > 2;\n"long": S=? [ n > 2 ]', 'line 2: property "long" is defined twice, or as a label too'),
        ('"long": S=? [ n > 2 ];\nlabel "long" = n > 2;', 'line 2: label "long" is defined twice, or as a property'),
        ('label "init" = n > 2;', 'line 1: label "init" is built in'),
    ],
)
def test_a_name_has_one_meaning_in_a_model_and_its_properties(
    queue: Any, tmp_path: Any, text: str, message: str
) -> None:
    """The constant of the properties, but the label of the model was used."""
    path = tmp_path / "queue.props"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        queue.with_properties(path)


def test_properties_name_each_other(queue: Any, tmp_path: Any) -> None:
    path = tmp_path / "queue.props"
    path.write_text(NAMES)
    model = queue.with_properties(path)
    weights = [Fraction(7, 10) ** k for k in range(11)]
    share = sum(weights[8:], Fraction(0)) / sum(weights, Fraction(0))
    often = model.property("often")
    assert abs(float(Fraction(often.value) - share)) <= often.error_bound
    assert model.property("rare", constants={"limit": 0.1}).value is True
    assert model.property("both", constants={"limit": 0.1}).value is True
    assert model.property("rare", constants={"limit": 0.01}).value is False
    exact = model.property("rare", constants={"limit": float(share)}, on_failure="return")
    assert exact.value is None
    with pytest.raises(FileError, match="round -> circle -> round: properties in a circle"):
        model.property("circle")
    alone = queue.property('"often": S=? [ n > 7 ]')  # with a name, as in a file
    assert alone.value == often.value
