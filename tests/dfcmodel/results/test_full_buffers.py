"""Flows that pass full buffers: parts of packets that are lost."""

from __future__ import annotations

import numpy as np

from dfcmodel.results.full_buffers import _ratio


def test_lost_parts_are_at_most_one_where_rounding_leaves_negative_packets() -> None:
    lost, carried = np.array([3.0, 3.0, -1.0, 0.0, -1e-9]), np.array([1.0, -1.0, 2.0, 0.0, -1e-9])
    assert _ratio(lost, carried).tolist() == [0.75, 1.0, 0.0, 0.0, 0.0]
