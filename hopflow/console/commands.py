"""The ``hopflow`` command: table of all commands, each loaded from its package when called."""

from __future__ import annotations

import functools
import importlib
import io
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand

from hopflow import __version__
from hopflow.console.command_line import Group
from hopflow.errors import DamagedDataError, KernelError
from hopflow.public_names import LEFT_OUT, PACKAGES, check_packages, left_out

__all__ = ["COMMANDS", "app", "in_the_shell", "run"]


MARKUP_MODE: Any = "markdown"
"""Markdown, since Rich markup would read ``[explore]`` as a style."""


class CommandSource(NamedTuple):
    """Source of a command.

    Attributes
    ----------
    module
        Module whose ``commands`` contain the command.
    help
        Help of the command.
    is_group
        Whether ``commands`` as a whole are the command.
    """

    module: str
    help: str
    is_group: bool = False


COMMANDS = {
    "validate": CommandSource(
        "validation._cli",
        "Check every claim against the models and the bundled packet data; write the report.",
    ),
    "figure": CommandSource(
        "validation._cli",
        "Draw a figure of a paper: the model's curves, and packet runs with confidence intervals.",
    ),
    "claims": CommandSource("validation._cli", "List the claims that can be checked, with their recorded verdicts."),
    "simulate": CommandSource(
        "dfcmodel._cli",
        "Simulate a network as a fluid, or packet by packet, and print a summary.",
    ),
    "compare": CommandSource(
        "dfcmodel._cli",
        "Print which rule wins on a path, by packet-level simulation: alone, in pairs, against each other.",
    ),
    "cc-header": CommandSource(
        "dfcmodel._cli",
        "Print the folder of hopflow_cc.h, with which a congestion control in C or Rust is compiled.",
    ),
    "conform": CommandSource(
        "dfcmodel._cli",
        "Hold a congestion control to suites of cases, such as RFC 9438, and print the first event that differs.",
    ),
    "explain": CommandSource(
        "validation.commands.explained_claims",
        "Explain the difference between packets and fluid by the contribution of each part that they do not share.",
    ),
    "pde": CommandSource(
        "dfcmodel._cli",
        "Solve the continuous limit of DFC for one loaded node in the chain of a scenario.",
    ),
    "solve": CommandSource(
        "markov._cli",
        "Solve pi Q = 0 and print the answer with its proof; evaluate properties of models in files: "
        "hopflow solve model.prism --property 'S=? [ x > 3 ]'.",
    ),
    "check": CommandSource(
        "markov._cli",
        "Check a certificate in exact integers, and print what it proves: a stationary distribution or long-run means.",
    ),
    "response": CommandSource(
        "responsefn._cli",
        "Print the rates of rules over the loss event rate, or with --invert the loss event rate.",
    ),
    "cache": CommandSource(
        "hopflow.console._cli",
        "Show location and size of the cache of compiled kernels and kept results; with --clear, empty it.",
    ),
    "pool": CommandSource(
        "dfcmodel.lossless._cli",
        "Print whether a headroom pool shared by ports and classes can overflow, when, and how probably.",
    ),
    "deadlock": CommandSource(
        "dfcmodel.lossless._cli",
        "Print whether the pauses of a network can deadlock, and the cycles of buffers if they can.",
    ),
    "headroom": CommandSource(
        "dfcmodel.lossless._cli",
        "Print the headroom: the bytes needed above a pause threshold for zero loss.",
    ),
    "judge": CommandSource(
        "validation.commands.judge_command",
        "Judge a claim with another threshold or in another reading of the paper, and see what turns.",
    ),
    "infer": CommandSource(
        "validation.commands.infer_command",
        "Infer the parameters that a paper does not state from the numbers that it prints.",
    ),
    "data": CommandSource("validation.commands.bundled_data", "The bundled outputs of packet simulators.", True),
    "explore": CommandSource(
        "validation.commands.explore_pages",
        "Open pages with knobs and live curves, until Ctrl-C: pause thresholds, DFC, which TCP wins, headroom.",
    ),
}
"""All commands in the order of the help. Help and completion read this table without loading packages."""


class LazyGroup(Group):
    """A group that loads each command when it is called."""

    is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return a command; in listings a stub with its name and help."""
        if cmd_name not in COMMANDS:
            return None
        if self.is_listing:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name].help)
        return _load_command(cmd_name)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options; flags without a default are set to False here, since Typer would load pydantic for it."""
        parameters: list[Any] = super().get_params(ctx)
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.default is None:
                parameter.default = False
        return parameters

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help without loading the commands."""
        with self._listing():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the name of a command without loading any."""
        with self._listing():
            completions: list[Any] = super().shell_complete(ctx, incomplete)
        return completions

    @contextmanager
    def _listing(self) -> Iterator[None]:
        """Replace commands by stubs inside the context."""
        self.is_listing = True
        try:
            yield
        finally:
            self.is_listing = False


def _load_command(name: str) -> Any:
    """Return a command from its module.

    Raises
    ------
    ImportError
        If a package of hopflow is shadowed or overwritten.
    """
    check_packages(*PACKAGES)
    source = COMMANDS[name]
    commands: Any = importlib.import_module(source.module).commands
    group = typer.Typer(rich_markup_mode=MARKUP_MODE)
    group.add_typer(commands, name=name if source.is_group else None)
    return typer.main.get_group(group).commands[name]


app = typer.Typer(
    cls=LazyGroup,
    help="Hop-by-hop flow control and end-to-end TCP: models, checked against packet simulators.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=MARKUP_MODE,
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"hopflow {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit."),
    ] = False,
) -> None:
    """Options of ``hopflow`` itself."""


def run() -> None:
    """Run the command.

    The exit status is 2 for bad input. It is 1 for damaged data, damaged packages and too little memory. In these cases
    one line is printed. A closed pipe is no error: further output is discarded, and the exit status stays.
    """
    warnings.showwarning = functools.partial(_show_warning, warnings.showwarning)
    if sys.stdout is not None and not sys.stdout.isatty():
        _allow_closed_pipe()
    try:
        app()
    except DamagedDataError as error:
        _end("damaged data", str(error), 1)
    except ImportError as error:  # a missing module of a user file is not hopflow's
        name = (error.name or "").partition(".")[0]
        if name in LEFT_OUT:
            _end("error", str(left_out(error, "some answers")), 1)
        if name not in PACKAGES:
            raise
        _end("damaged installation", str(error), 1)
    except KernelError as error:
        _end("error", str(error), 2)
    except (ValueError, OSError) as error:
        _end("error", in_the_shell(error, sys.argv[1:]), 2)
    except MemoryError as error:
        _end("error", f"not enough memory: {error}" if str(error) else "not enough memory", 1)


class _Pipe(io.FileIO):
    """A file descriptor that discards output after the reader has closed the pipe."""

    def write(self, data: Any) -> int:
        """Write bytes; return their number."""
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


def _allow_closed_pipe() -> None:
    """Make the standard output discard data after its reader has closed the pipe."""
    old = sys.stdout
    try:
        raw = _Pipe(old.fileno(), "wb", closefd=False)
    except (OSError, ValueError):  # no file, as in a test
        return
    old.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        old.encoding,
        old.errors,
        line_buffering=bool(getattr(old, "line_buffering", False)),
    )


def _show_warning(
    show: Callable[..., None],
    message: Warning | str,
    category: type[Warning],
    filename: str,
    *location: Any,
    **options: Any,
) -> None:
    """Print warnings from hopflow's code, and those at typer's call of a command, as one line, others with location."""
    folder, path = Path(__file__).resolve().parents[2], Path(filename).resolve()
    folders = [*(folder / name for name in ("hopflow", *PACKAGES)), Path(typer.__file__).resolve().parent]
    if any(map(path.is_relative_to, folders)):
        sys.stderr.write(f"warning: {message}\n")
    else:
        show(message, category, filename, *location, **options)


def _end(word: str, message: str, status: int) -> NoReturn:
    """Print one line on the standard error and exit with a status."""
    from rich.console import Console
    from rich.markup import escape

    Console(stderr=True).print(f"[red]{word}:[/] {escape(message)}", highlight=False, soft_wrap=True)
    raise SystemExit(status) from None


def in_the_shell(error: ValueError | OSError, words: list[str]) -> str:
    """Rewrite an error message for the command line: option names in place of parameters.

    `Command.invoke` stores the options by parameter in ``error.parameters``, ("", "") for positional arguments.

    >>> in_the_shell(ValueError("rtt = 40: must be < 5; unit_check=False allows it"), ["--rtt", "40"])
    '--rtt 40: must be < 5; --no-unit-check allows it'
    >>> error = ValueError("known = {}: must be None without suite; use method=Packets()")
    >>> error.parameters = {"level": ("--level", "")}
    >>> in_the_shell(error, [])
    'known = {}: must be omitted without suite; use --level packets'
    """
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    parameters: dict[str, tuple[str, str]] = getattr(error, "parameters", {})
    text = str(error)
    if match := re.match(r"(\w+)((?:\[\w+\])?) (?:= |(?=is missing))", text):
        (name, index), rest = match.groups(), text[match.end() :]
        option = parameters.get(name, (f"--{name.replace('_', '-')}", ""))[0]
        is_on_command_line = any(word == option or word.startswith(f"{option}=") for word in words)
        if option and (is_on_command_line or name in parameters):
            text = f"{option}{index} {rest}"
        elif name == "path" or any(rest.startswith((repr(word), word)) for word in words):
            text = rest  # an argument
    for parameter, (on, off) in parameters.items():
        text = re.sub(rf"\b{parameter}=False\b", off or f"no {on}", text)
        text = re.sub(rf"\b{parameter}=True\b", on, text)
        if on:
            # behind a position in a file, "line 2: cable = '40M'", it is a column or a field, not the option
            text = re.sub(rf"(?<![\w-])(?:(?<!: ){parameter} = |{parameter}=)(?=[\w('\"])", f"{on} ", text)
    text = re.sub(r"\bmust be None(?! or)\b", "must be omitted", text)
    if "level" in parameters:
        text = re.sub(r"\bmethod=(Packets|Fluid)\(\)", lambda match: f"--level {match[1].lower()}", text)
    return text.replace("unit_check=False", "--no-unit-check").replace("ms(48) is 0.048", "40ms")
