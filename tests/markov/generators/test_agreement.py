"""Compiled rules are compared with plain Python on a sample of states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from markov import ChainModel, RuleError, RuleWarning
from markov.generators import building
from markov.generators.building import build_chain
from markov.generators.compilation import splicing


def test_compiled_rules_that_differ_are_not_taken(monkeypatch):
    """Here because nothing checks their operations: a sample of states shows it, and a warning says so."""

    class Wrapping(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            most: int = 400
            base: int = 3

        def space(self):
            return {"n": range(self.most)}

        @staticmethod
        def rules(s, q):
            yield s._replace(n=(s.n + 1) % q.most), 1.0 + q.base ** (s.n // 4) % 5

    parts = splicing._parts
    monkeypatch.setattr(splicing, "_parts", lambda model: parts(model) | {"checked": False})
    said = (
        r"Wrapping: State\(n=.*\): the rules compiled give the rate .* where plain Python gives .*"
    )
    with (
        pytest.warns(RuleWarning, match=said + r"test_agreement.py, line \d+: def rules"),
        pytest.raises(RuleError, match="cannot be run by compiled"),
    ):
        build_chain(Wrapping(), by="compiled")
    monkeypatch.setattr(building, "PYTHON_STATES", 10)
    monkeypatch.setattr(building, "_compiling", lambda *_: 0.0)
    monkeypatch.setattr(building.Ways, "by_regions", lambda *_: None)
    monkeypatch.setattr(building.Ways, "by_sets", lambda *_: None)
    with pytest.warns(RuleWarning, match=said):
        found = build_chain(Wrapping())
    assert found.how == "the rules as they stand"
    expected = [1.0 + 3 ** (n // 4) % 5 for n in range(399)]
    np.testing.assert_array_equal(found.Q.diagonal(1), expected)
