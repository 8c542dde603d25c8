"""Parameters of dataclasses and functions that are declared by `param`: units, ranges, defaults, derived classes."""

from __future__ import annotations

import dataclasses
import inspect
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import ArrayLike

from hopflow import gbps
from hopflow.deprecations import takes_options
from hopflow.parameters import Parametrized, declarations_of, param, validate_parameters
from hopflow.units import PacketUnits, WholeWithUnit, WithUnit, WithUnits, quantities_of


@validate_parameters
@dataclass(frozen=True)
class Port:
    rate: WithUnit = param(unit="rate", above=0.0, source="IEEE 802.3")
    delay: WithUnit | None = param(None, "time", at_least=0.0)
    queues: int = param(1, at_least=1, at_most=8, hint="one for each priority")
    kind: str = param("drop", choices=("drop", "pause"))


@validate_parameters
@dataclass(frozen=True, kw_only=True)
class Buffered(Port):
    buffer: WholeWithUnit = param(100, "amount", at_least=0)
    queues: int = param(16, at_least=1, at_most=64)

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        if self.buffer < self.queues:
            raise ValueError(f"buffer = {self.buffer}: must be at least queues = {self.queues}")


@dataclass(frozen=True)
class Undeclared(Port):
    name: str = ""


@validate_parameters
def transfer_time(
    size: WithUnit = param(unit="amount", above=0.0),
    rates: WithUnits | ArrayLike = param(unit="rate", above=0.0),
    *,
    rtt: WithUnit = param(0.0, "time", at_least=0.0),
) -> Any:
    return size / np.asarray(rates) + rtt


number: Any = float


REFUSED = [
    (lambda: Port(-1.0), "rate = -1: must be a finite number > 0; in packets/s"),
    (lambda: Port("0 Mbps"), "rate = '0 Mbps' (0 in packets of 1500 bytes): must be a finite number > 0; in"),
    (lambda: Port("9 kB"), "rate = '9 kB': must be a number and a unit of"),
    (lambda: Port(float("nan")), "rate = nan: must be a finite number > 0"),
    (lambda: Port([1.0, 2.0]), "rate = [1.0, 2.0]: one number is expected"),
    (lambda: Port(None), "rate = None: must be a finite number > 0"),
    (lambda: Port(1.0, delay="-1ms"), "delay = -0.001: must be a finite number >= 0; in s"),
    (lambda: Port(1.0, queues=9), "queues = 9: must be a whole number in 1..8 (one for each priority)"),
    (lambda: Port(1.0, queues=number(1.5)), "queues = 1.5: must be a whole number in 1..8"),
    (lambda: Port(1.0, queues=True), "queues = True: must be a whole number in 1..8"),
    (lambda: Port(1.0, kind="drops"), "kind = 'drops': must be one of 'drop', 'pause'; did you mean 'drop'?"),
    (lambda: replace(Port(1.0), rate=0.0), "rate = 0: must be a finite number > 0"),
    (lambda: Undeclared(1.0, queues=9), "queues = 9: must be a whole number in 1..8"),
    (lambda: Buffered(rate=1.0, queues=65), "queues = 65: must be a whole number in 1..64"),
    (lambda: Buffered(rate=1.0, buffer=8), "buffer = 8: must be at least queues = 16"),
    (lambda: transfer_time(0.0, 1.0), "size = 0: must be a finite number > 0; in packets"),
    (lambda: transfer_time(1.0, [1.0, -2.0]), "rates = -2: must be a finite number > 0; in packets/s"),
    (lambda: transfer_time(1.0, 1.0, rtt="1 m"), "rtt = '1 m': must be a number and a unit of s"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=map(str, range(len(REFUSED))))
def test_values_out_of_range_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_fields_are_converted_and_checked() -> None:
    port = Port("1Gbps", "5ms")
    assert port == Port(gbps(1), 0.005)
    assert isinstance(port.rate, PacketUnits)
    assert Port(1.0).delay is None
    assert Port(2).rate == 2
    assert isinstance(Port(np.float64(2.0)).rate, float)
    assert hash(Port(np.array(2.0))) == hash(Port(2.0))
    assert Buffered(rate=1.0, buffer="30kB").buffer == 20


@validate_parameters
class Meter:
    def __init__(
        self,
        interval: WithUnit = param(unit="time", above=0.0),
        names: Sequence[str] = param(),
        readings: int = param(1, at_least=1),
        exact: bool = param(False),
        unit: str = param("packets", hint="the name of a unit"),
        place: str | None = param(None),
    ) -> None:
        self.interval, self.names, self.readings, self.exact = interval, names, readings, exact
        self.unit, self.place = unit, place


def test_arguments_of_a_constructor_are_converted_and_checked() -> None:
    meter = Meter("40ms", ["in", "out"])
    assert (meter.interval, meter.names, meter.readings) == (0.04, ["in", "out"], 1)
    assert quantities_of(Meter) == {"interval": "time"}
    assert (
        str(inspect.signature(Meter))
        == "(interval: 'float | str', names: 'Sequence[str]', readings: 'int' = 1, exact: 'bool' = False, "
        "unit: 'str' = 'packets', place: 'str | None' = None) -> 'None'"
    )
    with pytest.raises(ValueError, match="readings = 0: must be a whole number >= 1"):
        Meter(1.0, [], readings=0)
    with pytest.raises(ValueError, match="exact = 'no': must be one of True, False"):
        Meter(1.0, [], exact="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^unit = 3: must be the name of a unit$"):
        Meter(1.0, [], unit=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^place = 3: must be a str$"):
        Meter(1.0, [], place=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^unit = None: must be the name of a unit$"):
        Meter(1.0, [], unit=None)  # type: ignore[arg-type]
    assert Meter(1.0, [], unit="bytes", place=None).unit == "bytes"
    with pytest.raises(TypeError, match="Meter takes interval, names, readings, exact"):
        Meter(1.0, speed=2)  # type: ignore[call-arg]


def test_arguments_are_converted_and_checked() -> None:
    assert transfer_time("3 kB", ["12Mbps", 500.0]).tolist() == [0.002, 0.004]
    assert transfer_time(1.0, 1.0, rtt="500ms") == 1.5
    assert transfer_time(size=1, rates=2) == 0.5


def test_signatures_show_defaults_and_units() -> None:
    parameters = inspect.signature(Port).parameters
    assert parameters["rate"].default is inspect.Parameter.empty
    assert parameters["queues"].default == 1
    assert parameters["rate"].annotation == "float | str"
    assert parameters["delay"].annotation == "float | str | None"
    assert inspect.signature(transfer_time).parameters["rates"].annotation == "Sequence[float | str] | ArrayLike"
    assert [field.default for field in dataclasses.fields(Port)[1:]] == [None, 1, "drop"]
    assert dataclasses.fields(Port)[0].default is dataclasses.MISSING
    assert not hasattr(Port, "rate")
    assert inspect.signature(transfer_time).parameters["rtt"].default == 0.0
    assert quantities_of(Port) == {"rate": "rate", "delay": "time"}
    assert quantities_of(Buffered) == {"rate": "rate", "delay": "time", "buffer": "amount"}
    assert quantities_of(transfer_time) == {"size": "amount", "rates": "rate", "rtt": "time"}
    assert declarations_of(Port)["rate"].source == "IEEE 802.3"
    assert declarations_of(Buffered)["rate"].range_text == "> 0"


def test_a_call_that_does_not_match_lists_the_parameters() -> None:
    with pytest.raises(TypeError, match="transfer_time takes size, rates, rtt"):
        transfer_time(1.0)
    with pytest.raises(TypeError, match="transfer_time takes size, rates, rtt"):
        transfer_time(1.0, 1.0, speed=2)  # type: ignore[call-arg]


def test_a_required_field_is_required() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'rate'"):
        Port()


def test_mistakes_in_declarations_are_refused_at_the_definition() -> None:
    with pytest.raises(ValueError, match="x = -1: must be a finite number > 0"):

        @validate_parameters
        def default_out_of_range(x: float = param(-1.0, above=0.0)) -> None: ...

    with pytest.raises(TypeError, match="required_last"):

        @validate_parameters
        def required_last(x: float = param(1.0), y: float = param(above=0.0)) -> None: ...

    with pytest.raises(TypeError, match="NoDataclass: must be a dataclass, a class with a constructor, or a function"):

        @validate_parameters
        class NoDataclass:
            x: float = param(1.0)


@dataclass(frozen=True)
class Line:
    width: float = 1.0


@dataclass(frozen=True)
class Paper:
    height: float = 2.0


@takes_options(Line, "line", thickness="width")
@takes_options(Paper, "paper")
def area(*, line: Line = Line(), paper: Paper = Paper()) -> float:
    return line.width * paper.height


def test_a_function_takes_two_option_objects() -> None:
    former: Any = {"thickness": 3.0, "height": 4.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert area(line=Line(3.0), paper=Paper(4.0)) == 12.0
    with pytest.warns(DeprecationWarning, match="area") as caught:
        assert area(**former) == 12.0
    assert [str(warning.message).split("; write ")[1] for warning in caught] == [
        "area(line=Line(width=3.0))",
        "area(paper=Paper(height=4.0))",
    ]
    with pytest.raises(TypeError, match="area: line and thickness were given; Line has the parameters"):
        area(line=Line(), **former)


@validate_parameters
def positions(first: int = param(above=0.0, below=3.5), last: int | None = param(None, at_least=0.5)) -> Any:
    return first, last


@pytest.mark.parametrize(("first", "last"), [(0, None), (4, None), (1, 0)])
def test_exclusive_and_fractional_bounds_of_whole_numbers_hold(first: int, last: int | None) -> None:
    assert positions(1, 1) == (1, 1)
    assert positions(3) == (3, None)
    with pytest.raises(ValueError, match="must be a whole number"):
        positions(first, last)


def test_a_range_needs_numbers() -> None:
    with pytest.raises(TypeError, match=r"ranged: x: list\[str\]: a range needs a type"):

        @validate_parameters
        def ranged(x: list[str] = param(above=0.0)) -> None: ...


class Counts(Parametrized):
    class Params(NamedTuple):
        servers: int = param(2, at_least=1, hint="of one queue")
        limit: int | None = param(None, at_least=0, below=8)
        pair: tuple[int, int] = param((1, 2), "amount", at_least=1, hint="B1, B2")
        rates: tuple[float, ...] = param((1.0,), "rate", above=0.0)


class Derived(Counts):
    class Params(NamedTuple):
        servers: int = 3
        rates: tuple[float, ...] = param((2.0, 3.0))


REFUSED_COUNTS = [
    ({"servers": number(1.5)}, "servers = 1.5: must be a whole number >= 1 (of one queue)"),
    ({"servers": 0}, "servers = 0: must be a whole number >= 1 (of one queue)"),
    ({"servers": True}, "servers = True: must be a whole number >= 1"),
    ({"servers": None}, "servers = None: must be a whole number >= 1"),
    ({"limit": number(7.5)}, "limit = 7.5: must be a whole number in 0..7"),
    ({"limit": 8}, "limit = 8: must be a whole number in 0..7"),
    ({"pair": (1, 0)}, "pair[1] = 0: must be a whole number >= 1 (B1, B2)"),
    ({"pair": (number(1.5), 2)}, "pair[0] = 1.5: must be a whole number >= 1 (B1, B2)"),
    ({"pair": (1,)}, "pair = (1,): must be 2 numbers (B1, B2)"),
    ({"pair": 1}, "pair = 1: must be 2 numbers (B1, B2)"),
    ({"pair": ("1 kB", 2)}, "pair[0] = '1 kB' (0.666667 in packets of 1500 bytes): must be a whole number >= 1 (B1, B2)"),
    ({"rates": (1.0, 0.0)}, "rates = 0: must be a finite number > 0; in packets/s"),
    ({"rates": 1.0}, "rates = 1.0: must be several numbers"),
    ({"rates": ((1.0, 2.0),)}, "rates = ((1.0, 2.0),): must be several numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), REFUSED_COUNTS, ids=map(str, range(len(REFUSED_COUNTS))))
def test_an_object_takes_whole_numbers_and_tuples_as_annotated(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Counts(**options)


def test_a_derived_class_inherits_ranges_and_types() -> None:
    for options, message in REFUSED_COUNTS[0], REFUSED_COUNTS[-3], REFUSED_COUNTS[-1]:
        with pytest.raises(ValueError, match=re.escape(message)):
            Derived(**options)


def test_checked_numbers_of_an_object_stay_as_they_are() -> None:
    whole: Any = 4.0
    counts = Counts(servers=whole, pair=[np.int64(3), "3 kB"], rates=np.array([0.5, 2.0]))
    assert repr(counts) == "Counts(servers=4.0, pair=(3, 2), rates=(0.5, 2.0))"
    assert Counts().limit is None
    assert (Derived().servers, Derived().rates) == (3, (2.0, 3.0))
    assert Derived.declared["rates"].range_text == "> 0"


@validate_parameters
def columns(widths: tuple[float, ...] = param(above=0.0), counts: tuple[int, int] = param((1, 2), at_least=1)) -> Any:
    return widths, counts


def test_arguments_may_be_tuples() -> None:
    numbers: Any = np.array([0.5]), [1, np.float64(2.5)], np.array([3, 4])
    assert columns(numbers[1], numbers[2]) == ((1, 2.5), (3, 4))
    assert [type(value) for value in (*columns(numbers[0])[0], *columns((1.0,))[1])] == [float, int, int]
    with pytest.raises(ValueError, match=r"widths = -1: must be a finite number > 0"):
        columns((1.0, -1.0))
    with pytest.raises(ValueError, match=r"counts = \(1, 2, 3\): must be 2 numbers"):
        columns((1.0,), (1, 2, 3))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"counts\[0\] = 1.5: must be a whole number >= 1"):
        columns((1.0,), (number(1.5), 2))


class Window(Parametrized):
    class Params(NamedTuple):
        size: float = param(above=0.0)
        growth: float = param(1.0, above=0.0)


def test_a_parameter_of_an_object_may_be_required() -> None:
    assert (Window(2.0).size, Window(2.0).growth) == (2.0, 1.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'size'"):
        Window()
    with pytest.raises(ValueError, match="size = 0: must be a finite number > 0"):
        Window(0.0)
    with pytest.raises(TypeError, match="a required parameter stands behind one with a default"):

        class Late(Parametrized):
            class Params(NamedTuple):
                growth: float = param(1.0)
                size: float = param(above=0.0)
