"""Texts with units, and units in which numbers are short."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr

from hopflow import gbps, mbps, ms, to_mbps, us
from hopflow.units import in_units, quantities, quantity, readable


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("370 Mb/s", "rate", mbps(370)),
        ("370Mbps", "rate", mbps(370)),
        (" 1e3mbps ", "rate", mbps(1000)),
        ("1.5 Gbit/s", "rate", gbps(1.5)),
        ("12 kb/s", "rate", 1.0),
        ("12000 b/s", "rate", 1.0),
        ("-12 Kbps", "rate", -1.0),
        ("7.5 packets/s", "rate", 7.5),
        ("40ms", "time", 0.04),
        ("3 s", "time", 3.0),
        (".5 min", "time", 30.0),
        ("20 us", "time", 2e-5),
        ("20 µs", "time", 2e-5),
        ("9 kB", "amount", 6.0),
        ("1.5MB", "amount", 1000.0),
        ("1 packet", "amount", 1.0),
        ("50 packets", "amount", 50.0),
        ("200pkt", "amount", 200.0),
        ("1 pkts", "amount", 1.0),
        ("30pkt/s", "rate", 30.0),
        ("30 pps", "rate", 30.0),
        ("80%", "share", 0.8),
        ("0.1 %", "share", 0.001),
    ],
)
def test_quantity(text, dimension, value) -> None:
    assert quantity("x", text, dimension) == pytest.approx(value, rel=1e-15)


def test_bits_and_bytes_are_counted_in_packets() -> None:
    assert quantity("rate", "8 Mb/s", "rate", 1000) == 1000.0
    assert quantity("buffer", "8 kB", "amount", 1000) == 8.0
    assert quantity("rtt", "8 ms", "time", 1000) == 0.008


def test_rates_are_rounded_as_by_the_functions() -> None:
    for value in (0.1, 1 / 3, 370.0, 12.3e3):
        assert quantity("rate", f"{value!r} Mb/s", "rate", 576) == mbps(value, 576)


@pytest.mark.parametrize("text", ["100", "1e3", "-2.5"])
def test_a_bare_number_only_where_it_is_allowed(text) -> None:
    for dimension, unit in (("rate", "packets/s"), ("time", "s"), ("amount", "packets")):
        assert quantity("x", text, dimension, bare=True) == float(text)
        with pytest.raises(ValueError, match=f"^x = '{text}': must be a number and a unit of"):
            quantity("x", text, dimension)
        with pytest.raises(ValueError, match=f"or a number alone, in {unit}$"):
            quantity("x", "fast", dimension, bare=True)


@pytest.mark.parametrize(
    ("text", "dimension", "part"),
    [
        ("1 MB/s", "rate", "packets/s, b/s, kb/s, Mb/s"),  # bytes: eight times as fast
        ("1 kb", "amount", "packets, B, kB"),  # bits: an eighth
        ("1 kB", "rate", "b/s"),
        ("1 Mb", "rate", "b/s"),
        ("40 Mb/s", "time", "s, ms, us"),
        ("40 ms", "rate", "b/s"),
        ("40 MS", "time", "s, ms, us"),
        ("1.2.3 ms", "time", "s, ms, us"),
        ("nan s", "time", "s, ms, us"),
        ("inf Mb/s", "rate", "b/s"),
        ("ms", "time", "s, ms, us"),
        ("", "time", "s, ms, us"),
        ("1e ms", "time", "s, ms, us"),
    ],
)
def test_errors_name_parameter_text_and_forms(text, dimension, part) -> None:
    with pytest.raises(ValueError, match="must be a number and a unit of") as error:
        quantity("delay", text, dimension)
    assert str(error.value).startswith(f"delay = {text!r}: must be")
    assert part in str(error.value)


def test_percentages_are_shares_and_nothing_else() -> None:
    assert quantity("loss", "0.02", "share", bare=True) == 0.02
    assert in_units("loss", {"1->2": "1%", "2->3": 0.1}, "share") == {"1->2": 0.01, "2->3": 0.1}
    with pytest.raises(
        ValueError, match=r"^high = '80%': .* only: write 0\.8 times the buffer, in packets$"
    ):
        quantity("high", "80%", "amount")
    with pytest.raises(
        ValueError, match=r"^rate = '80%': .* only: write 0\.8 times the rate of the link$"
    ):
        quantity("rate", "80%", "rate")
    with pytest.raises(ValueError, match=r"^delay = '5%': .* shares and probabilities only$"):
        quantity("delay", "5%", "time")
    for wrong in ("0.8", "80pkt"):
        with pytest.raises(
            ValueError, match=f"^p = '{wrong}': must be a percentage, such as '80%'"
        ):
            quantity("p", wrong, "share")


def test_packets_have_a_size() -> None:
    with pytest.raises(ValueError, match="packet_size = 0: must be"):
        quantity("rate", "1 Mb/s", "rate", 0)


@pytest.mark.parametrize(
    ("unit", "largest", "shown"),
    [
        ("bit/s", 3.7e8, (1e6, "Mb/s")),
        ("bit/s", 1.23e10, (1e9, "Gb/s")),
        ("bit/s", 1e9, (1e9, "Gb/s")),  # a whole unit is shown as one
        ("s", 1e-3, (1e-3, "ms")),
        ("bit/s", 0.0, (1.0, "b/s")),
        ("s", 0.04, (1e-3, "ms")),
        ("s", 2.0, (1.0, "s")),
        ("s", 0.0, (1.0, "s")),
        ("s", 1e-12, (1e-9, "ns")),
        ("bytes", 1e7, (1e6, "MB")),
        ("packets", 1e7, (1.0, "packets")),
        ("1", 0.5, (1.0, "")),
        ("", 0.5, (1.0, "")),
    ],
)
def test_readable(unit, largest, shown) -> None:
    assert readable(unit, largest) == shown


class TestUnits:
    def test_values(self):
        assert mbps(370) == 370e6 / 12000
        assert mbps(12, packet_size=1000) == 1500.0
        assert gbps(1) == mbps(1000)
        assert to_mbps(mbps(15.5)) == pytest.approx(15.5, rel=1e-15)
        assert to_mbps(100, packet_size=1526) == pytest.approx(1.2208, rel=1e-15)
        assert ms(48) == pytest.approx(0.048, rel=1e-15)
        assert us(20) == pytest.approx(2e-5, rel=1e-15)
        np.testing.assert_allclose(mbps(np.array([12.0, 24.0])), [1000.0, 2000.0], rtol=1e-15)
        np.testing.assert_allclose(ms(np.array([1.0, 2.0])), [0.001, 0.002], rtol=1e-15)

    @pytest.mark.parametrize(
        ("convert", "unit", "then"),
        [
            (mbps, "Mb/s", "packets/s"), (gbps, "Gb/s", "packets/s"), (to_mbps, "packets/s", "Mb/s"),
            (ms, "ms", "s"), (us, "us", "s"),
        ],
    )  # fmt: skip
    def test_an_array_with_units_has_those_after_the_conversion(self, convert, unit, then):
        about = {"units": unit, "long_name": "speed"}
        given = xr.DataArray([12.0, 24.0], {"link": ["a", "b"]}, name="speed", attrs=about)
        found = convert(given)
        assert found.attrs == {"units": then, "long_name": "speed"}
        assert given.attrs["units"] == unit
        assert found.link.to_numpy().tolist() == ["a", "b"]
        np.testing.assert_array_equal(found, convert(given.to_numpy()))
        assert "units" not in convert(given.drop_attrs()).attrs

    def test_an_axis_in_other_units_is_labelled_with_them(self):
        axis = xr.DataArray([1000.0, 2000.0], dims="bandwidth", attrs={"units": "packets/s"})
        found = xr.DataArray([1.0, 2.0], {"bandwidth": axis}, name="goodput")
        found = found.assign_coords(bandwidth=to_mbps(found.bandwidth))
        assert found.bandwidth.to_numpy().tolist() == [12.0, 24.0]
        assert found.plot()[0].axes.get_xlabel() == "bandwidth [Mb/s]"

    @pytest.mark.parametrize("convert", [mbps, gbps, to_mbps, ms, us])
    @pytest.mark.parametrize("value", [-2.0, math.nan, math.inf, "3", None])
    def test_bad(self, convert, value):
        name = "time" if convert in (ms, us) else "rate"
        shown = "-2" if value == -2.0 else repr(value)
        with pytest.raises(ValueError, match=rf"^{name} = {shown}: must be a finite number >= 0"):
            convert(value)

    @pytest.mark.parametrize("convert", [mbps, gbps, to_mbps])
    def test_bad_packet_size(self, convert):
        with pytest.raises(ValueError, match="packet_size = 0: must be a finite number > 0"):
            convert(1.0, packet_size=0)


def test_texts_in_hopflows_units_and_numbers_as_they_are() -> None:
    assert in_units("rtt", "40ms", "time") == 0.04
    assert in_units("rtt", 3, "time") == 3
    assert in_units("rtt", None, "time") is None
    with pytest.raises(ValueError, match=r"^rtt = '40'"):
        in_units("rtt", "40", "time")


def test_a_call_that_does_not_fit_lists_the_parameters() -> None:
    @quantities(rtt="time")
    def trips(rtt, count=1):
        return "a" + count / rtt

    for args, options in (((), {"rate": 3}), ((), {}), ((1.0, 2, 3), {})):
        with pytest.raises(TypeError, match=r"; trips takes rtt, count$"):
            trips(*args, **options)
    with pytest.raises(TypeError, match="can only concatenate str"):  # not of the call itself
        trips("2s")
