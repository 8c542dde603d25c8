"""Rates, lengths and times with their units, as data sheets have them."""

from __future__ import annotations

import pytest

from dfcmodel.lossless.quantities import (
    QUANTUM,
    RESPONSE_QUANTA,
    bit_rate,
    bit_times,
    both_ends,
    duration,
    frame_size,
    metres,
    response_time,
    size_in_bytes,
)


def test_units_are_those_of_data_sheets():
    assert bit_rate("rate", "2.5Gb/s") == 2_500_000_000
    assert metres("cable", "100ft") == pytest.approx(30.48, rel=1e-15)  # a foot is 0.3048 m
    assert size_in_bytes("pool", "19 KiB") == 19 * 1024
    assert frame_size("mtu", "1.5 kB") == 1500


@pytest.mark.parametrize(
    ("value", "bits"),
    [("905 quanta", 905 * 512), ("820 B", 6560), ("1 us", 400_000), (2.5e-12, 1), (0.0, 0)],
)
def test_durations_are_whole_bit_times_rounded_up(value, bits):
    assert bit_times("response", value, 400_000_000_000) == bits


def test_a_range_is_a_pair_of_its_ends():
    assert both_ends("cable", ("5m", "300m"), metres) == (5.0, 300.0)
    assert both_ends("cable", "5m", metres) == (5.0, 5.0)
    with pytest.raises(ValueError, match="must be a pair"):
        both_ends("cable", ("5m", "6m", "7m"), metres)


@pytest.mark.parametrize("rate", RESPONSE_QUANTA)
def test_a_response_is_the_standards_and_a_shorter_one_must_be_known(rate):
    standard = QUANTUM * RESPONSE_QUANTA[rate]
    assert response_time(int(rate), None, measured=False) == (standard, standard)
    less = f"{standard - 1} bits"
    assert response_time(int(rate), less, measured=True) == (standard - 1, standard - 1)
    with pytest.raises(ValueError, match="response_measured=True"):
        response_time(int(rate), less, measured=False)


@pytest.mark.parametrize(
    ("read", "value", "allowed"),
    [
        (metres, "300km", "from 0 m to 100 km"),
        (bit_rate, "20Tbps", "from 1 Mb/s to 10 Tb/s"),
        (frame_size, "1 MB", "from 64 to 65535 bytes"),
        (size_in_bytes, "-1 kB", "finite and not negative"),
        (duration, "0 us", "above 0, at most 1e9 s"),
        (lambda name, text: bit_times(name, text, 10**9), "3 s", "from 0 to 1 s"),
        (lambda name, text: bit_times(name, text, 10**9), "900 MB", "from 0 to 1 s at line rate"),
    ],
)
def test_values_out_of_range_are_quoted_as_given(read, value, allowed):
    with pytest.raises(ValueError, match=f"given = '{value}': must be {allowed}"):
        read("given", value)


@pytest.mark.parametrize(
    ("read", "value"), [(frame_size, 1500.5), (frame_size, 63), (metres, "3 parsec")]
)
def test_bad_values_are_named(read, value):
    with pytest.raises(ValueError, match=r"length = "):
        read("length", value)
