"""Transfer times by class of flow, as in the paper's Table 4, run by run."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from validation import evidence
from validation.claims.effect_statements import Decided, Estimates, Statement
from validation.claims.yang2001.sharing import modelled, modelled_by_flow
from validation.records import rows
from validation.statistics import Estimate, Values, of_runs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DISCIPLINES = ("FCFS", "DRR", "RED", "SFQ")
ENVIRONMENTS = ("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be")
TCP = ("TCP1", "TCP2", "TCP3", "TCP4")
UDP = ("UDP3", "UDP4")
CLASSES = (*TCP, *UDP)


def case_of(environment: str, discipline: str) -> str:
    """Return the case of a row of Table 4."""
    return f"yang2001/{environment.replace('/', '-')}-{discipline.lower()}"


def cases(*environments: str) -> tuple[str, ...]:
    """Return the cases of environments under all disciplines."""
    return tuple(case_of(e, d) for e in environments for d in DISCIPLINES)


def by_kind(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the class of each row, such as TCP1, in a column ``kind``."""
    return frame.assign(kind=frame["protocol"] + frame["priority"].astype(str))


@functools.cache
def classes(case: str, statistic: str = "mean") -> pd.DataFrame:
    """Return a statistic of the transfer times of every class, one row for each run.

    The index has the run (environment, discipline, ratio of TCP, other parameters, seed), the
    columns are mechanism and class, such as ``("cc", "TCP1")``. Both sources count together.
    """
    frame = by_kind(evidence.frame(case))
    known = ("environment", "discipline", "size", "tcp_flows", "parameter", "value", "seed")
    keys = [column for column in known if column in frame]
    groups = frame.groupby([*keys, "mechanism", "kind"], observed=True)["transfer_time"]
    found = groups.std() if statistic == "std" else groups.mean()
    return found.unstack(["mechanism", "kind"])  # noqa: PD010


Times = Callable[[str, str], pd.DataFrame]
"""Mean times of the classes, a row for each run, by environment and discipline."""


def seen(environment: str, discipline: str) -> pd.DataFrame:
    """Return the times of the packet runs by seed; `sharing.modelled` is the same of the model."""
    return by_seed(case_of(environment, discipline))


def both(
    make: Callable[[Times], Mapping[str, Decided]],
    equal: str = "",
    least: Mapping[str, float] | None = None,
) -> dict[str, Statement]:
    """Return statements made from the packet runs and from the model in the same way.

    ``least`` has the smallest difference that counts of the statements that have one.
    """
    packets, model = make(seen), make(modelled)
    counts = least or {}
    return {key: Statement(packets[key], model[key], key == equal, least=counts.get(key, 0.0)) for key in packets}


SHORT = "yang2001/short-queues"
"""All rows of Table 4 with queues so short that those of best effort come near the paper's."""


SMALL_WINDOWS = "yang2001/short-queues-small-windows"
"""The rows of ts/ts with queues as short, and windows that do not fill them."""


@functools.cache
def _in_case(case: str, environment: str, discipline: str) -> pd.DataFrame:
    frame = classes(case)
    found: Any = frame.xs((environment, discipline), level=("environment", "discipline")).groupby("seed").mean()
    table: pd.DataFrame = found.dropna(axis="columns", how="all")  # classes of other environments
    return table


def short(environment: str, discipline: str) -> pd.DataFrame:
    """Return the times of the packet runs with short queues by seed."""
    return _in_case(SHORT, environment, discipline)


def small_windows(environment: str, discipline: str) -> pd.DataFrame:
    """Return the times of the packet runs with short queues and small windows by seed."""
    return _in_case(SMALL_WINDOWS, environment, discipline)


@functools.cache
def by_flow(environment: str, discipline: str) -> pd.DataFrame:
    """Return the times of the packet runs by seed, where each flow of a class counts once, not each ratio of TCP."""
    frame = by_kind(evidence.frame(case_of(environment, discipline)))
    groups = frame.groupby(["seed", "mechanism", "kind"], observed=True)["transfer_time"]
    return groups.mean().unstack(["mechanism", "kind"])  # noqa: PD010


READINGS: dict[str, tuple[Times, Times]] = {
    "short queues": (short, modelled),
    "each flow counts once": (by_flow, modelled_by_flow),
}
"""Of Table 4: the length of the queues, and what its mean times are means of, neither of which the paper states.

Each with the times of the packet runs and those of the model, which has no queues.
"""


def in_readings(
    make: Callable[[Times], Mapping[str, Decided]],
    equal: str = "",
    least: Mapping[str, float] | None = None,
) -> dict[str, dict[str, Statement]]:
    """Return statements made like those of `both` in the readings of the table."""
    counts = least or {}
    return {
        name: {
            key: Statement(each, model[key], equal=key == equal, least=counts.get(key, 0.0))
            for key, each in make(times).items()
        }
        for name, (times, model_times) in READINGS.items()
        for model in (make(model_times),)
    }


@functools.cache
def by_seed(case: str, statistic: str = "mean") -> pd.DataFrame:
    """Return the classes of a row of Table 4 by seed: the mean over the ratios of TCP."""
    return classes(case, statistic).groupby("seed").mean()


def printed_times() -> dict[tuple[str, str, int, str], float]:
    """Return the cells of Table 4 by environment, discipline, source and class, s."""
    return {
        (row["environment"], row["discipline"], int(row["traffic_source"]), row["flow_class"]):
        float(row["mean_transfer_time_s"])
        for row in rows("yang2001_table4.csv")
    }  # fmt: skip


@functools.cache
def printed(environment: str, discipline: str) -> pd.DataFrame:
    """Return the paper's Table 4 as `seen` has the runs: one row, both sources of a mechanism together."""
    cells: dict[tuple[str, str], list[float]] = {}
    for row in rows("yang2001_table4.csv"):
        if (row["environment"], row["discipline"]) == (environment, discipline):
            cells.setdefault((row["mechanism"], row["flow_class"]), []).append(float(row["mean_transfer_time_s"]))
    return pd.DataFrame({key: [float(np.mean(times))] for key, times in cells.items()})


def printed_ratio(environment: str, discipline: str) -> float:
    """Return TCP's mean time over UDP's in a row of Table 4."""
    row = {key[2:]: t for key, t in printed_times().items() if key[:2] == (environment, discipline)}
    tcp, udp = (np.mean([t for (_, kind), t in row.items() if kind in kinds]) for kinds in (TCP, UDP))
    return float(tcp / udp)


def printed_gain(discipline: str, kind: str) -> float:
    """Return be/be's time of a class of the first source over cc/be's in Table 4, less one."""
    alone, beside = (printed_times()[environment, discipline, 1, kind] for environment in ("be/be", "cc/be"))
    return alone / beside - 1.0


def against_table(environments: Sequence[str]) -> Estimates:
    """Return the relative deviation from each cell of Table 4, of the mean time of a class of a source.

    The mean is over the ratios of TCP that were run, seed by seed; the paper's is over 19 of them.
    """
    printed, found = printed_times(), []
    for environment, discipline in itertools.product(environments, DISCIPLINES):
        for (source, kind), runs in by_source(case_of(environment, discipline)).items():
            cell = printed[environment, discipline, source, kind]
            found.append(of_runs(runs.to_numpy() / cell - 1.0))
    return tuple(found)


@functools.cache
def by_source(case: str) -> dict[tuple[int, str], pd.Series[float]]:
    """Return the mean times of the classes of each source by seed: the mean over the ratios of TCP."""
    runs = by_kind(evidence.frame(case)).groupby(["source", "kind", "tcp_flows", "seed"])["transfer_time"].mean()
    means = runs.groupby(["source", "kind", "seed"]).mean()
    return {
        (int(str(source)), str(kind)): each.droplevel(["source", "kind"])
        for (source, kind), each in means.groupby(["source", "kind"])
    }


def regulated(environment: str) -> str:
    """Return the mechanism of the first source."""
    return environment.partition("/")[0]


def apart(frame: pd.DataFrame, more: tuple[str, str], less: tuple[str, str], factor: float = 1.0) -> Estimate:
    """Return the relative difference of two classes, seed by seed, the second times a factor."""
    return over_seeds(relative(frame[more], factor * frame[less]))


def over_seeds(values: ArrayLike) -> Estimate:
    """Return the mean over seeds; a single value is that of the model, which has no noise."""
    sample = np.asarray(values, dtype=np.float64)
    return of_runs(sample) if len(sample) > 1 else Estimate(float(sample[0]), 0.0)


def relative(more: pd.Series[float], less: pd.Series[float]) -> Values:
    """Return the relative differences of two classes, one per seed."""
    return np.asarray(more / less - 1.0, dtype=np.float64)


def ordered(frame: pd.DataFrame, mechanism: str) -> Estimates:
    """Return the excess of each class's transfer time over that of the next higher priority, TCP's and UDP's."""
    high, low = UDP
    return (
        *ordered_tcp(frame, mechanism),
        apart(frame, (mechanism, low), (mechanism, high)),
    )


def ordered_tcp(frame: pd.DataFrame, mechanism: str) -> Estimates:
    """Return the same of TCP's classes alone: one of UDP's has no flow at some ratios."""
    pairs = itertools.pairwise(TCP)
    return tuple(apart(frame, (mechanism, low), (mechanism, high)) for high, low in pairs)


def under(frame: pd.DataFrame, mechanism: str) -> pd.DataFrame:
    """Return the columns of one mechanism, by class."""
    found: Any = frame[mechanism]
    table: pd.DataFrame = found.dropna(axis="columns", how="all")  # classes of other environments
    return table


def everywhere_in(
    environments: Sequence[str],
    estimate: Callable[[pd.DataFrame, str], Estimates],
    times: Times = seen,
) -> Estimates:
    """Return estimates of the classes of environments under all disciplines."""
    return tuple(
        each
        for environment, discipline in itertools.product(environments, DISCIPLINES)
        for each in estimate(times(environment, discipline), regulated(environment))
    )
