"""What does not fit is refused, with a prediction that covers what is held."""

from __future__ import annotations

import pytest

import markov
import markov.computing.memory
from markov import GTH, Levels, MarkovChain, PauseTandem, explore, generator, stationary
from markov.errors import TooLargeError


def test_too_large_is_predicted(monkeypatch):
    model = PauseTandem(buffers=(10**6, 10**6), high_threshold=15)
    with pytest.raises(TooLargeError, match=r"^PauseTandem: a matrix on 4\d* states") as caught:
        generator(model, reachable=False)
    assert caught.value.predicted > 4e12 * 24 > caught.value.available
    monkeypatch.setattr(markov.computing.memory, "available", lambda: 1e5)
    monkeypatch.setattr(markov.computing.memory, "MIN_CHECKED_BYTES", 0.0)
    with pytest.raises(TooLargeError, match=r"^PauseTandem: more than \d+ reachable states: "):
        explore(PauseTandem(buffers=(100, 100)))


@pytest.mark.parametrize("method", [GTH(), Levels(), Levels(cyclic=False)], ids=repr)
def test_filled_in_too_large_is_predicted(monkeypatch, method):
    """The prediction covers what the method then holds, and is of its order."""
    chain = MarkovChain(PauseTandem())
    used = stationary(chain, method).memory
    monkeypatch.setattr(markov.computing.memory, "available", lambda: 1e5)
    monkeypatch.setattr(markov.computing.memory, "MIN_CHECKED_BYTES", 0.0)
    with pytest.raises(
        TooLargeError, match=rf"^{type(method).__name__}\(\) o.* states: "
    ) as caught:
        stationary(chain, method)
    assert used <= caught.value.predicted <= 2 * used
