"""Conversion of units: inside hopflow everything is in seconds, packets and packets per second.

`mbps` and the other converters take and return a number or an array, and change the ``units`` in its ``attrs`` if it
has them. `quantity` parses a number with a unit. `readable` chooses the unit in which a number is shown. A rate in bits
or an amount in bytes is a `PacketUnits`: packets of a provisional size, which a scenario converts to its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
import numbers
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar, cast, overload

import numpy as np

from hopflow.checks import check_arguments, format_value, number, one_number, unwrap_scalar
from hopflow.deprecations import with_new_names
from hopflow.labels import refuse_other_orders

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Number = TypeVar("Number", float, NDArray[np.float64])

F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "PacketUnits",
    "WholeWithUnit",
    "WithUnit",
    "WithUnits",
    "check_rate",
    "convert_arguments",
    "convert_fields",
    "declares",
    "distinction",
    "gbps",
    "in_units",
    "mbps",
    "ms",
    "quantities",
    "quantities_of",
    "quantity",
    "readable",
    "readable_text",
    "to_mbps",
    "us",
    "whole_packets",
    "with_strings",
]

MAX_RATE = 1e12
"""Upper bound of the rate of a link, packets/s."""
MAX_PACKET_RATE = 5e9
"""Upper bound of a rate that is a number, packets/s: 3.2 Tb/s in frames of 84 bytes. Larger numbers are bits/s."""
PACKET_SIZE = 1500
"""Default packet size on the wire in bytes."""

ROUNDING = 1e-12
"""Relative error allowed in the conversion of a size."""

Dimension = Literal["rate", "bit_rate", "time", "amount", "size", "length", "share"]
if TYPE_CHECKING:
    WithUnit: TypeAlias = float | Any
    WholeWithUnit: TypeAlias = int | Any
    WithUnits: TypeAlias = Sequence[Any]
else:
    WithUnit, WholeWithUnit, WithUnits = float, int, Sequence[float]
"""Types of parameters of `quantities`: numbers in SI units, for which type checkers also accept strings with units.

`WithUnits` is a sequence of such values."""

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "\N{MICRO SIGN}s": 1e-6, "ns": 1e-9, "min": 60.0}
TIMES["\N{GREEK SMALL LETTER MU}s"] = TIMES["us"]
PREFIXES = {
    "": 1.0,
    "k": 1e3,
    "m": 1e6,
    "g": 1e9,
    "t": 1e12,
    "ki": 2.0**10,
    "mi": 2.0**20,
    "gi": 2.0**30,
    "ti": 2.0**40,
}
"""Factors of decimal and binary prefixes of bits and bytes, in lower case."""
NUMBER = r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*"
"""Pattern of a number and what separates it from its unit."""
PREFIX = r"((?:[kKmMgGtT]i?)?)"
"""Pattern of a prefix of bits or bytes."""
FORMS = {
    "rate": "packets/s, b/s, kb/s, Mb/s, Gb/s or Tb/s (also pkt/s, bps, kbps, Mbps, Kibit/s, ...)",
    "bit_rate": "b/s, kb/s, Mb/s, Gb/s or Tb/s (also bps, kbps, Mbps, Kibit/s, ...)",
    "time": "s, ms, us, ns or min",
    "amount": "packets, B, kB, MB, GB, TB, KiB, MiB, GiB or TiB (also pkt)",
    "size": "B, kB, MB, GB, TB, KiB, MiB, GiB or TiB",
    "length": "m, km or ft",
    "share": "%",
}
BARE = {
    "rate": "packets/s",
    "bit_rate": "bit/s",
    "time": "s",
    "amount": "packets",
    "size": "bytes",
    "length": "m",
    "share": "1",
}
PERCENTAGE_HINTS = {
    "amount": "the buffer, in packets",
    "rate": "the rate of the link",
    "bit_rate": "the rate of the link",
}
"""Quantity that a rejected percentage probably refers to."""
LENGTHS = {"m": 1.0, "km": 1e3, "ft": 0.3048}
SHOWN = {
    "bit/s": ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}
SHOWN["byte"] = SHOWN["bytes"]


def mbps(rate: Number, packet_size: float = PACKET_SIZE) -> Number:
    """Convert Mb/s (10^6 bits per second) to packets/s for packets of ``packet_size`` bytes.

    A number becomes a `PacketUnits`, which a scenario converts to its own packets. Indexing an array also yields
    `PacketUnits`. Arithmetic on an array yields plain numbers: pass ``packet_size`` there.

    Parameters
    ----------
    rate
        Rate in Mb/s, any shape.
    packet_size
        Bytes of a packet in rates in bits.

    Examples
    --------
    >>> mbps(370)
    30833.333333333332
    """
    size = _packet_size(packet_size)
    too_large = f"is too large, or packet_size = {packet_size!r} too small"
    untyped: Any = rate
    result: Any = _convert("rate", untyped, lambda value: value * 1e6 / (8.0 * size), "packets/s", too_large)
    if type(result) is np.ndarray:
        result = result.view(PacketArray)
        result.packet_size = size
    elif type(result) is float:
        result = PacketUnits(result, size, float(untyped) * 1e6 / 8.0)
    return cast("Number", result)


def gbps(rate: Number, packet_size: float = PACKET_SIZE) -> Number:
    """Convert Gb/s to packets/s; see `mbps`.

    >>> from hopflow import gbps
    >>> gbps(1.2)
    100000.0
    """
    return mbps(_convert("rate", rate, lambda gigabits: 1000.0 * gigabits, "Mb/s"), packet_size)


def to_mbps(rate: Number, packet_size: float = PACKET_SIZE) -> Number:
    """Convert packets/s to Mb/s; the inverse of `mbps`.

    >>> from hopflow import to_mbps
    >>> to_mbps(1000.0)
    12.0
    """
    size = _packet_size(packet_size)
    if isinstance(rate, PacketUnits):
        rate = rate.in_packets_of(size)
    too_large = f"is too large, or packet_size = {packet_size!r}"
    return _convert("rate", rate, lambda packets: packets * 8.0 * size / 1e6, "Mb/s", too_large)


def _packet_size(size: float | str) -> float:
    """Return a packet size in bytes, given as a number or a string."""
    return one_number("packet_size", in_units("packet_size", size, "size"), above=0.0)


def ms(time: Number) -> Number:
    """Convert milliseconds to seconds.

    >>> from hopflow import ms
    >>> ms(40)
    0.04
    """
    return _convert("time", time, lambda milliseconds: milliseconds * 1e-3, "s")


def us(time: Number) -> Number:
    """Convert microseconds to seconds.

    >>> from hopflow import us
    >>> us(250)
    0.00025
    """
    return _convert("time", time, lambda microseconds: microseconds * 1e-6, "s")


def _convert(
    name: str,
    value: Number,
    convert: Callable[[Any], Any],
    unit: str,
    too_large: str = "is too large",
) -> Number:
    """Convert a number or an array in double precision; labels are kept, their unit is changed."""
    untyped: Any = value
    if type(untyped) in (float, int):  # a tenth of an array's time
        converted_number: Any = convert(one_number(name, untyped, at_least=0.0))
        if not math.isfinite(converted_number):
            raise ValueError(f"{name} = {format_value(value)}: {too_large}")
        return converted_number  # type: ignore[no-any-return]
    array = number(name, value, at_least=0.0)
    is_labelled = type(value).__module__.partition(".")[0] in ("pandas", "xarray")
    with np.errstate(over="ignore"):
        converted: Any = convert(value if is_labelled else array if array.ndim else float(array))
        if not np.all(np.isfinite(converted)):
            raise ValueError(f"{name} = {format_value(value)}: {too_large}")
    if is_labelled and "units" in getattr(untyped, "attrs", ()):
        converted.attrs = {**untyped.attrs, "units": unit}
    return converted  # type: ignore[no-any-return]


def quantity(
    name: str,
    text: str,
    dimension: Dimension,
    packet_size: float = PACKET_SIZE,
    *,
    bare: bool = False,
) -> float:
    """Parse a number with a unit, such as ``1.5 Mb/s``, ``40ms`` or ``9 kB``, to hopflow's units.

    Rates are in bits, amounts in bytes, and either may be in packets; rates in bytes and amounts in
    bits are refused as probable mistakes. The case of k, M, G and T does not matter.
    Ki, Mi, Gi and Ti are powers of 1024.

    Parameters
    ----------
    name
        The parameter's name in the message.
    text
        A number and a unit, with or without a space between them.
    dimension
        ``rate``, ``bit_rate``, ``time``, ``amount``, ``size``, ``length`` or ``share``: the result is in packets/s,
        bit/s, s, packets, bytes or m, or is a fraction of 1. Percentages are shares and nothing else.
    packet_size
        Bytes per packet, for the conversion of bits and bytes.
    bare
        Whether a number without a unit is allowed; it is in packets/s, s, packets or bytes, or a fraction of 1.

    Raises
    ------
    ValueError
        Naming the parameter, the text and the forms allowed.

    >>> quantity("rate", "1.5 Gb/s", "rate")
    125000.0
    """
    packet_size = _packet_size(packet_size)
    match = re.fullmatch(NUMBER + "(.*)", text.strip())
    if match and (unit := _unit(dimension, match.group(2), packet_size, bare)):
        value = float(match.group(1)) * unit[0] / unit[1]
        by_size = dimension in ("rate", "amount") and unit[1] != 1.0
        in_bytes = float(match.group(1)) * unit[0] / 8.0
        return PacketUnits(value, packet_size, in_bytes, text=text.strip()) if by_size else value
    if dimension == "share":
        allowed = "must be a percentage, such as '80%', or a number, such as 0.8"
    elif match and match.group(2) == "%":
        of = PERCENTAGE_HINTS.get(dimension)
        rewritten = f": write {float(match.group(1)) / 100.0:.12g} times {of}" if of else ""
        allowed = (
            f"must be a number and a unit of {FORMS[dimension]}; "
            f"a percentage is accepted for shares and probabilities only{rewritten}"
        )
    else:
        alone = f", or a number alone, in {BARE[dimension]}" if bare else ""
        allowed = f"must be a number and a unit of {FORMS[dimension]}{alone}"
    raise ValueError(f"{name} = {format_value(text)}: {allowed}")


def bandwidth_delay_products(name: str, value: object) -> float | None:
    """Parse a multiple of bandwidth times round-trip time, such as ``"1.5BDP"``; None for everything else.

    Raises
    ------
    ValueError
        Naming the parameter, if no positive number stands in front of ``BDP``.

    >>> bandwidth_delay_products("buffer", "0.5 BDP")
    0.5
    """
    if not isinstance(value, str) or not value.rstrip().lower().endswith("bdp"):
        return None
    try:
        products = float(value.rstrip()[:-3])
    except ValueError:
        products = math.nan
    if not 0.0 < products < math.inf:
        msg = "must be a number of bandwidth-delay products, such as '2BDP'"
        raise ValueError(f"{name} = {format_value(value)}: {msg}")
    return products


class PacketUnits(float):
    """A rate or an amount in packets that was given in bits or bytes, and keeps these.

    Its value is the number of packets of ``packet_size`` bytes. `Scenario` converts it to packets of its own size.
    Multiples, fractions, sums and differences are also `PacketUnits`. Ratios are numbers. A sum with a number of
    packets is valid for packets of this size only, and its conversion is refused.

    Parameters
    ----------
    value
        Packets, or packets/s.
    packet_size
        Bytes of a packet.
    in_bytes
        Bytes, or bytes/s. NaN: unknown, the value is valid for packets of ``packet_size`` only. None: computed from
        ``value`` and rounded to 12 digits.
    framing
        Overhead of each packet in bytes.
    text
        The quantity as it was written, for messages; "": unknown.

    Examples
    --------
    >>> quantity("rate", "12Mbps", "rate"), quantity("rate", "12Mbps", "rate").packet_size
    (1000.0, 1500.0)
    """

    __slots__ = ("framing", "in_bytes", "packet_size", "text")
    __array_priority__ = -1.0
    """Between NumPy scalars, which defer to this class, and arrays, which do not."""
    packet_size: float
    in_bytes: float
    framing: float
    text: str

    def __new__(  # noqa: D102
        cls, value: float, packet_size: float, in_bytes: float | None = None, framing: float = 0.0, text: str = ""
    ) -> Self:
        packets = super().__new__(cls, value)
        packets.packet_size, packets.framing, packets.text = packet_size, framing, text
        if in_bytes is None:
            in_bytes = float(f"{float(value) * (packet_size + framing):.12g}")
        packets.in_bytes = in_bytes
        return packets

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.packet_size, self.in_bytes, self.framing)

    def in_packets_of(self, size: float) -> PacketUnits:
        """Return the same bits or bytes in packets of another size.

        Raises
        ------
        ValueError
            For a sum of a quantity in bytes and a number of packets.

        >>> quantity("rate", "12Mbps", "rate").in_packets_of(1000)
        1500.0
        """
        if size == self.packet_size:
            return self
        if math.isnan(self.in_bytes):
            msg = (
                f"holds for packets of {self.packet_size:g} bytes, and not of {size:g}: "
                "numbers of packets are part of it"
            )
            raise ValueError(f"{float(self):g} {msg}")
        return PacketUnits(self.in_bytes / (size + self.framing), size, self.in_bytes, self.framing, self.text)

    def _like(self, value: float, in_bytes: float) -> PacketUnits:
        return PacketUnits(value, self.packet_size, in_bytes, self.framing)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, PacketUnits) or not isinstance(other, numbers.Real):
            return float(self) * other
        return self._like(float(self) * float(other), self.in_bytes * float(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, PacketUnits):
            return float(self) / float(other.in_packets_of(self.packet_size))
        if not isinstance(other, numbers.Real):
            return float(self) / other
        return self._like(float(self) / float(other), self.in_bytes / float(other))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, PacketUnits):
            other = other.in_packets_of(self.packet_size)
            both = self.in_bytes + other.in_bytes if self.framing == other.framing else math.nan
            return self._like(float(self) + float(other), both)
        if not isinstance(other, numbers.Real):
            return float(self) + other
        return self._like(float(self) + float(other), math.nan) if other else self

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        is_plain = isinstance(other, numbers.Real) and not isinstance(other, PacketUnits)
        return self + -(float(other) if is_plain else other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> PacketUnits:
        return self._like(-float(self), -self.in_bytes)

    def __eq__(self, other: object) -> bool:
        """Return whether another quantity has the same bytes, or a number is the number of packets."""
        if isinstance(other, PacketUnits):
            return bool(distinction(self) == distinction(other))
        return float(self) == other  # of an array, an array

    def __ne__(self, other: object) -> bool:
        return not self == other if isinstance(other, PacketUnits) else float(self) != other

    __hash__ = float.__hash__


class PacketArray(np.ndarray[Any, Any]):
    """Array of rates that were given in bits; its entries are `PacketUnits`, results of arithmetic are plain arrays.

    Attributes
    ----------
    packet_size
        Bytes of a packet; None: entries are plain numbers.
    """

    packet_size: float | None

    def __array_finalize__(self, other: Any) -> None:
        self.packet_size = None

    def __getitem__(self, index: Any) -> Any:
        part = super().__getitem__(index)
        if self.packet_size is None:
            return part
        if isinstance(part, PacketArray):
            part.packet_size = self.packet_size
            return part
        return PacketUnits(float(part), self.packet_size)

    def tolist(self) -> Any:
        """Return the entries as nested lists."""
        if self.packet_size is None:
            return super().tolist()
        return [entry.tolist() if isinstance(entry, PacketArray) else entry for entry in self]

    def __repr__(self) -> str:
        return repr(np.asarray(self))


def _of_numbers(name: str, *, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """Return a method of `PacketUnits` that applies an operator to plain numbers."""
    operate = getattr(operator, name)
    if reflected:
        return lambda self, other: operate(other, float(self))
    return lambda self, other: operate(float(self), other)


for _name in ("lt", "le", "gt", "ge"):
    setattr(PacketUnits, f"__{_name}__", _of_numbers(_name))
for _name in ("truediv", "floordiv", "mod", "pow"):
    setattr(PacketUnits, f"__r{_name}__", _of_numbers(_name, reflected=True))


def check_rate(name: str, rate: Any) -> None:
    """Raise ValueError unless a rate is above 0 and at most `MAX_RATE`, for a bare number `MAX_PACKET_RATE`."""
    max_rate = MAX_RATE if isinstance(rate, PacketUnits) else MAX_PACKET_RATE
    one_number(name, rate, above=0.0, at_most=max_rate, hint="in packets/s: mbps(370), or '370Mbps'")


def whole_packets(size: PacketUnits) -> PacketUnits:
    """Return the packets of a transfer given in bytes, rounded up to whole packets.

    >>> whole_packets(quantity("size", "100kB", "amount"))
    67.0
    """
    packets = float(math.ceil(float(size) * (1.0 - ROUNDING)))
    return size if packets == size else PacketUnits(packets, size.packet_size, size.in_bytes)


def distinction(value: Any) -> Any:
    """Return a key that distinguishes values in a column: a `PacketUnits` includes its bytes.

    >>> distinction(quantity("size", "3kB", "amount")), distinction(2.0)
    ((2.0, 1500.0, 3000.0, 0.0), 2.0)
    """
    if not isinstance(value, PacketUnits):
        return value
    in_bytes = None if math.isnan(value.in_bytes) else value.in_bytes
    return float(value), value.packet_size, in_bytes, value.framing


@overload
def in_units(name: str, value: float | str, dimension: Dimension, packet_size: float = ...) -> float: ...
@overload
def in_units(name: str, value: float | str | None, dimension: Dimension, packet_size: float = ...) -> float | None: ...
@overload
def in_units(name: str, value: Any, dimension: Dimension, packet_size: float = ...) -> Any: ...
def in_units(name: str, value: Any, dimension: Dimension, packet_size: float = PACKET_SIZE) -> Any:
    """Convert a string such as ``"40ms"`` to a number in hopflow's units; return other values unchanged.

    Lists, tuples and the values of dictionaries are converted one by one. Bits and bytes become a `PacketUnits` of
    ``packet_size`` bytes.

    >>> in_units("rtt", "40ms", "time"), in_units("rtt", 0.04, "time"), in_units("rtt", ["40ms", 1], "time")
    (0.04, 0.04, [0.04, 1])
    """
    if isinstance(value, str):
        return quantity(name, value, dimension, packet_size)
    if type(value) is dict:
        return {key: in_units(name, entry, dimension, packet_size) for key, entry in value.items()}
    entries: Any = value
    if isinstance(value, PacketArray) and value.packet_size is not None and value.ndim:
        return value.tolist()
    if type(value) is np.ndarray and value.dtype.kind in "UO":
        entries = value.tolist()
    is_list = type(entries) in (list, tuple)
    if not is_list or {type(entry) for entry in entries} <= {float, int}:
        return value
    return type(entries)([in_units(name, entry, dimension, packet_size) for entry in entries])


def quantities(**dimensions: Dimension) -> Callable[[F], F]:
    """Return a decorator of a function or class: strings with units become numbers before the call.

    Every public parameter with a unit is declared so; `quantities_of` lists the declarations. None, numbers, arrays and
    other objects are passed on unchanged.

    Parameters
    ----------
    dimensions
        The dimension of each parameter: rates in packets/s or bit/s, times in s, amounts in packets, sizes in bytes,
        lengths in m, shares as fractions of 1. Bits and bytes become a `PacketUnits`: packets of 1500 bytes, or of
        ``packet_size`` bytes where a parameter of that name is given, until a scenario converts them to its own.

    Examples
    --------
    >>> @quantities(rtt="time", bandwidth="rate")
    ... def product(bandwidth, rtt):
    ...     return bandwidth * rtt
    >>> product("24Mbps", rtt="40ms")
    80.0
    """

    def decorate(function: F) -> F:
        kind: Any = function
        of_class = inspect.isclass(function)
        if of_class and hasattr(kind, "UNITS"):  # of `hopflow.parameters`, whose constructor reads them
            kind.UNITS = {**kind.UNITS, **dimensions}
            return function
        inner = kind.__init__ if of_class else kind
        parameters = list(inspect.signature(inner).parameters)
        if missing := dimensions.keys() - parameters:
            raise TypeError(f"{kind.__name__} has no parameter {', '.join(sorted(missing))}")
        declared = {**getattr(kind, "__quantities__", {}), **dimensions}
        signature = with_strings(inspect.signature(inner), dimensions)
        if of_class and _has_own_checks(kind, dimensions):
            convert_fields(kind, dimensions, partial(_convert_field, dimensions))
            inner.__signature__, kind.__quantities__ = signature, declared
            return function
        converters = {name: _converter(name, dimension) for name, dimension in dimensions.items()}
        call: Any = convert_arguments(kind.__name__, inner, converters)
        call.__signature__ = signature
        if of_class:
            kind.__init__ = call
            kind.__quantities__ = declared
            return function
        call.__quantities__ = declared
        return cast("F", call)

    return decorate


def _converter(name: str, dimension: Dimension) -> Callable[[Any, float | None], Any]:
    """Return a function of a value and a packet size that converts strings with units."""

    def convert(value: Any, packet_size: float | None) -> Any:
        if type(value) is float or value is None or type(value) is int:
            return value
        return in_units(name, value, dimension, PACKET_SIZE if packet_size is None else packet_size)

    return convert


def convert_arguments(
    name: str, function: Callable[..., Any], converters: Mapping[str, Callable[[Any, float | None], Any]]
) -> Callable[..., Any]:
    """Return a function that converts its arguments and calls another one with them.

    A call that does not match the signature raises a TypeError that lists the parameters. Arrays with the same labels
    in different orders raise a ValueError.

    Parameters
    ----------
    name
        Name of the function or class in messages.
    function
        The function to call.
    converters
        By parameter, a function of the argument and of the argument ``packet_size`` (None without it).
    """
    by_position = tuple(
        (n, parameter, converters[parameter])
        for n, parameter in enumerate(inspect.signature(function).parameters)
        if parameter in converters
    )

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        positional = len(args)
        if len(by_position) > 1:
            declared = (
                (parameter, args[n] if n < positional else options.get(parameter)) for n, parameter, _ in by_position
            )
            refuse_other_orders(dict(declared))
        for n, parameter, convert in by_position:
            if n < positional:
                converted = convert(args[n], options.get("packet_size"))
                if converted is not args[n]:
                    args = (*args[:n], converted, *args[n + 1 :])
            elif parameter in options:
                options[parameter] = convert(options[parameter], options.get("packet_size"))
        try:
            return function(*args, **options)
        except TypeError as error:
            names: Mapping[str, str] = getattr(call, "__old_names__", {})
            if names.keys().isdisjoint(options):
                check_arguments(name, function, args, options, error)
                raise
        return call(*args, **with_new_names(name, names, options))

    return call


def _has_own_checks(kind: Any, names: Iterable[str]) -> bool:
    """Return whether a class is a dataclass with ``__post_init__`` and these fields."""
    if not (dataclasses.is_dataclass(kind) and hasattr(kind, "__post_init__")):
        return False
    return set(names) <= {field.name for field in dataclasses.fields(kind)}


def _convert_field(
    dimensions: Mapping[str, Dimension], _self: Any, name: str, value: Any, packet_size: float | None
) -> Any:
    """Return the value of a field in SI units; NumPy's scalars as numbers of Python, so that the object has a hash."""
    if type(value) is float or value is None or type(value) is int:
        return value
    converted = in_units(name, value, dimensions[name], PACKET_SIZE if packet_size is None else packet_size)
    if not isinstance(converted, np.generic):
        with contextlib.suppress(TypeError):  # a number that JAX traces has no value yet
            converted = unwrap_scalar(converted)
    return converted


def convert_fields(kind: Any, names: Iterable[str], convert: Callable[[Any, str, Any, float | None], Any]) -> None:
    """Convert fields before ``__post_init__`` of a dataclass: cheaper than a wrapped constructor.

    Parameters
    ----------
    kind
        The dataclass, which is changed.
    names
        The fields.
    convert
        A function of the object, the name, the value, and the field ``packet_size`` (None without it).
    """
    check, names = getattr(kind, "__post_init__", None), tuple(names)

    def convert_and_check(self: Any) -> None:
        for name in names:
            value = getattr(self, name)
            size = PACKET_SIZE if name == "packet_size" else getattr(self, "packet_size", None)
            converted = convert(self, name, value, size)
            if converted is not value:
                object.__setattr__(self, name, converted)
        if check is not None:
            check(self)

    kind.__post_init__ = convert_and_check if check is None else functools.wraps(check)(convert_and_check)


def with_strings(signature: inspect.Signature, names: Iterable[str]) -> inspect.Signature:
    """Return a signature in which the named parameters are annotated as strings too."""
    parameters = dict(signature.parameters)
    for name in names:
        annotation = parameters[name].annotation
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        text = text.replace("WithUnits", "Sequence[WithUnit]")
        text = text.replace("WholeWithUnit", "int | str").replace("WithUnit", "float | str")
        if "str" not in text and ("float" in text or "int" in text):
            text = f"{text} | str"
        parameters[name] = parameters[name].replace(annotation=text)
    return signature.replace(parameters=list(parameters.values()))


def declares(**dimensions: Dimension) -> Callable[[F], F]:
    """Return a decorator that declares parameters with units, which the function itself converts by `in_units`.

    Examples
    --------
    >>> @declares(rtt="time")
    ... def trips(rtt):
    ...     return 1.0 / in_units("rtt", rtt, "time")
    >>> trips("40ms"), dict(quantities_of(trips))
    (25.0, {'rtt': 'time'})
    """

    def decorate(function: F) -> F:
        declared: Any = function
        inner = declared.__init__ if inspect.isclass(function) else declared
        inner.__signature__ = with_strings(inspect.signature(inner), dimensions)
        declared.__quantities__ = {**getattr(function, "__quantities__", {}), **dimensions}
        return function

    return decorate


for _function in (mbps, gbps, to_mbps):
    declares(packet_size="size")(_function)


def quantities_of(function: Any) -> Mapping[str, Dimension]:
    """Return the dimensions of the parameters of a function or class that accept strings with units.

    Examples
    --------
    >>> from dfcmodel import Link
    >>> quantities_of(Link)["delay"]
    'time'
    """
    declared: Mapping[str, Dimension] = getattr(function, "__quantities__", {})
    units: Mapping[str, Dimension] = getattr(function, "UNITS", {})
    return {**declared, **units}


def _unit(dimension: Dimension, unit: str, packet_size: float, bare: bool) -> tuple[float, float] | None:
    """Return numerator and denominator of a unit in packets/s, s or packets; None if unknown.

    Two numbers, so that 1.5 Gb/s is rounded exactly as by `gbps`.
    """
    if not unit:
        return (1.0, 1.0) if bare else None
    if dimension == "share":
        return (1.0, 100.0) if unit == "%" else None
    if dimension in ("time", "length"):
        units = TIMES if dimension == "time" else LENGTHS
        return (units[unit], 1.0) if unit in units else None
    ending, letter, bits = (r"(?:/s|ps)", "(?:b|bit)", 1.0) if dimension in ("rate", "bit_rate") else ("", "B", 8.0)
    if dimension in ("size", "bit_rate"):
        packet_size = 1.0 if dimension == "size" else 0.125
    elif re.fullmatch("(packets?|pkts?)" + ending, unit) or (dimension, unit) == ("rate", "pps"):
        return 1.0, 1.0
    match = re.fullmatch(f"{PREFIX}{letter}{ending}", unit)
    return (bits * PREFIXES[match.group(1).lower()], 8.0 * packet_size) if match else None


def readable(unit: str, largest: float) -> tuple[float, str]:
    """Return the scale factor and the unit for displaying numbers up to ``largest``.

    Parameters
    ----------
    unit
        ``bit/s``, ``s`` and ``bytes`` are scaled; other units are kept, and 1 becomes empty.
    largest
        Largest magnitude to be shown, in ``unit``.

    >>> readable("bit/s", 3.7e8)
    (1000000.0, 'Mb/s')
    """
    if unit not in SHOWN:
        return 1.0, "" if unit == "1" else unit
    scales = SHOWN[unit]
    base_scale = next(pair for pair in scales if pair[0] == 1.0)
    return next((pair for pair in scales if largest >= pair[0]), scales[-1] if largest else base_scale)


def readable_text(value: float, unit: str) -> str:
    """Format a number with four digits and a suitable unit.

    >>> readable_text(2.253e-4, "s"), readable_text(1048576, "bytes")
    ('225.3 µs', '1.049 MB')
    """
    scale, name = readable(unit, abs(value))
    return f"{value / scale:.4g} {name}".strip()
