"""Labels and rewards, for all states at once or for one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from markov import ChainModel, explore, stationary
from markov.errors import RuleError


@pytest.mark.parametrize("size", [5, 3000])
def test_labels_and_rewards_may_be_written_for_one_state(size):
    class Watched(ChainModel):
        class State(NamedTuple):
            n: int
            m: int

        class Params(NamedTuple):
            most: int = 5

        def space(self):
            return {"n": range(self.most), "m": range(2)}

        def labels(self, s, q):
            return {"ends": s.n == 0 or s.n == q.most - 1, "always": True}

        @staticmethod
        def rewards(s, q):
            # over all states at once, np.max would be one number, and wrong
            return {"more": np.max([s.n, 3 * s.m]), "text": len(str(s.n))}

        @staticmethod
        def rules(s, q):
            yield s._replace(n=(s.n + 1) % q.most), 1.0
            yield s._replace(m=1 - s.m), 1.0

    answer = stationary(Watched(most=size))
    s, pi = answer.states, np.full(2 * size, 0.5 / size)
    np.testing.assert_allclose(answer.pi, pi, rtol=1e-9)
    assert answer["ends"] == pytest.approx(2 / size, rel=1e-9)
    assert answer["always"] == pytest.approx(1.0)
    assert answer["more"] == pytest.approx(pi @ np.maximum(s.n, 3 * s.m), rel=1e-9)
    assert answer["text"] == pytest.approx(pi @ [len(str(n)) for n in s.n], rel=1e-9)


def test_errors_in_rewards_are_named():
    def rules(s):
        yield s._replace(n=1 - s.n), 1.0

    found = explore(rules, start={"n": 0}, rewards=lambda s: {"inverse": 1 // s.n})
    with pytest.raises(ZeroDivisionError, match=r"^rules.rewards: State\(n=0\): ZeroDiv.*, line"):
        stationary(found)["inverse"]
    found = explore(rules, start={"n": 0}, labels=lambda s: {"a": 1.0} if s.n else {})
    with pytest.raises(RuleError, match=r"rules.labels: other names in other states"):
        stationary(found)["a"]
    found = explore(rules, start={"n": 0}, labels=lambda s: {"a": "yes"})
    with pytest.raises(RuleError, match=r"'yes' is no number and no truth value"):
        stationary(found)["a"]
