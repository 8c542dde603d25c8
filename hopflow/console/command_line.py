"""Shared parts of all commands: examples in the help, checks of output files, JSON."""

from __future__ import annotations

import csv
import dataclasses
import difflib
import inspect
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

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
    "Verbose",
    "as_json",
    "check_folder",
    "check_output",
    "completions",
    "examples",
    "plain",
    "save_figure",
    "save_table",
    "takes_records",
    "warn_deprecated_option",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
AsCsv = Annotated[Path | None, typer.Option("--csv", help="Write the numbers as CSV here.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print how it was computed, too.")]
F = TypeVar("F", bound=Callable[..., Any])
FIGURE_SUFFIXES = (".png", ".svg", ".pdf")


def _refuse_repeats(command: Any, context: Any, words: list[str]) -> None:
    """Refuse a repeated option that takes one value; click would use the last value.

    Raises
    ------
    typer.BadParameter
        Naming the option.
    """
    if context.resilient_parsing:  # a completion
        return
    _, _, order = command.make_parser(context).parse_args(args=list(words))
    single = [option for option in order if option.param_type_name == "option" and not option.multiple]
    for option in single:
        if single.count(option) > 1:
            raise typer.BadParameter("is given more than once", ctx=context, param=option)


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


class Command(TyperCommand):
    """A command that refuses repeated options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the command's name."""
        _refuse_repeats(self, ctx, args)
        remaining: list[str] = super().parse_args(ctx, args)
        return remaining

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        return _invoke(super().invoke, ctx)


class Group(TyperGroup):
    """A group that refuses repeated options, prints its help without arguments, and suggests a command after a typo."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the group's name."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit()
        _refuse_repeats(self, ctx, args)
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


def takes_records(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which each dataclass parameter becomes one option per field.

    The options take the position of the parameter, and types, help and defaults of the fields.
    """
    hints = get_type_hints(function, include_extras=True)
    records: dict[str, tuple[type, tuple[str, ...]]] = {}
    options = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if not dataclasses.is_dataclass(kind):
            options.append(parameter.replace(annotation=kind, kind=parameter.KEYWORD_ONLY))
            continue
        assert isinstance(kind, type)
        fields, of_fields = dataclasses.fields(kind), get_type_hints(kind, include_extras=True)
        records[name] = kind, tuple(field.name for field in fields)
        for field in fields:
            has_default = field.default is not dataclasses.MISSING
            default = field.default if has_default else parameter.empty
            hint = of_fields[field.name]
            options.append(inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=default, annotation=hint))

    def command(**arguments: Any) -> None:
        for name, (kind, fields) in records.items():
            arguments[name] = kind(**{field: arguments.pop(field) for field in fields})
        function(**arguments)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__module__ = function.__module__
    command.__annotations__ = {option.name: option.annotation for option in options} | {"return": None}
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return command


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
    from hopflow.naming.deprecations import advice

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
