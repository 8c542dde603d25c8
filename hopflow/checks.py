"""Input checks: each raises ValueError with the parameter's name, its value and the allowed range.

An object of the wrong class raises TypeError.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import numbers
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

T = TypeVar("T")
MAX_VALUE_LENGTH = 80
"""Maximum length of a value in a message, in characters."""
MAX_CHOICES_SHOWN = 40
"""Largest number of allowed names listed in a message; otherwise the closest matches are shown."""
MAX_EXACT_INTEGER = 2**53
"""Integers below this magnitude are exact as float64."""
MAX_ROUNDED_DIFFERENCE = 0.01
"""Largest difference from 1 of a sum of probabilities that may have been rounded to a few digits."""

__all__ = [
    "ascending",
    "check_arguments",
    "check_limit",
    "check_sum_of_one",
    "choice",
    "count_of",
    "dimensions",
    "file_path",
    "first_of",
    "flag",
    "format_value",
    "instance",
    "instances",
    "integer",
    "number",
    "one_number",
    "random_generator",
    "random_source",
    "refuse_former",
    "refuse_masked",
    "refuse_options",
    "refuse_unordered",
    "seconds",
    "seed_number",
    "unwrap_scalar",
]


def number(
    name: str,
    value: ArrayLike,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    hint: str = "",
) -> NDArray[np.float64]:
    """Return ``value`` as a float64 array after checking that every entry is finite and in range.

    Parameters
    ----------
    name
        The parameter's name in the message.
    value
        A number or an array of any shape; strings and booleans are rejected.
    above, at_least, below, at_most
        The range allowed; None leaves that side open.
    hint
        Advice appended to the message.

    Raises
    ------
    ValueError
        Naming the parameter, the first offending value and the allowed range.

    Examples
    --------
    >>> number("delay", -1, above=0.0, hint="in s")
    Traceback (most recent call last):
    ...
    ValueError: delay = -1: must be a finite number > 0; in s
    """
    bounds = (
        (">", np.greater, above),
        (">=", np.greater_equal, at_least),
        ("<", np.less, below),
        ("<=", np.less_equal, at_most),
    )
    limits = [(sign, compare, bound) for sign, compare, bound in bounds if bound is not None]

    def refusal(shown_value: str) -> ValueError:
        range_text = " and ".join(f"{sign} {_as_written(bound) or _show(bound)}" for sign, _, bound in limits)
        rule = f"must be a finite number{range_text and ' '}{range_text}{hint and '; '}{hint}"
        return ValueError(f"{name} = {shown_value}: {rule}")

    refuse_masked(name, value)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):  # rows of different lengths; what is no array
        raise refusal(format_value(value)) from None
    objects = array.dtype.kind == "O" and all(map(_is_real, array.flat))
    if not objects and array.dtype.kind not in "iuf":  # strings, booleans, complex numbers, dates
        raise refusal(format_value(value))
    try:
        array = array.astype(np.float64)
    except OverflowError:
        raise refusal(format_value(value)) from None
    allowed = np.isfinite(array)
    for _, compare, bound in limits:
        allowed = allowed & compare(array, bound)
    if not np.all(allowed):
        raise refusal(_as_written(value) or _show(array[~allowed].flat[0]))
    return array


def refuse_masked(name: str, value: object) -> None:
    """Raise ValueError for an array of `numpy.ma` with masked entries, whose values would be used without the mask.

    >>> refuse_masked("times", np.ma.masked_array([1.0, 2.0], mask=[False, True]))
    Traceback (most recent call last):
    ...
    ValueError: times has a masked entry: must have none; .compressed() has the entries that are not masked
    """
    if isinstance(value, np.ma.MaskedArray) and (count := int(np.ma.getmaskarray(value).sum())):
        which = "a masked entry" if count == 1 else f"{count} masked entries"
        raise ValueError(f"{name} has {which}: must have none; .compressed() has the entries that are not masked")


def one_number(
    name: str,
    value: ArrayLike,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    hint: str = "",
) -> float:
    """Return ``value`` as a float after checking that it is a single number; see `number`."""
    untyped: Any = value
    # a thirtieth of an array's time
    if (isinstance(untyped, float) or type(untyped) is int) and -MAX_EXACT_INTEGER < untyped < MAX_EXACT_INTEGER:
        scalar = float(untyped)
        if (
            (above is None or scalar > above)
            and (at_least is None or scalar >= at_least)
            and (below is None or scalar < below)
            and (at_most is None or scalar <= at_most)
        ):
            return scalar
    array = number(name, value, above=above, at_least=at_least, below=below, at_most=at_most, hint=hint)
    if array.ndim:
        raise ValueError(f"{name} = {format_value(value)}: one number is expected")
    return float(array)


def _is_real(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _show(number: float) -> str:
    """Format a number with enough digits to be unambiguous."""
    value = float(number)
    short = f"{value:g}"
    return short if np.isnan(value) or float(short) == value else repr(float(value))


def _as_written(value: object) -> str:
    """Format a quantity in bits or bytes as it was written, with its packets; "": other values."""
    text = getattr(value, "text", "") if isinstance(value, float) else ""
    return f"{text!r} ({float(value):.6g} in packets of {value.packet_size:g} bytes)" if text else ""  # type: ignore[arg-type,attr-defined]


def seconds(name: str, value: ArrayLike, *, longest: float = 1000.0) -> NDArray[np.float64]:
    """Check a positive duration in s; one above ``longest`` was probably meant in milliseconds."""
    return number(name, value, above=0.0, at_most=longest, hint="in seconds: ms(48) is 0.048")


def ascending(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return ascending times >= 0, or one time, as an array of shape (times,); at least one.

    Examples
    --------
    >>> ascending("times", [2.0, 1.0])
    Traceback (most recent call last):
    ...
    ValueError: times = [2.0, 1.0]: must be ascending numbers, at least one
    """
    array = np.atleast_1d(number(name, value, at_least=0.0))
    if array.ndim != 1 or not len(array) or (np.diff(array) < 0.0).any():
        raise ValueError(f"{name} = {format_value(value)}: must be ascending numbers, at least one")
    return array


def integer(name: str, value: Any, low: int, high: int, *, why: str = "") -> int:
    """Return ``value`` as an int after checking that it is an integer in low..high."""
    value = unwrap_scalar(value)
    if not (_is_real(value) and low <= value <= high and value == int(value)):
        because = f" ({why})" if why else ""
        allowed = f">= {low}" if high == MAX_EXACT_INTEGER else f"in {low}..{high}"
        raise ValueError(f"{name} = {format_value(value)}: must be a whole number {allowed}{because}")
    return int(value)


def is_endless(value: object) -> bool:
    """Return whether a value is the number `inf`, which stands for "no limit".

    >>> is_endless(np.float32(np.inf)), is_endless([np.inf]), is_endless("inf")
    (True, False, False)
    """
    return _is_real(value) and bool(value == np.inf)


def unwrap_scalar(value: Any) -> Any:
    """Return the number in a zero-dimensional array; return other values unchanged.

    >>> unwrap_scalar(np.array(3)), unwrap_scalar([3])
    (3, [3])
    """
    scalar = hasattr(value, "__array__") and np.ndim(value) == 0
    return np.asarray(value).item() if scalar else value


def plain_number(value: Any) -> int | float:
    """Convert a checked number to an int or a float of Python; an int that is not exact as a float becomes a float.

    >>> from fractions import Fraction
    >>> plain_number(Fraction(1, 2)), plain_number(np.array(3)), plain_number(10**30)
    (0.5, 3, 1e+30)
    """
    value = unwrap_scalar(value)
    is_exact = isinstance(value, int) and -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER
    return value if is_exact or isinstance(value, float) else float(value)


def dimensions(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a value as an array; None for rows of different lengths, and for objects that are no array.

    >>> dimensions([[1, 2], [3, 4]]), dimensions([1, [2, 3]])
    ((2, 2), None)
    """
    try:
        shape: Any = np.shape(value)
    except ValueError:
        return None
    return shape if isinstance(shape, tuple) else None  # a module has a function of this name


def choice(name: str, value: T, allowed: Iterable[T]) -> T:
    """Return ``value``, one of ``allowed``, a boolean of NumPy as one of Python; an error suggests the closest of many.

    >>> choice("pacing", np.True_, (False, True))
    True
    """
    options = list(allowed)
    try:  # NumPy before 2.2 compares an empty array with a warning
        is_allowed = not (hasattr(value, "__array__") and np.ndim(value)) and value in options
    except (ValueError, TypeError):  # a value that compares as unknown
        is_allowed = False
    if not is_allowed:
        raise ValueError(f"{name} = {format_value(value)}: must be one of {format_choices(value, options)}")
    return cast("T", bool(value)) if isinstance(value, np.bool_) else value


def format_choices(value: object, options: Iterable[object]) -> str:
    """Return the allowed names for a message: all of a few with the closest to ``value``, or the closest of many.

    >>> format_choices("cubic", ["BIC", "CUBIC"])
    "'BIC', 'CUBIC'; did you mean 'CUBIC'?"
    """
    options = list(options)
    names = list(map(repr, options))
    folded = {str(option).casefold(): repr(option) for option in reversed(options)}
    target = str(value).casefold()
    if len(names) > MAX_CHOICES_SHOWN:
        matches = difflib.get_close_matches(target, folded, 3, cutoff=0.0)
        return f"{len(names)}, such as {', '.join(folded[name] for name in matches)}"
    nearest = difflib.get_close_matches(target, folded, 1)
    return ", ".join(names) + (f"; did you mean {folded[nearest[0]]}?" if nearest else "")


def flag(name: str, value: object) -> bool:
    """Return ``value`` as a bool; ValueError for anything else, such as the string "no"."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} = {format_value(value)}: must be True or False")  # noqa: TRY004
    return bool(value)


def instance(name: str, value: Any, kind: type[T] | tuple[type[T], ...], like: str = "") -> T:
    """Return ``value`` after checking its class.

    Parameters
    ----------
    name
        The parameter's name in the message.
    value
        An object.
    kind
        The class, or a tuple of classes.
    like
        Description of the class in the message; "": its name.

    Raises
    ------
    TypeError
        Naming the parameter, the value and the allowed class.

    Examples
    --------
    >>> instance("name", 3, str)
    Traceback (most recent call last):
    ...
    TypeError: name = 3: must be a str
    """
    if isinstance(value, kind):
        return value
    kinds = kind if isinstance(kind, tuple) else (kind,)
    words = like or " or ".join(f"a {cls.__name__}" for cls in kinds)
    raise TypeError(f"{name} = {format_value(value)}: must be {words}")


def instances(name: str, value: Any, kind: type[T], like: str = "") -> tuple[T, ...]:
    """Return the entries of an iterable as a tuple after checking the class of each.

    >>> instances("names", ["a", 3], str)
    Traceback (most recent call last):
    ...
    TypeError: names[1] = 3: must be a str
    """
    words = like or f"a {kind.__name__}"
    if isinstance(value, str) or not isinstance(value, Iterable):
        if isinstance(value, type) and issubclass(value, kind):
            hint = f"must be a list; each entry {words}; write [{value.__name__}()]"
            raise TypeError(f"{name} is the class {value.__name__}: {hint}")
        raise TypeError(f"{name} = {format_value(value)}: must be a list; each entry {words}")
    entries = tuple(value)
    if set(map(type, entries)) == {kind}:  # one comparison of sets instead of a check per entry
        return entries
    return tuple(instance(f"{name}[{n}]", entry, kind, words) for n, entry in enumerate(entries))


def refuse_unordered(name: str, value: object, like: str) -> None:
    """Raise TypeError for a set where a list of ``like`` is expected: the order of its entries is of chance.

    >>> refuse_unordered("states", {"up"}, "names")
    Traceback (most recent call last):
    ...
    TypeError: states = {'up'}: must be a list of names, as a set has no order
    """
    if isinstance(value, (set, frozenset)):
        raise TypeError(f"{name} = {format_value(value)}: must be a list of {like}, as a set has no order")


def random_generator(name: str, value: Any) -> np.random.Generator:
    """Return a random number generator from a seed, a Generator, or None for a fresh one.

    >>> random_generator("seed", "7")
    Traceback (most recent call last):
    ...
    TypeError: seed = '7': must be a whole number >= 0, a numpy.random.Generator or None
    """
    return np.random.default_rng(random_source(name, value))


def random_source(name: str, value: Any) -> Any:
    """Convert the argument of `random_generator` to one of `numpy.random.default_rng`.

    >>> random_source("seed", np.float32(7.0))
    7
    """
    sources = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)
    if value is None or isinstance(value, sources):
        return value
    seed = unwrap_scalar(value)
    if _is_real(seed) and 0 <= seed < 2**128 and seed == int(seed):
        return int(seed)
    kind = ValueError if _is_real(seed) else TypeError
    raise kind(f"{name} = {format_value(value)}: must be a whole number >= 0, a numpy.random.Generator or None")


def seed_number(name: str, value: Any, *, minimum: int = 0, maximum: int = 2**63) -> int:
    """Return an integer seed, drawn from a `numpy.random.Generator` if that is given.

    >>> seed_number("seed", 7), seed_number("seed", np.random.default_rng(1))
    (7, 1016164991)
    """
    if isinstance(value, np.random.Generator):
        return int(value.integers(1, 2**31 - 1))
    return integer(name, value, minimum, maximum, why="or a numpy.random.Generator")


def check_sum_of_one(what: str, total: float, tolerance: float, hint: str = "") -> None:
    """Raise ValueError if the ``total`` of probabilities differs from 1 by more than ``tolerance``.

    The total is shown with the digits in which it differs. ``what`` begins the message, as in "alpha sums".
    """
    if not abs(total - 1.0) <= tolerance:
        rounded = "; divide rounded probabilities by their sum" if abs(total - 1.0) <= MAX_ROUNDED_DIFFERENCE else ""
        digits = round(2.0 - math.log10(tolerance))
        raise ValueError(f"{what} to {total:.{digits}g}: must be 1 within {tolerance:g}{hint or rounded}")


def check_limit(name: str, value: object, hint: str = "") -> None:
    """Raise ValueError for an upper limit that is neither None nor a number above 0, `inf` included."""
    if value is not None and not is_endless(value):
        one_number(name, value, above=0.0, hint=hint)  # type: ignore[arg-type]


def check_arguments(name: str, function: Any, args: Any, options: Any, error: TypeError) -> None:
    """Raise a TypeError that lists the parameters if a call does not match the signature.

    A method called on its class, as in ``CUBIC.rate(1e-3, 0.04)``, receives a number in place of the instance.
    """
    refuse_former(name, function, options)
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **options)
    except TypeError:
        parameters = ", ".join(parameter for parameter in signature.parameters if parameter not in ("self", "cls"))
        hint = f"{error}; {name} takes {parameters}"
        if "self" in signature.parameters and args and _is_real(args[0]):
            hint += f"; call {name} on an instance, not on the class"
        raise TypeError(hint) from None


def refuse_former(name: str, function: Any, options: Any) -> None:
    """Raise TypeError for a keyword that `refuse_options` declares for a function or a constructor."""
    hints: Mapping[str, str] = getattr(function, "__refused__", {})
    for option in hints.keys() & options.keys():
        raise TypeError(f"{name}({option}=): {hints[option]}")


def refuse_options(**hints: str) -> Callable[[T], T]:
    """Return a decorator that raises TypeError with a hint for removed keywords of a function or class.

    The signature stays. A function under `hopflow.units.quantities` or with ``**keywords`` calls `refuse_former` itself
    when a call does not match.

    Examples
    --------
    >>> @refuse_options(speed="was removed; write rate=")
    ... class Sender:
    ...     def __init__(self, rate=1.0):
    ...         self.rate = rate
    >>> Sender(speed=2.0)
    Traceback (most recent call last):
        ...
    TypeError: Sender(speed=): was removed; write rate=
    """

    def decorate(target: T) -> T:
        kind: Any = target
        if not inspect.isclass(target):
            kind.__refused__ = inspect.unwrap(kind).__refused__ = hints
            return target
        constructor = kind.__init__

        @functools.wraps(constructor)
        def call(self: Any, *args: Any, **options: Any) -> None:
            try:
                constructor(self, *args, **options)
            except TypeError as error:
                check_arguments(kind.__name__, call, (self, *args), options, error)
                raise

        call.__refused__ = hints  # type: ignore[attr-defined]
        kind.__init__ = call
        return target

    return decorate


def file_path(name: str, value: Any) -> Path:
    """Return a path after checking that it is a nonempty string or a `pathlib.Path`.

    >>> file_path("path", 3)
    Traceback (most recent call last):
    ...
    TypeError: path = 3: must be a path, a text or pathlib.Path
    """
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} = {format_value(value)}: must be a path, a text or pathlib.Path")
    if not os.fspath(value):
        raise ValueError(f"{name} = {value!r}: must be the path of a file")
    return Path(value)


def count_of(count: int, noun: str, plural: str = "") -> str:
    """Return a number of things with their noun, which is singular for one.

    >>> count_of(1, "row"), count_of(2, "row"), count_of(0, "entry", "entries")
    ('1 row', '2 rows', '0 entries')
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def first_of(names: Sequence[str], limit: int) -> str:
    """Return the first ``limit`` names, separated by commas, and how many more there are.

    >>> first_of(["a", "b", "c"], 3), first_of(["a", "b", "c"], 1)
    ('a, b, c', 'a and 2 more')
    """
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def format_value(value: object) -> str:
    """Format a value for a message: one line, at most `MAX_VALUE_LENGTH` characters.

    >>> format_value(10**100)[:24]
    '100000000000000000000000'
    >>> len(format_value(10**100))
    80
    """
    if written := _as_written(value):
        return written
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # more digits than Python prints
        text = f"a {type(value).__name__}"
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 4]} ..."
