"""Units mean the same in each place: in all public functions and classes, in files of scenarios, and in options of the command."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmarks.fuzz.judging import numbers_of
from benchmarks.fuzz.runs import answer
from benchmarks.fuzz.targets import Target, targets
from dfcmodel import ByteBuffer, Link, load_scenario
from hopflow.units import quantities_of, quantity
from tests.surface import for_each

SPELLINGS: dict[str, tuple[tuple[tuple[str, Fraction], ...], ...]] = {
    "amount": (
        tuple((unit, Fraction(1, size)) for unit, size in (
            ("B", 1), ("kB", 1000), ("KB", 1000), ("MB", 10**6), ("KiB", 1024), ("MiB", 2**20), ("GiB", 2**30))),
        (("packets", Fraction(1)), ("pkt", Fraction(1))),
    ),
    "size": (tuple((unit, Fraction(1, size)) for unit, size in (
        ("B", 1), ("kB", 1000), ("KB", 1000), ("MB", 10**6), ("KiB", 1024), ("MiB", 2**20), ("GiB", 2**30))),),
    "rate": (
        tuple((unit, Fraction(1, size)) for unit, size in (
            ("b/s", 1), ("kb/s", 1000), ("kbps", 1000), ("Mbit/s", 10**6), ("Kib/s", 1024), ("Kibit/s", 1024), ("Mibps", 2**20))),
        (("packets/s", Fraction(1)), ("pps", Fraction(1))),
    ),
    "bit_rate": (tuple((unit, Fraction(1, size)) for unit, size in (
        ("b/s", 1), ("kb/s", 1000), ("Gbps", 10**9), ("Kibit/s", 1024), ("Gibit/s", 2**30))),),
    "time": (tuple((unit, Fraction(count)) for unit, count in (
        ("s", 1), ("ms", 10**3), ("us", 10**6), ("\N{MICRO SIGN}s", 10**6), ("\N{GREEK SMALL LETTER MU}s", 10**6), ("ns", 10**9))),),
    "length": ((("m", Fraction(1)), ("km", Fraction(1, 1000))),),
    "share": ((("%", Fraction(100)),),),
}  # fmt: skip
"""Units by dimension, in groups that mean the same, with their number in the unit of the group."""
BASE = {"amount": 1500.0, "size": 1.0, "rate": 12000.0, "bit_rate": 1.0, "time": 1.0, "length": 1.0, "share": 1.0}
"""One of the first group's units in hopflow's: bytes of a packet, bits of a packet."""
USUAL = {
    "amount": 16.0,
    "size": 1536.0,
    "rate": 1024.0,
    "bit_rate": 1e11,
    "time": 0.03125,
    "length": 250.0,
    "share": 0.25,
}
SLOW = (
    "Twin", "recommend_watchdog", "coexist_sweep", "coexist", "pause_thresholds", "compare", "worst_demand", "packet_limit", "check_step",
    "share_intervals", "explain", "ensemble", "simulate_curve", "evaluate_rfc9743", "identify",
)  # fmt: skip
"""Targets of more than 0.1 s, in the slow test."""


class Place(NamedTuple):
    """A parameter that takes a unit."""

    target: Target
    parameter: str
    dimension: str

    def texts(self) -> Iterator[list[str]]:
        """Yield lists of strings with one meaning, near the valid value of the target."""
        value = self.target.parameters.get(self.parameter)
        value = value[0] if isinstance(value, (list, tuple)) and len(value) else value
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 < value < 1e15
        usual = Fraction(value if is_number else USUAL[self.dimension])
        for n, units in enumerate(SPELLINGS[self.dimension]):
            amount = usual if n else usual * Fraction(BASE[self.dimension])
            if self.dimension in ("amount", "size"):
                amount = Fraction(max(round(amount), 1))  # whole bytes and packets
            yield [f"{float(amount * factor)!r} {unit}" for unit, factor in units]


def places(slow: bool) -> Iterator[Place]:
    for target in targets():
        if (target.name in SLOW) == slow:
            for parameter, dimension in quantities_of(target.call).items():
                yield Place(target, parameter, dimension)


def outcome(place: Place, text: str) -> Any:
    """Return the numbers of the answer, or the error without the text."""
    value: Any = place.target.parameters.get(place.parameter)
    given = type(value)([text] * len(value)) if type(value) in (list, tuple) else text
    try:
        found = answer(place.target, **{place.parameter: given})
    except (TypeError, ValueError, OSError, Warning) as error:
        # messages have the text, or its number by rounding
        return type(error).__name__, re.sub(r"'?[-+]?\d[\d.,]*(?:e[-+]?\d+)?(?: ?[^\s;:,]+)?", "#", str(error))
    return numbers_of(found, 5)


def differences(slow: bool) -> tuple[list[str], int, int]:
    """Return the places where two spellings have other outcomes, and the numbers of all places and of answers."""
    wrong, count, answers = [], 0, 0
    for place in places(slow):
        count += 1
        for texts in place.texts():
            expected = outcome(place, texts[0])
            answers += isinstance(expected, list)
            for text in texts[1:]:
                found = outcome(place, text)
                same = type(found) is type(expected) and (
                    found == expected
                    if isinstance(found, tuple)
                    else len(found) == len(expected) and np.allclose(found, expected, rtol=1e-6, equal_nan=True)
                )
                if not same:
                    wrong.append(f"{place.target.name}({place.parameter}={text!r}): {str(found)[:150]}; {texts[0]!r}: {str(expected)[:150]}")  # fmt: skip
    return wrong, count, answers


def test_equal_values_are_equal_in_each_parameter() -> None:
    """Each unit of each dimension in each public parameter with a unit: the same answer, or the same refusal."""
    wrong, count, answers = differences(slow=False)
    assert not wrong, "\n".join(wrong)
    assert count > 370
    assert answers > 0.7 * count


@pytest.mark.slow
def test_equal_values_are_equal_in_slow_functions() -> None:
    wrong, count, answers = differences(slow=True)
    assert not wrong, "\n".join(wrong)
    assert answers > 0.7 * count


SCENARIO = """
links = [{{source = "a", target = "b", rate = "{rate}", delay = "{time}", buffer = "{amount}"}}]
flows = [{{name = "f", path = ["a", "b"], source.kind = "NewReno", size = "{amount}", start = "{time}"}}]
"""


@for_each([
    ("24000 B", "1.024 Mb/s", "31.25 ms", ByteBuffer(24000)),
    ("24 kB", "1000 Kibit/s", "31250 us", ByteBuffer(24000)),
    ("23.4375 KiB", "1000 Kib/s", "31250 \N{MICRO SIGN}s", ByteBuffer(24000)),
    ("23.4375KiB", "1000Kibps", "31250\N{GREEK SMALL LETTER MU}s", ByteBuffer(24000)),
    ("0.02288818359375MiB", "0.9765625 Mibit/s", "31250000 ns", ByteBuffer(24000)),
    ("16 packets", "1024000 b/s", "0.03125 s", 16.0),
])  # fmt: skip
def test_units_in_files_of_scenarios_and_links(amount: str, rate: str, time: str, buffer: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(SCENARIO.format(amount=amount, rate=rate, time=time), encoding="utf-8")
        scenario = load_scenario(path)
    for link in (scenario.links[0], Link("a", "b", rate, time, amount)):
        assert (link.buffer, float(link.delay)) == (buffer, 0.03125)
        assert float(link.rate) == pytest.approx(1024000 / 12000, rel=1e-15)
    assert (float(scenario.flows[0].size), float(scenario.flows[0].start)) == (16.0, 0.03125)


@for_each(
    [
        ("1 KiB/s", "rate"),
        ("1 Kibit", "amount"),
        ("1 kib", "size"),
        ("1 KiB", "time"),
        ("1 iB", "size"),
        ("1 Ki", "size"),
        ("1 Kipackets", "amount"),
        ("1 KiB", "rate"),
    ]
)
def test_units_of_other_dimensions_are_refused(text: str, dimension: Any) -> None:
    """Rates in bytes and amounts in bits are probable mistakes."""
    with pytest.raises(ValueError, match=r"^x = .*: must be a number and a unit of"):
        quantity("x", text, dimension)
