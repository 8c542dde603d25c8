"""Scenarios of takano2006: fluid ensembles and the bundled packet simulations."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import Ensemble, Trajectory, ensemble, simulate, takano2006
from validation import evidence
from validation.statistics import Swing, Values, swing
from validation.verdicts import Sides

if TYPE_CHECKING:
    import pandas as pd

TRACES = "takano2006/traces-without-dfc"
START = 0.1
"""Time in s at which the background flow starts."""
SETTLED = 0.2
"""Time in s by which the background flow has filled its window."""
FAIR = 0.5
"""Efficiency of each of two flows that share the links equally."""
NEAR = 0.01
"""Tolerance of an efficiency: about one packet on one of 29 links at 370 Mb/s."""
SWING = 10 * NEAR
"""A standard deviation over time above which a flow counts as unstable: ten times `NEAR`."""
BIN = "10 ms"
"""The bin of the efficiencies, in the fluid and in the tables."""
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
SENDERS = {"4R": "reno", "4N": "newreno"}
"""Scenarios whose TCP is not Tahoe."""


@dataclass(frozen=True)
class Efficiencies:
    """Efficiencies of both flows in several runs: ends of the bins (T,) in s, by flow (runs, T)."""

    time: Values
    flows: Mapping[str, Values]

    @classmethod
    def of_fluid(cls, many: Ensemble) -> Efficiencies:
        """Return the efficiencies of an ensemble."""
        return cls(many.time, {f: many.efficiency.sel(flow=f).to_numpy() for f in FLOWS})

    @classmethod
    def of_packets(cls, table: pd.DataFrame) -> Efficiencies:
        """Return the efficiencies of a bundled table; its runs differ in the seed."""
        wide = {
            f: table[table["flow"] == f].pivot_table("efficiency", "seed", "time") for f in FLOWS
        }
        time = wide["target"].columns.to_numpy(float)
        return cls(time, {flow: rows.to_numpy(float) for flow, rows in wide.items()})

    def after(self, since: float, flow: str = "target") -> Swing:
        """Return mean and standard deviation over time of a flow, per run."""
        return swing(self.flows[flow][:, self.time > since])


@dataclass(frozen=True)
class HostRuns:
    """The target's efficiency after 0.2 s and the packets lost by both flows, per run."""

    target: Swing
    lost: Values


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
        shaped = "-shaped" if self.name == "1" else ""
        return f"takano2006/scenario-{self.name.lower()}-with-dfc{shaped}"

    @property
    def without_dfc_case(self) -> str:
        """The bundled case of ns-2 without DFC."""
        return f"takano2006/scenario-{self.name.lower()}-without-dfc"

    @property
    def starts_case(self) -> str:
        """The bundled case of ns-2 without DFC whose flows start at varied times."""
        return f"takano2006/scenario-{self.name}-starts-without-dfc"

    @property
    def cases(self) -> tuple[str, str]:
        """The bundled cases without DFC and with."""
        return self.without_dfc_case, self.with_dfc_case

    def with_dfc(self, host: str = "shaped") -> Sides[Efficiencies]:
        """Return the efficiencies with DFC and this host, in the default reading otherwise."""
        sender = SENDERS.get(self.name, "tahoe")
        table = rows(self.with_dfc_case, host=host, target_source=sender, background_source=sender)
        fluid = Efficiencies.of_fluid(fluid_with_dfc(self.name, host))
        return Sides(fluid, Efficiencies.of_packets(table))

    def without_dfc(self) -> Sides[Efficiencies]:
        """Return the efficiencies without DFC."""
        table = evidence.table(self.without_dfc_case)
        fluid = Efficiencies.of_fluid(fluid_without_dfc(self.name))
        return Sides(fluid, Efficiencies.of_packets(table))

    def lost_without_dfc(self) -> Sides[Values]:
        """Return the packets that each run without DFC lost, both flows, shapes (runs,)."""
        drops = evidence.table(self.without_dfc_case, "flows").groupby("seed")["dropped"].sum()
        return Sides(lost(fluid_without_dfc(self.name)), drops.to_numpy(float))

    def spread_starts(self) -> Sides[Values]:
        """Return the target's mean efficiencies without DFC when starts vary by a millisecond.

        In the fluid they always do; ns-2 has a case for it. Shapes (runs,).
        """
        packets = evidence.table(self.starts_case, "flows").query("flow == 'target'")
        fluid = fluid_without_dfc(self.name).mean_efficiency(START)[:, 0]
        return Sides(fluid, packets["mean_efficiency"].to_numpy())

    def with_host(self, host: str) -> Sides[HostRuns]:
        """Return the runs with DFC and this host, for the duration of the packet runs.

        The bundled cases of scenarios 4, 4S, 4L, 4R, 4N, 5 and 6 have all three hosts.
        """
        table = rows(self.with_dfc_case, host=host)
        drops = rows(self.with_dfc_case, "flows", host=host).groupby("seed")["dropped"].sum()
        many = fluid_with_dfc(self.name, host, float(table["time"].max()))
        return Sides(
            HostRuns(Efficiencies.of_fluid(many).after(SETTLED), lost(many)),
            HostRuns(Efficiencies.of_packets(table).after(SETTLED), drops.to_numpy(float)),
        )


@functools.cache
def fluid_with_dfc(name: str, host: str | None = None, duration: float | None = None) -> Ensemble:
    """Return three fluid runs of a scenario with DFC that differ in their feedback phases."""
    return ensemble(takano2006(name, host=host), 3, jitter=20e-6, duration=duration)


@functools.cache
def fluid_without_dfc(name: str) -> Ensemble:
    """Return eight fluid runs of a scenario without DFC that differ by a millisecond at the start.

    Which flow a full queue hits depends on when their bursts meet there. In ns-2 a random time
    before each packet makes runs differ. The fluid leaves out a packet's time on each link, up to a
    millisecond per round trip, so that it knows these times no better than that.
    """
    return ensemble(takano2006(name, dfc=False), 8, jitter=1e-3)


@functools.cache
def one_without_dfc(tcp: str) -> Trajectory:
    """Return the run of scenario 1 without DFC and without chance."""
    return simulate(takano2006("1", dfc=False, tcp=tcp))


@functools.cache
def bias() -> float:
    """Return how far the fluid's mean efficiencies are from ns-2's where ns-2 repeats.

    The largest difference over both flows of the Reno and NewReno runs of scenario 1.
    """
    apart = []
    for tcp in ("reno", "newreno"):
        packets = repeating(tcp, "flows").set_index("flow")["mean_efficiency"]
        fluid = one_without_dfc(tcp).mean_efficiency(START)
        apart += [abs(fluid[n] - packets[flow]) for n, flow in enumerate(FLOWS)]
    return float(max(apart))


def repeating(tcp: str, name: str) -> pd.DataFrame:
    """Return the rows of ns-2's scenario 1 without DFC where nothing is random."""
    data = evidence.table(TRACES, name)
    return data[(data["link_rate"] == 370e6) & (data["agent"] == tcp)]


def rows(case: str, name: str | None = None, **reading: object) -> pd.DataFrame:
    """Return the rows of a table of ns-3's chain in the default reading but for ``reading``."""
    data = evidence.table(case, name)
    for column, value in {**DEFAULT, **reading}.items():
        if column in data:
            data = data[data[column] == value]
    return data


def lost(many: Ensemble) -> Values:
    """Return the packets that each run lost, both flows, shape (runs,)."""
    return np.array([run.lost.sum() for run in many.runs])
