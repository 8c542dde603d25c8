"""Parameters: immutable objects of them, what is refused, units; functions of rules on plain numbers."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, get_type_hints

import numpy as np
import pytest
import xarray as xr

from hopflow import gbps, maximum, mbps, minimum, ms, to_mbps, us, where
from hopflow.checks import (
    choice,
    dimensions,
    file_path,
    format_value,
    instance,
    instances,
    integer,
    number,
    one_number,
    random_generator,
    refuse_options,
    seconds,
)
from hopflow.deprecations import takes_options
from hopflow.keywords import WithFields
from hopflow.parameters import (
    Options,
    Parametrized,
    canonical_text,
    extends,
    param,
    refuse_unused,
    series,
    sweep_values,
    validate_parameters,
)
from hopflow.units import WithUnit, in_units, quantities, quantities_of, quantity, readable
from tests.surface import for_each

# Immutable objects of parameters: attributes, equality, copies, errors.


class Point(Parametrized):
    class Params(NamedTuple):
        x: float
        y: float = 2.0
        rates: tuple[float, ...] = (1.0, 2.0)

    def check(self):
        one_number("x", self.params.x, above=0.0)

    def norm(self):
        return math.hypot(self.x, self.y)


class Sibling(Parametrized):
    Params = Point.Params


class Bare(Parametrized):
    pass


class Moved(Point):
    @extends(Parametrized.Params)
    class State(NamedTuple):
        """Where it is, and where it was."""

        here: float = 1.0

    @series(range(2), was=3.0)
    @extends(State)
    class Params(NamedTuple):
        x: float = 5.0
        here: int = 2


class TestFieldsOfSeveralClasses:
    def test_fields_of_the_first_come_first_with_the_defaults_of_the_second(self):
        assert Moved.Params() == (2, 5.0, 3.0, 3.0)
        assert Moved.Params._fields == ("here", "x", "was_0", "was_1")
        kinds = {"here": int, "x": float, "was_0": float, "was_1": float}
        assert get_type_hints(Moved.Params) == kinds
        assert list(get_type_hints(Moved.Params)) == list(kinds)

    def test_they_are_named_and_pickled_as_what_was_declared(self):
        assert Moved.State.__doc__ == "Where it is, and where it was."
        assert Moved.State.__qualname__ == "Moved.State"
        state = pickle.loads(pickle.dumps(Moved.State(here=4.0)))
        assert type(state) is Moved.State
        assert state._replace(here=1.0) == Moved.State()

    def test_fields_without_defaults_are_refused(self):
        for put in (extends(Moved.State), series(range(2), was=3.0)):
            with pytest.raises(TypeError, match="Params: the fields x must have defaults"):
                put(Point.Params)
        with pytest.raises(TypeError, match="State: the fields x must have defaults"):
            extends(Point.Params)(Moved.State)

    def test_a_model_has_them_as_parameters(self):
        assert repr(Moved(was_1=7)) == "Moved(was_1=7)"
        assert list(inspect.signature(Moved).parameters) == ["here", "x", "was_0", "was_1"]


class TestParametrized:
    def test_fields_are_attributes(self):
        point = Point(3.0, y=4.0)
        assert (point.x, point.y, point.rates) == (3.0, 4.0, (1.0, 2.0))
        assert point.params == (3.0, 4.0, (1.0, 2.0))
        assert point.norm() == 5.0
        assert {"x", "y", "rates", "norm", "replace"} <= set(dir(point))
        assert list(inspect.signature(Point).parameters) == ["x", "y", "rates"]

    def test_nothing_changes(self):
        point = Point(3.0)
        for name in ("x", "params", "new"):
            with pytest.raises(AttributeError, match=rf"Point is immutable; use .replace\({name}="):
                setattr(point, name, 7.0)
        with pytest.raises(AttributeError, match="immutable"):
            del point.x
        assert point == Point(3.0)

    def test_lists_and_arrays_become_tuples(self):
        rates = [25.0, 1.0]
        point = Point(np.float64(3.0), rates=rates)
        rates.append(0.5)
        assert point.rates == (25.0, 1.0)
        assert type(point.x) is float
        other = Point(3.0, rates=np.array([25.0, 1.0]))
        assert point == other
        assert hash(point) == hash(other)
        nested = Point(1.0, rates=[[1, 2], np.array([[3, 4]])])
        assert nested.rates == ((1, 2), ((3, 4),))

    def test_replace_checks_again(self):
        point = Point(3.0, rates=(5.0,))
        assert point.replace(x=4.0) == Point(4.0, rates=(5.0,))
        assert point.x == 3.0
        with pytest.raises(ValueError, match="x = -1: must be a finite number > 0"):
            point.replace(x=-1.0)
        with pytest.raises(TypeError, match=r"Point: .*'z'.*; its parameters: x, y, rates"):
            point.replace(z=1.0)

    def test_equality_and_hash(self):
        assert Point(3.0) == Point(3.0, 2.0)
        assert hash(Point(3.0)) == hash(Point(3.0, 2.0))
        assert Point(3.0) != Point(3.5)
        assert Point(3.0) != Sibling(3.0)
        assert Point(3.0) != (3.0, 2.0, (1.0, 2.0))
        assert len({Point(1.0), Point(1.0), Sibling(1.0)}) == 2

    def test_repr_shows_what_was_chosen(self):
        assert repr(Point(3.0)) == "Point(x=3.0)"
        assert repr(Point(3.0, rates=(1.0,))) == "Point(x=3.0, rates=(1.0,))"
        assert repr(Bare()) == "Bare()"
        assert eval(repr(Point(3.0, 5.0))) == Point(3.0, 5.0)

    def test_repr_shows_a_default_that_was_given_and_the_canonical_text_does_not(self):
        given = Point(3.0, y=Point(3.0).y)
        assert given == Point(3.0)
        assert repr(given) == f"Point(x=3.0, y={given.y!r})"
        assert canonical_text(given) == canonical_text(Point(3.0)) == "Point(x=3.0)"
        assert repr(Point(3.0).replace(y=given.y)) == repr(given)
        assert repr(pickle.loads(pickle.dumps(given))) == repr(copy.copy(given)) == repr(given)
        assert canonical_text(3.0) == "3.0"

    def test_copies_and_pickles(self):
        point = Point(3.0, rates=(7.0,))
        for twin in (pickle.loads(pickle.dumps(point)), copy.copy(point), copy.deepcopy(point)):
            assert twin == point
            assert twin.norm() == point.norm()

    def test_unknown_and_missing_names(self):
        with pytest.raises(TypeError, match=r"Point: .*'speed'.*; its parameters: x, y, rates"):
            Point(1.0, speed=2.0)
        with pytest.raises(TypeError, match=r"Point: missing 1 .*'x'; its parameters: x, y, rates"):
            Point()
        with pytest.raises(TypeError, match=r"Bare: .*; its parameters: none"):
            Bare(1)
        with pytest.raises(AttributeError, match="'Point' object has no attribute 'speed'"):
            Point(1.0).speed  # noqa: B018

    def test_a_parameter_never_hides_behind_a_method(self):
        with pytest.raises(TypeError, match="a parameter cannot be called 'norm'"):

            class Hidden(Point):
                class Params(NamedTuple):
                    norm: float = 1.0


class Queue(Parametrized):
    class Params(NamedTuple):
        rtt: float
        rates: tuple[float, ...] = ()
        room: int = 1

    UNITS: ClassVar = {"rtt": "time", "rates": "rate", "room": "amount"}


def test_parameters_with_units_may_be_texts() -> None:
    """A bit rate is one of packets of 1500 bytes; whole packets are whole numbers."""
    texts = Queue(rtt="40ms", rates=["300kbps", 1.0], room="10pkt")
    assert texts == Queue(0.04, (25.0, 1.0), 10)
    assert type(texts.room) is int
    with pytest.raises(ValueError, match=r"^rtt = '40 bit': must be a number and a unit of s, ms"):
        Queue(rtt="40 bit")
    assert Queue(rtt="soon").rtt == "soon", "no quantity: for the check of the class"


def test_values_of_a_sweep_are_those_that_an_object_holds() -> None:
    class Timed(Parametrized):
        UNITS: ClassVar = {"wait": "time", "sizes": "amount"}

        class Params(NamedTuple):
            wait: float = 1.0
            sizes: tuple[int, ...] = (1,)
            name: str = ""

    for name, values, unit in (
        ("wait", ["20ms", 3], "s"),
        ("sizes", [["9kB", 2], (1,)], "packets"),
        ("name", ["20ms"], None),
    ):
        found = sweep_values(Timed(), name, values)
        assert found.unit == unit
        assert found.values == [getattr(Timed(**{name: value}), name) for value in values]
    assert sweep_values(object(), "wait", ["20ms"]) == (["20ms"], None)


# Checks of numbers and choices: what is accepted, and messages that name what is not.


NOT_NUMBERS = ["0.5", b"0.5", "", True, [True], None, 1j, [None], [1.0, "2"], [[1.0], [1.0, 2.0]]]
NOT_NUMBERS += [{}, np.datetime64("2020-01-01"), 10**310]


class TestNumber:
    @pytest.mark.parametrize("value", NOT_NUMBERS, ids=str)
    def test_not_a_number(self, value):
        for check in (number, one_number, seconds):
            with pytest.raises(ValueError, match=r"^speed = .*: must be a finite number") as caught:
                check("speed", value)
            assert str(caught.value).startswith(f"speed = {format_value(value)}: ")

    @pytest.mark.parametrize(
        ("value", "limits", "said"),
        [
            (math.nan, {}, "v = nan: must be a finite number"),
            (-math.inf, {}, "v = -inf: must be a finite number"),
            (0, {"above": 0}, "v = 0: must be a finite number > 0"),
            (-1e-9, {"at_least": 0.0}, "v = -1e-09: must be a finite number >= 0"),
            (1.0, {"above": 0.0, "below": 1.0}, "v = 1: must be a finite number > 0 and < 1"),
            (1.0000001, {"at_most": 1.0}, "v = 1.0000001: must be a finite number <= 1"),
            (2, {"at_most": 1.2345678}, "v = 2: must be a finite number <= 1.2345678"),
            ([0.5, 1.5, 2.5], {"at_most": 1.0}, "v = 1.5: must be a finite number <= 1"),
            ([[0.5], [math.nan]], {}, "v = nan: must be a finite number"),
        ],
    )
    def test_outside(self, value, limits, said):
        with pytest.raises(ValueError, match="must be") as caught:
            number("v", value, **limits)
        assert str(caught.value) == said
        with pytest.raises(ValueError, match="must be") as caught:
            number("v", value, **limits, hint="in metres")
        assert str(caught.value) == f"{said}; in metres"

    @pytest.mark.parametrize("value", [1, 0.5, np.int8(1), np.float32(0.5), Fraction(1, 2)])
    def test_a_number(self, value):
        array = number("v", value, above=0.0, at_least=0.5, below=2.0, at_most=1.0)
        assert array.dtype == np.float64
        assert array.shape == ()
        assert array == value
        assert type(one_number("v", value)) is float
        assert one_number("v", value) == value

    def test_arrays(self):
        given = np.arange(6).reshape(2, 3)
        array = number("v", given, at_least=0)
        np.testing.assert_array_equal(array, given)
        assert number("v", []).shape == (0,)
        for several in ([1.0], np.ones((1, 1)), (1.0, 2.0)):
            with pytest.raises(ValueError, match=r"^v = .*: one number is expected"):
                one_number("v", several)

    def test_seconds(self):
        assert seconds("rtt", 0.048) == 0.048
        for value in (0.0, -1.0, 48_000.0, math.nan):
            with pytest.raises(ValueError, match=r"^rtt = .* > 0 and <= 1000; in seconds: ms"):
                seconds("rtt", value)


class TestWholeAndChoice:
    @pytest.mark.parametrize("value", [1, 20, 7.0, np.int64(3), np.float64(4.0), np.uint8(5)])
    def test_whole(self, value):
        assert integer("n", value, 1, 20) == value
        assert type(integer("n", value, 1, 20)) is int

    @pytest.mark.parametrize("value", [0, 21, 2.5, -3, math.nan, math.inf, "5", True, None, [5], np.array([5]), 5j])
    def test_not_whole(self, value):
        with pytest.raises(ValueError, match=r"must be") as caught:
            integer("n", value, 1, 20, why="the buffer")
        said = f"n = {value!r}: must be a whole number in 1..20 (the buffer)"
        assert str(caught.value) == said

    def test_choice(self):
        assert choice("mode", "up", ("up", "down")) == "up"
        for value in ("", None, 1, np.array(["up", "up"]), ["up"]):
            with pytest.raises(ValueError, match="must be one of") as caught:
                choice("mode", value, ("up", "down"))
            assert str(caught.value) == f"mode = {value!r}: must be one of 'up', 'down'"
        with pytest.raises(ValueError, match=r"did you mean 'up'"):
            choice("mode", "UP", ("up", "down"))


class TestObjects:
    def test_an_instance_is_returned(self):
        assert instance("flow", "a", (str, int)) == "a"

    def test_another_class_is_named(self):
        with pytest.raises(TypeError, match=r"^flow = 3.5: must be a str or a int$"):
            instance("flow", 3.5, (str, int))

    def test_each_entry_of_a_list_is_checked(self):
        assert instances("flows", iter(["a", "b"]), str) == ("a", "b")
        for given, said in (
            (["a", 1], r"flows\[1\] = 1"),
            ("ab", "flows = 'ab'"),
            (3, "flows = 3"),
        ):
            with pytest.raises(TypeError, match=f"^{said}: must be "):
                instances("flows", given, str)

    def test_a_class_in_place_of_a_list_of_its_objects_is_named(self):
        with pytest.raises(TypeError, match=r"^rules is the class str: must be .*; write \[str\(\)\]$"):
            instances("rules", str, str)


class TestRandomGenerator:
    @pytest.mark.parametrize("seed", [7, np.int64(7), np.random.SeedSequence(7)], ids=type)
    def test_the_same_seed_gives_the_same_numbers(self, seed):
        expected = np.random.default_rng(7).random(3)
        assert random_generator("seed", seed).random(3).tolist() == expected.tolist()

    def test_a_generator_is_used_as_it_is(self):
        rng = np.random.default_rng(1)
        assert random_generator("seed", rng) is rng

    @pytest.mark.parametrize("seed", [-1, 0.5, math.nan, True, "7", [1, 2], {}], ids=repr)
    def test_no_seed(self, seed):
        with pytest.raises((TypeError, ValueError), match=r"^seed = .*: must be a whole number >= 0"):
            random_generator("seed", seed)


class TestFilePath:
    def test_texts_and_paths(self, tmp_path):
        assert file_path("path", str(tmp_path)) == file_path("path", tmp_path) == tmp_path

    @pytest.mark.parametrize("given", [3, None, b"x", "", []], ids=repr)
    def test_no_path(self, given):
        with pytest.raises((TypeError, ValueError), match=r"^path = .*: must be "):
            file_path("path", given)


@pytest.mark.parametrize("value", [10**5000, "x" * 500, np.zeros(1000), 0.5], ids=type)
def test_a_value_in_a_message_is_one_short_line(value):
    text = format_value(value)
    assert len(text) <= 80
    assert "\n" not in text


@pytest.mark.parametrize("value", [np.array(4), np.int64(4), np.float64(4.0), Fraction(4)], ids=type)
def test_whole_numbers_of_other_types(value):
    found = integer("runs", value, 1, 10)
    assert (found, type(found)) == (4, int)


@pytest.mark.parametrize(
    ("value", "shape"),
    [(3, ()), ("ab", ()), ([1, 2], (2,)), (np.ones((2, 3)), (2, 3)), ([1.0, [2.0, 3.0]], None)],
)
def test_dimensions_are_none_for_rows_of_different_lengths(value, shape) -> None:
    assert dimensions(value) == shape


# Texts with units, and units in which numbers are short.


@for_each(
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
    ]
)
def test_quantity(text, dimension, value) -> None:
    assert quantity("x", text, dimension) == pytest.approx(value, rel=1e-15)


def test_bits_and_bytes_are_counted_in_packets() -> None:
    assert quantity("buffer", "3 KiB", "amount", 1024) == 3.0
    assert quantity("buffer", "1 MiB", "amount", 1024) == 1024.0
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


@for_each(
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
    ]
)
def test_errors_name_parameter_text_and_forms(text, dimension, part) -> None:
    with pytest.raises(ValueError, match="must be a number and a unit of") as error:
        quantity("delay", text, dimension)
    assert str(error.value).startswith(f"delay = {text!r}: must be")
    assert part in str(error.value)


def test_percentages_are_shares_and_nothing_else() -> None:
    assert quantity("loss", "0.02", "share", bare=True) == 0.02
    assert in_units("loss", {"1->2": "1%", "2->3": 0.1}, "share") == {"1->2": 0.01, "2->3": 0.1}
    with pytest.raises(ValueError, match=r"^high = '80%': .* only: write 0\.8 times the buffer, in packets$"):
        quantity("high", "80%", "amount")
    with pytest.raises(ValueError, match=r"^rate = '80%': .* only: write 0\.8 times the rate of the link$"):
        quantity("rate", "80%", "rate")
    with pytest.raises(ValueError, match=r"^delay = '5%': .* shares and probabilities only$"):
        quantity("delay", "5%", "time")
    for wrong in ("0.8", "80pkt"):
        with pytest.raises(ValueError, match=f"^p = '{wrong}': must be a percentage, such as '80%'"):
            quantity("p", wrong, "share")


@for_each(
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
    ]
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


# Functions of rules on plain numbers.


def test_functions_of_rules():
    assert where(True, 1, 2) == 1
    assert where(False, 1, 2) == 2
    assert (maximum(1, 2), minimum(1, 2)) == (2, 1)
    assert (maximum(2.0, 1.0), minimum(2.0, 1.0)) == (2.0, 1.0)


@pytest.mark.parametrize(("x", "y"), [(-0.5, 0.25), (3.0, 3.0), (math.inf, 1.0), (-2, -7)])
def test_they_are_the_builtins_on_two_numbers(x, y):
    assert maximum(x, y) == max(x, y)
    assert minimum(x, y) == min(x, y)
    assert where(x < y, x, y) == min(x, y)


# Option objects that functions share.


@validate_parameters
@dataclass(frozen=True, repr=False, kw_only=True)
class Shared(Options):
    """Delay, and whether senders are paced."""

    delay: WithUnit = param(0.0, "time", at_least=0.0)
    paced: bool = param(False)


@takes_options(Shared, by_position=("delay",), wait="delay")
@refuse_options(speed="was renamed; write rate=")
def ends(first: int, *, rate: float = 1.0, options: Shared | None = None) -> dict[str, Any]:
    """Return the arguments."""
    return {"first": first, "rate": rate, "options": options}


def test_option_objects_show_what_differs_from_the_defaults() -> None:
    assert repr(Shared(delay="40ms", paced=False)) == "Shared(delay=0.04)"
    assert Shared(delay="40ms").changed == {"delay": 0.04}
    assert Shared(paced=True) == Shared(delay=0, paced=True)
    with pytest.raises(TypeError, match=r"^paced = True: has no effect here, nothing is sent$"):
        refuse_unused(Shared(paced=True), delay="nothing waits", paced="nothing is sent")


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"size": 2}, TypeError, r"^ends\(\) got an unexpected keyword argument 'size'; ends takes first, rate, options=Shared\(delay, paced\)$"),
        ({"rate": 1.0, "speed": 2.0}, TypeError, r"^ends\(speed=\): was renamed; write rate=$"),
        ({"paced": 3}, ValueError, r"^paced = 3: must be one of"),
    ],
)  # fmt: skip
def test_keywords_that_do_not_fit_are_refused(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ends(1, **given)


def test_old_arguments_become_an_option_object() -> None:
    old: Any = ends
    for args, keywords in (((1, 0.5), {}), ((1,), {"wait": "500ms"})):
        with pytest.warns(DeprecationWarning, match=r"write ends\(options=Shared\(delay=0\.5\)\)$") as caught:
            assert old(*args, **keywords) == {"first": 1, "rate": 1.0, "options": Shared(delay=0.5)}
        assert caught[0].filename == __file__


def test_a_function_with_the_fields_of_its_options() -> None:
    by_field = WithFields(ends)
    assert [*inspect.signature(by_field).parameters] == ["first", "rate", "options", "delay", "paced"]
    assert quantities_of(by_field) == {"delay": "time"}
    assert by_field(first=1, delay="40ms")["options"] == Shared(delay=0.04)
    assert by_field(first=1, options=Shared(paced=True), delay=1.0)["options"] == Shared(delay=1.0, paced=True)
    assert pickle.loads(pickle.dumps(by_field))(first=2) == {"first": 2, "rate": 1.0, "options": None}


@dataclass(frozen=True, repr=False, kw_only=True)
class Extended(Shared):
    """Options with a field of their own."""

    size: float = 1.0


@dataclass(frozen=True, repr=False, kw_only=True)
class Other(Options):
    """Options of another function."""


@pytest.mark.parametrize("options", [3, (), "text", Other(), Shared], ids=repr)
def test_options_of_another_class_are_refused_by_name(options: Any) -> None:
    with pytest.raises(TypeError, match=r"^options = .*: must be a Shared$"):
        WithFields(ends)(first=1, options=options, delay=1.0)
    with pytest.raises(TypeError, match=r"^shared = .*: must be a Shared$"):
        Shared.of(options, "shared")


def test_options_of_a_base_class_state_some_of_the_fields() -> None:
    assert Extended.of(Shared(paced=True)) == Extended(paced=True)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^options = Other\(\): must be a Extended$"):
        Extended.of(Other())  # type: ignore[arg-type]


def test_a_choice_is_the_allowed_value() -> None:
    options = Shared(paced=np.False_)  # type: ignore[arg-type]
    assert options.paced is False
    assert options.changed == {}


def test_a_seed_is_declared_by_its_type() -> None:
    @validate_parameters
    def draw(seed: int | np.random.Generator = param(0)) -> Any:
        return seed

    generator = np.random.default_rng(1)
    assert draw(generator) is generator
    assert draw(np.float32(7.0)) == 7  # type: ignore[arg-type]
    for value, error in (("7", TypeError), (np.array([np.nan]), TypeError), (-1, ValueError), (np.nan, ValueError)):
        with pytest.raises(error, match=r"^seed = .*: must be a whole number >= 0, a numpy.random.Generator or None$"):
            draw(value)  # type: ignore[arg-type]


def test_a_unit_of_no_keyword_is_refused_where_the_function_is_written() -> None:
    with pytest.raises(TypeError, match="has no parameter size"):
        quantities(size="size")(ends)
