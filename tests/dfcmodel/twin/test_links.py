"""Values of links and of the queues at them in the JAX model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from dfcmodel.twin.links import of_all_links, of_links, over_links

PLAN: Any = SimpleNamespace(link_of=np.array([0, 2, 0]), delay=np.ones(3))


def test_one_number_stands_for_all_links() -> None:
    assert of_all_links(PLAN, 7.0).tolist() == [7.0, 7.0, 7.0]
    assert of_links(PLAN, 7.0).tolist() == [7.0, 7.0, 7.0]
    assert of_links(PLAN, np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 3.0, 1.0]


def test_sums_over_the_queues_of_each_link() -> None:
    assert over_links(PLAN, np.array([1.0, 5.0, 2.0])).tolist() == [3.0, 0.0, 5.0]
