"""Immutable objects defined by parameters: the base of window rules, laws and chain models.

A class declares its parameters once, in an inner ``NamedTuple``::

    class Reno(Parametrized):
        class Params(NamedTuple):
            a: float = 1.0
            b: float = 0.5

    Reno(b=0.25).params        # Params(a=1.0, b=0.25)
    Reno(b=0.25).b             # 0.25
    Reno().replace(b=0.25)     # the same, checked again

`param` instead of a default states unit, range and source of the parameter, too. With `validate_parameters` it does so
in dataclasses and in signatures of functions::

    @validate_parameters
    @dataclass(frozen=True)
    class Port:
        rate: WithUnit = param(unit="rate", above=0.0)
        delay: WithUnit = param(0.0, "time", at_least=0.0)

    Port("1Gbps").rate         # 83333.33333333333
    Port(rate=-1.0)            # ValueError: rate = -1: must be a finite number > 0; in packets/s
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import operator
from collections import namedtuple
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, TypeVar, cast

import numpy as np

from hopflow.checks import (
    MAX_EXACT_INTEGER,
    choice,
    count_of,
    dimensions,
    format_value,
    instance,
    integer,
    number,
    one_number,
    plain_number,
    random_source,
)
from hopflow.labels import refuse_labels
from hopflow.results import table_html
from hopflow.units import (
    BARE,
    PACKET_SIZE,
    Dimension,
    PacketUnits,
    convert_arguments,
    convert_fields,
    in_units,
    quantity,
    with_strings,
)

__all__ = [
    "Declaration",
    "Options",
    "Parametrized",
    "SweepValues",
    "canonical_text",
    "declarations_of",
    "extends",
    "in_packets_of",
    "is_overridden",
    "param",
    "refuse_hidden_attributes",
    "refuse_unused",
    "series",
    "sweep_values",
    "validate_parameters",
]


C = TypeVar("C", bound=Callable[..., Any])
K = TypeVar("K", bound=type)
P = TypeVar("P", bound="Parametrized")
T = TypeVar("T")


REQUIRED: Any = inspect.Parameter.empty
"""Default of a declaration without one."""


class Declaration(NamedTuple):
    """Default, unit, source and range of a parameter, see `param`, and the type with which it is annotated."""

    default: Any = REQUIRED
    unit: str = "1"
    source: str = ""
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    choices: tuple[Any, ...] | None = None
    hint: str = ""
    annotation: str = ""

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError for a value out of range, TypeError for no string; None is allowed where it is the default.

        A parameter that is annotated as ``int`` is a whole number, one that is annotated as ``str`` is a string, and
        one that is annotated as a tuple has as many numbers as its annotation. One whose annotation has a
        `numpy.random.Generator` is a seed or a generator.
        """
        if self.choices is not None:
            choice(name, value, self.choices)
        elif self.annotation in STRING_TYPES:
            self._check_string(name, value)
        elif SEED_TYPE in self.annotation:
            random_source(name, value)
        elif self.has_range and not (value is None and self.default is None):
            self._check_numbers(name, value)

    def _check_string(self, name: str, value: Any) -> Any:
        """Return a string, or None where it is the default or allowed by the annotation."""
        optional = self.default is None or self.annotation.endswith("| None")
        return value if value is None and optional else instance(name, value, str, self.hint)

    def _check_numbers(self, name: str, value: Any) -> Any:
        """Return a number, or an array or tuple of numbers, after the check of type and range."""
        if self.annotation.startswith("tuple["):
            return self._check_tuple(name, value)
        if any(word in self.annotation for word in ARRAY_TYPES):
            return self._check_range(number, name, value)
        if self.annotation.startswith(WHOLE_NUMBER_TYPES):
            return integer(name, value, *self._whole_range, why=self.hint)
        return self._check_range(one_number, name, value)

    def _check_tuple(self, name: str, value: Any) -> tuple[Any, ...]:
        """Return numbers as a tuple after the check of their count, types and range."""
        types = self.annotation[len("tuple[") : self.annotation.index("]")].split(", ")
        of_integers, count = types[0] == "int", None if types[-1] == "..." else len(types)
        shape = dimensions(value) if of_integers else self._check_range(number, name, value).shape
        if shape is None or len(shape) != 1 or count not in (None, *shape):
            expected = "several numbers" if count is None else count_of(count, "number")
            hint = f" ({self.hint})" if self.hint else ""
            raise ValueError(f"{name} = {format_value(value)}: must be {expected}{hint}")
        if not of_integers:
            return tuple(map(plain_number, value))
        bounds = self._whole_range
        return tuple(integer(f"{name}[{n}]", entry, *bounds, why=self.hint) for n, entry in enumerate(value))

    def _check_range(self, check: Callable[..., Any], name: str, value: Any) -> Any:
        unit = BARE.get(cast("Dimension", self.unit), self.unit)
        hint = self.hint or ("" if unit == "1" else f"in {unit}")
        return check(
            name, value, above=self.above, at_least=self.at_least, below=self.below, at_most=self.at_most, hint=hint
        )

    def convert(self, name: str, value: Any, packet_size: float | None = None) -> Any:
        """Return an argument in SI units, after the check of its type and range.

        The annotation ``int`` demands a whole number, ``float`` one number, ``str`` a string, a tuple as many numbers,
        an array type numbers of any shape, ``int | np.random.Generator`` a seed or a generator. Values of other types
        are returned as they are, after the conversion of units.

        Parameters
        ----------
        name
            Name of the parameter.
        value
            Argument of the parameter; None is allowed where it is the default or the annotation ends in ``| None``.
        packet_size
            Bytes of a packet of rates in bits and amounts in bytes; None: the default size.
        """
        if value is None and (self.default is None or self.annotation.endswith("| None")):
            return None
        if self.choices is not None:
            return choice(name, value, self.choices)
        if self.annotation in STRING_TYPES:
            return self._check_string(name, value)
        if SEED_TYPE in self.annotation:
            return random_source(name, value)
        if self.unit in BARE:
            size = PACKET_SIZE if packet_size is None else packet_size
            value = in_units(name, value, cast("Dimension", self.unit), size)
        if not self.has_numbers:
            return value
        if isinstance(value, PacketUnits) and self.annotation.startswith(WHOLE_NUMBER_TYPES):
            # whole in packets of a scenario's size, to which it is converted later
            self._check_range(one_number, name, value)
            return value
        checked = self._check_numbers(name, value)
        if type(checked) is not float:
            return checked
        return plain_number(value)

    @property
    def _whole_range(self) -> tuple[int, int]:
        """Smallest and largest allowed whole number."""
        low = [-MAX_EXACT_INTEGER] if self.at_least is None else [math.ceil(self.at_least)]
        high = [MAX_EXACT_INTEGER] if self.at_most is None else [math.floor(self.at_most)]
        low += [] if self.above is None else [math.floor(self.above) + 1]
        high += [] if self.below is None else [math.ceil(self.below) - 1]
        return max(low), min(high)

    def inherit_from(self, base: Declaration | None) -> Declaration:
        """Return the declaration with unit and range of the base class's parameter where it has none itself."""
        if base is None:
            return self
        ranged = self if self.has_range or self.choices is not None else base
        unit = base.unit if self.unit == "1" else self.unit
        return ranged._replace(default=self.default, unit=unit, source=self.source, annotation=self.annotation)

    def with_annotation(self, annotation: Any) -> Declaration:
        """Return the declaration of a parameter of this type; ``bool`` allows True and False."""
        text = _type_text(annotation)
        choices = (True, False) if text == "bool" and self.choices is None else self.choices
        return self._replace(annotation=text, choices=choices)

    def with_default(self, default: Any) -> Declaration:
        """Return the declaration with another default, whose source is unknown."""
        same = default is self.default or _key(_freeze(default)) == _key(_freeze(self.default))
        return self if same else self._replace(default=default, source="")

    @property
    def has_numbers(self) -> bool:
        """Whether the parameter is annotated as a number, an array or a tuple of numbers."""
        if SEED_TYPE in self.annotation:
            return False
        return self.annotation.startswith(NUMBER_TYPES) or any(word in self.annotation for word in ARRAY_TYPES)

    @property
    def has_range(self) -> bool:
        """Whether a bound is declared."""
        return any(bound is not None for bound in self[3:7])

    @property
    def range_text(self) -> str:
        """The allowed values in words.

        >>> param(0.5, above=0.0, at_most=1.0).range_text
        '> 0, <= 1'
        """
        if self.choices is not None:
            return ", ".join(map(repr, self.choices))
        bounds = {">": self.above, ">=": self.at_least, "<": self.below, "<=": self.at_most}
        return ", ".join(f"{sign} {at:g}" for sign, at in bounds.items() if at is not None)


ARRAY_TYPES = ("ArrayLike", "NDArray", "Sequence[float", "Sequence[int", "WithUnits")
"""Annotations of parameters that take several numbers contain one of these words."""
STRING_TYPES = ("str", "str | None")
"""Annotations of parameters that take one string."""
SEED_TYPE = "np.random.Generator"
"""Annotations of parameters that take a seed or a generator contain this class."""
WHOLE_NUMBER_TYPES = ("int", "WholeWithUnit")
"""Annotations of parameters that take one whole number begin with one of these words."""
NUMBER_TYPES = ("float", "WithUnit", *WHOLE_NUMBER_TYPES, "tuple[float", "tuple[int")
"""Annotations of parameters that take one number, or a tuple of numbers, begin with one of these words."""


def param(
    default: T = REQUIRED,
    unit: str = "1",
    *,
    source: str = "",
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    choices: tuple[Any, ...] | None = None,
    hint: str = "",
) -> T:
    """Declare a parameter: its default, with unit, source and allowed values.

    The declaration stands in place of the default: in a class ``Params`` of `Parametrized`, or under
    `validate_parameters` in a dataclass or the signature of a function.

    Parameters
    ----------
    default
        The value of the parameter where none is given. If it is None, None is an allowed value. Without it the
        parameter is required.
    unit
        ``"rate"``, ``"time"``, ``"amount"``, ``"share"`` or another `hopflow.units.Dimension` of a parameter that may
        be a string with a unit, such as ``"40ms"``; otherwise a unit in words, such as ``"round trips"``; ``"1"``:
        none.
    source
        Source of the default: document, section, and the number as printed there.
    above, at_least, below, at_most
        Bounds of a number, or of each number of a tuple; without any of them the parameter is not checked. An ``int``
        must be a whole number, a ``bool`` True or False, a ``str`` a string.
    choices
        All allowed values.
    hint
        Advice in messages, instead of the unit; of a string what it is, such as "the name of a label".

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Window(Parametrized):
    ...     class Params(NamedTuple):
    ...         b: float = param(0.5, source="RFC 5681, Sect. 3.1, eq. 4", above=0.0, at_most=1.0)
    >>> Window(), Window().b, Window.declared["b"].source
    (Window(), 0.5, 'RFC 5681, Sect. 3.1, eq. 4')
    >>> Window(b=2.0)
    Traceback (most recent call last):
    ...
    ValueError: b = 2: must be a finite number > 0 and <= 1
    """
    declaration = Declaration(default, unit, source, above, at_least, below, at_most, choices, hint)
    return cast("T", declaration)  # replaced by the default


def validate_parameters(target: C) -> C:
    """Check and convert the arguments of a function or constructor, or fields of a dataclass, declared by `param`.

    Strings with units become numbers in SI units. A value out of range raises ValueError before the function, the
    constructor or ``__post_init__`` runs. Other numbers stay as they are, except that NumPy's scalars become numbers
    of Python and arrays become float64. The decorator stands above ``@dataclass``, and below ``@classmethod``.

    Raises
    ------
    TypeError
        At the definition: for a required parameter behind one with a default, and for a range of a parameter that is
        not annotated as one number or an array.
    ValueError
        At the definition: for a default out of its range.

    Examples
    --------
    >>> @validate_parameters
    ... def stage_rate(phases: int = param(at_least=1, at_most=1000), mean: float = param(unit="time", above=0.0)):
    ...     return phases / mean
    >>> stage_rate(2, "40ms")
    50.0
    >>> stage_rate(2, mean=-1.0)
    Traceback (most recent call last):
    ...
    ValueError: mean = -1: must be a finite number > 0; in s
    """
    kind: Any = target
    call: Any = target
    of_class = inspect.isclass(target)
    has_fields = of_class and dataclasses.is_dataclass(target)
    if of_class and not has_fields and "__init__" not in vars(kind):
        raise TypeError(f"{kind.__name__}: must be a dataclass, a class with a constructor, or a function")
    function = kind.__init__ if of_class else kind
    signature = inspect.signature(function)
    declarations: dict[str, Declaration] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if isinstance(declaration := parameter.default, Declaration):
            declaration = declaration.with_annotation(parameter.annotation)
            if declaration.has_range and not declaration.has_numbers:
                expected = f"a range needs a type that begins with {', '.join(NUMBER_TYPES)}, or an array type"
                raise TypeError(f"{kind.__name__}: {name}: {declaration.annotation}: {expected}")
            if declaration.default is not REQUIRED:
                default = declaration.convert(name, declaration.default)
                if isinstance(default, np.ndarray) and not default.ndim:
                    default = default.item()
                declaration = declaration._replace(default=default)
            declarations[name] = declaration
            parameter = parameter.replace(default=declaration.default)
        parameters.append(parameter)
    try:
        signature = signature.replace(parameters=parameters)
    except ValueError as error:
        raise TypeError(f"{kind.__name__}: {error}") from None
    positional = [entry.default for entry in parameters if entry.kind is not entry.KEYWORD_ONLY]
    function.__defaults__ = tuple(default for default in positional if default is not REQUIRED)
    function.__kwdefaults__ = {
        entry.name: entry.default
        for entry in parameters
        if entry.kind is entry.KEYWORD_ONLY and entry.default is not REQUIRED
    }
    units = {name: declaration.unit for name, declaration in declarations.items() if declaration.unit in BARE}
    signature = with_strings(signature, units)

    if has_fields:
        fields = tuple(declarations)
        declarations = {**getattr(kind, "__declarations__", {}), **declarations}
        _check_fields(kind, declarations, fields)
        kind.__init__.__signature__ = signature
    else:

        def converter(name: str) -> Callable[[Any, float | None], Any]:
            return lambda value, size: declarations[name].convert(name, value, size)

        converted = convert_arguments(kind.__name__, function, {name: converter(name) for name in declarations})
        converted.__signature__ = signature  # type: ignore[attr-defined]
        if of_class:
            kind.__init__ = converted
        else:
            call = converted
    call.__quantities__ = {**getattr(kind, "__quantities__", {}), **units}
    call.__declarations__ = declarations
    return cast("C", call)


def _type_text(annotation: Any) -> str:
    """Return the annotation of a parameter, a type or a string of it, as text."""
    text = getattr(annotation, "__forward_arg__", annotation)
    return text.__name__ if isinstance(text, type) else str(text)


def _check_fields(kind: Any, declarations: Mapping[str, Declaration], names: Collection[str]) -> None:
    """Let a dataclass convert and check its declared fields before its ``__post_init__``, in derived classes too."""

    def convert(self: Any, name: str, value: Any, packet_size: float | None) -> Any:
        declaration = type(self).__declarations__[name]  # of a derived class, where it declares the field again
        return declaration.convert(name, value, packet_size)

    if not hasattr(kind, "__post_init__"):  # then the constructor does not call it
        assign_fields = kind.__init__

        @functools.wraps(assign_fields)
        def construct(self: Any, *args: Any, **options: Any) -> None:
            assign_fields(self, *args, **options)
            self.__post_init__()

        kind.__init__ = construct
    convert_fields(kind, names, convert)
    for field in dataclasses.fields(kind):
        if isinstance(field.default, Declaration):
            default = declarations[field.name].default
            field.default = dataclasses.MISSING if default is REQUIRED else default
            if isinstance(vars(kind).get(field.name), Declaration):
                delattr(kind, field.name)
                if default is not REQUIRED:
                    setattr(kind, field.name, default)


def declarations_of(target: Any) -> Mapping[str, Declaration]:
    """Return the declared parameters of a function or class by name.

    >>> @validate_parameters
    ... def rate(rtt: float = param(0.1, "time", above=0.0, source="RFC 6298")): ...
    >>> declarations_of(rate)["rtt"].source
    'RFC 6298'
    """
    declarations: Mapping[str, Declaration] = getattr(target, "__declarations__", None) or getattr(
        target, "declared", {}
    )
    return declarations


def extends(base: type[Any]) -> Callable[[K], K]:
    """Return a decorator that prepends the fields of a NamedTuple, all with defaults, to a NamedTuple.

    A field of both keeps its position in ``base`` and takes the default of the decorated class.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Window(NamedTuple):
    ...     cwnd: float = 1.0
    ...     ssthresh: float = 64.0
    >>> @extends(Window)
    ... class Timed(NamedTuple):
    ...     cwnd: float = 2.0
    ...     since: float = 0.0
    >>> Timed(ssthresh=8.0)
    Timed(cwnd=2.0, ssthresh=8.0, since=0.0)
    """

    def decorate(cls: Any) -> Any:
        return _rebuild_tuple(cls, base._field_defaults | cls._field_defaults, base.__annotations__)

    return decorate


def series(suffixes: Iterable[object], **defaults: float) -> Callable[[K], K]:
    """Return a decorator that appends fields ``name_suffix`` to a NamedTuple whose fields all have defaults.

    A field that the class declares itself keeps its position and default.

    Parameters
    ----------
    suffixes
        Numbers or strings.
    **defaults
        Default of the fields by name.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @series(range(1, 4), low=8.0)
    ... class Lowest(NamedTuple):
    ...     cwnd: float = 1.0
    ...     low_2: float = 9.0
    >>> Lowest()
    Lowest(cwnd=1.0, low_2=9.0, low_1=8.0, low_3=8.0)
    """
    defaults_by_name = {f"{name}_{suffix}": value for suffix in suffixes for name, value in defaults.items()}

    def decorate(cls: Any) -> Any:
        return _rebuild_tuple(
            cls,
            cls._field_defaults | defaults_by_name | cls._field_defaults,
            dict.fromkeys(defaults_by_name, "float"),
        )

    return decorate


def _rebuild_tuple(cls: Any, defaults: Mapping[str, Any], other_types: Mapping[str, Any]) -> Any:
    """Return a copy of a NamedTuple class with these defaults.

    ``other_types`` has the types of fields that the class does not declare.
    """
    types = {**other_types, **cls.__annotations__}
    if missing := types.keys() - defaults.keys():
        msg = f"{cls.__qualname__}: the fields {', '.join(sorted(missing))} must have defaults"
        raise TypeError(msg)
    new_namedtuple: Any = namedtuple  # noqa: PYI024  # its fields are not all in one class
    replacement = new_namedtuple(cls.__name__, defaults, defaults=defaults.values(), module=cls.__module__)
    replacement.__annotations__ = {name: types[name] for name in defaults}
    replacement.__qualname__, replacement.__doc__ = cls.__qualname__, cls.__doc__
    return replacement


class _NoParams(NamedTuple):
    pass


def _freeze(value: Any, declared: object = "") -> Any:
    """Convert lists to tuples, and scalars of NumPy and JAX to Python scalars.

    Arrays become tuples if the parameter is declared as a tuple, otherwise read-only copies.
    """
    if hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)  # of JAX, pandas or xarray
    if isinstance(value, np.ndarray) and "tuple" not in str(declared).lower() and value.ndim:
        value = value.copy()
        value.flags.writeable = False
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if type(value) in (list, tuple):
        return tuple(_freeze(part, "tuple") for part in value)
    return value


def _key(value: Any) -> Any:
    """Return a hashable key that identifies a parameter's value."""
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.tobytes()
    return tuple(map(_key, value)) if isinstance(value, tuple) else value


def _in_units(name: str, value: Any, dimension: Dimension, declared: object = "int") -> Any:
    """Convert strings with units to numbers; whole amounts to integers if the parameter is declared as int."""
    if isinstance(value, tuple):
        return tuple(_in_units(name, part, dimension, declared) for part in value)
    if not isinstance(value, str) or not (value[-1:].isalpha() or value[-1:] == "%") or value[0].isalpha():
        return value  # strings without a number or a unit are refused by `check`
    amount = quantity(name, value, dimension)
    is_count = dimension == "amount" and amount.is_integer() and "int" in str(declared)
    return int(amount) if is_count else amount


def _take_declarations(params: Any) -> dict[str, Declaration]:
    """Return the declarations among the defaults of a NamedTuple, and replace them by their defaults."""
    defaults_or_declarations = params._field_defaults
    annotations = getattr(params, "__annotations__", {})
    declarations = {
        name: value.with_annotation(annotations.get(name, ""))
        for name, value in defaults_or_declarations.items()
        if isinstance(value, Declaration)
    }
    if declarations:
        defaults = {
            name: declarations[name].default if name in declarations else default
            for name, default in defaults_or_declarations.items()
        }
        defaults = {name: default for name, default in defaults.items() if default is not REQUIRED}
        if tuple(defaults) != params._fields[len(params._fields) - len(defaults) :]:
            raise TypeError(f"{params.__qualname__}: a required parameter stands behind one with a default")
        params._field_defaults = defaults
        params.__new__.__defaults__ = tuple(defaults.values())
        params._declarations = declarations
    return cast("dict[str, Declaration]", getattr(params, "_declarations", {}))


class Parametrized:
    """An immutable value object whose constructor takes the fields of its class ``Params``.

    Lists become tuples, and so do arrays if the field is annotated as a ``tuple``; other arrays
    become read-only copies.

    Attributes
    ----------
    params
        The parameters as the NamedTuple that the class declares.
    declared
        Unit, source and range of each parameter of the class that is declared by `param`. A declaration in a derived
        class inherits the unit or the range that it does not state.

    Raises
    ------
    TypeError
        For an unknown parameter, or a missing one without default; at the definition of a class, for
        a parameter with the name of one of its attributes.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Window(Parametrized):
    ...     class Params(NamedTuple):
    ...         a: float = 1.0
    ...         b: float = 0.5
    >>> Window(b=0.25), Window(b=0.25).replace(a=2.0).a
    (Window(b=0.25), 2.0)

    The printed form shows the arguments, and `canonical_text` only values that differ from the defaults:

    >>> Window(b=0.5), canonical_text(Window(b=0.5))
    (Window(b=0.5), 'Window()')
    """

    Params: ClassVar[type[Any]] = _NoParams
    UNITS: ClassVar[Mapping[str, Dimension]] = {}
    """Dimensions of the parameters that accept strings with a unit, such as ``"40ms"``."""
    declared: ClassVar[Mapping[str, Declaration]] = {}
    """Declarations by parameter; subclasses inherit them."""
    params: Any
    _given: set[str]
    __slots__ = ("__dict__", "_given", "params")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared: dict[str, Declaration] = {}
        units: dict[str, Any] = {}
        for base in reversed(cls.__mro__):  # the first of several bases counts, as for attributes
            declared |= vars(base).get("declared", {})
            units |= vars(base).get("UNITS", {})
        for name, declaration in _take_declarations(cls.Params).items():
            declared[name] = declaration.inherit_from(declared.get(name))
        units |= {name: entry.unit for name, entry in declared.items() if entry.unit in BARE}
        fields = cls.Params._fields
        defaults = cls.Params._field_defaults
        cls.declared = {
            name: entry.with_default(defaults[name]) if name in defaults else entry
            for name, entry in declared.items()
            if name in fields
        }
        cls.UNITS = {name: of for name, of in units.items() if name in fields or name not in declared}
        for name in cls.Params._fields:
            if hasattr(cls, name):
                msg = f"{cls.__name__}: a parameter cannot be called {name!r}, an attribute has that name"
                raise TypeError(msg)
        cls.__signature__ = inspect.signature(cls.Params)  # type: ignore[attr-defined]

    HAS_NAMED_CONSTANTS: ClassVar[bool] = False
    """Whether two positional arguments that are each other's defaults are refused as exchanged."""

    @classmethod
    def _refuse_exchanged(cls, args: tuple[Any, ...]) -> None:
        """Raise ValueError for two positional arguments that are the defaults of each other; 0 and 1 are too common."""
        names, defaults = cls.Params._fields, tuple(cls.Params._field_defaults.values())
        if len(defaults) != len(names):
            return
        constants = [
            (name, value, default)
            for name, value, default in zip(names, args, defaults, strict=False)
            if type(value) in (int, float) and type(default) in (int, float) and default not in (0, 1)
        ]
        for n, (name, value, default) in enumerate(constants):
            for other, second, other_default in constants[n + 1 :]:
                if (value, second) == (other_default, default) and value != second:
                    hint = f"write {cls.__name__}({name}={value:g}, {other}={second:g}) if this is meant"
                    exchanged = f"are the defaults of each other, {default:g} and {other_default:g}"
                    raise ValueError(f"{name} = {value:g}, {other} = {second:g}: {exchanged}; {hint}")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            params = self.Params(*args, **kwargs)
        except TypeError as error:
            allowed = ", ".join(self.Params._fields) or "none"
            reason = str(error).split("__new__() ")[-1]
            msg = f"{type(self).__name__}: {reason}; its parameters: {allowed}"
            raise TypeError(msg) from None
        if self.HAS_NAMED_CONSTANTS and len(args) > 1:
            self._refuse_exchanged(args)
        declared = getattr(self.Params, "__annotations__", {})
        for name, value in params._asdict().items():
            refuse_labels(name, value)
        frozen = {k: _freeze(v, declared.get(k, "")) for k, v in params._asdict().items()}
        frozen |= {
            name: _in_units(name, frozen[name], of, declared.get(name, ""))
            for name, of in self.UNITS.items()
            if name in frozen  # a subclass may have other parameters
        }
        object.__setattr__(self, "params", params._replace(**frozen))
        object.__setattr__(self, "_given", {*self.Params._fields[: len(args)], *kwargs})
        for name, declaration in self.declared.items():
            declaration.check(name, frozen[name])
        self.check()

    def check(self) -> None:
        """Raise ValueError for invalid parameters; called by the constructor."""

    def _has_default(self, name: str) -> bool:
        """Return whether a parameter has its default, also after conversion to a scenario's packet size."""
        defaults = self.Params._field_defaults
        if name not in defaults:
            return False
        value, default = getattr(self.params, name), defaults[name]
        if isinstance(value, PacketUnits) or isinstance(default, PacketUnits):
            if not (isinstance(value, PacketUnits) and isinstance(default, PacketUnits)):
                return False
            same: bool = value == default.in_packets_of(value.packet_size)
            return same
        return bool(_key(value) == _key(_freeze(default)))

    def replace(self, **changes: Any) -> Self:
        """Return a copy with changed parameters."""
        return _build(type(self), {**self.params._asdict(), **changes}, {*self._given, *changes})

    def __getattr__(self, name: str) -> Any:
        if name != "params" and name in self.Params._fields:
            return getattr(self.params, name)
        msg = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(msg)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.Params._fields]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        msg = f"{type(self).__name__} is immutable; use .replace({name}=...)"
        raise AttributeError(msg)

    def __delattr__(self, name: str) -> NoReturn:
        self.__setattr__(name, None)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _key(self.params) == _key(other.params)

    def __hash__(self) -> int:
        return hash((type(self), _key(self.params)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _build, (type(self), self.params._asdict(), self._given)

    def _repr_html_(self) -> str:
        rows = {name: format_value(value) for name, value in self.params._asdict().items()}
        return table_html(type(self).__name__, rows)

    def __repr__(self) -> str:
        """Format the class and the arguments of its constructor."""
        return _text(self, self._given)


def canonical_text(value: object) -> str:
    """Format an object without parameters at their defaults: equal for equal objects."""
    return _text(value, ()) if isinstance(value, Parametrized) else repr(value)


def _text(value: Parametrized, explicit: Collection[str]) -> str:
    """Format the class, its explicit parameters and all that differ from their defaults."""
    arguments = [
        f"{name}={part!r}"
        for name, part in value.params._asdict().items()
        if name in explicit or not value._has_default(name)
    ]
    return f"{type(value).__name__}({', '.join(arguments)})"


PLAIN = frozenset((float, int, bool, str, type(None)))
"""Types of values without units of bits or bytes; quantities with them have types of their own."""


def in_packets_of(value: Any, size: float) -> Any:
    """Convert quantities in bits or bytes within a value to packets.

    A value without such quantities is returned itself. An object with ``check_packets`` is checked by it: amounts in
    bytes that must hold a packet are checked in packets of this size alone, as packets of 1500 bytes, in which they are
    kept before, may be larger.

    Parameters
    ----------
    value
        A number, a tuple of values, a dataclass, which checks its fields again, or an object of `Parametrized`, whose
        explicit parameters stay the same.
    size
        Bytes of a packet.

    Raises
    ------
    ValueError
        Naming the field, where a number is not known in bytes, or is not allowed in packets of this size.

    Examples
    --------
    >>> from dfcmodel import CBR
    >>> from hopflow import mbps
    >>> in_packets_of(CBR(mbps(24)), 1000.0), in_packets_of(CBR(7.0), 1000.0)
    (CBR(rate=3000.0), CBR(rate=7.0))
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, PacketUnits):
        return value.in_packets_of(size)
    if type(value) is tuple:
        parts = tuple(in_packets_of(part, size) for part in value)
        return value if all(map(operator.is_, parts, value)) else parts
    if isinstance(value, Parametrized):
        fields = value.params._asdict()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {name: getattr(value, name) for name in _field_defaults(type(value))}
    else:
        return value
    changes = {}
    for name, part in fields.items():
        try:
            converted = in_packets_of(part, size)
        except ValueError as error:
            raise ValueError(f"{name} of {type(value).__name__} = {error}") from None
        if converted is not part:
            changes[name] = converted
    if not changes:
        result = value
    elif isinstance(value, Parametrized):
        result = _build(type(value), {**fields, **changes}, value._given)
    else:
        result = dataclasses.replace(value, **changes)
    if check := getattr(result, "check_packets", None):
        check()
    return result


@functools.lru_cache(maxsize=1024)
def _field_defaults(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a dataclass with their defaults."""
    return {field.name: field.default for field in dataclasses.fields(kind)}


def refuse_hidden_attributes(cls: type[Any], allowed: Iterable[str] = ()) -> None:
    """Raise TypeError for a field of a new class that hides an attribute of its bases.

    Bases read such attributes, or call them: a class with a parameter of that name would be another class.

    Parameters
    ----------
    cls
        A class whose annotations are its parameters, as of a dataclass.
    allowed
        Attributes that may be parameters.

    Examples
    --------
    >>> class Base:
    ...     def start(self) -> float: return 0.0
    ...     def __init_subclass__(cls) -> None: refuse_hidden_attributes(cls)
    >>> class Outage(Base):
    ...     start: float = 3.0
    Traceback (most recent call last):
    ...
    TypeError: Outage: a parameter cannot be called 'start', an attribute of Base has that name
    """
    try:
        annotations = inspect.get_annotations(cls)
    except NameError:  # of names that are known to type checkers alone
        return
    for name, annotation in annotations.items():
        if "ClassVar" in str(annotation) or name in allowed:
            continue
        owner = next((base for base in cls.__mro__[1:] if name in vars(base)), None)
        if owner is not None and not (dataclasses.is_dataclass(owner) and name in _field_defaults(owner)):
            msg = f"a parameter cannot be called {name!r}, an attribute of {owner.__name__} has that name"
            raise TypeError(f"{cls.__name__}: {msg}")


def is_overridden(cls: type, stated: str, functions: Iterable[str]) -> bool:
    """Return whether a class changes functions that an inherited attribute, such as a closed form, describes.

    Parameters
    ----------
    cls
        Class of an object.
    stated
        Name of the attribute, which holds for the functions that the class that states it has.
    functions
        Names of the functions.

    Examples
    --------
    >>> class Base:
    ...     def step(self): return 1
    ...     def mean_step(self): return 1
    >>> class Derived(Base):
    ...     def step(self): return 2
    >>> is_overridden(Base, "mean_step", ["step"]), is_overridden(Derived, "mean_step", ["step"])
    (False, True)
    """

    def depth(name: str) -> int:
        """Return the number of classes before the one that defines a name."""
        return next((n for n, base in enumerate(cls.__mro__) if name in vars(base)), len(cls.__mro__))

    return any(depth(name) < depth(stated) for name in functions)


class Options:
    """Base of option objects, frozen dataclasses: the printed form has the fields that differ from their defaults.

    Examples
    --------
    >>> @validate_parameters
    ... @dataclasses.dataclass(frozen=True, repr=False, kw_only=True)
    ... class PathOptions(Options):
    ...     delay: WithUnit = param(0.0, "time", at_least=0.0)
    ...     paced: bool = param(False)
    >>> PathOptions(delay="40ms"), PathOptions(delay="40ms").changed
    (PathOptions(delay=0.04), {'delay': 0.04})
    """

    @classmethod
    def of(cls, options: Self | None, name: str = "options") -> Self:
        """Return the option object that a function was given as ``name``, of this class; None: the defaults.

        An object of a base class states some of the fields: the others have their defaults.

        Raises
        ------
        TypeError
            For an object of another class, by ``name``.
        """
        if options is None:
            return cls()
        kind: type[Any] = type(options)
        is_base = issubclass(kind, Options) and kind not in (Options, cls) and issubclass(cls, kind)
        return cls(**options.changed) if is_base else instance(name, options, cls)

    @property
    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults, by name."""
        defaults = _field_defaults(cast("Any", type(self)))
        values = {name: (getattr(self, name), default) for name, default in defaults.items()}
        return {
            name: value
            for name, (value, default) in values.items()
            if value is not default and (type(value) is not type(default) or value != default)
        }

    def __repr__(self) -> str:
        """Format the class and the fields that differ from their defaults."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.changed.items())})"


def refuse_unused(options: Options, **reasons: str) -> None:
    """Raise TypeError for a field that differs from its default although the function does not use it.

    Parameters
    ----------
    options
        The option object.
    reasons
        By field, why it has no effect.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class PathOptions(Options):
    ...     paced: bool = False
    >>> refuse_unused(PathOptions(paced=True), paced="all senders of a table are paced")
    Traceback (most recent call last):
    ...
    TypeError: paced = True: has no effect here, all senders of a table are paced
    """
    changed = options.changed
    for name, reason in reasons.items():
        if name in changed:
            raise TypeError(f"{name} = {format_value(changed[name])}: has no effect here, {reason}")


class SweepValues(NamedTuple):
    """Values of a sweep parameter in the units of models, and the unit: ``packets/s``, ``s``, ``packets`` or None."""

    values: list[Any]
    unit: str | None


def sweep_values(model: object, name: str, values: Iterable[Any]) -> SweepValues:
    """Convert the values of a sweep parameter: strings such as ``"40ms"`` to its unit.

    Examples
    --------
    >>> from markov import PauseTandem
    >>> sweep_values(PauseTandem(), "rtt", ["500ms", 2]), sweep_values(PauseTandem(), "recovery", ["up"])
    (SweepValues(values=[0.5, 2], unit='s'), SweepValues(values=['up'], unit=None))
    """
    dimension = getattr(model, "UNITS", {}).get(name)
    if dimension is None:
        return SweepValues(list(values), None)
    frozen = [tuple(value) if type(value) is list else value for value in values]
    return SweepValues([_in_units(name, value, dimension) for value in frozen], BARE[dimension])


def _build(kind: type[P], params: Mapping[str, Any], explicit: set[str]) -> P:
    """Build an object from all its parameters; ``explicit``: names that its printed form shows."""
    model = kind(**params)
    object.__setattr__(model, "_given", explicit)
    return model


_made = _build  # files of results saved before 0.3 name it
