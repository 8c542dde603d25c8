"""Level reduction: accurate in every entry, and where the levels come from."""

from __future__ import annotations

import numpy as np
import pytest

from markov import Levels, MarkovChain, PauseTandem, stationary
from markov.methods.level_reduction import partition
from tests.markov.methods.conftest import CHAINS, reference, ring


@pytest.mark.parametrize("method", [Levels(), Levels(cyclic=False)], ids=repr)
@pytest.mark.parametrize("name", CHAINS)
def test_levels_are_accurate_in_every_entry(name, method):
    truth = reference(name)
    pi = stationary(truth.chain, method).pi
    np.testing.assert_allclose(pi, truth.pi, rtol=1e-11, atol=1e-300)


def test_where_levels_come_from():
    chain = MarkovChain(PauseTandem(buffers=(200, 4), high_threshold=3))
    components = chain.components_of(chain.recurrent_classes[0])
    Q = chain.irreducible(0)
    found = partition(Q, components, "i")
    assert found.origin == "component i"
    np.testing.assert_array_equal(found.level, components["i"])
    edges = Q.tocoo()
    for candidate in (found, partition(Q), partition(Q, components), partition(Q, components, "a")):
        assert np.abs(candidate.level[edges.row] - candidate.level[edges.col]).max() <= 1
        assert candidate.sizes.min() > 0
        assert candidate.work >= partition(Q, components).work
    answer = stationary(chain, Levels())
    np.testing.assert_allclose(answer.pi, stationary(chain).pi, rtol=1e-12)


@pytest.mark.parametrize(
    ("chain", "said"), [(PauseTandem(), r"i, j, k, a"), (ring(4), "none: the chain is not a model")]
)
def test_unknown_component(chain, said):
    with pytest.raises(ValueError, match=rf"^component = 'x': must be one of the model's \({said}"):
        stationary(chain, Levels("x"))
