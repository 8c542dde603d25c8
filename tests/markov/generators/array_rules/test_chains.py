"""Chains found on arrays are those of plain Python, of a whole space and of the part that a start leads to."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MM1K, Cluster, CoxTandem, JacksonTandem, Kanban, PauseTandem, Polling
from markov.generators.array_rules import chains
from markov.generators.array_rules.chains import chain_on_arrays
from markov.generators.building import build_chain
from markov.generators.ways import Ways
from tests.markov.generators.conftest import one_component

MODELS = (
    PauseTandem(), PauseTandem(pause_at_threshold="both", recovery="up", low_threshold=9), Kanban(), Cluster(),
    CoxTandem(capacity=9), Polling(), JacksonTandem(), MM1K(capacity=400),
)  # fmt: skip


@pytest.mark.parametrize("whole", [0, 10**6])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_bit_is_that_of_plain_python(monkeypatch, model, whole):
    monkeypatch.setattr(chains, "WHOLE_SPACE", whole)
    found, expected = build_chain(model, by="arrays"), build_chain(model, by="python")
    assert found.how == "the rules on arrays of states"
    np.testing.assert_array_equal(found.codes, expected.codes)
    for name in ("data", "indices", "indptr"):
        mine, theirs = getattr(found.Q, name), getattr(expected.Q, name)
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


def test_rules_without_a_translation_have_no_chain():
    def rules(s, q):
        yield s._replace(n=0), 1.0 + (s.n is None)

    ways = Ways(one_component(range(500), rules), True, 10**6)
    assert chain_on_arrays(ways.calls, ways.space, None, 10**6, room=True) is None


def test_without_room_for_the_space_there_is_no_chain():
    ways = Ways(MM1K(), True, 10**6)
    assert chain_on_arrays(ways.calls, ways.space, None, 10**6, room=True) is not None
    assert chain_on_arrays(ways.calls, ways.space, None, 10**6, room=False) is None
