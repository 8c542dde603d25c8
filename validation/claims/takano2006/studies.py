"""Scenarios of takano2006: fluid ensembles and the bundled packet simulations."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import Fluid, RunSettings, Scenario, ensemble, takano2006
from dfcmodel.results import Ensemble
from validation import evidence
from validation.judgements.keeping import kept
from validation.judgements.verdicts import Sides, Verdict
from validation.statistics import Estimate, Swing, Values, absent, combine, everywhere, of_runs, swing

if TYPE_CHECKING:
    import pandas as pd

WIDTH, WINDOW = 5, "50 ms"
"""Bins that the curves of `band` average, and their length."""
TRACES = "takano2006/traces-without-dfc"
START = 0.1
"""Time in s at which the background flow starts."""
SETTLED = 0.2
"""Time in s by which the background flow has filled its window."""
PACKET_JITTER = 20e-6
"""Longest random time in s before each packet in the bundled ns-2 runs (`overhead_`)."""
SPREAD = 1e-3
"""Upper end of the uniform delays of the starts in s, as in the ns-2 runs of varied starts."""
STEPS = 16
"""Steps of the fluid in a link's delay of 0.1 ms without DFC: a third of `PACKET_JITTER` each."""
RUNS = 16
"""Fluid runs without DFC: as many as ns-2 has of most scenarios; that all of them move is judged."""
WITH_DFC = {"1": RUNS}
"""Fluid runs with DFC by scenario, `WITHIN` of the others: at the first speed the order of the ranks needs more."""
WITHIN = 8
"""Fluid runs with DFC: those that are equal decide from seven on (`validation.statistics.bounds`)."""
FEWER = 6
"""Fluid runs without DFC with Reno or NewReno for their bias, and without overshoot."""
OWN_LINKS = 8
"""Fluid runs without DFC with unshaped hosts: as many as hopflow's packet level has."""
FAIR = 0.5
"""Efficiency of each of two flows that share the links equally."""
NEAR = 0.01
"""Tolerance of an efficiency: about one packet on one of 29 links at 370 Mb/s."""
UNSTABLE = 0.5
"""Standard deviation over time, over the mean, above which a flow counts as unstable.

Relative, since the efficiencies of the scenarios differ by more than a factor of ten.
"""
STEADY = 0.2
"""Fraction of the limit of unstable below which a flow counts as steady; between both it is neither."""
BIN = "10 ms"
"""The bin of all efficiencies, in the fluid and in the tables."""
FLOWS = ("target", "background")
HOSTS = ("shaped", "unshaped", "direct")
DEFAULT = {
    "discipline": "dfc",
    "host": "shaped",
    "target_source": "tahoe",
    "background_source": "tahoe",
    "phases": "random",
    "buffers": "shared",
    "buffer": 1800,
    "diffusion": 0.1,
}
"""The default reading, by the columns of the bundled tables; a case lacks those it does not vary."""
RECOVERING = ("reno", "newreno")
SENDERS = {"4R": "reno", "4N": "newreno"}
"""Scenarios whose TCP is not Tahoe."""


@dataclass(frozen=True)
class FluidRuns:
    """Runs of the fluid, as far as the claims need them: R runs, F flows, T samples.

    Attributes
    ----------
    time
        Ends of the bins in s, (T,).
    efficiency
        Of target and background in each bin, (R, F, T).
    lost
        Packets lost by both, (R,).
    peak
        The largest queue of each run in packets, (R,).
    waiting
        Packets that wait at the target's host at the end, (R,).
    """

    time: Values
    efficiency: Values
    lost: Values
    peak: Values
    waiting: Values

    @classmethod
    def of(cls, many: Ensemble) -> FluidRuns:
        """Return what is needed of an ensemble."""
        runs = many.runs
        return cls(
            many.time,
            np.array([run.efficiency.to_numpy() for run in runs]),
            np.array([run.lost.sum() for run in runs]),
            np.array([run.peak_queue.max() for run in runs]),
            np.array([run.backlog[0, -1] for run in runs]),
        )

    def target(self) -> Values:
        """Return the mean efficiency of the target from the start of the background flow, (R,)."""
        mean: Values = self.efficiency[:, 0, self.time > START].mean(axis=1)
        return mean


@dataclass(frozen=True)
class Efficiencies:
    """Efficiencies in several runs: ends of the bins (T,) in s, by flow (runs, T)."""

    time: Values
    flows: Mapping[str, Values]

    @classmethod
    def of_fluid(cls, many: FluidRuns) -> Efficiencies:
        """Return the efficiencies of fluid runs."""
        return cls(many.time, {flow: many.efficiency[:, f] for f, flow in enumerate(FLOWS)})

    def of_network(self, part: float) -> Efficiencies:
        """Return the efficiency of all links of the target, of which the background has a part."""
        both = self.flows["target"] + part * self.flows["background"]
        return Efficiencies(self.time, {"target": both})

    @classmethod
    def of_packets(cls, table: pd.DataFrame) -> Efficiencies:
        """Return the efficiencies of a bundled table; its runs differ in the seed."""
        runs = table.set_index(["flow", "seed", "time"])["efficiency"]
        wide = {flow: runs[flow].unstack("time") for flow in FLOWS}  # noqa: PD010
        time = wide["target"].columns.to_numpy(float)
        return cls(time, {flow: rows.to_numpy(float) for flow, rows in wide.items()})

    def after(self, since: float, flow: str = "target") -> Swing:
        """Return mean and standard deviation over time of a flow, per run."""
        return swing(self.flows[flow][:, self.time > since])


FIFO_IN_NS3 = "takano2006/fifo-370-in-ns3"
"""Scenario 1 without DFC in ns-3, also with hosts that have a link of their own."""


def with_further_seeds(case: str) -> tuple[str, ...]:
    """Return a bundled case and, where there is one, the case of its further seeds.

    Examples
    --------
    >>> from validation.claims.takano2006.studies import with_further_seeds
    >>> with_further_seeds("takano2006/dfc-udp")
    ('takano2006/dfc-udp', 'takano2006/dfc-udp-seeds')
    """
    return tuple(name for name in (case, f"{case}-seeds") if name in evidence.cases())


def all_seeds(case: str, name: str | None = None) -> pd.DataFrame:
    """Return the rows of a table of a bundled case and of its further seeds."""
    import pandas as pd

    return pd.concat([evidence.frame(each, name) for each in with_further_seeds(case)], ignore_index=True)


@dataclass(frozen=True)
class Study:
    """A scenario of takano2006: its fluid ensembles beside its bundled packet runs.

    Examples
    --------
    >>> study = Study("4S")
    >>> study.with_dfc_case, round(float(study.with_dfc().packets.after(SETTLED).mean.mean()), 2)
    ('takano2006/scenario-4s-with-dfc', 0.5)
    """

    name: str

    @property
    def with_dfc_case(self) -> str:
        """The bundled case of ns-3 with DFC."""
        return self.case_of("shaped")

    def case_of(self, host: str) -> str:
        """Return the bundled case of ns-3 with DFC and this host: scenario 1 has one for each."""
        of_host = f"-{host}" if self.name == "1" else ""
        return f"takano2006/scenario-{self.name.lower()}-with-dfc{of_host}"

    def cases_of(self, host: str) -> tuple[str, ...]:
        """Return the bundled cases of ns-3 with DFC and this host: some scenarios have one of further seeds."""
        return with_further_seeds(self.case_of(host))

    @property
    def without_dfc_case(self) -> str:
        """The bundled case of ns-2 without DFC."""
        return f"takano2006/scenario-{self.name.lower()}-without-dfc"

    @property
    def part(self) -> float:
        """The links of the background flow over those of the target."""
        target, background = takano2006(self.name).flows
        return (len(background.path) - 1) / (len(target.path) - 1)

    @property
    def starts_case(self) -> str:
        """The bundled case of ns-2 without DFC whose flows start at varied times."""
        return f"takano2006/scenario-{self.name}-starts-without-dfc"

    @property
    def cases(self) -> tuple[str, ...]:
        """Bundled cases without and with DFC, and those that quantify the bias of the fluid."""
        with_dfc = (case for host in HOSTS for case in self.cases_of(host))
        wanted = {*with_further_seeds(self.without_dfc_case), *with_dfc, self.starts_case}
        wanted |= {case for case, _ in recoveries(self.name).values()}
        if self.name == "1":
            wanted.add(FIFO_IN_NS3)
        return tuple(sorted(wanted & set(evidence.cases())))

    def with_dfc(self, host: str = "shaped") -> Sides[Efficiencies]:
        """Return the efficiencies with DFC and this host, in the default reading otherwise."""
        table = self.rows_with_dfc(host)
        fluid = fluid_with_dfc(self.name, host, float(table["time"].max()))
        return Sides(Efficiencies.of_fluid(fluid), Efficiencies.of_packets(table))

    def rows_with_dfc(self, host: str, name: str | None = None) -> pd.DataFrame:
        """Return the rows of ns-3 with DFC and this host, in the default reading otherwise."""
        sender = SENDERS.get(self.name, "tahoe")
        return rows(self.case_of(host), name, host=host, target_source=sender, background_source=sender)

    def without_dfc(self) -> Sides[Efficiencies]:
        """Return the efficiencies without DFC, hosts directly in the buffer of node 1.

        Those of ns-2 are all bundled runs, with the starts of the paper and spread over a
        millisecond.
        """
        runs = [Efficiencies.of_packets(table) for table in self.tables_without_dfc()]
        flows = {flow: np.concatenate([each.flows[flow] for each in runs]) for flow in FLOWS}
        fluid = Efficiencies.of_fluid(fluid_without_dfc(self.name))
        return Sides(fluid, Efficiencies(runs[0].time, flows))

    def tables_without_dfc(self, name: str | None = None) -> list[pd.DataFrame]:
        """Return the tables of ns-2 without DFC."""
        wanted = (*with_further_seeds(self.without_dfc_case), self.starts_case)
        return [evidence.frame(case, name) for case in wanted if case in evidence.cases()]

    def spread_starts(self) -> Sides[Values]:
        """Return the target's mean efficiencies without DFC when starts vary by a millisecond.

        In the fluid they always do; ns-2 has a case for it. Shapes (runs,).
        """
        packets = evidence.frame(self.starts_case, "flows").query("flow == 'target'")
        fluid = fluid_without_dfc(self.name).target()
        return Sides(fluid, packets["mean_efficiency"].to_numpy())


@kept
def fluid_with_dfc(name: str, host: str | None = None, duration: float | None = None) -> FluidRuns:
    """Return fluid runs of a scenario with DFC that differ in their feedback phases (`WITH_DFC`)."""
    runs = WITH_DFC.get(name, WITHIN)
    many = ensemble(
        takano2006(name, host=host), runs, jitter=20e-6, level="fluid", options=RunSettings(duration=duration)
    )
    return FluidRuns.of(many)


@kept
def fluid_without_dfc(name: str, host: str = "direct", tcp: str | None = None) -> FluidRuns:
    """Return fluid runs of a scenario without DFC, as random as those of ns-2: see `random_runs`.

    Which flow a full queue hits depends on when their bursts meet there.
    """
    runs = {"direct": RUNS, "unshaped": OWN_LINKS}[host] if tcp is None else FEWER
    return random_runs(takano2006(name, dfc=False, host=host, tcp=tcp), runs)


@kept
def without_overshoot(name: str) -> FluidRuns:
    """Return runs as `fluid_without_dfc` where node 1 has room for every window of the target."""
    scenario = takano2006(name, dfc=False)
    links = (replace(scenario.links[0], buffer=10**6), *scenario.links[1:])
    return random_runs(replace(scenario, links=links), FEWER)


def random_runs(scenario: Scenario, runs: int) -> FluidRuns:
    """Return fluid runs with the random times of ns-2: before each packet, and at the starts.

    A step is a third of the random time before a packet, so that it is resolved, but not shorter
    than a packet's transmission time: what a single packet meets in a full queue is beyond
    the fluid, which would lose nearly all of a packet that comes in no time.
    """
    link = scenario.links[0]
    method = Fluid(steps_per_delay=min(STEPS, int(link.delay * link.rate)))
    return FluidRuns.of(
        ensemble(scenario, runs, jitter=SPREAD, method=method, options=RunSettings(packet_jitter=PACKET_JITTER))
    )


def recoveries(name: str) -> dict[str, tuple[str, str]]:
    """Return bundled case and scenario, at the speed of a scenario, of Reno and NewReno in ns-2."""
    speed = name[0]
    if speed == "4":
        return {tcp: (Study(f"4{tcp[0].upper()}").without_dfc_case, f"4{tcp[0].upper()}")
                for tcp in RECOVERING}  # fmt: skip
    case = TRACES if speed == "1" else f"takano2006/scenario-{speed}-recovery-without-dfc"
    return dict.fromkeys(RECOVERING, (case, speed))


@functools.cache
def bias(name: str) -> float:
    """Return how far the fluid's mean efficiency of the target is from ns-2's, at this speed.

    The larger difference of Reno and NewReno, whose runs take few levels.
    """
    apart = []
    for tcp, (case, scenario) in recoveries(name).items():
        data = evidence.frame(case, "flows")
        if case == TRACES:
            data = repeating(tcp, "flows")
        elif "agent" in data:
            data = data[data["agent"] == tcp]
        packets = data[data["flow"] == "target"]["mean_efficiency"].mean()
        fixed = None if scenario in SENDERS else tcp
        fluid = fluid_without_dfc(scenario, tcp=fixed).target().mean()
        apart.append(abs(float(fluid) - float(packets)))
    return max(apart)


def repeating(tcp: str, name: str) -> pd.DataFrame:
    """Return the rows of ns-2's scenario 1 without DFC where nothing is random."""
    data = evidence.frame(TRACES, name)
    return data[(data["link_rate"] == 370e6) & (data["agent"] == tcp)]


def rows(case: str, name: str | None = None, **reading: object) -> pd.DataFrame:
    """Return the rows of a table of ns-3's chain, all seeds, in the default reading, changed by ``reading``."""
    data = all_seeds(case, name)
    for column, value in {**DEFAULT, **reading}.items():
        if column in data:
            data = data[data[column] == value]
    return data


def mean_of(values: Values) -> Estimate:
    """Return the mean over runs, shape (runs,); that of a single run, of a model without noise, is exact."""
    return of_runs(values) if len(values) > 1 else Estimate(float(values[0]), 0.0)


def lossless(lost: Values, level: float) -> Verdict:
    """Return whether runs lose no packet.

    HOLDS when losses are absent from most runs (`absent`: seven runs without losses at 0.01), CONTRADICTED when their mean is
    certainly above zero. A single run, of a model without noise, decides by itself.

    Parameters
    ----------
    lost
        Packets lost, shape (runs,).
    level
        Of significance.

    Examples
    --------
    >>> print(lossless(np.zeros(5), 0.01), lossless(np.zeros(7), 0.01), lossless(np.array([3.0, 4.0, 3.5]), 0.01), sep=", ")
    inconclusive, holds, contradicted
    """
    if len(lost) == 1:
        return Verdict.of(float(lost[0]) == 0.0)
    certain = mean_of(lost).p_positive() < level
    return Verdict.of(absent((lost > 0.0).tolist(), level) is Verdict.HOLDS, certain)


def alike(one: Values, other: Values, apart: float, level: float) -> Verdict:
    """Return whether the means of two sets of runs, shapes (runs,), are the same within a part of the larger one.

    HOLDS when each is certainly more than 1 - ``apart`` of the other, CONTRADICTED when one is certainly less.

    Examples
    --------
    >>> print(alike(np.array([1.0]), np.array([0.95]), 0.1, 0.01), alike(np.array([0.85]), np.array([1.0]), 0.1, 0.01), sep=", ")
    holds, contradicted
    """
    means = mean_of(one), mean_of(other)
    return everywhere((combine(pair, (1.0, apart - 1.0)) for pair in (means, means[::-1])), level)


def smooth(values: Values, width: int) -> Values:
    """Return centred running means over the last axis, NaN where a window is cut off."""
    means = np.full(values.shape, np.nan)
    sums = np.cumsum(np.concatenate((0 * values[..., :1], values), axis=-1), axis=-1)
    left = width // 2
    inside = slice(left, values.shape[-1] - (width - 1 - left))
    means[..., inside] = (sums[..., width:] - sums[..., :-width]) / width
    return means


def band(ax: Any, runs: Efficiencies, label: str, colour: str) -> None:
    """Draw the range of the runs' target efficiencies over time, and the first run."""
    means = smooth(runs.flows["target"], WIDTH)
    ends = means.min(axis=0), means.max(axis=0)
    ax.fill_between(runs.time, *ends, color=colour, alpha=0.25, lw=0)
    ax.plot(runs.time, means[0], color=colour, lw=0.9, label=label)


def efficiency_axes(ax: Any, title: str = "", until: float = 3.0, of: str = " of the target") -> None:
    """Label the axes of efficiencies over time, with a legend."""
    ax.set(xlim=(0, until), ylim=(0, 1.05), xlabel="time (s)", ylabel=f"efficiency{of}")
    ax.set_title(title, fontsize=10)
    ax.legend(fontsize=8)
