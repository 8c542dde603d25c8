"""Which rule wins on a path: every rule alone, against itself and against every other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.endpoints.flow_recoveries import by_recovery
from dfcmodel.sharing.bottlenecks import Bottleneck, Shared, checked_rules, mean_of, within_limits
from dfcmodel.sharing.seed_budgets import FEWEST_SEEDS, WIDTH, is_narrow, run_seeds, seeds_text
from hopflow.checks import flag, instances, integer, seed_number
from hopflow.progress import progress_bar
from hopflow.results import Result, figure
from responsefn import WindowRule

if TYPE_CHECKING:
    from collections.abc import Iterable

    import xarray
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["BUDGET", "Comparison", "compare_rules"]

CAVEATS = (
    "senders and queues are ideal: an ACK per packet, no offloads or receive window, no pacing unless asked for",
    (
        "two reasonable set-ups of one packet simulator differ by 3 to 24 % in rate (claim S06): "
        "smaller differences between rules say nothing of a real path"
    ),
    "rules that measure delay depend on timestamps and their resolution most",
    (
        "± and the numbers in brackets are 95 % confidence intervals over the seeds: they contain the randomness of the simulation, "
        "not the error of the model, and are cut at the ends of the measure's range (shares: 0 and 1)"
    ),
)
ABOVE_CAPACITY = (
    "a rate above the path's: data are counted when they are in order, and a retransmission after the warm-up closed a gap of before; "
    "a longer duration makes the difference small"
)
NOT_SETTLED = (
    "not settled: the two halves of the measured time differ by more than chance, and the interval says nothing of that; "
    "a longer duration gives other shares"
)
BUDGET = 16
"""Most seeds of a setting by default."""
LONGER = 2.0
"""Ratio of the round-trip times from which the exponent of the unfairness is taken."""
DURATION_FACTORS = (1.0, 2.0, 4.0)
"""Durations over the path's, one after another, until a setting is settled."""
SMALLEST_DRIFT = 0.5 * WIDTH
"""Difference of the halves of the measured time that is never taken for a drift: half of the interval that is narrow."""


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """R rules on one path, in the order of the call.

    The table and the figure have the winner first: by the mean share against the other rules, for a rule alone by its
    rate. `ranking` has the rules in that order.

    Attributes
    ----------
    rules
        The R rules in the order of the call, as in all arrays.
    path
        The bottleneck.
    runs
        The budget: most seeds per setting. A setting gets no more when the interval of its share (alone: of its rate
        over the bandwidth) is at most five percentage points wide.
    seeds, alone_seeds
        That each pair and each rule alone got, shapes (R, R) and (R,).
    durations, alone_durations
        Simulated time of each pair and of each rule alone in s, shapes (R, R) and (R,): that of the path, or up to four
        times as long where `compare` got no duration and the setting was not settled before. The warm-up is the same
        fraction of it.
    settled, alone_settled
        Whether the two halves of the measured time agree, shapes (R, R) and (R,): whether the mean difference of the
        share (alone: of the rate over the bandwidth) is within its 95 % interval over the seeds, or at most 2.5 percentage
        points. One or two seeds have no usable interval, and may differ by five points.
    share, share_half_width
        Share of the row's rule against one flow of the column's rule, shape (R, R); on the diagonal the
        larger share of two flows of the rule. The half width is Student's over the seeds; `share_interval` ends at 0
        and 1.
    rate, rate_half_width
        Packets/s of one flow alone, shape (R,).
    delay, loss
        Mean queueing delay in s and loss ratio of one flow alone, shape (R,).
    jain
        Jain's index of two flows of the rule, shape (R,).
    rtt_exponent, rtt_exponent_half_width
        k in T_1/T_2 = (R_2/R_1)^k of two flows of the rule, one with twice the round-trip time of
        the path, shape (R,).

    Examples
    --------
    >>> from dfcmodel import compare
    >>> from responsefn import NewReno
    >>> found = compare([NewReno()], bandwidth=500.0, rtt=0.04, buffer=20, duration=10.0, runs=2)
    >>> found.share.shape, len(found.caveats)
    ((1, 1), 4)
    >>> bool(found.settled.all())
    True
    """

    rules: tuple[WindowRule, ...]
    path: Bottleneck
    runs: int
    seeds: NDArray[np.int64]
    alone_seeds: NDArray[np.int64]
    durations: Floats
    alone_durations: Floats
    settled: NDArray[np.bool_]
    alone_settled: NDArray[np.bool_]
    share: Floats
    share_half_width: Floats
    rate: Floats
    rate_half_width: Floats
    delay: Floats
    loss: Floats
    jain: Floats
    rtt_exponent: Floats
    rtt_exponent_half_width: Floats

    @property
    def ranking(self) -> tuple[WindowRule, ...]:
        """The rules, the winner first."""
        return tuple(self.rules[n] for n in self._order)

    @property
    def _order(self) -> list[int]:
        """The positions of the rules, the winner first."""
        score = self.rate if len(self.rules) == 1 else self.against_others
        return [int(n) for n in np.argsort(-score, kind="stable")]

    @property
    def share_interval(self) -> Floats:
        """95 % intervals of the shares, lower and upper ends, shape (2, R, R); NaN of one seed.

        Between 0 and 1, on the diagonal between 1/2 and 1.
        """
        return within_limits(self.share, self.share_half_width, 0.5 * np.eye(len(self.share)), 1.0)

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Whether a share's interval includes one half, or there is none, shape (R, R); False on the diagonal."""
        low, high = self.share_interval
        decided = (low > 0.5) | (high < 0.5) | np.eye(len(self.share), dtype=bool)
        return np.asarray(~decided)

    @property
    def wide(self) -> NDArray[np.bool_]:
        """Whether the budget was spent before a share's interval was at most five points wide, shape (R, R)."""
        return np.asarray(~(2.0 * self.share_half_width <= WIDTH))

    @property
    def alone_wide(self) -> NDArray[np.bool_]:
        """The same of the rate of each rule alone, over the bandwidth, shape (R,)."""
        return np.asarray(~(2.0 * self.rate_half_width / self.path.bandwidth <= WIDTH))

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the numbers leave out, what they count that was sent before, and whether some are not settled."""
        settled = self.settled.all() and self.alone_settled.all()
        above = np.any(self.rate > self.path.bandwidth)
        return (*CAVEATS, *[ABOVE_CAPACITY] * bool(above), *[NOT_SETTLED] * (not settled))

    @property
    def against_others(self) -> Floats:
        """Mean share against the other rules, shape (R,); NaN for a rule alone."""
        R = len(self.share)
        if R == 1:
            return np.full(1, np.nan)
        return np.asarray((self.share.sum(axis=1) - np.diag(self.share)) / (R - 1))

    def to_xarray(self) -> xarray.Dataset:
        """Return shares over ``rule`` and ``against``, the other measures over ``rule``."""
        import xarray as xr

        names = [repr(rule) for rule in self.rules]
        low, high = self.share_interval
        pairs = {
            "share": self.share, "share_half_width": self.share_half_width,
            "share_low": low, "share_high": high, "seeds": self.seeds, "wide": self.wide,
            "undecided": self.undecided, "settled": self.settled,
        }  # fmt: skip
        units = {
            "rate": "packets/s", "rate_half_width": "packets/s", "delay": "s", "loss": "1",
            "jain": "1", "rtt_exponent": "1", "rtt_exponent_half_width": "1", "against_others": "1",
            "alone_seeds": "1", "alone_wide": "1", "alone_settled": "1", "alone_durations": "s",
        }  # fmt: skip
        variables: dict[str, Any] = {
            name: (("rule", "against"), values, {"units": "1"}) for name, values in pairs.items()
        }
        variables |= {name: ("rule", getattr(self, name), {"units": u}) for name, u in units.items()}
        variables["durations"] = (("rule", "against"), self.durations, {"units": "s"})
        ranks = np.argsort(self._order) + 1
        variables["rank"] = ("rule", ranks, {"units": "1", "long_name": "1: the winner"})
        path = {name: getattr(self.path, name) for name in ("bandwidth", "rtt", "buffer", "loss")}
        return xr.Dataset(
            variables,
            coords={"rule": names, "against": names},
            attrs={**path, "runs": self.runs, "caveats": list(self.caveats)},
        )

    def summary(self) -> dict[str, object]:
        """Return path and, the winner first, each rule's shares and measures; the caveats last."""
        path = self.path
        rows: dict[str, object] = {
            "path": f"{path.bandwidth:.5g} packets/s, rtt {path.rtt:g} s, buffer {path.buffer} packets, "
            f"{path.discipline!r}, random loss {path.loss:g}; {path.warm_up:g} .. {path.duration:g} s",
            "recovery": self._recovery_text(),
            "seeds": self._seeds_text(),
            "settled": self._settled_text(),
        }
        for rank, n in enumerate(self._order, 1):
            others = [f"{self._share_text(n, m)} against {self.rules[m]!r}" for m in self._order if m != n]
            rows[f"{rank}. {self.rules[n]!r}"] = (
                "; ".join(others) + ("; " if others else "")
                + f"alone {self.rate[n]:.5g}{_within(self.rate_half_width[n], '.2g')} packets/s, "
                f"queueing delay {1e3 * self.delay[n]:.3g} ms, loss {self.loss[n]:.2g}; two of it: Jain "
                f"{self.jain[n]:.3f}, RTT exponent {self.rtt_exponent[n]:.2f}"
                f"{_within(self.rtt_exponent_half_width[n], '.2g')}"
            )  # fmt: skip
        return rows | {f"caveat {n}": text for n, text in enumerate(self.caveats, 1)}

    def _recovery_text(self) -> str:
        """Return how senders repair losses, which in a network is that of each rule."""
        kinds = [rule.recovery for rule in self.rules]
        own = by_recovery(map(repr, self.rules), kinds)
        chosen = self.path.recovery
        if chosen is None:
            return f"that of each rule: {own}"
        if set(kinds) == {chosen}:
            return f"{chosen}, that of each rule"
        return f"{chosen} for all; in a network that of each rule ({own}) unless Packets(recovery={chosen!r}) sets it"

    def _seeds_text(self) -> str:
        """Return how many seeds the settings got, and which intervals are wide after all of them."""
        used = seeds_text(np.append(self.seeds, self.alone_seeds))
        rows = self._settings(self.wide, self.alone_wide)
        said = f"wider than that after {self.runs}: {', '.join(rows)}" if rows else "all are"
        return f"{used} per setting, until the interval is at most five points wide; {said}"

    def _settled_text(self) -> str:
        """Return which settings are not settled, and which were simulated for longer than the path's duration."""
        drifting = self._settings(~self.settled, ~self.alone_settled)
        said = f"not settled: {', '.join(drifting)}" if drifting else "the halves of all runs agree"
        for duration in np.unique([*self.durations.ravel(), *self.alone_durations]):
            if duration > self.path.duration:
                longer = self._settings(self.durations == duration, self.alone_durations == duration)
                said += f"; {duration:g} s: {', '.join(longer)}"
        return said

    def _settings(self, pairs: NDArray[np.bool_], alone: NDArray[np.bool_]) -> list[str]:
        """Return the names of some settings."""
        rows = [
            f"{self.rules[n]!r} and {'another one' if n == m else repr(self.rules[m])}"
            for n, m in itertools.combinations_with_replacement(range(len(self.rules)), 2)
            if pairs[n, m]
        ]
        return rows + [f"{self.rules[n]!r} alone" for n in np.flatnonzero(alone)]

    def _share_text(self, n: int, m: int, gap: str = " ") -> str:
        """Return a share with its interval, as text, and whether it drifts."""
        low, high = 100 * self.share_interval[:, n, m]
        ends = f"{gap}({low:.0f} .. {high:.0f})" if np.isfinite(low) else ""
        drift = "" if self.settled[n, m] else f"{gap}not settled"
        return f"{100 * self.share[n, m]:.0f} %{ends}{drift}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of each row's rule against each column's, the winner first, with its interval; return the Axes.

        Cells whose interval includes one half are grey: who has more is not decided by these seeds. Those whose interval
        is wider than five points after all seeds have a dashed frame.
        """
        from matplotlib.patches import Rectangle

        axes: Axes = figure(6.4, 5.2)[1] if ax is None else ax
        axes.set_facecolor("0.85")
        order = self._order
        ranked = np.ix_(order, order)
        shown = np.ma.masked_array(self.share[ranked], self.undecided[ranked])
        axes.imshow(shown, vmin=0.0, vmax=1.0, cmap="RdBu")
        for row, column in np.ndindex(shown.shape):
            n, m = order[row], order[column]
            dark = abs(self.share[n, m] - 0.5) > 0.3 and not self.undecided[n, m]
            axes.text(
                column, row, self._share_text(n, m, "\n"), ha="center", va="center", fontsize=9,
                color="white" if dark else "black",
            )  # fmt: skip
            if self.wide[n, m]:
                axes.add_patch(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, linestyle="--"))
        names = [repr(rule) for rule in self.ranking]
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axes.set_yticks(range(len(names)), names)
        note = "in brackets 95 % intervals; grey: undecided; dashed: wider than 5 points"
        axes.set(xlabel=f"against one flow of\n({note})", title="share of the bottleneck")
        return axes


def compare_rules(
    rules: Iterable[WindowRule],
    path: Bottleneck,
    *,
    runs: int = BUDGET,
    seed: int | np.random.Generator = 0,
    prolong: bool = False,
) -> Comparison:
    """Return which of some rules wins on a path, by packet-level simulation.

    Each rule runs alone, two flows of it together, with equal and with unequal round-trip times, and
    one flow of it against one of every other rule.

    Parameters
    ----------
    rules
        Window rules, also one's own and those of deliveries such as ``BBR()``; all different. Rules that answer
        marks, such as DCTCP and Prague, need a discipline that marks.
    path
        The bottleneck. A share means something when the measured time holds many cycles from loss to loss.
    runs
        Most seeds per setting; from three on, fewer where the 95 % interval of the share, or of the utilisation of a rule
        alone, is at most five percentage points wide. The exponent gets the seeds of the rule's equal flows.
    seed
        The first of the seeds.
    prolong
        Whether a setting that is not settled is simulated again, twice and then four times as long as the path says.

    Raises
    ------
    TypeError, ValueError
        Naming the parameter, its value and what is allowed.
    """
    chosen = checked_rules(instances("rules", rules, WindowRule), path.discipline)  # type: ignore[type-abstract]
    integer("number of rules", len(chosen), 1, 100)
    first, runs = seed_number("seed", seed, maximum=2**30) % 2**30, integer("runs", runs, 1, 10_000)
    seeds = range(first, first + runs)
    R = len(chosen)
    factors = DURATION_FACTORS if flag("prolong", prolong) else DURATION_FACTORS[:1]
    share, half, durations = np.empty((3, R, R))
    used, settled = np.empty((R, R), np.int64), np.empty((R, R), np.bool_)
    used_alone, settled_alone = np.empty(R, np.int64), np.empty(R, np.bool_)
    alone, alone_half, delay, lost, jain, exponent, exponent_half, durations_alone = np.empty((8, R))
    tasks = [*((n,) for n in range(R)), *itertools.combinations_with_replacement(range(R), 2)]
    for who in progress_bar(tasks, desc="compare", unit="setting"):
        for factor in factors:
            longer = path.changed(duration=factor * path.duration, warm_up=factor * path.warm_up)
            setting = _run_setting(longer, [chosen[n] for n in who], seeds)
            if setting.settled:
                break
        found = setting.runs
        n, m = who[0], who[-1]
        if len(who) == 1:
            used_alone[n], settled_alone[n] = len(found), setting.settled
            durations_alone[n] = setting.path.duration
            alone[n], alone_half[n] = mean_of([run.rate[0] for run in found])
            delay[n] = np.mean([run.delay for run in found])
            lost[n] = np.mean([run.loss[0] for run in found])
            continue
        used[n, m] = used[m, n] = len(found)
        settled[n, m] = settled[m, n] = setting.settled
        durations[n, m] = durations[m, n] = setting.path.duration
        share[n, m], half[n, m] = mean_of([_measure(run.rate, path, n == m) for run in found])
        if n == m:
            jain[n] = np.mean([run.jain for run in found])
            exponent[n], exponent_half[n] = _exponent(setting.path, chosen, n, seeds[: len(found)])
        else:
            share[m, n], half[m, n] = 1.0 - share[n, m], half[n, m]
    return Comparison(
        rules=chosen, path=path, runs=runs, seeds=used, alone_seeds=used_alone, durations=durations,
        alone_durations=durations_alone, settled=settled, alone_settled=settled_alone, share=share, share_half_width=half,
        rate=alone, rate_half_width=alone_half, delay=delay, loss=lost, jain=jain, rtt_exponent=exponent,
        rtt_exponent_half_width=exponent_half,
    )  # fmt: skip


class _Setting(NamedTuple):
    """Runs of one flow or two, the path with their duration, and whether their halves agree."""

    runs: list[Shared]
    path: Bottleneck
    settled: bool


def _run_setting(path: Bottleneck, flows: list[WindowRule], seeds: range) -> _Setting:
    """Run one flow or two until the interval of their measure is narrow."""
    equal = flows[0] is flows[-1]

    def narrow(runs: list[Shared]) -> bool:
        return is_narrow([_measure(run.rate, path, equal) for run in runs])

    runs = run_seeds(lambda seed: path.run(flows, seed=seed), seeds, narrow)
    if not all(run.rate.sum() > 0.0 for run in runs):
        raise ValueError(
            f"duration = {path.duration:g}, loss = {path.loss:g}: nothing arrived after the warm-up of {path.warm_up:g} s; "
            "must be longer, or the loss smaller"
        )
    early, late = (np.array([_measure(run.half_rates[half], path, equal) for run in runs]) for half in (0, 1))
    drift, interval = mean_of(late - early)
    if len(runs) < FEWEST_SEEDS:
        interval = WIDTH
    settled = abs(drift) <= max(interval, SMALLEST_DRIFT)  # False where a half is empty
    return _Setting(runs, path, settled)


def _measure(rates: Floats, path: Bottleneck, equal: bool) -> float:
    """Return the utilisation of a flow alone, the larger share of two equal flows, or the first one's share."""
    if len(rates) == 1:
        return float(rates[0]) / path.bandwidth
    total = float(rates.sum())
    return float(rates.max() if equal else rates[0]) / total if total else float("nan")


def _within(half_width: float, form: str) -> str:
    """Return a half width as text; nothing where one run has none."""
    return f" ± {half_width:{form}}" if np.isfinite(half_width) else ""


def _exponent(path: Bottleneck, chosen: tuple[WindowRule, ...], n: int, seeds: Iterable[int]) -> tuple[float, float]:
    """Return mean and half width of the exponent of two flows with the path's round trip and twice it."""
    rtts = [path.rtt, LONGER * path.rtt]
    rates = [path.run([chosen[n]] * 2, seed=s, rtts=rtts).rate for s in seeds]
    if not np.all(rates):
        raise ValueError(
            f"duration = {path.duration:g}, loss = {path.loss:g}: a flow delivered nothing after the warm-up"
        )
    return mean_of([float(np.log(short / long) / np.log(LONGER)) for short, long in rates])
