"""Shared parts of all commands: examples in the help, checks of output files, JSON."""

from __future__ import annotations

import csv
import dataclasses
import difflib
import inspect
import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from hopflow.whole_files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "AsCsv",
    "AsJson",
    "Command",
    "Commands",
    "Group",
    "Parameter",
    "Verbose",
    "as_json",
    "check_folder",
    "check_output",
    "completions",
    "describe_parameter",
    "examples",
    "expand_options",
    "plain",
    "save_figure",
    "save_table",
    "warn_deprecated_option",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
AsCsv = Annotated[Path | None, typer.Option("--csv", help="Write the numbers as CSV here.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print how it was computed, too.")]
MAX_NAMES_SHARE, MIN_TABLE_WIDTH = 0.45, 80
"""Share of the width of a terminal up to which names of options are whole in Typer's table, and its minimum width.

The table has two columns of names, one of types, and descriptions."""
SIMILAR_OPTION = 0.7
"""Least similarity of an unknown option to one that is suggested (difflib's ratio)."""
OTHER_WORDS = {
    "bandwidth": ("bw", "capacity", "link-rate", "rate", "speed"),
    "buffer": ("buf", "queue", "queue-size", "buffer-size", "limit"),
    "buffers": ("buffer", "queue", "queue-size"),
    "cable": ("length", "distance", "cable-length"),
    "classes": ("priorities", "priority"),
    "const": ("constant", "param", "parameter", "set", "define"),
    "csv": ("table", "output", "out"),
    "duration": ("time", "seconds", "length", "until"),
    "folder": ("output", "out", "report", "directory"),
    "loss": ("p", "loss-rate", "drop", "plr"),
    "mtu": ("frame", "frame-size", "packet-size"),
    "p": ("loss", "loss-rate", "loss-event-rate", "plr", "probability"),
    "packet-size": ("mss", "mtu", "segment-size"),
    "plot": ("figure", "draw", "png"),
    "rate": ("speed", "bandwidth", "bw", "link-rate"),
    "rtt": ("delay", "latency", "round-trip", "round-trip-time"),
    "runs": ("repetitions", "repeat", "n", "samples"),
    "tcp": ("rule", "rules", "cc"),
}
"""Words that users write for an option, by its name."""
F = TypeVar("F", bound=Callable[..., Any])
FIGURE_SUFFIXES = (".png", ".svg", ".pdf")
PYTHON_CLAUSES = ("shape (", "any shape", "or a string", "or a text")
"""Beginnings of clauses of docstrings that do not concern the command line."""
UNIT_EXAMPLES = {
    "time": "40ms, or a number of s",
    "rate": "1Mbps, or a number of packets/s",
    "bit_rate": "400Gbps, or a number of bit/s",
    "share": "1% or 0.01",
    "size": "9kB, or a number of bytes",
    "amount": "150kB, or a number of packets",
    "length": "300m, or a number of m",
}
"""Examples of a parameter by the dimension of its unit."""


def _refuse_repeats(command: Any, context: Any, words: list[str]) -> dict[str, Any]:
    """Refuse a repeated option that takes one value, of which click would use the last; return the words by parameter.

    Raises
    ------
    typer.BadParameter
        Naming the option.
    """
    if context.resilient_parsing:  # a completion
        return {}
    given: dict[str, Any]
    try:
        given, _, order = command.make_parser(context).parse_args(args=list(words))
    except Exception as error:
        if not hasattr(error, "possibilities"):  # what click raises for an unknown option has them
            raise
        unknown: str = error.option_name  # type: ignore[attr-defined]
        near = _near_options(unknown, [name for option in command.get_params(context) for name in option.opts])
        hint = f"did you mean {' or '.join(near)}?" if near else f"{context.command_path} -h lists the options"
        context.fail(f"No such option: {unknown}; {hint}")
    single = [option for option in order if option.param_type_name == "option" and not option.multiple]
    for option in single:
        if single.count(option) > 1:
            raise typer.BadParameter("is given more than once", ctx=context, param=option)
    return given


@contextmanager
def _named_values(given: Mapping[str, Any]) -> Iterator[None]:
    """Name the value of an option in the error of its conversion, which may be Pydantic's, without the value."""
    try:
        yield
    except typer.BadParameter as error:
        value = given.get(getattr(error.param, "name", None) or "")
        if isinstance(value, str) and repr(value) not in error.message:
            reason = error.message.removesuffix(".").partition(", unable to parse")[0]
            error.message = f"{value!r}: {reason.replace('Input should be', 'must be', 1)}"
        raise


def _near_options(unknown: str, options: Sequence[str]) -> list[str]:
    """Return the options that an unknown one may mean: those with the meaning of the word, otherwise similar ones."""
    word = unknown.lstrip("-").lower()
    meant = [f"--{name}" for name, words in OTHER_WORDS.items() if word in words and f"--{name}" in options]
    begun = [option for option in options if option.startswith(f"--{word}")]
    return meant or begun or difflib.get_close_matches(f"--{word}", options, 2, SIMILAR_OPTION)


def _invoke(invoke: Callable[[Any], Any], context: Any) -> Any:
    """Invoke a command; attach the option names of its parameters to a ValueError, as ``parameters``."""
    try:
        return invoke(context)
    except ValueError as error:
        if not hasattr(error, "parameters"):  # those of the innermost command
            error.parameters = {  # type: ignore[attr-defined]
                parameter.name: (
                    max(parameter.opts, key=len),
                    max(parameter.secondary_opts, key=len, default=""),
                )
                if parameter.param_type_name == "option"
                else ("", "")
                for parameter in context.command.get_params(context)
            }
        raise


@contextmanager
def _whole_names(command: Any, context: Any) -> Iterator[None]:
    """Write the help of a command as plain text inside the context where a table would cut names of options."""
    options = [option for option in command.get_params(context) if option.param_type_name == "option"]
    columns = [
        max((len(",".join(getattr(o, part))) for o in options), default=0) for part in ("opts", "secondary_opts")
    ]
    mode = command.rich_markup_mode
    width = shutil.get_terminal_size().columns
    if width < MIN_TABLE_WIDTH or sum(columns) > MAX_NAMES_SHARE * width:
        command.rich_markup_mode = None
    try:
        yield
    finally:
        command.rich_markup_mode = mode


class Command(TyperCommand):
    """A command that refuses repeated options."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with whole names of options at any width."""
        with _whole_names(self, ctx):
            super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the command's name."""
        with _named_values(_refuse_repeats(self, ctx, args)):
            remaining: list[str] = super().parse_args(ctx, args)
        return remaining

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        return _invoke(super().invoke, ctx)


class Group(TyperGroup):
    """A group that refuses repeated options, prints its help without arguments, and suggests a command after a typo."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with whole names of options at any width."""
        with _whole_names(self, ctx):
            super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the group's name."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit()
        with _named_values(_refuse_repeats(self, ctx, args)):
            remaining: list[str] = super().parse_args(ctx, args)
        return remaining

    def invoke(self, ctx: Any) -> Any:
        """Run the group, and the command that the words name."""
        return _invoke(super().invoke, ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-") and not ctx.resilient_parsing:
            matches = difflib.get_close_matches(args[0].lower(), names, 1)
            hint = f"did you mean {matches[0]!r}?" if matches else f"must be one of {', '.join(names)}"
            ctx.fail(f"No such command {args[0]!r}: {hint}")
        return super().resolve_command(ctx, args)


class Commands(typer.Typer):
    """The commands of a module, each a `Command` in a `Group`."""

    def __init__(self, *, cls: Any = Group, **settings: Any) -> None:
        super().__init__(cls=cls, **settings)

    def command(self, name: str | None = None, *, cls: Any = Command, **settings: Any) -> Callable[[F], F]:
        """Return a decorator that makes a function a command."""
        decorate: Callable[[F], F] = super().command(name, cls=cls, **settings)
        return decorate


def examples(*lines: str) -> str:
    """Format example calls for the epilog of a command's help.

    >>> examples("hopflow claims").splitlines()
    ['Examples:', '', '$ hopflow claims']
    """
    return "\n\n".join(["Examples:", *(f"$ {line}" for line in lines)])


@dataclasses.dataclass(frozen=True)
class Parameter:
    """Mark of an option of a command that is a parameter of the function that answers.

    ``rtt: Annotated[float, Parameter(curve)]`` in a command under `expand_options` is an option with the unit, the
    default and the description that `curve` declares for its parameter ``rtt``. The command gets the converted value:
    a number in place of ``40ms``. A default in the command takes precedence.

    Attributes
    ----------
    function
        The function, or a class for parameters of its constructor.
    read
        Converts name and text to a value in another way, such as a range; None: by the unit of the parameter.
    example
        Example of the text; "": one of the unit.
    """

    function: Callable[..., Any]
    read: Callable[[str, str], Any] | None = None
    example: str = ""

    def option(self, parameter: inspect.Parameter, kind: Any) -> tuple[inspect.Parameter, Reader | None]:
        """Return an option for a command's parameter whose value is of a type, and the function that reads it.

        Raises
        ------
        TypeError
            If the function has no such parameter.
        """
        from hopflow.units import quantities_of

        name, declared = parameter.name, inspect.signature(self.function).parameters
        if name not in declared:
            raise TypeError(f"{self.function.__name__} has no parameter {name!r}, but {', '.join(declared)}")
        dimension = quantities_of(self.function).get(name)
        default = declared[name].default if parameter.default is parameter.empty else parameter.default
        text, reader = describe_parameter(self.function, name), None
        if dimension is not None or self.read is not None:
            several = any(get_origin(part) is list for part in (kind, *get_args(kind)))
            kind = list[str] if several else str
            example = self.example or UNIT_EXAMPLES.get(dimension or "", "")
            text += f" Write {example}{'; may be repeated' if several else ''}." if example else ""
            if default is None:
                kind = kind | None
            elif default is not parameter.empty and not isinstance(default, str):
                numbers = default if isinstance(default, tuple) else (default,)
                default = ",".join(f"{number:g}" for number in numbers)
            reader = Reader(name, dimension, self.read)
        annotation = Annotated[kind, typer.Option(help=text.strip())]
        return parameter.replace(annotation=annotation, default=default, kind=parameter.KEYWORD_ONLY), reader


class Reader(NamedTuple):
    """Conversion of the text of an option."""

    name: str
    dimension: Any
    read: Callable[[str, str], Any] | None

    def value(self, text: str, packet_size: float) -> Any:
        """Return the value of a text."""
        if self.read is not None:
            return self.read(self.name, text)
        from hopflow.units import quantity

        return quantity(self.name, text, self.dimension, packet_size, bare=True)


def describe_parameter(function: Callable[..., Any], name: str) -> str:
    """Return the first sentence on a parameter in a docstring, without its clauses on arrays and strings.

    >>> describe_parameter(check_output, "path")
    ''
    >>> from responsefn import curve
    >>> describe_parameter(curve, "rtt")
    'Round-trip time in s.'
    """
    section = (inspect.getdoc(function) or "").partition("\nParameters\n----------\n")[2]
    lines, is_described = [], False
    for line in section.splitlines():
        if line.startswith("---"):  # under the title of the next section
            break
        if line[:1].strip():
            is_described = name in line.split(", ")
        elif is_described:
            lines.append(line.strip())
    sentence = re.split(r"(?<=[^.]\.)\s", " ".join(lines).strip())[0].removesuffix(".")
    clauses = [part for part in re.split(r"[,;] ", sentence) if not part.startswith(PYTHON_CLAUSES)]
    return re.sub(r"\bNone(?:: | for )", "default: ", f"{', '.join(clauses)}.") if sentence else ""


def expand_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters of two kinds become options.

    A parameter with the mark `Parameter` is an option with what another function declares for it. A dataclass becomes
    one option per field, in the position of the parameter, with types, help and defaults of the fields. Rates are
    converted in packets of the option ``packet_size``, if there is one.
    """
    hints = get_type_hints(function, include_extras=True)
    records: dict[str, tuple[type, tuple[str, ...]]] = {}
    options, readers = [], dict[str, Reader]()

    def add(parameter: inspect.Parameter, hint: Any) -> None:
        source = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Parameter)), None)
        if source is None:
            options.append(parameter.replace(annotation=hint, kind=parameter.KEYWORD_ONLY))
            return
        option, reader = source.option(parameter, hint.__origin__)
        options.append(option)
        if reader is not None:
            readers[parameter.name] = reader

    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if not dataclasses.is_dataclass(kind):
            add(parameter, kind)
            continue
        assert isinstance(kind, type)
        fields, of_fields = dataclasses.fields(kind), get_type_hints(kind, include_extras=True)
        records[name] = kind, tuple(field.name for field in fields)
        for field in fields:
            has_default = field.default is not dataclasses.MISSING
            default = field.default if has_default else parameter.empty
            add(inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=default), of_fields[field.name])

    def command(**arguments: Any) -> None:
        if readers:
            _read_options(arguments, readers)
        for name, (kind, fields) in records.items():
            arguments[name] = kind(**{field: arguments.pop(field) for field in fields})
        function(**arguments)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__module__ = function.__module__
    command.__annotations__ = {option.name: option.annotation for option in options} | {"return": None}
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return command


def _read_options(arguments: dict[str, Any], readers: Mapping[str, Reader]) -> None:
    """Replace the texts of options by their values; None and empty lists become None."""
    from hopflow.units import PACKET_SIZE

    packet_size: float = PACKET_SIZE
    for name in sorted(readers, key="packet_size".__ne__):  # first, since rates are converted with it
        texts = arguments[name]
        several = texts if isinstance(texts, (list, tuple)) else [texts] if texts is not None else []
        values = [readers[name].value(text, packet_size) for text in several]
        arguments[name] = None if not values else values if several is texts else values[0]
        if name == "packet_size":
            packet_size = values[0]


def given_options(context: typer.Context) -> dict[str, str]:
    """Return the options and arguments that stand in the command line: spelling by parameter."""
    sources = {p: context.get_parameter_source(p.name or "") for p in context.command.get_params(context)}
    return {
        parameter.name or "": max(parameter.opts, key=len)
        for parameter, source in sources.items()
        if source is not None
        and source.name == "COMMANDLINE"
        and context.params.get(parameter.name or "") not in (None, (), [])  # click 8.1: arguments that are not given
    }


def refuse_unused(context: typer.Context, used: Collection[str], reason: str) -> None:
    """Refuse a command line with parameters other than those that are used.

    Raises
    ------
    ValueError
        Naming the first of them.
    """
    for name, spelling in given_options(context).items():
        if name not in used:
            raise ValueError(f"{spelling}: {reason}")


def completions(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the case-insensitive completions of a prefix, with the prefix as typed.

    Typer passes only completions to the shell that begin with exactly the typed prefix.

    >>> completions("d1", ("D09", "D10", "D11"))
    ['d10', 'd11']
    """
    typed = len(incomplete)
    return [incomplete + name[typed:] for name in names if name[:typed].casefold() == incomplete.casefold()]


def check_output(name: str, path: Path | None, suffixes: Collection[str] = FIGURE_SUFFIXES) -> None:
    """Check that a file can be written, before any work.

    Raises
    ------
    ValueError
        Naming the option, the path and the reason.
    """
    if path is None:
        return
    if suffixes and path.suffix.lower() not in suffixes:
        raise ValueError(f"{name} = {str(path)!r}: must end in {', '.join(suffixes)}")
    if path.is_dir():
        raise ValueError(f"{name} = {str(path)!r}: is a folder")
    if not path.parent.is_dir():
        msg = f"cannot be written, there is no folder {str(path.parent)!r}"
        raise ValueError(f"{name} = {str(path)!r}: {msg}")
    _check_writable(name, path)


def check_folder(name: str, path: Path) -> None:
    """Check that files can be written to a folder, existing or not, before any work.

    Raises
    ------
    ValueError
        Naming the option, the path and the reason.
    """
    if path.exists() and not path.is_dir():
        raise ValueError(f"{name} = {str(path)!r}: is a file, must be a folder")
    _check_writable(name, path)


def _check_writable(name: str, path: Path) -> None:
    """Check that a file or a folder can be written or created."""
    existing = path
    while not existing.exists():
        existing = existing.parent
    if not (existing == path or existing.is_dir()) or not os.access(existing, os.W_OK):
        raise ValueError(f"{name} = {str(path)!r}: cannot be written")


def save_figure(axes: Axes, path: Path | None, *, quiet: bool = False) -> None:
    """Save the figure of axes to ``path``, if given, and print the path unless ``quiet``."""
    if path is None:
        return
    figure: Any = axes.figure
    with replacing(path) as scratch:
        figure.savefig(scratch, dpi=150)
    if not quiet:
        typer.echo(f"figure: {path}")


def save_table(rows: Sequence[Mapping[Any, Any]], path: Path, *, quiet: bool = False) -> None:
    """Write rows with the same keys as CSV and print the path, on the standard error if ``quiet``."""
    with replacing(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    typer.echo(f"table: {path}", err=quiet)


def warn_deprecated_option(old: str, new: str) -> None:
    """Print a deprecation warning, with the replacement, on the standard error."""
    from hopflow.deprecations import advice

    typer.echo(f"hopflow: {advice(old, new)}", err=True)


def as_json(value: object) -> str:
    """Format a value as JSON; see `plain`."""
    return json.dumps(plain(value), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """Convert a value to JSON types: tables to mappings by label, NaN and infinity to null.

    A Dataset becomes a mapping of its variables, and a variable a mapping from labels of its first
    dimension, recursively.

    >>> import numpy as np
    >>> plain({"p": np.array([0.5, np.nan]), "n": np.int64(3)})
    {'p': [0.5, None], 'n': 3}
    """
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if hasattr(value, "data_vars"):
        return {str(name): plain(value[name]) for name in value.data_vars}
    if hasattr(value, "coords") and value.ndim:
        first = value.dims[0]
        labels = value[first].values if first in value.coords else range(value.sizes[first])
        return {str(label): plain(value[n]) for n, label in enumerate(labels)}
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(entry) for entry in value]
    return str(getattr(value, "label", value))
