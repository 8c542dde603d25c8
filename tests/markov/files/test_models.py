"""A model read from a file is the chain that rules give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import MM1K, passage, stationary
from tests.markov.files.conftest import QUEUE, model_of


def test_a_queue_from_a_file_is_the_one_from_rules(queue: Any) -> None:
    mine = stationary(MM1K(capacity=10, arrival_rate=7.0, service_rate=10.0))
    theirs = stationary(queue)
    np.testing.assert_allclose(theirs.pi, mine.pi, rtol=1e-13)
    assert theirs["full"] == pytest.approx(mine.pi[10], rel=1e-13)


def test_a_mean_passage_time_is_that_of_the_birth_death_formula(queue: Any) -> None:
    assert set(queue.program.rewards) == {"length", "served"}
    found = passage(queue, to="full")
    exact = sum(sum((10.0 / 7.0) ** j for j in range(k + 1)) / 7.0 for k in range(10))
    assert abs(found.mean - exact) <= found.mean_error + 1e-14 * exact
    length = queue.property('R{"length"}=? [ F "full" ]')
    assert found.reward("length").value == pytest.approx(length.value, rel=1e-13)


def test_constants_of_no_name_are_refused_before_any_work(tmp_path: Path, queue: Any) -> None:
    """They would change nothing, and nobody would notice."""
    model = model_of(tmp_path, QUEUE, arrival=7.0, sevrice=3.0)
    with pytest.raises(ValueError, match=r"constants = 'sevrice'.*did you mean 'service'"):
        stationary(model)
    with pytest.raises(ValueError, match="constants = 'T'"):
        queue.property("S=? [ n>3 ]", constants={"T": 1.0})
    path = tmp_path / "queue.props"
    path.write_text('const double T;\n"soon": P=? [ F<=T n=3 ]\n')
    with_time = model_of(tmp_path, QUEUE, arrival=7.0, T=2.0).with_properties(path)
    assert 0.0 < with_time.property("soon").value < 1.0
