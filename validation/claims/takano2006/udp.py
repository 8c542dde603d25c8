"""DFC below sources without any flow control (D19)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from dfcmodel import CBR, Packets, RunSettings, Scenario, ensemble, takano2006
from validation.checks import claim
from validation.claims.takano2006 import studies
from validation.claims.takano2006.studies import Efficiencies, FluidRuns
from validation.display.drawing import BLUE, RED, panels
from validation.judgements.keeping import kept
from validation.judgements.verdicts import Judgement, Sides, Verdict
from validation.statistics import LEVEL, Swing, Values, settles

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CASE = "takano2006/dfc-udp"
LOADS = (0.5, 1.0)
"""Rates of UDP over the link rate; the paper states none."""
DURATION = 1.5
LEVEL_RUNS = 8
"""Runs of each setting at hopflow's packet level: an absence of losses is certain from seven on."""
WHERE = {
    "background": ("tahoe", "udp"),
    "target": ("udp", "tahoe"),
    "both flows": ("udp", "udp"),
}
"""The flows that are UDP, by the name of their setting in the table."""
KINDS = {"shaped": True, "unshaped": True, "direct": False}
"""Hosts, and whether they are shown with DFC."""


class Setting(NamedTuple):
    """Which flows are UDP, their rate over the link rate, the host, and whether there is DFC."""

    where: str
    load: float
    host: str = "shaped"

    @property
    def dfc(self) -> bool:
        """Whether the nodes have DFC."""
        return KINDS[self.host]

    @property
    def scenario(self) -> Scenario:
        """The scenario of both levels."""
        plain = takano2006("1", dfc=self.dfc, host=self.host)
        source = CBR(self.load * plain.links[0].rate)
        flows = [
            replace(flow, source=source) if kind == "udp" else flow
            for flow, kind in zip(plain.flows, WHERE[self.where], strict=True)
        ]
        return replace(plain, flows=tuple(flows))

    def table(self, name: str) -> pd.DataFrame:
        """Return the rows of ns-3's runs."""
        target, background = WHERE[self.where]
        return studies.rows(
            CASE, name, load=self.load, host=self.host, discipline="dfc" if self.dfc else "fifo",
            target_source=target, background_source=background,
        )  # fmt: skip


@dataclass(frozen=True)
class Shares:
    """Both flows after 0.2 s (target, background), and the packets lost by both, per run."""

    flows: tuple[Swing, Swing]
    lost: Values


@dataclass(frozen=True)
class WithoutControl:
    """Shares and losses by setting; packets queued at the host at the end (full rate); hopflow's packet level, shaped hosts."""

    shares: dict[Setting, Sides[Shares]]
    waiting: Sides[float]
    level: dict[Setting, Shares]

    @property
    def unshaped(self) -> Sides[Shares]:
        """Two sources at the full rate, whose hosts send at the link rate."""
        return self.shares[Setting("both flows", LOADS[-1], "unshaped")]


@kept
def fluid(setting: Setting) -> FluidRuns:
    """Return fluid runs that differ in their feedback phases: those that are equal decide from eight on."""
    return FluidRuns.of(
        ensemble(setting.scenario, studies.WITHIN, jitter=20e-6, level="fluid", options=RunSettings(duration=DURATION))
    )


@kept
def packet_level(setting: Setting) -> Shares:
    """Return the same of hopflow's packet level."""
    many = ensemble(
        setting.scenario, LEVEL_RUNS, jitter=20e-6, method=Packets(), options=RunSettings(duration=DURATION)
    )
    runs = FluidRuns.of(many)
    target, background = (Efficiencies.of_fluid(runs).after(studies.SETTLED, f) for f in studies.FLOWS)
    return Shares((target, background), runs.lost)


def efficiencies(setting: Setting) -> Sides[Efficiencies]:
    """Return the efficiencies of both flows over time."""
    packets = Efficiencies.of_packets(setting.table("efficiency"))
    return Sides(Efficiencies.of_fluid(fluid(setting)), packets)


def shares(setting: Setting) -> Sides[Shares]:
    """Return the efficiencies and losses of both flows."""
    drops = setting.table("flows").groupby("seed")["dropped"].sum().to_numpy(float)
    target, background = (
        efficiencies(setting).each(lambda runs, flow=flow: runs.after(studies.SETTLED, flow))  # type: ignore[misc]
        for flow in studies.FLOWS
    )
    return Sides(
        Shares((target.model, background.model), fluid(setting).lost),
        Shares((target.packets, background.packets), drops),
    )


@claim("D19", cases=studies.with_further_seeds(CASE))
def measure() -> WithoutControl:
    """Return efficiencies and losses with UDP of constant rate as background, target and both."""
    found = {
        Setting(where, load, host): shares(Setting(where, load, host))
        for host, where, load in product(KINDS, WHERE, LOADS)
    }
    full = Setting("both flows", 1.0)
    flows = full.table("flows").query("flow == 'target'")
    model = fluid(full).waiting.max()
    level = {setting: packet_level(setting) for setting in found if setting.host == "shaped"}
    return WithoutControl(found, Sides(float(model), float(flows["peak_host"].max())), level)


measure.constants_of(studies)


@measure.judge
def judge(
    found: WithoutControl,
    host: str = "shaped",
    *,
    near: float = studies.NEAR,
    level: float = LEVEL,
) -> Judgement:
    """Judge with one kind of hosts, by which flows are UDP: fair shares, and no losses."""
    judged: Judgement = {}
    for where in WHERE:
        runs = [found.shares[Setting(where, load, host)] for load in LOADS]
        sides = list(zip(*runs, strict=True))
        judged[f"fair, {where}"] = Sides(*(_fair(side, near, level) for side in sides))
        judged[f"lossless, {where}"] = Sides(*(_lossless(side, level) for side in sides))
    return judged


@measure.readings
def readings(found: WithoutControl, **asked: float) -> dict[str, Judgement]:
    """Judge hosts that send at the link rate."""
    return {"unshaped hosts": judge(found, "unshaped", **asked)}


@measure.packet_level
def at_packet_level(found: WithoutControl, **asked: float) -> dict[str, Verdict]:
    """Judge the same at hopflow's packet level."""
    own = replace(found, shares={key: Sides(each, each) for key, each in found.level.items()})
    return {key: sides.packets for key, sides in judge(own, **asked).items()}


def _fair(runs: Iterable[Shares], near: float, level: float) -> Verdict:
    """Judge whether both flows settle at the fair share."""
    flows = (flow for each in runs for flow in each.flows)
    return Verdict.all_of(settles(flow, studies.FAIR, near, level) for flow in flows)


def _lossless(runs: Iterable[Shares], level: float) -> Verdict:
    """Judge whether nothing is lost at any rate of UDP."""
    return Verdict.all_of(studies.lossless(each.lost, level) for each in runs)


@measure.draw
def with_and_without(found: WithoutControl) -> Figure:  # noqa: ARG001
    """Draw UDP at the full rate as the background, with DFC and without, a run of each side."""
    fig, axes = panels(("with DFC, shaped hosts", "without DFC"), height=3.2)
    for ax, host in zip(axes, ("shaped", "direct"), strict=True):
        model, packets = efficiencies(Setting("background", 1.0, host))
        for flow, colour in zip(studies.FLOWS, (BLUE, RED), strict=True):
            values = packets.flows[flow][-1]
            ax.plot(packets.time, values, color=colour, lw=0.8, label=f"ns-3, {flow}")
            style = {"color": colour, "ls": "--", "lw": 1.2}
            ax.plot(model.time, model.flows[flow][0], label=f"fluid, {flow}", **style)
        ax.set(xlim=(0, 1), ylim=(0, 1.05), xlabel="time (s)")
    axes[0].set_ylabel("efficiency")
    axes[0].legend(fontsize=8)
    return fig
