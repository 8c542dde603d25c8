"""How the functions of a model are called."""

from __future__ import annotations

import pytest

from markov import explore, stationary
from markov.errors import RuleError
from tests.markov.conftest import Machine


def test_arguments_of_rules():
    class Forgotten(Machine):
        def rules(s, q):
            yield s, 1.0

    said = r"^Forgotten.rules takes \(q\).*write \(s, q\) below @staticmethod, \(self, s, q\), or \(self, s\)"
    with pytest.raises(RuleError, match=said):
        stationary(Forgotten())

    def three(s, q, e):
        yield s, 1.0

    with pytest.raises(RuleError, match=r"^three.rules takes \(s, q, e\)"):
        explore(three, start={"n": 0})
