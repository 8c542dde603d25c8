"""``hopflow simulate``, ``hopflow pde`` and ``hopflow compare``: networks on the command line."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopflow.console import command_line as cli
from hopflow.units import quantity

if TYPE_CHECKING:
    from dfcmodel.levels.choices import LevelChoice
    from dfcmodel.methods import Fluid, Level, Packets
    from dfcmodel.network.networks import Scenario
    from dfcmodel.network.queueing.disciplines import Discipline
    from dfcmodel.results.ensembles import Ensemble
    from dfcmodel.results.trajectories import Trajectory
    from dfcmodel.sharing.bottlenecks import Bottleneck
    from responsefn.rules.base import WindowRule

__all__ = ["commands"]

commands = cli.Commands()

SOURCES = (".c", ".cc", ".cpp", ".h", ".rs")
"""Ends of names of source files that are compiled to a library."""
explained: dict[str, Callable[[], dict[str, Any]]] = {}
"""Additional names for ``hopflow explain``, with functions that return the arguments of `dfcmodel.explain`."""


def _names(incomplete: str) -> list[str]:
    """Return the built-in scenarios that begin with ``incomplete``, for completion."""
    from dfcmodel.network.scenarios import NAMES

    return [full_name for name in NAMES if (full_name := f"takano2006/{name}").startswith(incomplete)]


def _explainable(incomplete: str) -> list[str]:
    """Return the scenarios and ids of claims that begin with ``incomplete``, for completion."""
    return _names(incomplete) + cli.completions(incomplete, explained)


def _tcps(incomplete: str) -> list[str]:
    """Return the names of TCPs that begin with ``incomplete``, for completion."""
    tcps = ("newreno", "reno", "tahoe", "vegas")
    return [name for name in tcps if name.startswith(incomplete)]


def _hosts(incomplete: str) -> list[str]:
    """Return the kinds of hosts that begin with ``incomplete``, for completion."""
    return [name for name in ("shaped", "unshaped", "direct") if name.startswith(incomplete)]


def _levels(incomplete: str) -> list[str]:
    """Return the levels that begin with ``incomplete``, for completion."""
    from dfcmodel.methods import LEVELS

    return [name for name in LEVELS if name.startswith(incomplete)]


def _rules(incomplete: str) -> list[str]:
    """Return the names of window rules that begin with ``incomplete``, for completion."""
    from responsefn.rule_catalogue import names, rule_named
    from responsefn.rules.base import WindowRule

    windows = (name for name in names() if isinstance(rule_named("rule", name), WindowRule))
    return cli.completions(incomplete, windows)


def _window_rules(parameter: str, names: list[str], record: Path | None = None) -> list[WindowRule]:
    """Return window rules from names, Python files or libraries; their calls go to folder ``record``; ValueError."""
    from dfcmodel.network.endpoints.native_rules import NativeRule, is_library
    from responsefn.rule_catalogue import rule_named
    from responsefn.rules.base import WindowRule

    for name in names:
        if name.endswith(SOURCES):
            text = "is source code: compile it to a shared library, such as ./libcc.so (docs/howto-native.md)"
            raise ValueError(f"{parameter} = {name!r}: {text}; hopflow cc-header -h has the command")
    if record is not None and not any(map(is_library, names)):
        raise ValueError(
            f"--record {record}: records the calls of shared libraries, such as ./libcc.so, omit the option"
        )
    rules = [NativeRule(name, record=record) if is_library(name) else rule_named(parameter, name) for name in names]
    windows = [rule for rule in rules if isinstance(rule, WindowRule)]
    if len(windows) < len(rules):
        others = ", ".join(repr(rule) for rule in rules if not isinstance(rule, WindowRule))
        raise ValueError(f"{parameter} = {others}: must be a rule of a window, such as cubic")
    return windows


Record = Annotated[
    Path | None,
    typer.Option(help="Record the calls of ./libcc.so in this folder, for hopflow_cc_replay.c: some 400 bytes each."),
]
PaperTcp = Annotated[
    str | None,
    typer.Option(
        help="tahoe, reno, newreno or vegas, another rule of a window, my_rule.py or ./libcc.so; default: the paper's.",
        autocompletion=_tcps,
    ),
]
Duration = Annotated[str | None, typer.Option(help="Simulated time: 200ms, or a number of s.")]


@dataclass(frozen=True)
class _Network:
    """Deviations from the paper's settings in a scenario of takano2006."""

    dfc: Annotated[
        bool | None,
        typer.Option(
            "--dfc/--no-dfc",
            help="Diffusion-type flow control (default), or FIFO.",
            show_default=False,
        ),
    ] = None
    tcp: PaperTcp = None
    host: Annotated[
        str | None,
        typer.Option(
            help="shaped, unshaped or direct; default: shaped with DFC, otherwise direct.",
            autocompletion=_hosts,
        ),
    ] = None
    native: Annotated[
        bool, typer.Option("--native", help="Load the shared libraries that my_network.toml names: runs their code.")
    ] = False
    record: Record = None

    def scenario(self, name: str) -> Scenario:
        """Return a scenario by its name, or from a TOML file, which excludes the other options."""
        from dfcmodel.network.endpoints.native_rules import NativeRule, is_library
        from dfcmodel.network.scenario_files.toml_reading import load_scenario
        from dfcmodel.network.scenarios import NAMES, TCP, takano2006

        if self.record is not None and not is_library(self.tcp or ""):
            raise ValueError(f"--record {self.record}: needs --tcp with a shared library, such as ./libcc.so")
        if name.endswith(".toml"):
            for option, value in (("dfc", self.dfc), ("tcp", self.tcp), ("host", self.host)):
                if value is not None:
                    text = "--no-dfc" if value is False else f"--{option}"
                    text += f" {value}" if isinstance(value, str) else ""
                    raise ValueError(f"{text}: {name} defines it, omit the option")
            loaded = load_scenario(name, native=self.native)
            if self.native and not any(isinstance(flow.source, NativeRule) for flow in loaded.flows):
                raise ValueError(f"--native: {name} names no library, omit the option")
            return loaded
        if self.native:
            raise ValueError(f"--native: {name} names no library, omit the option")
        names = [f"takano2006/{variant}" for variant in NAMES]
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            text = f"; did you mean {close[0]!r}?" if close else ""
            allowed = "takano2006/1 to takano2006/6, takano2006/4S, ..., or a file ending in .toml"
            raise ValueError(f"scenario = {name!r}: must be {allowed}{text}")
        tcp: Any = self.tcp
        if tcp is not None and tcp not in TCP:
            tcp = _window_rules("tcp", [tcp], self.record)[0]
        paper = name.partition("/")[2]
        return takano2006(paper, dfc=self.dfc is not False, tcp=tcp, host=self.host)


@dataclass(frozen=True)
class _Run:
    """Command-line options on duration, level, seeds and number of runs."""

    duration: Duration = None
    level: Annotated[
        str | None,
        typer.Option(
            help="fluid, packets, or auto, by measured error and cost (the default).",
            autocompletion=_levels,
        ),
    ] = None
    steps_per_delay: Annotated[int | None, typer.Option(help="Time steps of the fluid per link delay; default: 4.")] = (
        None
    )
    steps: Annotated[int | None, typer.Option(hidden=True)] = None
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0
    runs: Annotated[
        int,
        typer.Option(
            help="Number of runs; more than one is an ensemble, with starts within the shortest round-trip time."
        ),
    ] = 1
    sample: Annotated[
        str | None,
        typer.Option(help="Sampling interval of records, plots and animations: 10us; default: 1ms, with --runs 10ms."),
    ] = None
    packet_jitter: Annotated[
        str | None,
        typer.Option(help="Maximum random delay of each packet at its sender, against phase effects: 1pkt or 120us."),
    ] = None

    def method(self) -> tuple[Level, Fluid | None]:
        """Return the level, and `Fluid` if steps are given, else None; steps without a level imply the fluid."""
        from dfcmodel.methods import LEVELS, Fluid
        from hopflow.checks import choice

        level, steps_per_delay = self.level, self.steps_per_delay
        if self.steps is not None:
            cli.warn_deprecated_option(f"--steps {self.steps}", f"--steps-per-delay {self.steps}")
            steps_per_delay = self.steps
        if level is None:
            level = "auto" if steps_per_delay is None else "fluid"
        checked_level: Any = choice("level", level, LEVELS)
        if steps_per_delay is None:
            return checked_level, None
        if level != "fluid":
            raise ValueError(f"--steps-per-delay {steps_per_delay}: is for --level fluid, not {level}")
        return checked_level, Fluid(steps_per_delay)


@dataclass(frozen=True)
class _Files:
    """Command-line options on output files."""

    plot: Annotated[Path | None, typer.Option(help="Write a plot of the result here.")] = None
    animation: Annotated[Path | None, typer.Option(help="Write an animation of the queues: .gif, .mp4 or .html.")] = (
        None
    )
    netcdf: Annotated[Path | None, typer.Option(help="Write all records as netCDF here.")] = None
    save: Annotated[
        Path | None,
        typer.Option(help="Write the scenario as simulated, --duration included, as TOML here."),
    ] = None

    def check(self, runs: int) -> None:
        """Raise ValueError for unwritable files, and for outputs of a single run if there are several runs."""
        from dfcmodel.results.animations import animation_format

        cli.check_output("plot", self.plot)
        if self.animation is not None:
            animation_format(self.animation)
        single_run_outputs = (("animation", self.animation), ("netcdf", self.netcdf))
        for option, value in single_run_outputs:
            if value is not None and runs != 1:
                raise ValueError(f"{option} = {value}: needs a single run, omit --runs")
        for option, path in (*single_run_outputs, ("save", self.save)):
            cli.check_output(option, path, ())


@commands.command(
    epilog=cli.examples(
        "hopflow simulate takano2006/4 --dfc --tcp newreno --plot out.png",
        "hopflow simulate my_network.toml --duration 200ms --json",
        "hopflow simulate takano2006/1 --no-dfc --runs 16",
        "hopflow simulate takano2006/1 --save my_network.toml",
    )
)
@cli.expand_options
def simulate(
    scenario: Annotated[str, typer.Argument(help="takano2006/4, or my_network.toml", autocompletion=_names)],
    network: _Network,
    run: _Run,
    files: _Files,
    max_cpu_time: Annotated[
        str | None,
        typer.Option(help="Maximum predicted CPU time of a run: 600min (default: 180min)."),
    ] = None,
    json: cli.AsJson = False,
) -> None:
    """Simulate a network as a fluid, or packet by packet, and print a summary."""
    from dfcmodel.ensembles import ensemble
    from dfcmodel.network.scenario_files.toml_writing import save_scenario
    from dfcmodel.simulation import RunSettings, method_of
    from dfcmodel.simulation import simulate as run_once
    from hopflow.checks import integer

    level, method = run.method()
    integer("runs", run.runs, 1, 10**6)
    files.check(run.runs)
    network_scenario = network.scenario(scenario)
    if run.duration is not None:
        end = quantity("duration", run.duration, "time", bare=True)
        network_scenario = replace(network_scenario, duration=end)
    if files.save is not None:
        typer.echo(f"scenario: {save_scenario(network_scenario, files.save)}", err=json)
    settings: dict[str, Any] = {"level": level, "method": method, "seed": run.seed}
    sample = None if run.sample is None else quantity("sample", run.sample, "time", bare=True)
    if max_cpu_time is not None:
        longest = quantity("max_cpu_time", max_cpu_time, "time", bare=True)
        settings |= {"method": _limit_cpu_time(network_scenario, method_of(level, method), longest), "level": None}
    if run.runs != 1:
        options = RunSettings(packet_jitter=run.packet_jitter, sample=sample)
        ensemble_result = ensemble(network_scenario, run.runs, **settings, options=options)
        typer.echo(cli.as_json(_ensemble_data(ensemble_result)) if json else ensemble_result)
        if files.plot is not None:
            cli.save_figure(ensemble_result.plot(), files.plot, quiet=json)
        return
    result = run_once(network_scenario, **settings, packet_jitter=run.packet_jitter, sample=sample)
    typer.echo(cli.as_json(_run_data(result)) if json else result)
    if files.plot is not None:
        cli.save_figure(result.plot(), files.plot, quiet=json)
    if files.animation is not None:
        typer.echo(f"animation: {result.animate().save(files.animation)}", err=json)
    if files.netcdf is not None:
        typer.echo(f"records: {result.to_netcdf(files.netcdf)}", err=json)


def _limit_cpu_time(
    scenario: Scenario, method: Fluid | Packets | LevelChoice | None, limit: float
) -> Fluid | Packets | LevelChoice:
    """Return the method, by default the choice of `choose_level`, with a limit on its predicted CPU time, s."""
    from dfcmodel.levels.choices import LevelChoice, choose_level

    chosen = choose_level(scenario) if method is None else method
    if isinstance(chosen, LevelChoice):
        return replace(chosen, method=replace(chosen.method, max_cpu_time=limit))
    return replace(chosen, max_cpu_time=limit)


def _run_data(run: Trajectory) -> dict[str, object]:
    """Return the JSON data of a run: counts and measures by flow."""
    flows = [flow.name for flow in run.scenario.flows]
    counts = {
        name: dict(zip(flows, getattr(run, name), strict=True))
        for name in ("lost", "loss_events", "timeouts", "notifications")
        if getattr(run, name) is not None
    }
    about = {"status": run.status, "step": run.step or None, "seconds": run.seconds}
    header = {"scenario": run.scenario.name, **about, "simulated_seconds": run.time[-1]}
    return {**header, **counts, "limits": run.limits, "measures": run.measures}


def _ensemble_data(runs: Ensemble) -> dict[str, object]:
    """Return the JSON data of an ensemble: lists of values of the runs by flow."""
    flows = [flow.name for flow in runs.scenario.flows]
    values: dict[str, Any] = {
        "goodput": runs.goodput.to_numpy().T,
        "mean_efficiency": runs.mean_efficiency().T,
        "lost": [[run.lost[n] for run in runs.runs] for n in range(len(flows))],
    }
    about = {name: getattr(runs, name) for name in ("status", "seed", "seconds")}
    header = {"scenario": runs.scenario.name, **about, "simulated_seconds": runs.time[-1]}
    by_flow = {name: dict(zip(flows, by_run, strict=True)) for name, by_run in values.items()}
    return {**header, "runs": len(runs.runs), **by_flow}


@dataclass(frozen=True)
class _Times:
    """Command-line options on duration and number of simulations."""

    duration: Annotated[
        str | None,
        typer.Option(help="Simulated time: 60s, or a number of s; default: 60s, 240s at most while shares drift."),
    ] = None
    runs: Annotated[
        int, typer.Option(help="Maximum number of seeds per setting; fewer if intervals are below 5 points.")
    ] = 16
    seed: Annotated[int, typer.Option(help="Seed from which the seeds of the runs are spawned.")] = 0
    warm_up: Annotated[str | None, typer.Option(help="Part before the measurement: 10s; default: a fifth.")] = None


@dataclass(frozen=True)
class _Senders:
    """Settings of senders other than their rules, and of the shared queue."""

    recovery: Annotated[str, typer.Option(help="Loss recovery of all senders; own: that of each rule.")] = "sack"
    discipline: Annotated[
        str, typer.Option(help="Discipline of the queue: FIFO, Fair, 'CoDel(target=0.02)', PIE, ...")
    ] = "FIFO"
    pacing: Annotated[bool, typer.Option(help="Pace window senders.")] = False
    packet_size: Annotated[str, typer.Option(help="Size of a packet: 1500, in bytes, or 9kB.")] = "1500"

    @property
    def bytes_per_packet(self) -> float:
        """Size of a packet, bytes."""
        return quantity("packet_size", self.packet_size, "size", bare=True)

    def queue(self) -> Discipline:
        """Return the discipline of the queue, from its name with or without parameters."""
        from dfcmodel.network.scenario_files.toml_keys import DISCIPLINES
        from hopflow.checks import choice
        from hopflow.registry import object_of_call

        def discipline_class(parameter: str, name: str) -> type[Discipline]:
            spelled = {key.lower(): key for key in DISCIPLINES}
            return DISCIPLINES[choice(parameter, spelled.get(name.lower(), name), list(DISCIPLINES))]

        return object_of_call("discipline", self.discipline, discipline_class, "CoDel(target=0.02)")


@dataclass(frozen=True)
class _Path:
    """Command-line options on the bottleneck: rates, delays, buffer."""

    bandwidth: Annotated[str, typer.Option(help="24Mbps, or a number of packets/s.")]
    rtt: Annotated[str, typer.Option(help="Propagation there and back: 40ms, or a number of s.")]
    buffer: Annotated[
        str,
        typer.Option(help="80pkt, 120kB (as many packets as fit), 2BDP (bandwidth times rtt), or a number of packets."),
    ]
    loss: Annotated[str, typer.Option(help="Probability of a random loss: 0.001 or 0.1%.")] = "0"

    def bottleneck(self, times: _Times, senders: _Senders) -> Bottleneck:
        """Return the bottleneck, in packets/s, s and packets."""
        from dfcmodel.sharing.bottlenecks import PathOptions, bottleneck_of

        size, buffer = senders.bytes_per_packet, self.buffer.strip()
        in_products = buffer.lower().endswith("bdp")
        options = PathOptions(
            loss=quantity("loss", self.loss, "share", bare=True),
            duration=None if times.duration is None else quantity("duration", times.duration, "time", bare=True),
            warm_up=None if times.warm_up is None else quantity("warm_up", times.warm_up, "time", bare=True),
            recovery=None if senders.recovery == "own" else senders.recovery,
            discipline=senders.queue(), pacing=senders.pacing, packet_size=size,
        )  # fmt: skip
        return bottleneck_of(
            quantity("bandwidth", self.bandwidth, "rate", size, bare=True),
            quantity("rtt", self.rtt, "time", size, bare=True),
            buffer if in_products else quantity("buffer", buffer, "amount", size, bare=True),
            options,
        )


@commands.command(
    epilog=cli.examples(
        "hopflow compare newreno cubic --bandwidth 24Mbps --rtt 40ms --buffer 80pkt",
        "hopflow compare reno htcp bic --bandwidth 100Mbps --rtt 80ms --buffer 1MB --loss 1e-6 --json",
    )
)
@cli.expand_options
def compare(
    rules: Annotated[
        list[str],
        typer.Argument(
            help="newreno, 'cubic(fast_convergence=1)', bbr, ..., my_rule.py, or ./libcc.so.", autocompletion=_rules
        ),
    ],
    path: _Path,
    times: _Times,
    senders: _Senders,
    record: Record = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the shares to this file.")] = None,
    csv: cli.AsCsv = None,
    json: cli.AsJson = False,
) -> None:
    """Print which rule wins on a path, by packet-level simulation: alone, in pairs, against each other."""
    from dfcmodel.sharing.comparisons import compare_rules

    cli.check_output("plot", plot)
    cli.check_output("csv", csv, ())
    windows = _window_rules("rule", rules, record)
    comparison = compare_rules(
        windows, path.bottleneck(times, senders), runs=times.runs, seed=times.seed,
        prolong=times.duration is None,
    )  # fmt: skip
    if json:
        data = comparison.to_xarray()
        typer.echo(
            cli.as_json(
                {
                    "rules": list(map(repr, comparison.rules)),
                    "ranking": list(map(repr, comparison.ranking)),
                    **data.attrs,
                    "results": data,
                }
            )
        )
    else:
        typer.echo(f"{path.bandwidth}, {path.rtt}, {path.buffer} in packets of {senders.bytes_per_packet:g} bytes")
        typer.echo(comparison)
    if csv is not None:
        frame = comparison.to_xarray().to_dataframe().reset_index()
        cli.save_table(frame.to_dict("records"), csv, quiet=json)
    if plot is not None:
        cli.save_figure(comparison.plot(), plot, quiet=json)


@commands.command(
    "cc-header",
    epilog=cli.examples("hopflow cc-header", "hopflow cc-header --json"),
)
def cc_header(json: cli.AsJson = False) -> None:
    """Print the folder of hopflow_cc.h, with which a congestion control in C or Rust is compiled.

    cc -O2 -fPIC -shared -I "$(hopflow cc-header)" mycc.c -o libcc.so -lm
    """
    from dfcmodel.network.endpoints.native_rules import ABI
    from dfcmodel.network.endpoints.native_rules import cc_header as folder

    files = sorted(path.name for path in folder().iterdir())
    typer.echo(cli.as_json({"folder": folder(), "abi": ABI, "files": files}) if json else folder())


PROGRESS_INTERVAL = 30.0
"""Time between two lines on the progress of suites where no bar is visible, s."""
CPU_TIME_OF_RFC9743 = "about 3 minutes of CPU time for a rule such as NewReno"
"""Of suite rfc9743: five seeds of each measure on each path."""


class _ProgressLines:
    """Callable that writes lines on progress to the standard error, at most one per `PROGRESS_INTERVAL`."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()

    def __call__(self, text: str) -> None:
        """Write a line, if one is due."""
        now = time.monotonic()
        if now - self.last >= PROGRESS_INTERVAL:
            self.last = now
            typer.echo(f"{now - self.start:.0f} s: {text}", err=True)


def _suites(incomplete: str) -> list[str]:
    """Return the names of suites that begin with ``incomplete``, for completion."""
    from dfcmodel.sharing.suites.index import ALL, SUITES

    return cli.completions(incomplete, (*SUITES, ALL))


@dataclass(frozen=True)
class _Reports:
    """Command-line options on files with the verdicts."""

    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML, which CI systems read, here.")] = None
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page here: sources, first events outside, figures of failed cases; .html."),
    ] = None

    def check(self) -> None:
        """Raise ValueError for unwritable files, before any case is run."""
        cli.check_output("junit", self.junit, (".xml",))
        cli.check_output("report", self.report, (".html",))


@commands.command(
    epilog=cli.examples(
        "hopflow conform cubic --suite rfc9438",
        "hopflow conform my_rule.py --known known.toml --junit conformance.xml",
        "hopflow conform ./libcc.so --suite rfc5681,robustness,incidents --record records",
        "hopflow conform bbr --suite bbr-draft --strict --json",
    )
)
@cli.expand_options
def conform(
    rule: Annotated[
        str, typer.Argument(help="cubic, newreno, bbr, ..., my_rule.py or ./libcc.so.", autocompletion=_rules)
    ],
    reports: _Reports,
    suite: Annotated[
        str,
        typer.Option(
            help="rfc5681, rfc9438, bbr-draft, rfc9743, robustness, incidents, several by commas, or all.",
            autocompletion=_suites,
        ),
    ] = "all",
    against: Annotated[
        str | None,
        typer.Option(
            help="Rule whose contradicted sections of rfc9743 are no failures; default: cubic.", autocompletion=_rules
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help='TOML file of known deviations: lines "rfc9438/fast-convergence" = "why".'),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Status 1 also for undecided or unjudged cases, and known deviations."),
    ] = False,
    record: Record = None,
    json: cli.AsJson = False,
) -> None:
    """Hold a congestion control to suites of cases, such as RFC 9438, and print the first event that differs.

    The status is 0 if no case failed, 1 if some failed or crashed, and 2 if the rule could not be run or no case was
    judged.
    """
    from dfcmodel.sharing.conformances import conformance
    from dfcmodel.sharing.suites.reports import write_junit, write_page
    from hopflow.progress import announcing, is_visible

    reports.check()
    (tested,) = _window_rules("rule", [rule], record)
    other = None if against is None else _window_rules("against", [against])[0]
    names = suite.split(",")
    if {"all", "rfc9743"} & set(names):
        typer.echo(f"rfc9743 takes {CPU_TIME_OF_RFC9743}", err=True)
    with nullcontext() if is_visible() else announcing(_ProgressLines()):
        result = conformance(tested, suite=names, against=other, known=known)
    typer.echo(cli.as_json(result.to_dict()) if json else result)
    for path, write in ((reports.junit, write_junit), (reports.report, write_page)):
        if path is not None:
            write(result, path)
            typer.echo(f"written: {path}", err=json)
    raise typer.Exit(result.exit_status(strict=strict))


@dataclass(frozen=True)
class _Explained:
    """Command-line options on measures and settings of the runs."""

    measures: Annotated[
        str | None,
        typer.Option(
            help="Of share (goodput over the rate of the slowest link of the flow's path; default), losses, "
            "first_loss, completion, paused; by commas."
        ),
    ] = None
    tcp: PaperTcp = None
    duration: Duration = None
    since: Annotated[
        str | None,
        typer.Option(help="Shares are measured from this time on, without the start-up: 5s."),
    ] = None
    runs: Annotated[int, typer.Option(help="Number of seeds, at least 2.")] = 8
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0
    packet_jitter: Annotated[
        str | None,
        typer.Option(
            help="Maximum random delay of each packet at its sender, at both levels, against phase effects: "
            "1pkt or 120us."
        ),
    ] = None
    shared: Annotated[
        bool,
        typer.Option(help="Count the parts that both levels have as well, such as timeouts."),
    ] = False

    def parameters(self, scenario: str) -> dict[str, Any]:
        """Return the arguments of `dfcmodel.explain` for a scenario or a claim; a claim defines its own."""
        from dfcmodel.levels.refinements import default_refinements

        settings: dict[str, Any] = {
            "runs": self.runs,
            "seed": self.seed,
            "packet_jitter": self.packet_jitter,
        }
        times = {
            name: quantity(name, text, "time", bare=True)
            for name, text in (("duration", self.duration), ("since", self.since))
            if text is not None
        }
        if scenario.upper() in explained:
            for option in ("measures", "tcp", "duration", "since"):
                value = getattr(self, option)
                if value is not None:
                    raise ValueError(f"{option} = {value!r}: {scenario} defines it, omit the option")
            arguments = explained[scenario.upper()]()
        else:
            network = _Network(dfc=None if scenario.endswith(".toml") else False, tcp=self.tcp)
            measures = (self.measures or "share").split(",")
            arguments = {"scenario": network.scenario(scenario), "measures": measures, **times}
        if self.shared:
            settings["refinements"] = default_refinements(arguments["scenario"], shared=True)
        return {**arguments, **settings}


@commands.command(
    epilog=cli.examples(
        "hopflow explain takano2006/1 --duration 200ms --runs 4",
        "hopflow explain my_network.toml --measures share,losses --plot waterfall.png --json",
        "hopflow explain D05",
    )
)
@cli.expand_options
def explain(
    scenario: Annotated[
        str,
        typer.Argument(
            help="takano2006/4 (without DFC), my_network.toml, or a claim, such as D05",
            autocompletion=_explainable,
        ),
    ],
    options: _Explained,
    csv: cli.AsCsv = None,
    table: Annotated[Path | None, typer.Option(hidden=True)] = None,
    plot: Annotated[Path | None, typer.Option(help="Write the waterfall here.")] = None,
    json: cli.AsJson = False,
) -> None:
    """Explain the difference between packets and fluid by the contribution of each part that they do not share."""
    from dfcmodel.explaining import explain as explain_gap
    from hopflow.keywords import WithFields

    cli.check_output("plot", plot)
    if table is not None:
        if csv is not None:
            raise ValueError(f"table = {str(table)!r}: is --csv {csv} under its former name, omit it")
        cli.warn_deprecated_option(f"--table {table}", f"--csv {table}")
        csv = table
    cli.check_output("csv", csv, ())
    explanation = WithFields(explain_gap)(**options.parameters(scenario))
    typer.echo(cli.as_json(explanation.table().to_dict("records")) if json else explanation)
    if csv is not None:
        cli.save_table(explanation.table().to_dict("records"), csv, quiet=json)
    if plot is not None:
        cli.save_figure(explanation.plot(), plot, quiet=json)


@commands.command(
    epilog=cli.examples(
        "hopflow pde takano2006/1 --packets 1000 --plot densities.png",
        "hopflow pde takano2006/1 --no-feedback --json",
    )
)
def pde(
    scenario: Annotated[str, typer.Argument(help="takano2006/4, or my_network.toml", autocompletion=_names)],
    packets: Annotated[float, typer.Option(help="Packets in the loaded node.")] = 1000.0,
    node: Annotated[float | None, typer.Option(help="Its number; default: the middle.")] = None,
    periods: Annotated[float, typer.Option(help="Time, in link delays.")] = 300.0,
    feedback: Annotated[bool, typer.Option(help="r fed back by eq. (5); otherwise r = 0, eq. (7).")] = True,
    plot: Annotated[Path | None, typer.Option(help="Write a plot of the densities here.")] = None,
    json: cli.AsJson = False,
) -> None:
    """Solve the continuous limit of DFC for one loaded node in the chain of a scenario.

    Prints the evolution of the density and the stability limits of the law.
    """
    import numpy as np

    from dfcmodel.theory.law import law_of
    from dfcmodel.theory.pde import loaded_node
    from dfcmodel.theory.spectra import spectrum

    cli.check_output("plot", plot)
    chain = _Network().scenario(scenario)
    times = np.linspace(0.0, periods, 6) * law_of(chain).delay
    solution = loaded_node(chain, packets, times, node=node, feedback=feedback)
    limits = spectrum(chain)
    if json:
        names = ("status", "time", "packets", "mean", "variance")
        about = {name: getattr(solution, name) for name in names}
        law = {
            "radius": limits.radius,
            "settling_time": limits.settling_time,
            "stable": limits.stable,
        }
        typer.echo(cli.as_json(about | {"law": law}))
    else:
        typer.echo(solution)
        typer.echo(limits)
    if plot is not None:
        cli.save_figure(solution.plot(), plot, quiet=json)
