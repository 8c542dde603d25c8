"""Diffusion-type flow control: claims of takano2006 (see ``published/claims.csv``)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import t as student

from dfcmodel import Trajectory, simulate, takano2006
from dfcmodel.law import bare_law
from hopflow.results import COLOURS, figure
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

DFC = "takano2006/scenario-1-with-dfc-shaped"
TAHOE = "takano2006/scenario-1-without-dfc"
TRACES = "takano2006/traces-without-dfc"
SCENARIO_4 = "takano2006/scenario-4-without-dfc"

SETTLED = 0.2  # s: the background flow starts at 0.1 s and fills its window within another 0.1 s
DEFAULT_READING = {
    "host": "shaped",
    "target_source": "tahoe",
    "phases": "random",
    "buffers": "shared",
    "diffusion": 0.1,
}
NEAR = 0.01  # of efficiency: one packet on one of 29 links at 370 Mb/s is 0.011
BLUE, RED, GREEN = COLOURS[:3]


def interval(values: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Return the Student interval of the mean of independent runs, shape (runs,)."""
    half = student.ppf(0.5 + level / 2, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return float(values.mean() - half), float(values.mean() + half)


@functools.cache
def _with_dfc(name: str = "1", runs: int = 5) -> list[Trajectory]:
    return [simulate(takano2006(name), rng=seed) for seed in range(runs)]


@functools.cache
def _without_dfc(tcp: str) -> Trajectory:
    return simulate(takano2006("1", dfc=False, tcp=tcp))


@functools.cache
def _ensemble(name: str = "1", runs: int = 8, sample: float = 1e-2) -> list[Trajectory]:
    """Return Tahoe runs without DFC that differ in their step and in a millisecond at the start."""
    scenario = takano2006(name, dfc=False)
    return [
        simulate(scenario, steps_per_delay=m, jitter=1e-3, rng=m, sample=sample)
        for m in range(4, 4 + runs)
    ]


def _spread(runs: pd.DataFrame, since: float) -> pd.DataFrame:
    """Mean and standard deviation over time of the target's efficiency, per run."""
    late = runs[(runs["time"] > since) & (runs["flow"] == "target")]
    return late.groupby("run")["efficiency"].agg(["mean", "std"])


def _settles(runs: pd.DataFrame) -> Verdict:
    """Whether every run stays near 0.5."""
    return Verdict.of(bool((abs(runs["mean"] - 0.5) < NEAR).all() and (runs["std"] < NEAR).all()))


def _unstable(runs: pd.DataFrame) -> Verdict:
    """Whether every run swings by ten times what counts as stable; stable is the opposite."""
    return Verdict.of(bool(runs["std"].min() > 10 * NEAR), bool(runs["std"].max() < NEAR))


def _low(bottom: float, top: float, level: float) -> Verdict:
    """Whether an interval lies below a level; above it is the opposite."""
    return Verdict.of(top < level, bottom > level)


def _frame(runs: list[Trajectory]) -> pd.DataFrame:
    import pandas as pd

    parts = [
        run.efficiency.to_dataframe("efficiency").reset_index().assign(run=n)
        for n, run in enumerate(runs)
    ]
    return pd.concat(parts)


def _with_dfc_in_packets(case: str) -> pd.DataFrame:
    """Efficiencies of ns-3's chain with DFC in the default reading, one run per seed."""
    data = table(case)
    for column, value in DEFAULT_READING.items():
        if column in data:
            data = data[data[column] == value]
    return data.assign(run=data["seed"])


def _repeating(tcp: str, name: str) -> pd.DataFrame:
    """Rows of ns-2's scenario 1 without DFC where nothing is random."""
    data = table(TRACES, name)
    return data[(data["link_rate"] == 370e6) & (data["agent"] == tcp)]


# --------------------------------------------------------------------------- D02


def _exact(x: NDArray[np.float64], kappa: float, time: float) -> NDArray[np.float64]:
    """Density of eq. (7) on a ring for r = 1 + sin(2 pi x)/5 and n = 1 + cos(2 pi x)/2 at t = 0."""
    decay = kappa * (2 * np.pi) ** 2
    grown = -np.expm1(-decay * time) / decay if decay > 0 else time
    amplitude = 0.5 * np.exp(-decay * time) - 0.4 * np.pi * grown
    density: NDArray[np.float64] = 1.0 + amplitude * np.cos(2 * np.pi * x)
    return density


def _law_error(
    nodes: int, scaling: str, kappa: float = 0.01, diffusion: float = 0.1
) -> tuple[float, float]:
    """Largest error of the bare law at t = 1 against eq. (7), and against (7) without diffusion."""
    h = 1.0 / nodes
    periods = round(kappa / (diffusion * h * h)) if scaling == "d ~ h^2" else 4 * nodes
    d = 1.0 / periods
    gain = kappa * d / h**2 if scaling == "d ~ h^2" else diffusion
    x = h * np.arange(0.5, nodes)
    rate = 1.0 + 0.2 * np.sin(2 * np.pi * (x + h / 2))
    packets = h * (1.0 + 0.5 * np.cos(2 * np.pi * x))
    density = bare_law(packets, gain, periods, rate=rate * d)[-1] / h
    return (
        float(np.abs(density - _exact(x, kappa, 1.0)).max()),
        float(np.abs(density - _exact(x, 0.0, 1.0)).max()),
    )


@claim("D02")
def law_converges_to_the_diffusion_equation() -> Finding:
    """Refine the chain with r prescribed, in two ways, and measure the order of convergence."""
    nodes = np.array([16, 32, 64, 128, 256])
    square = np.array([_law_error(n, "d ~ h^2")[0] for n in nodes])
    linear, vanished = np.array([_law_error(n, "d = h/c") for n in nodes]).T
    order = np.log2(square[:-1] / square[1:])
    order_vanished = np.log2(vanished[:-1] / vanished[1:])
    converges = bool(order[-1] > 1.9 and square[-1] < 1e-3)

    def draw() -> Figure:
        fig, ax = figure()
        ax.loglog(nodes, square, "o-", label="d ∝ h²: error against eq. (7)")
        ax.loglog(nodes, linear, "s-", label="d = h/c: error against eq. (7)")
        ax.loglog(nodes, vanished, "^-", label="d = h/c: error against (7) without diffusion")
        ax.loglog(nodes, 3.4 / nodes**2.0, ":", color="gray", label="slope −2")
        ax.set(xlabel="nodes on a ring of length 1", ylabel="largest error of the density")
        ax.legend(fontsize=8)
        return fig

    return Finding(
        parts=(
            Part(
                "with r prescribed and d ∝ h² the law converges to eqs. (6)-(8)",
                Verdict.of(converges),
                Verdict.NOT_APPLICABLE,
            ),
        ),
        summary=(
            f"Second order ({order[-1]:.3f}) to eq. (7), provided that r is given and the delay "
            "shrinks as the square of the node distance. For links of one propagation speed the "
            "diffusion itself vanishes."
        ),
        explanation=(
            "With node distance h the coefficient of the limit is D h²/d. Eq. (3) fixes D_i = D/d, "
            "so it stays finite only for d ∝ h². Links of speed c have d = h/c: the coefficient is "
            "D h c and the chain converges to dn/dt = -dr/dx, diffusion being a first-order "
            "remainder. And with r fed back by eq. (5), J d - D n moves upstream unchanged for "
            "alpha = 1, which is an advection, not eq. (7) with a free r."
        ),
        numbers=(
            Number(
                "order of convergence, d ∝ h²",
                ", ".join(f"{o:.2f}" for o in order),
                tolerance="2 - 0.1 at the finest pair: higher-order terms",
            ),
            Number("error with 256 nodes, d ∝ h²", f"{square[-1]:.1e}"),
            Number("error with 256 nodes against eq. (7), d = h/c", f"{linear[-1]:.2f}"),
            Number("order towards no diffusion, d = h/c", f"{order_vanished[-1]:.2f}"),
        ),
        pictures=(
            Picture(
                draw,
                "Refinement of the chain at time 1, r = 1 + sin(2πx)/5, coefficient 0.01.",
                "log-log plot of errors against the number of nodes: slope -2 when the delay "
                "shrinks as the square of the distance; against eq. (7) no convergence otherwise",
            ),
        ),
    )


# --------------------------------------------------------------------------- D04


@functools.cache
def _bias() -> float:
    """How far the fluid's mean efficiencies are from ns-2's where ns-2 repeats.

    The largest difference over both flows of the Reno and NewReno runs.
    """
    apart = []
    for tcp in ("reno", "newreno"):
        packets = _repeating(tcp, "flows").set_index("flow")["mean_efficiency"]
        fluid = _without_dfc(tcp).mean_efficiency(0.1)
        apart += [abs(fluid[0] - packets["target"]), abs(fluid[1] - packets["background"])]
    return float(max(apart))


@claim("D04")
def efficiency_of_scenario_1() -> Finding:
    """Settles near 0.5 with DFC; low and unstable without."""
    with_dfc = _with_dfc_in_packets(DFC)
    model_dfc, packet_dfc = _spread(_frame(_with_dfc()), SETTLED), _spread(with_dfc, SETTLED)
    tahoe = table(TAHOE).assign(run=lambda d: d["seed"])
    model, packets = _spread(_frame(_ensemble()), 0.1), _spread(tahoe, 0.1)

    bias = _bias()
    fair = float(model_dfc["mean"].mean()), float(packet_dfc["mean"].mean())
    newreno = {
        "model": _spread(_frame([_without_dfc("newreno")]), 0.1).iloc[0],
        "packets": _spread(_repeating("newreno", "efficiency").assign(run=0), 0.1).iloc[0],
    }
    dropped = table(TAHOE, "flows")

    def draw_dfc() -> Figure:
        fig, ax = figure()
        one = with_dfc[with_dfc["run"] == 1]
        for flow, colour in (("target", BLUE), ("background", RED)):
            part = one[one["flow"] == flow]
            ax.plot(
                part["time"],
                part["efficiency"],
                color=colour,
                lw=0.6,
                alpha=0.6,
                label=f"ns-3, {flow}",
            )
            run = _with_dfc()[0].efficiency.sel(flow=flow)
            ax.plot(run.time, run, color=colour, ls="--", lw=1.4, label=f"fluid, {flow}")
        ax.set(xlim=(0, 0.6), ylim=(0, 1.05), xlabel="time (s)", ylabel="efficiency")
        ax.set_title("with DFC, shaped hosts", fontsize=10)
        ax.legend(fontsize=8, ncols=2)
        return fig

    def draw_tahoe() -> Figure:
        fig, ax = figure()
        wide = tahoe[tahoe["flow"] == "target"].pivot_table(
            index="time", columns="seed", values="efficiency"
        )
        smooth = wide.rolling(5, center=True).mean()
        ax.fill_between(smooth.index, smooth.min(axis=1), smooth.max(axis=1), color=BLUE, alpha=0.2,
                        label=f"ns-2, range of {len(packets)} runs")  # fmt: skip
        ax.plot(smooth.index, smooth.iloc[:, 0], color=BLUE, lw=0.8, label="ns-2, one of them")
        for n, run in enumerate(_ensemble()):
            line = run.efficiency.sel(flow="target").rolling(time=5, center=True).mean()
            label = f"fluid, {len(model)} runs" if n == 0 else None
            ax.plot(line.time, line, color=RED, lw=0.8, alpha=0.6, label=label)
        ax.axhline(0.5, color="black", lw=0.7, ls=":")
        ax.set(xlim=(0, 3), ylim=(0, 1.05), xlabel="time (s)", ylabel="efficiency of the target")
        ax.set_title("without DFC, Tahoe: means over 50 ms", fontsize=10)
        ax.legend(fontsize=8)
        return fig

    def draw_newreno() -> Figure:
        fig, ax = figure()
        data = _repeating("newreno", "efficiency")
        for flow, colour in (("target", BLUE), ("background", RED)):
            part = (
                data[data["flow"] == flow]
                .set_index("time")["efficiency"]
                .rolling(20, center=True)
                .mean()
            )
            ax.plot(part.index, part, color=colour, lw=0.8, label=f"ns-2, {flow}")
            run = _without_dfc("newreno").efficiency.sel(flow=flow)
            ax.plot(
                run.time,
                run.rolling(time=20, center=True).mean(),
                color=colour,
                ls="--",
                lw=1.3,
                label=f"fluid, {flow}",
            )
        ax.set(xlim=(0, 3), ylim=(0, 1.05), xlabel="time (s)", ylabel="efficiency")
        ax.set_title("without DFC, NewReno: means over 20 ms", fontsize=10)
        ax.legend(fontsize=8, ncols=2)
        return fig

    fluid = interval(model["mean"].to_numpy())
    low_model = _low(fluid[0] - bias, fluid[1] + bias, fair[0])
    low_packets = _low(*interval(packets["mean"].to_numpy()), fair[1])
    without = f"{model['mean'].mean():.3f} [{fluid[0]:.3f}, {fluid[1]:.3f}]"
    bottom, top = interval(packets["mean"].to_numpy())
    ensemble = f"{packets['mean'].mean():.3f} [{bottom:.3f}, {top:.3f}]"
    lost = np.mean([run.lost.sum() for run in _ensemble()])
    return Finding(
        parts=(
            Part(
                "with DFC the efficiency settles near 0.5 and stays",
                _settles(model_dfc),
                _settles(packet_dfc),
            ),
            Part("without DFC it is unstable", _unstable(model), _unstable(packets)),
            Part("without DFC it is low: below the share with DFC", low_model, low_packets),
        ),
        summary=(
            f"With DFC both flows hold {fair[0]:.3f} (fluid) and {fair[1]:.3f} (ns-3). Without it "
            f"Tahoe's target flow swings between idle and full. Its mean over 0.1-3 s is {without} "
            f"in the fluid and {ensemble} in ns-2, single runs from {model['mean'].min():.2f} to "
            f"{model['mean'].max():.2f} and from {packets['mean'].min():.2f} to "
            f"{packets['mean'].max():.2f}."
        ),
        explanation=(
            "Unstable it is, until the timeouts are over; low it need not be: 0.5 is the fair "
            "share, and what the target wins or loses is the background flow's. Tahoe is chaotic: "
            "in packets, up to 20 microseconds of processing time per packet decide which of them "
            "meet a full drop-tail queue, hence who backs off; in the fluid another step or a "
            "millisecond at the start does. The target, which started first, mostly wins in both, "
            "in the fluid in every run: it shares the drops of a full queue in "
            "proportion to the arrivals and has less luck to give. Reno and NewReno, which repeat "
            "in ns-2, it follows closely."
        ),
        numbers=(
            Number(
                "mean efficiency of the target with DFC, after 0.2 s",
                f"{fair[0]:.4f}",
                f"{fair[1]:.4f}, {len(packet_dfc)} runs to {with_dfc['time'].max():g} s",
                "near 0.5",
                f"{NEAR}: one packet on one of 29 links is 0.011",
            ),
            Number(
                "its standard deviation over time (1 ms; packets 10 ms), largest of the runs",
                f"{model_dfc['std'].max():.5f}",
                f"{packet_dfc['std'].max():.4f}",
                "stays",
                f"{NEAR}, as above",
            ),
            Number(
                "mean without DFC, Tahoe",
                without,
                f"{ensemble}, {len(packets)} runs",
                "low",
                "Student's 95 % intervals over the runs; the fluid's widened by its bias where "
                f"ns-2 repeats (Reno, NewReno), {bias:.3f}",
            ),
            Number(
                "standard deviation over time without DFC (10 ms), smallest of the runs",
                f"{model['std'].min():.3f}",
                f"{packets['std'].min():.3f}",
                "unstable",
                f"{10 * NEAR}: ten times what counts as stable",
            ),
            Number(
                "mean without DFC, NewReno, one run",
                f"{newreno['model']['mean']:.3f}",
                f"{newreno['packets']['mean']:.3f}",
                "",
                "not judged: shows the fluid's bias",
            ),
            Number(
                "packets lost without DFC, Tahoe, both flows",
                f"{lost:.0f}",
                f"{dropped.groupby('seed')['dropped'].sum().mean():.0f} on average",
            ),
        ),
        pictures=(
            Picture(
                draw_dfc,
                "Scenario 1 with DFC, Tahoe: nothing is lost, so its rule does not matter.",
                "efficiency over time: the target at 1, then both flows at 0.5 from 0.15 s on, fluid and ns-3 on top of each other",
            ),
            Picture(
                draw_tahoe,
                "Scenario 1 without DFC, hosts directly in the nodes' buffers.",
                "efficiency of the target over time: a wide band of ns-2 runs between 0 and 1, the fluid within it",
            ),
            Picture(
                draw_newreno,
                "The same with NewReno: one loss event and one timeout per flow.",
                "efficiency of both flows over time, fluid and ns-2 close to each other",
            ),
        ),
        cases=(DFC, TAHOE, TRACES),
    )


# --------------------------------------------------------------------------- D05, D06, D07


def _case(name: str, dfc: str) -> str:
    """Return the bundled case of a scenario ``"with"`` or ``"without"`` DFC."""
    return f"takano2006/scenario-{name.lower()}-{dfc}-dfc"


def _settles_at_packets(name: str) -> tuple[Verdict, str]:
    """Whether ns-3's chain with DFC settles in the default reading, and its mean."""
    runs = _with_dfc_in_packets(_case(name, "with"))
    spread = _spread(runs, SETTLED)
    level = f"{spread['mean'].mean():.4f}, {len(spread)} runs to {runs['time'].max():g} s"
    return _settles(spread), level


def _other_speed(name: str) -> Finding:
    """Return what D04 asks, at another link speed."""
    case = _case(name, "without")
    model_dfc = _spread(_frame(_with_dfc(name, 2)), SETTLED)
    fluid = _spread(_frame(_ensemble(name, 6, 1e-2)), 0.1)
    data = table(case).assign(run=lambda d: d["seed"])
    packets = _spread(data, 0.1)
    bias, fair = _bias(), float(model_dfc["mean"].mean())
    settled, level = _settles_at_packets(name)
    low, high = interval(fluid["mean"].to_numpy())
    bottom, top = interval(packets["mean"].to_numpy())
    flows = table(case, "flows").groupby("flow")["mean_efficiency"].mean()
    other = np.mean([run.mean_efficiency(0.1)[1] for run in _ensemble(name, 6, 1e-2)])

    def draw() -> Figure:
        fig, ax = figure()
        wide = data[data["flow"] == "target"].pivot_table(
            index="time", columns="seed", values="efficiency"
        )
        smooth = wide.rolling(5, center=True).mean()
        label = f"ns-2, range of {len(packets)} runs"
        ax.fill_between(
            smooth.index,
            smooth.min(axis=1),
            smooth.max(axis=1),
            color=BLUE,
            alpha=0.25,
            label=label,
        )
        for n, run in enumerate(_ensemble(name, 6, 1e-2)):
            line = run.efficiency.sel(flow="target").rolling(time=5, center=True).mean()
            ax.plot(line.time, line, color=RED, lw=0.8, label=None if n else "fluid, 6 runs")
        dfc = _with_dfc(name, 2)[0].efficiency.sel(flow="target")
        ax.plot(dfc.time, dfc, color=GREEN, lw=1.2, label="fluid with DFC")
        ax.set(xlim=(0, 3), ylim=(0, 1.05), xlabel="time (s)", ylabel="efficiency of the target")
        ax.legend(fontsize=8)
        return fig

    return Finding(
        parts=(
            Part(
                "with DFC the efficiency settles near 0.5 and stays",
                _settles(model_dfc),
                settled,
            ),
            Part("without DFC it is unstable", _unstable(fluid), _unstable(packets)),
            Part(
                "without DFC it is low: below the share with DFC",
                _low(low - bias, high + bias, fair),
                _low(bottom, top, 0.5),
            ),
        ),
        summary=(
            f"With DFC the fluid holds {fair:.3f}. Without it the target's mean over 0.1-3 s is "
            f"{fluid['mean'].mean():.3f} in the fluid and {packets['mean'].mean():.3f} in ns-2, the "
            f"background's {other:.3f} and {flows['background']:.3f}."
        ),
        explanation=(
            "The target's window overshoots first, at node 1; while it recovers, the background "
            "flow takes the links and keeps them: the target is low, and steadily so."
        ),
        numbers=(
            Number(
                "mean efficiency of the target with DFC, after 0.2 s",
                f"{fair:.4f}",
                level,
                "near 0.5",
                f"{NEAR}: as in D04",
            ),
            Number(
                "mean of the target without DFC, Tahoe",
                f"{fluid['mean'].mean():.3f} [{low:.3f}, {high:.3f}]",
                f"{packets['mean'].mean():.3f} [{bottom:.3f}, {top:.3f}], {len(packets)} runs",
                "low",
                "Student's 95 % intervals over the runs; the fluid's widened by its bias where "
                f"ns-2 repeats, {bias:.3f}",
            ),
            Number(
                "standard deviation over time without DFC (10 ms), smallest of the runs",
                f"{fluid['std'].min():.3f}",
                f"{packets['std'].min():.3f}",
                "unstable",
                f"{10 * NEAR}: ten times what counts as stable",
            ),
        ),
        pictures=(
            Picture(
                draw,
                f"Scenario {name}: means over 50 ms.",
                "efficiency of the target over time: 0.5 with DFC; without, fluid and ns-2 agree",
            ),
        ),
        cases=(case, _case(name, "with")),
    )


@claim("D05")
def efficiency_of_scenario_2() -> Finding:
    """As D04, at 1.23 Gb/s."""
    return _other_speed("2")


@claim("D06")
def efficiency_of_scenario_3() -> Finding:
    """As D04, at 3.7 Gb/s."""
    return _other_speed("3")


@claim("D07")
def efficiency_of_scenario_4() -> Finding:
    """As D04, at 12.3 Gb/s."""
    return _other_speed("4")


# --------------------------------------------------------------------------- D12, D14, D15


@dataclass(frozen=True)
class Alone:
    """Mean efficiency of the target without DFC in one scenario: intervals over the runs."""

    name: str
    fluid: NDArray[np.float64]
    packets: NDArray[np.float64]

    def text(self, values: NDArray[np.float64]) -> str:
        """Return mean and 95 % interval."""
        bottom, top = interval(values)
        return f"{values.mean():.3f} [{bottom:.3f}, {top:.3f}]"


@functools.cache
def _alone(name: str) -> Alone:
    fluid = np.array([run.mean_efficiency(0.1)[0] for run in _ensemble(name, 6, 1e-2)])
    flows = table(_case(name, "without"), "flows")
    packets = flows[flows["flow"] == "target"]["mean_efficiency"].to_numpy()
    return Alone(name, fluid, packets)


def _above(one: NDArray[np.float64], other: NDArray[np.float64], margin: float = 0.0) -> Verdict:
    """Whether the interval of one mean lies above that of the other; below is the opposite."""
    (low, high), (bottom, top) = interval(one), interval(other)
    return Verdict.of(low - margin > top + margin, high + margin < bottom - margin)


def _beside_scenario_4(name: str, better: str, below: str, explanation: str) -> Finding:
    """Compare a variant of scenario 4 with it, and with itself under DFC."""
    here, there = _alone(name), _alone("4")
    model_dfc = _spread(_frame(_with_dfc(name, 2)), SETTLED)
    fair, bias = float(model_dfc["mean"].mean()), _bias()
    settled, level = _settles_at_packets(name)

    def draw() -> Figure:
        fig, ax = figure()
        sides = [(here, RED), (there, BLUE)]
        for n, (side, colour) in enumerate(sides):
            for x, values in ((n - 0.12, side.fluid), (n + 0.12, side.packets)):
                ax.plot(np.full(len(values), x), values, "o", color=colour, alpha=0.6)
        ax.axhline(fair, color=GREEN, label="fluid with DFC")
        ax.set_xticks([-0.12, 0.12, 0.88, 1.12], ["fluid", "ns-2"] * 2)
        ax.set(
            xlabel=f"runs of scenario {name} (left) and scenario 4 (right), without DFC",
            ylabel="mean efficiency of the target",
            ylim=(0, 1),
        )
        ax.legend(fontsize=8)
        return fig

    parts = [
        Part("with DFC the efficiency is high and stable", _settles(model_dfc), settled),
        Part(better, _above(here.fluid, there.fluid, bias), _above(here.packets, there.packets)),
    ]
    if below:
        bottom, top = interval(here.fluid)
        of_model, of_packets = (
            _low(bottom - bias, top + bias, fair),
            _low(*interval(here.packets), 0.5),
        )
        parts.append(Part(below, of_model, of_packets))
    return Finding(
        parts=tuple(parts),
        summary=(
            f"Without DFC the target's mean over 0.1-3 s is {here.fluid.mean():.3f} in the fluid and "
            f"{here.packets.mean():.3f} in ns-2, against {there.fluid.mean():.3f} and "
            f"{there.packets.mean():.3f} in scenario 4; with DFC the fluid holds {fair:.3f}, "
            f"ns-3 {level}."
        ),
        explanation=explanation,
        numbers=tuple(
            Number(
                f"mean of the target without DFC, scenario {side.name}",
                side.text(side.fluid),
                f"{side.text(side.packets)}, {len(side.packets)} runs",
                "",
                "Student's 95 % intervals over the runs; the fluid's widened by its bias where "
                f"ns-2 repeats, {bias:.3f}",
            )
            for side in (here, there)
        ),
        pictures=(
            Picture(
                draw,
                f"Scenario {name} beside scenario 4: every run.",
                "mean efficiencies of single runs, fluid and ns-2 side by side, and the level with DFC",
            ),
        ),
        cases=(
            _case(name, "without"),
            _case("4", "without"),
            _case(name, "with"),
        ),
    )


@claim("D12")
def fewer_hops() -> Finding:
    """Scenario 4S: TCP alone does better over 16 nodes than over 30."""
    return _beside_scenario_4(
        "4S",
        "without DFC it is better than in scenario 4",
        "",
        "Over half the path the target recovers from its first overshoot in half the time.",
    )


@claim("D14")
def reno_at_scenario_4() -> Finding:
    """Scenario 4R: Reno does better than Tahoe without DFC, and worse than with it."""
    return _beside_scenario_4(
        "4R",
        "without DFC it is better than with Tahoe (scenario 4)",
        "without DFC it stays below that with DFC",
        "Tahoe's target is locked out by the background flow in most runs of scenario 4 and does "
        "well in some, so that its mean is uncertain in ns-2.",
    )


@claim("D15")
def newreno_at_scenario_4() -> Finding:
    """Scenario 4N: NewReno does better than Tahoe without DFC, and worse than with it."""
    return _beside_scenario_4(
        "4N",
        "without DFC it is better than with Tahoe (scenario 4)",
        "without DFC it stays below that with DFC",
        "NewReno fills one hole per round trip and runs into its timer twice; Tahoe's target is "
        "locked out by the background flow in most runs and does well in some, so that its mean "
        "is uncertain in ns-2.",
    )


# --------------------------------------------------------------------------- D10


@dataclass(frozen=True)
class Queues:
    """Packets stored in one run without DFC: at nodes 1 and 15 and in all over time; the drops."""

    time: NDArray[np.float64]
    first: NDArray[np.float64]
    merge: NDArray[np.float64]
    everywhere: NDArray[np.float64]
    peak: float
    full: float
    dropped: float

    @property
    def share(self) -> float:
        """Node 15's part of all that was stored after 0.1 s."""
        late = self.time > 0.1
        return float(self.merge[late].sum() / self.everywhere[late].sum())

    @property
    def left(self) -> float:
        """Packets at node 15 when it was emptiest after it had been full for the first time."""
        return float(self.merge[self.time > self.full].min())


def _queues_of_packets() -> list[Queues]:
    """ns-2's runs, looked at where Fig. 12 does: every 5 ms after the background's start."""
    found = []
    nodes = table(SCENARIO_4, "nodes")
    occupancy = table(SCENARIO_4, "occupancy")
    for _, merge in nodes[nodes["node"] == 15].iterrows():
        run = occupancy[occupancy["seed"] == merge["seed"]]
        wide = run.pivot_table(index="time", columns="node", values="queued")
        found.append(
            Queues(
                wide.index.to_numpy(),
                wide[1].to_numpy(),
                wide[15].to_numpy(),
                wide.sum(axis=1).to_numpy(),
                float(merge["peak_queued"]),
                float(merge["first_drop"]),
                float(merge["target_drops"] + merge["background_drops"]),
            )
        )
    return found


@claim("D10")
def queues_of_scenario_4() -> Finding:
    """After 0.1 s all stored packets are at node 15; it reaches 1800 and drops; then it drains."""
    run = simulate(takano2006("4", dfc=False))
    queue = run.queued[14]
    model = Queues(
        run.time,
        run.queued[0],
        queue,
        run.queued.sum(axis=0),
        float(queue.max()),
        float(run.time[int(np.argmax(queue))]),
        float(run.lost[:, 14].sum()),
    )
    packets = _queues_of_packets()
    first = table(SCENARIO_4, "nodes").query("node == 1")
    drops = first["target_drops"] + first["background_drops"]

    def part(statement: str, holds: Callable[[Queues], bool]) -> Part:
        return Part(statement, Verdict.of(holds(model)), Verdict.of(all(map(holds, packets))))

    def number(quantity: str, of: Callable[[Queues], float], paper: str, tolerance: str) -> Number:
        seen = dict.fromkeys(f"{value:.4g}" for value in sorted(map(of, packets)))
        ends = list(seen)[:: max(1, len(seen) - 1)]
        return Number(quantity, f"{of(model):.4g}", " to ".join(ends), paper, tolerance)

    def draw() -> Figure:
        fig, axes = figure(ncols=2, sharey=True)
        for ax, sides, title in zip(
            axes, ([model], packets), ("fluid", f"ns-2, {len(packets)} runs"), strict=True
        ):
            for n, side in enumerate(sides):
                for stored, colour, node in ((side.first, RED, 1), (side.merge, BLUE, 15)):
                    label = None if n else f"node {node}"
                    ax.plot(1e3 * side.time, stored, color=colour, lw=1.0, label=label)
            ax.axhline(1800, color="black", lw=0.7, ls=":")
            ax.set(xlim=(50, 200), xlabel="time (ms)", title=title)
        axes[0].set_ylabel("packets queued")
        axes[0].legend(fontsize=8)
        return fig

    return Finding(
        parts=(
            part("after 0.1 s the stored packets are at node 15", lambda q: q.share > 0.95),
            part(
                "node 15 reaches its 1800 packets and drops",
                lambda q: q.peak >= 1799 and q.dropped > 0,
            ),
            part("then it drains", lambda q: q.left < 18),
        ),
        summary=(
            f"Node 15 fills to {model.peak:.0f} packets in the fluid and {packets[0].peak:.0f} in "
            "ns-2 (which drops what finds 1799 waiting), drops "
            f"{model.dropped:.0f} and {np.mean([q.dropped for q in packets]):.0f} packets, and "
            "empties, in every run."
        ),
        explanation=(
            "Before 0.1 s it is node 1 that overflows: the window of a host that sits in the node "
            "goes straight into its buffer, and slow start overshoots there first. The paper's "
            "figure starts later. Both fill in bursts of a millisecond or two, the overshoots of "
            "slow start. From 0.2 s on ns-2's node 15 fills again, slowly, as the windows do: "
            f"{np.mean([q.merge[-1] for q in packets]):.0f} packets on average at 3 s."
        ),
        numbers=(
            number(
                "share of node 15 in what is stored after 0.1 s",
                lambda q: q.share,
                "all",
                "0.95: a few packets in service elsewhere; in ns-2 one run recovers at node 1",
            ),
            number(
                "largest queue of node 15, packets",
                lambda q: q.peak,
                "1800",
                "one packet: ns-2's queue does not count the one in service",
            ),
            number("packets dropped at node 15", lambda q: q.dropped, "some", ""),
            number(
                "emptiest after it was full, packets",
                lambda q: q.left,
                "drains",
                "1 % of the buffer",
            ),
            Number(
                "packets dropped at node 1",
                f"{run.lost[:, 0].sum():.0f}",
                f"{drops.min()} to {drops.max()}",
            ),
        ),
        pictures=(
            Picture(
                draw,
                "Scenario 4 (12.3 Gb/s) without DFC, Tahoe.",
                "queues at nodes 1 and 15 over time in the fluid and in ns-2: node 1 reaches 1800 "
                "near 75 ms, node 15 near 140 ms, then both are empty",
            ),
        ),
        cases=(SCENARIO_4,),
    )
