"""Chains with the same transitions share their pattern, which is compared each time."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow.errors import RuleError, RuleWarning
from markov import PauseTandem
from markov.generators.array_rules import patterns
from markov.generators.array_rules.patterns import EdgePattern
from markov.generators.assembly import from_edges
from markov.generators.building import build_chain
from markov.generators.edges import Edges
from markov.models.spaces import Space
from tests.markov.generators.conftest import one_component

SPACE = Space.of_single(range(6))
NONE = np.zeros(0, dtype=np.int64)


def edges(*rows):
    sources, targets, rates = map(np.array, zip(*rows, strict=True))
    return Edges(sources, targets, rates.astype(float), NONE)


def test_rates_are_put_where_they_belong():
    given = edges(
        (0, 1, 1.0), (1, 0, 0.1), (1, 0, 0.7), (1, 1, 5.0), (0, 3, 2.0), (3, 0, 1e-3), (4, 5, 1.0)
    )
    pattern = EdgePattern(given, SPACE, None, 0)
    assert pattern.codes.tolist() == [[0, 1, 3]]
    kept = [0, 1, 2, 4, 5]
    place = np.array([0, 1, -1, 2])
    expected = from_edges(
        place[given.sources[kept]], place[given.targets[kept]], given.rates[kept], 3
    )
    found = pattern.generator(given.rates)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    again = pattern.generator(2.0 * given.rates)
    assert again.data.tolist() == (2.0 * found.data).tolist()
    assert again.indices is found.indices


def test_other_transitions_do_not_fit():
    pattern = EdgePattern(edges((0, 1, 1.0), (1, 0, 1.0)), SPACE, None, 0)
    assert pattern.fits(edges((0, 1, 3.0), (1, 0, 1.0)))
    assert not pattern.fits(edges((1, 0, 1.0), (0, 1, 3.0)))
    assert not pattern.fits(edges((0, 1, 3.0), (1, 0, 1.0))._replace(deferred=np.array([4])))


def test_a_state_that_counts_and_is_left_to_python():
    given = edges((0, 1, 1.0))
    assert EdgePattern(given._replace(deferred=np.array([1])), SPACE, None, 0).enters_deferred
    assert not EdgePattern(given._replace(deferred=np.array([4])), SPACE, None, 0).enters_deferred
    assert EdgePattern(given._replace(deferred=np.array([4])), SPACE, None, None).enters_deferred


def test_chains_are_those_of_plain_python_when_the_pattern_is_known():
    for rate in (2.0, 2.5, 0.0, 3.0):  # without a rate while paused there are fewer transitions
        model = PauseTandem(paused_rate=rate)
        found, expected = build_chain(model, by="arrays"), build_chain(model, by="python")
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(found.Q, name), getattr(expected.Q, name))
        np.testing.assert_array_equal(found.codes, expected.codes)


def test_a_known_pattern_is_compared_with_plain_python(monkeypatch):
    def rules(s, q):
        yield s._replace(n=(s.n + 1) % 500), q.rate
        yield s._replace(n=0), q.rate

    build_chain(one_component(range(500), rules, {"rate": 1.0}), by="arrays")
    right = EdgePattern.generator
    monkeypatch.setattr(EdgePattern, "generator", lambda self, rates: right(self, 1.01 * rates))
    with (
        pytest.warns(RuleWarning, match="plain Python gives"),
        pytest.raises(RuleError, match="cannot be run by arrays"),
    ):
        build_chain(one_component(range(500), rules, {"rate": 2.0}), by="arrays")


def test_few_patterns_are_kept(monkeypatch):
    monkeypatch.setattr(patterns, "MAX_REMEMBERED", 2)
    pattern = EdgePattern(edges((0, 1, 1.0)), SPACE, None, 0)
    for key in range(5):
        patterns.remember(("test", key), pattern, set())
    assert len(patterns._remembered) <= 2
    assert patterns.remembered_pattern(("test", 4), edges((0, 1, 2.0))) is not None
    assert patterns.remembered_pattern(("test", 0), edges((0, 1, 2.0))) is None
