"""Operators on undecided sets: intervals that hold the value of every set that may be meant."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from markov.files.parsing.property_parsing import parse_property
from markov.files.properties.checking import Definitions, Evaluation
from markov.files.properties.enclosures import Truth
from tests.markov.files.conftest import model_of

CHAIN = """ctmc
module m
 s : [0..4] init 0;
 [] s=0 -> 1 : (s'=1) + 2 : (s'=2);
 [] s=1 -> 3 : (s'=0) + 0.5 : (s'=3);
 [] s=2 -> 1 : (s'=4);
 [] s=3 -> 2 : (s'=0);
endmodule
rewards "r" true : 1 + s; endrewards
"""


@pytest.mark.parametrize(
    "text",
    [
        "P=? [ F A ]", "P=? [ A U B ]", "P=? [ A U<=0.7 B ]", "P=? [ A U[0.2,0.7] B ]", "P=? [ G<=0.5 A ]",
        "P=? [ A W B ]", "P=? [ A R[0.1,0.4] B ]", "P=? [ X A ]", "P=? [ A ]", "S=? [ A ]",
        'R{"r"}=? [ F A ]',
    ],
)  # fmt: skip
def test_intervals_hold_the_values_of_all_sets_between_the_ends(tmp_path: Any, text: str) -> None:
    """Two states of each set are open: all sixteen choices lie within the interval."""
    model = model_of(tmp_path, CHAIN)
    query = parse_property(text.replace("A", "(s=1)").replace("B", "(s=2)"))
    least = {"(s=1)": np.array([1, 1, 0, 0, 0], bool), "(s=2)": np.array([0, 0, 0, 1, 0], bool)}
    open_ = {"(s=1)": np.array([0, 0, 1, 0, 1], bool), "(s=2)": np.array([1, 0, 0, 0, 1], bool)}

    def values(sets: dict[str, Truth]) -> Any:
        defined = Definitions("property", {}, {})
        made = Evaluation(
            model.explored, model.checker(), model.rewards, {}, defined, model.bound_labels
        )
        line = iter(sets.values())
        chosen: dict[int, Truth] = {}

        def truth(expression: Any, what: str = "") -> Truth:
            del what
            number = expression.rest[0][1].value  # s=1 or s=2
            return chosen.setdefault(number, sets[f"(s={number})"])

        made.truth = truth  # type: ignore[method-assign]
        del line
        return made.operators.values(query)

    whole = values({name: Truth(least[name], least[name] | open_[name]) for name in least})
    for take in itertools.product((False, True), repeat=4):
        first = least["(s=1)"].copy(), least["(s=2)"].copy()
        first[0][[2, 4]], first[1][[0, 4]] = take[:2], take[2:]
        one = values(dict(zip(least, map(Truth.exactly, first), strict=True)))
        finite = np.isfinite(one.values)
        assert (np.isinf(whole.error) | finite | (whole.values == np.inf)).all()
        apart = np.abs(one.values - whole.values)[finite & np.isfinite(whole.error)]
        room = (whole.error + one.error)[finite & np.isfinite(whole.error)] + 1e-15
        assert (apart <= room).all()
        if one.positive is not None:
            assert (one.positive.surely <= whole.positive.possibly).all()
            assert (whole.positive.surely <= one.positive.surely).all()
            assert (one.partial.surely <= whole.partial.possibly).all()
            assert (whole.partial.surely <= one.partial.surely).all()
