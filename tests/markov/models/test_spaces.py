"""Components of every kind: ranges, lists, texts, Enums and vectors."""

from __future__ import annotations

import numpy as np
import pytest

from markov import generator, stationary
from markov.generators.building import build_chain
from tests.markov.conftest import Machine, Mode, Queue


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"m": range(3)}, r"space\(\) has m: must be n"),
        ({"n": range(3), "m": range(2)}, r"space\(\) has n, m: must be n"),
        ({"n": range(0, 6, 2)}, r"space\(\): n = range\(0, 6, 2\): must be a range with step 1"),
        ({"n": range(0)}, r"space\(\): n = range\(0, 0\): must be a range with step 1, not empty"),
        ({"n": [0, 0]}, r"space\(\): n = \[0, 0\]: must be .* a list of different values"),
        ({"n": "ab"}, r"space\(\): n = 'ab': must be a range"),
        ({"n": (range(2), range(0))}, r"space\(\): n = \(range\(0, 2\), range\(0, 0\)\): must be"),
        ([3], r"space\(\) returns \[3\]: must be a dict of the fields of State"),
    ],
)
def test_bad_space(space, said):
    class Odd(Queue):
        def space(self):
            return space

    with pytest.raises(ValueError, match=said):
        generator(Odd())


@pytest.mark.parametrize("model", [Machine(), Machine(room=40)], ids=repr)
def test_components_of_every_kind(model):
    one, other = build_chain(model), build_chain(model, by="python")
    np.testing.assert_array_equal(one.codes, other.codes)
    assert abs(one.Q - other.Q).max() <= 1e-14
    assert (one.how == other.how) is (model.size <= 2000)


def test_names_of_components_and_states():
    answer = stationary(Machine())
    s = answer.states
    assert s.mode[0] is Mode.BUSY
    assert s.phase[:20].tolist() == ["cold"] * 16 + ["warm"] * 4
    assert [part[:6].tolist() for part in s.n] == [[0, 0, 0, 0, 1, 1], [0, 1, 2, 3, 0, 1]]
    assert list(answer.chain.components) == ["mode", "phase", "n[0]", "n[1]"]
    busy = answer.pi[[mode is Mode.BUSY for mode in s.mode]].sum()
    assert answer["busy"] == pytest.approx(busy, rel=1e-14)
    assert answer["busy"] == pytest.approx(0.5 / 0.75, rel=1e-12)
    data = answer.to_xarray()
    assert data.pi.dims == ("mode", "phase", "n[0]", "n[1]")
    assert float(data.pi.sum()) == pytest.approx(1.0, rel=1e-14)
    assert float(data.pi.sel(phase="hot", mode=Mode.IDLE)[1, 2]) == answer.probability(
        (Mode.IDLE, "hot", (1, 2))
    )
    assert answer.chain.number_of((Mode.BUSY, "cold", (0, 3))) == 3
    with pytest.raises(KeyError):
        answer.probability((Mode.BUSY, "tepid", (0, 3)))
    assert "n[1]" in [text.get_text() for text in answer.plot().get_legend().get_texts()]
