"""What chains of one model share."""

from __future__ import annotations

from markov.generators.built_chains import Series
from markov.generators.ways import Ways
from tests.markov.conftest import Queue


class Started(Queue):
    def start(self):
        return self.State(0)


def test_chains_of_a_series_share_their_pattern():
    series = Series()
    one, other = (
        Ways(Started(arrival_rate=rate), True, 100, series).by_compiler() for rate in (0.5, 2.0)
    )
    assert one.codes is other.codes
    assert one.Q.indices is other.Q.indices
    alone = Ways(Started(arrival_rate=2.0), True, 100).by_compiler()
    assert abs(other.Q - alone.Q).max() <= 1e-15 * abs(alone.Q).max()
    longer = Ways(Started(capacity=20), True, 100, series).by_compiler()  # another pattern
    assert longer.Q.shape == (21, 21)
