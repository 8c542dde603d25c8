"""Every way from rules to states gives the same chain, and says which way it was."""

from __future__ import annotations

import numpy as np
import pytest

from markov import CoxTandem
from markov.errors import RuleError
from markov.generators.ways import Ways
from tests.markov.conftest import Queue
from tests.markov.generators.conftest import Bad, one_component


class Started(Queue):
    def start(self):
        return self.State(0)


WAYS = {
    "by_regions": (CoxTandem(capacity=40), "regions of the space"),
    "by_sets": (CoxTandem(capacity=40), "the rules on sets of states"),
    "by_compiler": (Started(capacity=300), "the rules compiled"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reachable", [True, False])
def test_a_way_gives_the_chain_of_plain_python(way, reachable):
    model, how = WAYS[way]
    plain = Ways(model, reachable, 10**6).by_python()
    found = getattr(Ways(model, reachable, 10**6), way)()
    assert how in found.how
    assert plain.how == "the rules as they stand"
    np.testing.assert_array_equal(found.codes, plain.codes)
    assert abs(found.Q - plain.Q).max() <= 1e-15 * abs(plain.Q).max()


def test_transitions_of_some_states_are_counted():
    ways = Ways(Queue(), True, 100)
    inside, ends = 3 * 120, 2 * 120  # up, down, to itself; at the ends one less
    assert ends <= ways.count_of_some() <= inside


def test_a_rate_that_is_infinite_is_named_by_its_state():
    def rules(s, q):
        yield s._replace(n=(s.n + 1) % 6), 1e308
        yield s._replace(n=(s.n + 1) % 6), 1e308 if s.n == 3 else 0.0

    ways = Ways(one_component(range(6), rules), True, 100)
    with pytest.raises(RuleError, match=r"^rules: State\(n=3\): the sum of the rates overflows"):
        ways.finite(ways.by_python())


def test_a_start_that_is_no_state_is_refused_at_once():
    class Lost(Bad):
        def start(self):
            return self.State(9)

    with pytest.raises(RuleError, match=r"^Lost: start = State\(n=9\): .* outside the space"):
        Ways(Lost(), True, 100)
