"""``hopflow solve`` and ``hopflow check``: chains and certificates on the command line."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopflow.checks import choice, integer
from hopflow.console import command_line as cli
from hopflow.registry import object_of_file
from hopflow.results import Status, table_text
from hopflow.units import quantity
from markov.models.pause import PauseTandem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from markov.files import FileModel
    from markov.methods.solution import Method
    from markov.proofs.checker import Statement
    from markov.results.stationary_results import Stationary

__all__ = ["commands"]


class SolveCommands(cli.Group):
    """Group of commands that inserts ``file`` or ``chain`` if the first argument is the name of a file or a chain."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the subcommand for the arguments, with ``file`` or ``chain`` inserted in front of a name."""
        word, chains = args[0], _complete_chain("")
        if word not in self.commands and not word.startswith("-"):
            if Path(word).suffix or Path(word).is_file():
                args = ["file", *args]
            elif word.lower() in chains:
                args = ["chain", *args]
            elif not ctx.resilient_parsing:
                matches = difflib.get_close_matches(word.lower(), [*self.commands, *chains], 1)
                hint = f"; did you mean {matches[0]!r}?" if matches else ""
                allowed = f"must be one of {', '.join(chains)}, or a file ending in {', '.join(SUFFIXES)}"
                ctx.fail(f"No such chain {word!r}: {allowed}{hint}")
        return super().resolve_command(ctx, args)


def _complete_chain(incomplete: str) -> list[str]:
    """Return the names of chains that begin with the typed prefix, for completion in the shell."""
    from markov.registries import chain_names

    return cli.completions(incomplete, chain_names())


def _complete_method(incomplete: str) -> list[str]:
    """Return the names of methods of `stationary` that begin with the typed prefix, for completion in the shell."""
    from markov.registries import method_names

    return cli.completions(incomplete, method_names())


Certified = Annotated[
    Path | None,
    typer.Option(help="Write the proof into this file (.gz compresses) for `hopflow check`."),
]
ByMethod = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="GTH, Multilevel, ... at its defaults; default: by predicted cost.",
        autocompletion=_complete_method,
    ),
]


PRISM, JANI, PYTHON = (".prism", ".sm", ".pm", ".ctmc"), (".jani",), (".py",)
SBML, LISTED, MATRIX = (".xml", ".sbml"), (".umb", ".tra"), (".mtx",)
SUFFIXES = PRISM + JANI + SBML + LISTED + MATRIX + PYTHON
PROOFS: dict[str, Any] = {"on": True, "tight": "tight", "off": False}
PROPERTY_FILES = (".props", ".csl", ".pctl", ".prctl")
LISTED_STATES = 10
"""Number of states whose probabilities are printed of a chain without measures."""
UNDECIDED, INACCURATE = 3, 4
"""Exit statuses for properties without a truth value, and for values without a useful bound; wrong calls have 2."""
commands = cli.Commands()
solve = cli.Commands(
    cls=SolveCommands,
    no_args_is_help=True,
    help="Solve pi Q = 0 and print the answer with its proof; evaluate properties of models in "
    "files: hopflow solve model.prism --property 'S=? [ x > 3 ]'.",
    epilog=cli.examples("hopflow solve pause --rtt 40ms", "hopflow solve my_chain.py --json"),
)
commands.add_typer(solve, name="solve")


def _parse_packets(name: str, text: str) -> float:
    """Return the number of packets in the text of option ``name``: an int if it is whole, otherwise a float."""
    amount = quantity(name, text, "amount", bare=True)
    return int(amount) if amount.is_integer() else amount


def _parse_rate(name: str, text: str) -> float:
    """Return the rate in packets/s in the text of option ``name``, such as 25 or 6Gbps."""
    return quantity(name, text, "rate", bare=True)


def _parse_list(read: Callable[[str, str], float]) -> Callable[[str, str], tuple[float, ...]]:
    """Return a parser (name of an option, its text) that splits the text at commas or spaces and applies ``read``."""

    def read_parts(name: str, text: str) -> tuple[float, ...]:
        """Return the values in the text of option ``name``; ValueError for an empty part."""
        parts = text.split(",") if "," in text else text.split()
        if not all(part.strip() for part in parts) or not parts:
            raise ValueError(f"{name} = {text!r}: must be numbers separated by commas, such as 25,1")
        return tuple(read(name, part.strip()) for part in parts)

    return read_parts


@dataclass(frozen=True, kw_only=True)
class _TandemOptions:
    """Options of ``hopflow solve pause``, which are the parameters of `PauseTandem`."""

    buffers: Annotated[Any, cli.Parameter(PauseTandem, _parse_list(_parse_packets), "10,20")]
    high_threshold: Annotated[Any, cli.Parameter(PauseTandem, _parse_packets, "15 or 20pkt")]
    low_threshold: Annotated[Any, cli.Parameter(PauseTandem, _parse_packets, "15 or 20pkt")]
    link_rate: Annotated[float, cli.Parameter(PauseTandem)]
    paused_rate: Annotated[float, cli.Parameter(PauseTandem)]
    bottleneck_rate: Annotated[float, cli.Parameter(PauseTandem)]
    arrival_rates: Annotated[
        Any,
        cli.Parameter(PauseTandem, _parse_list(_parse_rate), "25,1 (the default for the default rates of the links)"),
    ] = None
    rtt: Annotated[float, cli.Parameter(PauseTandem)]
    recovery: Annotated[str, cli.Parameter(PauseTandem)]
    pause_at_threshold: Annotated[str, cli.Parameter(PauseTandem)]

    def model(self) -> PauseTandem:
        """Return the `PauseTandem` with these options; ValueError where another link rate needs arrival rates."""
        params = {name: value for name, value in vars(self).items() if value is not None}
        default = PauseTandem()
        for name in ("link_rate", "bottleneck_rate"):
            if self.arrival_rates is None and params[name] != getattr(default.params, name):
                example = "--arrival-rates 6Gbps,1Gbps"
                msg = f"arrival_rates is missing: with another {name}, say what arrives, such as {example}"
                raise ValueError(msg)
        return PauseTandem(**params)


@solve.command(
    epilog=cli.examples(
        "hopflow solve pause --high-threshold 18 --rtt 2s",
        "hopflow solve pause --buffers 10,20 --link-rate 1.2Mbps --arrival-rates 25,1 --json",
        "hopflow solve pause --high-threshold 20pkt --plot marginals.png",
    )
)
@cli.expand_options
def pause(
    tandem: _TandemOptions,
    plot: Annotated[Path | None, typer.Option(help="Draw the marginals into this file.")] = None,
    verbose: cli.Verbose = False,
    json: cli.AsJson = False,
) -> None:
    """Solve the 802.3x pause tandem of malhotra2005. A bit rate means packets of 1500 bytes."""
    from markov.driver import stationary

    cli.check_output("plot", plot)
    _print_stationary(stationary(tandem.model()), plot, json=json, verbose=verbose)


def _check_verbose(*, verbose: bool, json: bool) -> None:
    """Raise ValueError if ``--verbose`` and ``--json`` are combined: JSON has the details anyway."""
    if verbose and json:
        raise ValueError("verbose = True: is for text, and --json has how it was computed")


def _print_stationary(
    answer: Stationary, plot: Path | None, *, json: bool, verbose: bool, states: int | None = None
) -> None:
    """Print the measures of a stationary distribution as table or JSON, save its plot on request, exit by status.

    ``states`` is the largest number of states whose probabilities are listed; None: `LISTED_STATES` of a chain without
    measures, otherwise 0.
    """
    _check_verbose(verbose=verbose, json=json)
    if states is None:
        states = 0 if answer._measures else LISTED_STATES
    probabilities = _largest_probabilities(answer, states)
    if json:
        names = (
            "status", "chain", "measures", "error_bound", "entry_error", "residual", "method",
            "iterations", "seconds",
        )  # fmt: skip
        about = {name: getattr(answer, name) for name in names}
        listed = [{"state": _fields(state), "probability": p} for state, p in probabilities]
        typer.echo(cli.as_json(about | {"states": answer.chain.size, "probabilities": listed}))
    else:
        rows = answer.summary()
        if not verbose:
            folded = answer.folded(rows)
            rows = {name: value for name, value in rows.items() if name not in folded}
        typer.echo(answer if verbose else table_text(type(answer).__name__, rows))
        if probabilities:
            is_all = len(probabilities) == answer.chain.size
            title = "Probabilities" if is_all else f"Probabilities, the largest {len(probabilities)}"
            typer.echo(table_text(title, {_state_text(state): f"{p:.6g}" for state, p in probabilities}))
    if plot is not None:
        cli.save_figure(answer.plot(), plot, quiet=json)
    _exit_by_status(answer.status)


def _largest_probabilities(answer: Stationary, count: int) -> list[tuple[Any, float]]:
    """Return (state, probability) pairs: all in order, or of more than ``count`` the largest, descending."""
    import numpy as np

    if not count:
        return []
    numbers = np.arange(answer.chain.size)
    if len(numbers) > count:
        largest = np.sort(np.argpartition(-answer.pi, count - 1)[:count])
        numbers = largest[np.argsort(-answer.pi[largest], kind="stable")]
    return list(zip(answer.chain.table.plain(numbers), answer.pi[numbers].tolist(), strict=True))


def _fields(state: Any) -> Any:
    """Return a state with named fields as a dict; any other state unchanged."""
    return state._asdict() if hasattr(state, "_asdict") else state


def _state_text(state: Any) -> str:
    """Return a state as text: ``a=1, b=2`` by its fields, or ``state 7``."""
    fields = _fields(state)
    return (
        ", ".join(f"{name}={value}" for name, value in fields.items()) if isinstance(fields, dict) else f"state {state}"
    )


@dataclass(frozen=True)
class _OutputOptions:
    """Options of the commands that print a stationary distribution: files to write, states to list, JSON."""

    plot: Annotated[Path | None, typer.Option(help="Draw the stationary marginals into this file.")] = None
    certificate: Certified = None
    states: Annotated[
        int | None,
        typer.Option(
            help="List the probabilities of so many states, the most probable; "
            "default: 10 where the chain has no measures."
        ),
    ] = None
    verbose: cli.Verbose = False
    json: cli.AsJson = False

    def check(self) -> None:
        """Raise an error for files that cannot be written and options that exclude each other, before solving."""
        cli.check_output("plot", self.plot)
        cli.check_output("certificate", self.certificate, ())
        if self.states is not None:
            integer("states", self.states, 0, 10**9)
        _check_verbose(verbose=self.verbose, json=self.json)

    def show(self, answer: Stationary) -> None:
        """Print the stationary distribution as these options say, and save its plot on request."""
        _print_stationary(answer, self.plot, json=self.json, verbose=self.verbose, states=self.states)


@solve.command(
    epilog=cli.examples(
        "hopflow solve kanban --set tickets=2 --method multilevel",
        "hopflow solve birthdeath --set 'births=(3, 2)' --set 'deaths=(1, 2)'",
        "hopflow solve chain mm1k --json",
    )
)
@cli.expand_options
def chain(
    name: Annotated[str, typer.Argument(help="MM1K, Kanban, ...", autocompletion=_complete_chain)],
    output: _OutputOptions,
    set: Annotated[  # the option's name
        list[str] | None, typer.Option(help="A parameter: tickets=2; again for each.")
    ] = None,
    method: ByMethod = None,
) -> None:
    """Solve a chain by its name and print it; `hopflow solve NAME` does the same."""
    from markov.driver import stationary
    from markov.registries import chain_named

    output.check()
    kind = chain_named("chain", name)
    solver = _method_or_none(method)
    params: dict[str, Any] = {}
    for parameter, value in map(_parse_setting, set or ()):
        if parameter in params:
            raise ValueError(f"set = '{parameter}={value}': {parameter!r} is given twice")
        params[parameter] = value
    fields = getattr(kind, "Params", None)
    for parameter_name in params:
        choice("set", parameter_name, fields._fields if fields is not None else ())
    answer = stationary(kind(**params), solver)
    if output.certificate is not None:
        answer.certificate(output.certificate)
    output.show(answer)


def _parse_setting(text: str) -> tuple[str, Any]:
    """Return (name, value) of an option such as ``tickets=2``; a value that is no Python literal is a string."""
    name, sign, value = (part.strip() for part in text.partition("="))
    if not (name and sign and value):
        raise ValueError(f"set = {text!r}: must be NAME=VALUE, such as tickets=2")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _method_or_none(name: str | None) -> Method | None:
    """Return the method of `stationary` with this name, at its defaults; None for None."""
    from markov.registries import method_named

    return None if name is None else method_named("method", name)


@dataclass(frozen=True)
class _FileOptions:
    """Options of ``hopflow solve FILE``: properties to evaluate, constants, kind of proof, limit of time."""

    property: Annotated[  # the option's name
        list[str] | None,
        typer.Option(help="A CSL property, or the name of one in the file of properties."),
    ] = None
    properties: Annotated[Path | None, typer.Option(help="A PRISM file of properties.")] = None
    const: Annotated[
        list[str] | None,
        typer.Option(help="Constants of a model, parameters of a chain in Python: N=5,rate=0.1; may be repeated."),
    ] = None
    proof: Annotated[str, typer.Option(help="Bound of stationary distributions: on, tight, or off.")] = "on"
    exact: Annotated[bool, typer.Option("--exact", help="Bounds of long-run means evaluated in integers.")] = False
    max_seconds: Annotated[
        float | None, typer.Option(help="Refuse a property over a time that is predicted to take longer: 60.")
    ] = None

    def read_chain(self, path: Path) -> Any:
        """Return the model of a Python file with parameters of ``--const``, or the chain that a file lists."""
        from markov.files import read_explicit
        from markov.sweeps import units, variant

        files = "goes with PRISM, JANI and SBML files, and with .umb and .tra; --states lists probabilities of states"
        if self.property:
            raise ValueError(f"property = {self.property[0]!r}: {files}")
        if self.properties:
            raise ValueError(f"properties = {str(self.properties)!r}: {files}")
        changes = constant_values(self.const)
        if path.suffix in PYTHON:
            model = python_model(path)
            for name in changes:
                choice("const", name, tuple(units(model)))
            return variant(model, **changes) if changes else model
        if changes:
            text = ",".join(self.const or ())
            raise ValueError(f"const = {text!r}: a file of transitions has no constants")
        return read_explicit(path)

    def read(self, path: Path) -> tuple[FileModel, list[str]]:
        """Return the model of a PRISM, JANI, SBML, .umb or .tra file, and texts or names of its properties."""
        model = file_model(path, constant_values(self.const))
        for text in self.property or ():
            if Path(text).suffix in PROPERTY_FILES:
                raise ValueError(f"property = {text!r}: a file of properties goes with --properties")
        if self.properties is None:
            return model, self.property or []
        model = model.with_properties(self.properties)
        listed = model.properties
        assert listed is not None
        if self.property and not (listed.labels or listed.constants or {*self.property} & {*listed.properties}):
            names = ", ".join(listed.properties) or "none"
            raise ValueError(f"properties = '{self.properties}': has no property of --property, but {names}")
        return model, self.property or list(listed.properties)


@solve.command(
    epilog=cli.examples(
        "hopflow solve my_chain.py --const failure=0.2",
        "hopflow solve model.prism --property 'S=? [ x > 3 ]' --const N=5",
        "hopflow solve model.jani --json",
        "hopflow solve model.umb",
    )
)
@cli.expand_options
def file(
    path: Annotated[Path, typer.Argument(help=f"A model: {', '.join(SUFFIXES)}.")],
    questions: _FileOptions,
    output: _OutputOptions,
    method: ByMethod = None,
) -> None:
    """Solve a model in a file, or evaluate properties of it; `hopflow solve FILE` does the same.

    A .py file is run as Python: its variable `model`, or the one ChainModel that it defines.
    Exit status 3: a property is undecided, its number within the error of the threshold (null in JSON).
    Exit status 4: an answer is inaccurate, no useful bound holds.
    """
    from markov.driver import stationary

    output.check()
    constant_values(questions.const)  # refused before anything is read
    choice("proof", questions.proof, PROOFS)
    solver, proof = _method_or_none(method), PROOFS[questions.proof]
    model: Any
    plain = not (questions.property or questions.properties)
    if path.suffix in PYTHON + MATRIX or (path.suffix in LISTED and plain):
        model = questions.read_chain(path)
    else:
        model, names = questions.read(path)
        if names:
            if proof is False:
                raise ValueError("proof = 'off': must be on or tight, a property has a bound")
            if solver is not None:
                raise ValueError(f"method = {method!r}: is for stationary distributions, not for properties")
            if questions.max_seconds is not None:
                used = f"max_seconds = {questions.max_seconds:g}: goes with properties over a time"
                if questions.exact:
                    raise ValueError(f"{used}, not with --exact")
                if not any(map(model.follows_time, names)):
                    raise ValueError(f"{used}, such as F<=1, and no property has one")
            if output.plot is not None:
                raise ValueError(f"plot = '{output.plot}': draws a stationary distribution, not properties")
            if output.states is not None:
                raise ValueError(f"states = {output.states}: lists a stationary distribution, not properties")
            if output.verbose:
                raise ValueError("verbose = True: is for stationary distributions, not for properties")
            if output.certificate is not None or questions.exact:
                functions = model.long_run_functions(names)
            if output.certificate is not None:
                _write_certificate(_certificate_writer(model), output.certificate, path, questions.const, functions)
            if questions.exact:
                _print_exact_means(stationary(model, proof=proof), functions, output.json)
            else:
                _print_properties(model, names, output.json, proof=proof, max_seconds=questions.max_seconds)
            return
    if questions.max_seconds is not None:
        raise ValueError(f"max_seconds = {questions.max_seconds:g}: goes with --property")
    if questions.exact:
        raise ValueError("exact = True: is for long-run properties of PRISM, JANI and SBML files, with --property")
    answer = stationary(model, solver, proof=proof)
    if output.certificate is not None:
        _write_certificate(answer.certificate, output.certificate, path, questions.const)
    output.show(answer)


def _certificate_writer(model: FileModel) -> Callable[..., Any]:
    """Return the function that writes a certificate: of pi, or of long-run means for several recurrent classes."""
    from functools import partial

    from markov.driver import stationary
    from markov.proofs.certificate_files import write_long_run

    if len(model.chain.recurrent_classes) == 1:
        return stationary(model).certificate
    initial = model.state_space.initial.tolist()
    if len(initial) > 1:
        raise ValueError(f"{model.name}: {len(initial)} initial states: a certificate is for one")
    return partial(write_long_run, chain=model.chain, start=initial[0])


def _write_certificate(
    write: Callable[..., Any],
    certificate: Path,
    path: Path,
    const: Sequence[str] | None,
    functions: Any = None,
) -> None:
    """Write a certificate with rates derived from the model's file; with rates in float64 if they cannot be derived."""
    from markov.proofs.checker import CertificateError

    if path.suffix in PRISM + JANI:
        try:
            write(certificate, measures=functions, model=path, constants=parse_constants(const))
        except CertificateError as error:
            typer.echo(f"certificate: rates as float64, not as in the file: {error}", err=True)
        else:
            return
    write(certificate, measures=functions)


@commands.command(
    epilog=cli.examples(
        "hopflow check kanban.cert.gz",
        "hopflow check kanban.cert.gz kanban.sm --const t=3",
    )
)
def check(
    certificate: Annotated[Path, typer.Argument(help="A certificate; .gz is decompressed.")],
    model: Annotated[
        Path | None,
        typer.Argument(help="Derive the rows from it: a PRISM or JANI model, a UMB file, or .tra of PRISM or Storm."),
    ] = None,
    const: Annotated[
        list[str] | None,
        typer.Option(help="Constants of the model: t=3,rate=0.1; may be repeated."),
    ] = None,
    json: cli.AsJson = False,
) -> None:
    """Check a certificate in exact integers, and print what it proves: a stationary distribution or long-run means.

    The check shares no code with the solver. Exit status 1: the certificate is refused.
    """
    from markov.proofs.checker import CertificateError
    from markov.proofs.checker import check as check_certificate
    from markov.proofs.sources import source_of

    if const and model is None:
        raise ValueError(f"const = {','.join(const)!r}: is for a MODEL, which is missing")
    constants = parse_constants(const)
    if not certificate.is_file():
        raise FileNotFoundError(ENOENT, "there is no such file", str(certificate))
    try:
        statement = check_certificate(certificate, None if model is None else source_of(model, constants))
        typer.echo(cli.as_json(_statement_fields(statement)) if json else statement)
    except CertificateError as error:
        if model is not None and not model.is_file():
            raise FileNotFoundError(ENOENT, "there is no such file", str(model)) from None
        typer.echo(f"refused     {error}", err=True)
        raise typer.Exit(1) from None


def _statement_fields(statement: Statement) -> dict[str, object]:
    """Return the statement that a certificate proves as a dict for JSON, with bounds as exact fractions."""
    means = {name: {"low": str(low), "high": str(high)} for name, (low, high) in statement.means.items()}
    return {
        "states": statement.states, "transitions": statement.transitions,
        "total_variation_bound": None if statement.bound is None else str(statement.bound),
        "from_state": statement.start, "means": means, "rows": statement.rows,
        "not_checked": statement.information,
    }  # fmt: skip


def _print_properties(model: FileModel, names: list[str], json: bool, *, proof: Any, max_seconds: float | None) -> None:
    """Print the values of properties; exit with status 4 if one is inaccurate, otherwise with 3 if one is undecided."""
    from markov.computing.resources import MAX_SECONDS

    seconds = MAX_SECONDS if max_seconds is None else max_seconds
    answers = [model.property(text, proof=proof, max_seconds=seconds, on_failure="return") for text in names]
    if json:
        fields = ("text", "value", "error_bound", "status", "reason", "seconds")
        typer.echo(cli.as_json([{name: getattr(answer, name) for name in fields} for answer in answers]))
    else:
        for answer in answers:
            typer.echo(answer)
    _exit_by_status(*(answer.status for answer in answers))


def _exit_by_status(*statuses: Status) -> None:
    """Exit with status 4 if one status is inaccurate, otherwise with 3 if one is undecided; otherwise return."""
    if any(not status.ok and status is not Status.UNDECIDED for status in statuses):
        raise typer.Exit(INACCURATE)
    if Status.UNDECIDED in statuses:
        raise typer.Exit(UNDECIDED)


def _print_exact_means(answer: Stationary, functions: Mapping[str, Any], json: bool) -> None:
    """Print the long-run means of functions of the state, with bounds evaluated in integers."""
    bounds = {text: answer.bound(f, exact=True) for text, f in functions.items()}
    if json:
        fields_of_bound = ("value", "lower", "upper")
        fields = [
            {"text": text, **{name: str(getattr(bound, name)) for name in fields_of_bound}}
            for text, bound in bounds.items()
        ]
        typer.echo(cli.as_json(fields))
        return
    for text, bound in bounds.items():
        typer.echo(f"{text}: {bound!r}")


def file_model(path: Path, constants: dict[str, Any]) -> FileModel:
    """Return the model of a PRISM, JANI, SBML, .umb or .tra file; ValueError for other suffixes."""
    from markov.files import read_explicit, read_jani, read_prism, read_sbml
    from markov.files.explicit import advice_for_ending

    if path.suffix in LISTED:
        if constants:
            text = ",".join(constants)
            raise ValueError(f"const = {text!r}: a file of transitions has no constants")
        return read_explicit(path).model
    if path.suffix in JANI:
        return read_jani(path, constants=constants)
    if path.suffix in SBML:
        return read_sbml(path, constants=constants)
    if path.suffix not in PRISM:
        raise ValueError(f"path = {str(path)!r}: must end in {', '.join(SUFFIXES)}{advice_for_ending(path)}")
    return read_prism(path, constants=constants)


def parse_constants(texts: Sequence[str] | None) -> dict[str, str]:
    """Return constants as written, by name: ``["N=5,rate=0.1", "fast=true"]`` has "5", "0.1" and "true"."""
    constants: dict[str, str] = {}
    for part in filter(None, ",".join(texts or ()).split(",")):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        try:
            float(value)
        except ValueError:
            if value not in ("true", "false"):
                allowed = "must be a number, true or false, as in N=5,rate=0.1"
                raise ValueError(f"const = {part!r}: {allowed}") from None
        if not name or not sign:
            raise ValueError(f"const = {part!r}: must be NAME=VALUE")
        if name in constants:
            raise ValueError(f"const = {part!r}: {name!r} is given twice")
        constants[name] = value
    return constants


def constant_values(texts: Sequence[str] | None) -> dict[str, Any]:
    """Return constants as int, float or bool, by name: ``["N=5,rate=0.1", "fast=true"]`` has 5, 0.1 and True."""

    def value_of(written: str) -> Any:
        """Return the bool, int or float that a text denotes."""
        if written in ("true", "false"):
            return written == "true"
        return int(written) if written.lstrip("+-").isdigit() else float(written)

    return {name: value_of(written) for name, written in parse_constants(texts).items()}


def python_model(path: Path) -> Any:
    """Return the `ChainModel`, `MarkovChain` or result of `explore` that a user's Python file defines.

    Of a variable `model` that is a generator matrix or the model of a file, it is the chain.
    """
    from markov.chains import MarkovChain
    from markov.exploration import Reachable
    from markov.models.rules import ChainModel
    from markov.selections import as_chain

    return object_of_file(path, "model", ChainModel, (MarkovChain, Reachable), as_chain)
