"""Random numbers: first states of streams, and those of ns-2, in the order in which its agents draw."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.packets.ns2_random import TICK, Generator, tcl_order, tick_phases
from dfcmodel.packets.plan import first_states


@pytest.mark.parametrize("seed", [0, 1, 2006, 2**31 - 2, 2**80 + 7])
def test_states_are_those_of_a_seed_sequence(seed: int) -> None:
    for count in (0, 1, 2, 5, 1000):
        expected = np.random.SeedSequence(seed).generate_state(count, np.uint64) | np.uint64(1)
        np.testing.assert_array_equal(first_states(seed, count), expected)


def test_the_generator_begins_as_published() -> None:
    """L'Ecuyer's RngStreams: with all seeds 12345 the first numbers of MRG32k3a."""
    generator = Generator()
    first = [generator.uniform() for _ in range(3)]
    assert first == pytest.approx([0.127011122046577, 0.318527565396798, 0.309186015583211])


def test_substreams_are_apart() -> None:
    """The state of a substream is the former one's 2^76 numbers later: jumps commute with steps."""
    one, other = Generator(7), Generator(7)
    one.uniform()
    one.next_substream()
    other.next_substream()
    other.uniform()
    assert (one.one, one.two) == (other.one, other.two)


def test_tcl_lists_small_arrays_by_bucket() -> None:
    """The hash of a digit is its ASCII code, 48 + n: four buckets, the youngest entry first."""
    assert tcl_order(["0", "1", "2", "3", "4"]) == ["4", "0", "1", "2", "3"]
    names = [str(n) for n in range(100)]
    assert sorted(tcl_order(names), key=int) == names


def test_phases_are_below_a_tick_and_count_the_second_draws() -> None:
    phases = tick_phases([0, 1], 2, None)
    generator = Generator()
    drawn = [generator.uniform() for _ in range(4)]
    np.testing.assert_array_equal(phases, TICK * np.array(drawn[2:]))
    assert (tick_phases([0, 1], 2, None, substream=1) != phases).all()
