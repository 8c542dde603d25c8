"""What the checks of takano2006 compare: fluid ensembles, and the bundled packet simulations."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import Ensemble, Trajectory, ensemble, simulate, takano2006
from validation.evidence import table

if TYPE_CHECKING:
    import pandas as pd

TRACES = "takano2006/traces-without-dfc"
START = 0.1
"""Time in s at which the background flow starts."""
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
HOSTS = ("shaped", "unshaped", "direct")


@functools.cache
def with_dfc(
    name: str, host: str | None = None, duration: float | None = None, runs: int = 3
) -> Ensemble:
    """Return fluid runs of a scenario with DFC that differ in their feedback phases."""
    return ensemble(takano2006(name, host=host), runs, jitter=20e-6, duration=duration)


@functools.cache
def without_dfc(name: str, runs: int = 8) -> Ensemble:
    """Return fluid runs of a scenario without DFC that differ by a millisecond at the start.

    Which flow a full queue hits depends on when their bursts meet there. In ns-2 a random time
    before each packet makes runs differ. The fluid leaves out a packet's time on each link, up to a
    millisecond per round trip, so that it knows these times no better than that.
    """
    return ensemble(takano2006(name, dfc=False), runs, jitter=1e-3)


def with_starts(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the target's mean efficiencies without DFC, fluid and ns-2, both with spread starts.

    One value per run, shapes (runs,). The starts vary by a millisecond in both.
    """
    packets = table(starts_case(name), "flows").query("flow == 'target'")
    return without_dfc(name).mean_efficiency(START)[:, 0], packets["mean_efficiency"].to_numpy()


def starts_case(name: str) -> str:
    """Return the bundled case of a scenario without DFC whose flows start at varied times."""
    return f"takano2006/scenario-{name}-starts-without-dfc"


@functools.cache
def one_without_dfc(tcp: str) -> Trajectory:
    """Return the run of scenario 1 without DFC and without chance, by the millisecond."""
    return simulate(takano2006("1", dfc=False, tcp=tcp))


@functools.cache
def bias() -> float:
    """How far the fluid's mean efficiencies are from ns-2's where ns-2 repeats.

    The largest difference over both flows of the Reno and NewReno runs of scenario 1.
    """
    apart = []
    for tcp in ("reno", "newreno"):
        packets = repeating(tcp, "flows").set_index("flow")["mean_efficiency"]
        fluid = one_without_dfc(tcp).mean_efficiency(START)
        apart += [abs(fluid[0] - packets["target"]), abs(fluid[1] - packets["background"])]
    return float(max(apart))


def case(name: str, dfc: str) -> str:
    """Return the bundled case of a scenario ``"with"`` or ``"without"`` DFC."""
    shaped = "-shaped" if (name, dfc) == ("1", "with") else ""
    return f"takano2006/scenario-{name.lower()}-{dfc}-dfc{shaped}"


def rows(case: str, name: str | None = None, **reading: object) -> pd.DataFrame:
    """Return the rows of ns-3's chain in the default reading but for ``reading``; run is the seed."""
    data = table(case, name)
    for column, value in {**DEFAULT, **reading}.items():
        if column in data:
            data = data[data[column] == value]
    return data.assign(run=data["seed"])


def repeating(tcp: str, name: str) -> pd.DataFrame:
    """Rows of ns-2's scenario 1 without DFC where nothing is random."""
    data = table(TRACES, name)
    return data[(data["link_rate"] == 370e6) & (data["agent"] == tcp)]


def frame(many: Ensemble) -> pd.DataFrame:
    """Return the efficiencies of an ensemble as a table: run, flow, time, efficiency."""
    return many.efficiency.to_dataframe("efficiency").reset_index()


def lost(many: Ensemble) -> np.ndarray:
    """Return the packets that each run lost, both flows, shape (runs,)."""
    return np.array([run.lost.sum() for run in many.runs])
