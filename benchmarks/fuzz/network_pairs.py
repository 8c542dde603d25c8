"""Networks, asked in two ways: files, ensembles, engines, strings with units, sweeps, the command."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import dfcmodel as d
import responsefn as r
from benchmarks.fuzz.contradictions import Answers, Ask
from tests.oracles.engines import ENGINES


def discipline(draw: random.Random) -> Any:
    """Draw a discipline."""
    return draw.choice(
        (
            d.FIFO(), d.RED(low=3.0, high=9.0, ecn=draw.random() < 0.5), d.CoDel(), d.PIE(), d.PI2(), d.Fair(),
            d.Priority(), d.Pause(high=20.0, low=10.0), d.PFC(classes=(0, 1), xoff=6.0, xon=3.0, headroom=4.0),
            d.StepMarking(6.0), d.RampMarking(2.0, 9.0, 0.3), d.Fair(manager=d.CoDel()), d.DFC(),
        )
    )  # fmt: skip


def scenario(draw: random.Random) -> Any:
    """Draw a chain of links with a few flows."""
    rule = discipline(draw)
    nodes = draw.randint(2, 4)
    links = d.chain(
        nodes, rate=float(draw.choice((500, 1000, 2000))), delay=draw.choice((1e-3, 2e-3, 4e-3)),
        buffer=float(draw.randint(30, 60)), discipline=rule,
    )  # fmt: skip
    sources = (r.Reno(), r.NewReno(), r.CUBIC(), d.CBR(400.0), d.OnOff(700.0, 0.05, 0.04), r.HTCP())
    flows = []
    for n in range(draw.randint(1, 3)):
        path = tuple(range(draw.randint(1, nodes - 1), nodes + 1))
        size = draw.choice((float("inf"), 80.0))
        flows.append(
            d.Flow(
                f"{n}",
                path,
                draw.choice(sources),
                40.0,
                round(draw.uniform(0, 0.05), 3),
                size,
                priority=n % 2,
            )
        )
    return d.Scenario("drawn", links, flows, duration=0.4)


def level(draw: random.Random) -> Any:
    """Draw a level, with its parameters."""
    return draw.choice((d.Fluid(steps_per_delay=4), d.Packets(seed=3), d.Packets(seed=3, recovery="sack")))


def numbers(run: Any) -> np.ndarray[Any, Any]:
    """Return what a run delivered, lost and queued."""
    return np.concatenate([np.ravel(getattr(run, name)) for name in ("delivered", "lost", "queued", "carried")])


def file_and_scenario(draw: random.Random) -> Answers:
    """A scenario, and the same from its TOML file."""
    chosen, how = scenario(draw), level(draw)
    with tempfile.TemporaryDirectory() as folder:
        path = d.save_scenario(chosen, Path(folder) / "drawn.toml")
        loaded = d.load_scenario(path)
        text = Path(path).read_text(encoding="utf-8")
    one, other = (d.simulate(each, method=how, sample=0.02) for each in (chosen, loaded))
    return Answers(f"{text!r}, {how!r}", numbers(one), numbers(other), 0.0)


def strings_and_numbers(draw: random.Random) -> Answers:
    """Times as strings with units, and as numbers."""
    chosen, how = scenario(draw), level(draw)
    one = d.simulate(chosen, method=how, duration="300ms", sample="20ms", jitter="1ms")
    other = d.simulate(chosen, method=how, duration=0.3, sample=0.02, jitter=1e-3)
    return Answers(f"{chosen!r}, {how!r}", numbers(one), numbers(other), 0.0)


def ensemble_and_runs(draw: random.Random) -> Answers:
    """The runs of an ensemble, in threads, and of the same one again; their spread is not a NaN."""
    chosen, how = scenario(draw), level(draw)
    seed = draw.randint(0, 999)
    one, other = (
        d.ensemble(chosen, 2, jitter=0.0, seed=seed, method=how, options=d.RunSettings(sample=0.02)) for _ in range(2)
    )
    left, right = (
        np.concatenate([np.ravel(getattr(many, name)) for name in ("efficiency", "losses", "occupancy")])
        for many in (one, other)
    )
    return Answers(f"{chosen!r}, {how!r}, seed = {seed}", left, right, 0.0)


def ensemble_and_single(draw: random.Random) -> Answers:
    """An ensemble without random waits of a network without random numbers, and one run."""
    links = d.chain(3, rate=1000.0, delay=2e-3, buffer=float(draw.randint(10, 40)))
    flows = [
        d.Flow("a", (1, 2, 3), r.NewReno(), 40.0),
        d.Flow("b", (2, 3), d.CBR(float(draw.randint(100, 900)))),
    ]
    chosen = d.Scenario("plain", links, flows, duration=0.5)
    many = d.ensemble(chosen, 2, jitter=0.0, seed=1, method=d.Packets(), options=d.RunSettings(sample=0.02))
    single = d.simulate(chosen, method=d.Packets(), sample=0.02)
    each = np.asarray(many.losses)
    lost = single.lost[..., -1] if single.lost.ndim > each.ndim else single.lost
    return Answers(f"{chosen!r}", each.sum(axis=tuple(range(1, each.ndim))), [lost.sum()] * 2, 0.0)


def engines(draw: random.Random) -> Answers:
    """The compiled engine, and plain Python."""
    chosen = scenario(draw)
    how = draw.choice((d.Fluid(steps_per_delay=4), d.Packets(seed=3)))
    one, other = (run(chosen, method=how, duration=0.2, sample=0.02) for run in ENGINES)
    return Answers(f"{chosen!r}, {how!r}", numbers(one), numbers(other), 1e-6)


def command_and_python(draw: random.Random) -> Answers:
    """``hopflow simulate FILE --json``, and `simulate`."""
    from typer.testing import CliRunner

    from hopflow.console.commands import app

    chosen = scenario(draw)
    with tempfile.TemporaryDirectory() as folder:
        path = d.save_scenario(chosen, Path(folder) / "drawn.toml")
        ran = CliRunner().invoke(app, ["simulate", str(path), "--duration", "200ms", "--json"])
        told = json.loads(ran.stdout)
    run = d.simulate(chosen, duration=0.2)
    names = [name for name in told if isinstance(getattr(run, name, None), np.ndarray)]
    one, other = (
        np.concatenate([np.ravel(part) for part in parts])
        for parts in (_values(told[name] for name in names), (getattr(run, name) for name in names))
    )
    return Answers(f"{chosen!r}: {names}", one, other, 0.0)


def _values(told: Any) -> list[Any]:
    """Return the numbers of each answer, those by flow in the order of the flows."""
    return [list(each.values()) if isinstance(each, dict) else each for each in told]


def sweep_and_calls(draw: random.Random) -> Answers:
    """`coexist_sweep`, and `coexist` for each buffer."""
    rules, buffers = (
        [r.Reno(), draw.choice((r.CUBIC(), r.Scalable(), r.HTCP()))],
        [15, draw.randint(20, 60)],
    )
    rtt, bandwidth = draw.choice((0.02, 0.05)), float(draw.randint(300, 900))
    swept = d.coexist_sweep(
        rules, rtt=rtt, bandwidth=bandwidth, buffer=buffers, runs=1, options=d.PathOptions(duration=5.0)
    )
    again = [
        d.coexist_sweep(
            rules, rtt=rtt, bandwidth=bandwidth, buffer=[buffer], runs=1, options=d.PathOptions(duration=5.0)
        )
        for buffer in buffers
    ]
    name = next(key for key in swept.data_vars if swept[key].dtype.kind == "f")
    both = [np.ravel(each[name].values) for each in again]
    one = [np.ravel(swept[name].sel(buffer=buffer).values) for buffer in buffers]
    return Answers(
        f"{rules}, rtt = {rtt}, bandwidth = {bandwidth}, buffer = {buffers}, {name}",
        one,
        both,
        1e-12,
    )


PAIRS: dict[str, Ask] = {
    "scenario file against scenario": file_and_scenario,
    "times as strings against numbers": strings_and_numbers,
    "ensemble against itself": ensemble_and_runs,
    "ensemble against a run": ensemble_and_single,
    "compiled against plain engine": engines,
    "simulate --json against Python": command_and_python,
    "coexist_sweep against calls": sweep_and_calls,
}
