"""Properties that cannot be evaluated say why."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from hopflow import Status
from markov.errors import FileError
from tests.markov.files.conftest import model_of


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S=? [ m = 1 ]", "'m'"),
        ("P=? [ F<=-1 n=0 ]", "times"),
        ('P=? [ F "empty" ]', "empty"),
        ("Q=? [ n=0 ]", "line 1"),
        ('R{"none"}=? [ S ]', "'none'"),
        ("S=? [ n ]", "truth value"),
        ("S>2 [ n=0 ]", "S>2: must be a probability"),
        ("P<-0.1 [ F n=3 ]", "P<-0.1: must be a probability"),
    ],
)
def test_properties_that_cannot_be_evaluated_say_why(queue: Any, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        queue.property(text)


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
THIRD = float(Fraction(2, 3))  # below 2/3 by 3.7e-17, which no bound resolves


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # from the graph: what is possible, what is certain
        ('P>=1 [ F "lost" ]', False),  # 1/3 of all paths go to 3
        ('P>0 [ F "lost" ]', True),
        ('P<=0 [ F "lost" ]', False),
        ('P<1 [ F "lost" ]', True),
        ('P>=1 [ F ("lost" | s=3) ]', True),  # a finite walk leaves 1 and 2
        ('P>=1 [ F<=1000000 ("lost" | s=3) ]', False),  # no jump may happen until then
        ('P<1 [ F<=1000000 ("lost" | s=3) ]', True),
        ("P>=1 [ F<=0 s=1 ]", True),
        ("P>0 [ F<=0 s=2 ]", False),
        ("P>=1 [ F<=2 s=1 ]", True),
        ("P>0 [ G<=1000 s=1 ]", True),
        ("P>0 [ G s=1 ]", False),
        ('P>0 [ G s!=4 ]', True),  # lost paths
        ("P>=1 [ F[1,2] s=1 ]", False),
        ("P>0 [ F[1,1] s=4 ]", True),
        ("P<=0 [ s<2 U[1,2] s=4 ]", True),  # 4 is reached by way of 2 and 3
        ("P>0 [ s<4 U[1,2] s=4 ]", True),
        ("P>=1 [ true U[1,2] s<5 ]", True),
        ("P>=1 [ X (s=0 | s=2) ]", True),
        ("P>=1 [ X<=1000 (s=0 | s=2) ]", False),
        ("P<=0 [ X s=3 ]", True),
        ("P>=1 [ s=1 W s=0 ]", False),
        ("P>=1 [ s<5 W s=0 ]", True),
        ("P<=0 [ s=2 R s=3 ]", True),
        ("S>=1 [ s=0 | s>=3 ]", True),
        ("S<1 [ s=3 ]", True),
        ("S>0 [ s=2 ]", False),
        ("S<=0 [ s=2 ]", True),
        ("S>0 [ s=4 ]", True),
        ("S>=1 [ s=3 | s=4 ]", False),
        # numbers: gambler's ruin, P(lost) = 2/3 from 1; in 3 and 4 for ever, 4 for 1/3 of the time
        ('P>0.66 [ F "lost" ]', True),
        ('P>0.67 [ F "lost" ]', False),
        (f'P>={THIRD!r} [ F "lost" ]', None),
        (f'P<{THIRD!r} [ F "lost" ]', None),
        ("S>=0.11 [ s=4 ]", True),  # 1/3 of 1/3
        ("S>=0.12 [ s=4 ]", False),
        # undecided parts: an operator counts only where the others leave it open
        (f'P>={THIRD!r} [ F "lost" ] | s=1', True),
        (f'P>={THIRD!r} [ F "lost" ] & s=2', False),
        (f'!(P>={THIRD!r} [ F "lost" ])', None),
        (f's=1 => P>={THIRD!r} [ F "lost" ]', None),
        (f's=2 => P>={THIRD!r} [ F "lost" ]', True),
        (f'P>={THIRD!r} [ F "lost" ] <=> s=1', None),
        # of nested ones: the inner set has 1 or not, 0 in any case
        (f'P>=1 [ F P>={THIRD!r} [ F "lost" ] ]', None),
        (f'P>0 [ F P>={THIRD!r} [ F "lost" ] ]', True),
        (f'P>0.99 [ s>0 U P<{THIRD!r} [ F "lost" ] ]', None),
        (f'P>0.4 [ s>0 U P<{THIRD!r} [ F "lost" ] ]', True),  # 2 has 1/3, and is next with 1/2
        (f'S>0.6 [ P>={THIRD!r} [ F "lost" ] ]', True),  # 0 has it, 1 is left
        # filters
        (f'filter(forall, P>={THIRD!r} [ F "lost" ])', False),  # not in 3
        (f'filter(forall, P>={THIRD!r} [ F "lost" ], s<2)', None),
        (f'filter(exists, P>={THIRD!r} [ F "lost" ])', True),  # in 0
        (f'filter(exists, P>={THIRD!r} [ F "lost" ], s>0)', None),
        (f'filter(count, P>={THIRD!r} [ F "lost" ])', None),  # 1 or 2
        (f'filter(count, P>={THIRD!r} [ F "lost" ], s>2)', 0),
        (f'filter(count, s>2, P>={THIRD!r} [ F "lost" ])', 0),
        (f'filter(count, s<2, P>={THIRD!r} [ F "lost" ])', None),
        (f'filter(sum, s, P>={THIRD!r} [ F "lost" ])', None),
        # arithmetic of operators, compared
        ('P=? [ F "lost" ] > 0.6', True),
        ('1 - P=? [ F "lost" ] > 0.4', False),
        (f'P=? [ F "lost" ] >= {THIRD!r}', None),
        ('P=? [ F "lost" ] + P=? [ F s=3 ] = 1', None),
        ('filter(max, P=? [ F "lost" ]) >= 1', True),
        ('(s=1 ? P=? [ F "lost" ] : 0) > 0.6', True),
    ],
)  # fmt: skip
def test_a_property_is_true_false_or_undecided(tmp_path: Any, text: str, expected: Any) -> None:
    """Each value is by hand: gambler's ruin (W. Feller, Probability I, XIV.2), and what paths there are."""
    found = model_of(tmp_path, WALK).property(text, on_failure="return")
    assert found.value is expected or found.value == expected is not None
    assert (found.status is Status.UNDECIDED) == (expected is None)
    assert ("undecided (" in repr(found)) == (expected is None)


def test_a_threshold_is_quoted_as_it_is_written(queue: Any) -> None:
    with pytest.raises(FileError, match=r"S>1\.0000000000000002: must be a probability"):
        queue.property("S>1.0000000000000002 [ n=0 ]")
    found = queue.property(
        "P>=0.10000000000000001 [ X n=5 ] & S>=0.008645201348245047 [ n=N ]"
        " | S<=0.0086452013482450470 [ n=10 ]",
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


def test_a_function_of_operators_without_a_bound_is_refused(queue: Any) -> None:
    with pytest.raises(FileError, match="floor of P, S or R"):
        queue.property("floor(10 * S=? [ n=0 ])")
