"""Shares of window rules on one path: each rule alone, against itself and against every other."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.endpoints.native_rules import NativeRule, full_name
from dfcmodel.network.queueing.disciplines import manager_of
from dfcmodel.network.queueing.managers import CoDel
from dfcmodel.results.flow_recoveries import by_recovery
from dfcmodel.sharing.bottlenecks import Bottleneck, Shared, validate_rules, within_limits
from dfcmodel.sharing.convergence import (
    MIN_SEEDS,
    SETTLED,
    STOPPING_LEVEL,
    WIDTH,
    is_drifting,
    is_narrow,
    is_settled,
    plus_minus,
    run_seeds,
    seeds_text,
)
from hopflow.checks import flag, instances, integer, seed_number
from hopflow.intervals import half_width, prediction_half_width, spawn_seeds
from hopflow.progress import progress_bar
from hopflow.results import Result, figure
from hopflow.units import PACKET_SIZE, readable_text
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
        "± and the first numbers in brackets are 95 % intervals of the mean over seeds and starts at the same "
        "duration, single runs a .. b the interval of one further run: they contain the randomness of the simulation, "
        "not the error of the model, and are cut at the ends of the measure's range (shares: 0 and 1; rates: 0)"
    ),
)
ABOVE_CAPACITY = (
    "a rate above the path's: data are counted when they are in order, and a retransmission after the warm-up closed a "
    "gap of before; a longer duration makes the difference small"
)
DRIFTING = (
    "drifting: the two halves of the measured time differ by more than chance, and the interval says nothing of that; "
    "a longer duration gives other shares"
)
BUDGET = 16
"""Default of the largest number of seeds per setting."""
RTT_RATIO = 2.0
"""Ratio of the round-trip times in the measurement of the exponent of unfairness."""
DURATION_FACTORS = (1.0, 2.0, 4.0)
"""Durations over the path's, one after another, while a setting drifts."""
SHARE_RESOLUTION = 0.005
"""Smallest half width of the interval of a share.

Four runs usually miss a state in which one run in twenty ends. On one of the paths of ``python -m benchmarks coverage``
such runs have a share of 0.55 and all others 0.5015, so that the mean lies outside of every interval without such a
run.
"""
RATE_RESOLUTION = 0.001
"""Smallest half width of the interval of a rate alone over the bandwidth.

One flow alone ends in few states, and four runs often agree. Without a smallest width 87 to 91 % of their intervals
contain the mean, on one path 35 % (``python -m benchmarks.rate_resolution``).
"""
MORE_SEEDS = 2
"""Seeds of a rule alone over the budget, where a queue manager drops at random and the interval of four runs or more is
narrower than one timeout.

A retransmission that is dropped costs a timeout. Timeouts lower the rate of 15 % of the runs on one of the paths of
``python -m benchmarks coverage`` by up to 5 %. The interval of the four runs at which its width alone would end
contains the mean in a third of the cases, that of the 32 of the default budget in nine of ten. CoDel drops by its
clock.
"""
TIMEOUT = 1.0
"""Smallest retransmission timeout in s (RFC 6298, 2.4)."""


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Results of R rules on one path, alone, in pairs and at two round-trip times, in the order of the call.

    The table and the figure are ordered by the mean share against the other rules, the largest first; a rule alone by
    its rate. `ranking` has the rules in that order, `rank_range` the ranks that the intervals of the pairs allow.

    Each ``X`` is a mean over seeds and starts; ``X_half_width`` is that of its 95 % interval (Student's t, at a level
    that makes up for seeds that stop where the interval is narrow), and one further run is within
    ``X_prediction_half_width`` of the mean in 95 % of the cases. NaN of one seed. Half widths of shares are at least
    0.005, half widths of a rate alone at least a thousandth of the bandwidth: a few runs that agree do not exclude a
    rare state in which others end.

    Attributes
    ----------
    rules
        The R rules in the order of the call, as in all arrays.
    path
        The bottleneck.
    runs
        The budget: most seeds per setting. A setting gets no more when the interval of its share (alone: of its rate
        over the bandwidth) is at most five percentage points wide. A rule alone gets twice the budget where a queue
        manager drops at random and the interval is narrower than the part of the time that a timeout takes: a few such
        runs do not exclude rare timeouts.
    seeds, alone_seeds
        Number of seeds of each pair and of each rule alone, shapes (R, R) and (R,).
    durations, alone_durations
        Simulated time of each pair and of each rule alone in s, shapes (R, R) and (R,): that of the path, or up to four
        times as long where `compare` got no duration and the setting was drifting before. The warm-up is the same
        fraction of it.
    settled, alone_settled, rtt_exponent_settled
        Whether the share, the rate alone and the exponent are shown to be settled, shapes (R, R), (R,) and (R,): the
        mean of other seeds at four times the duration lies in the interval in 95 % of the cases in which it is True.
        False where that is not so, and where the runs do not show it (`dfcmodel.sharing.convergence`).
    drifting, alone_drifting
        Whether the two halves of the measured time differ by more than chance, shapes (R, R) and (R,): whether the mean
        difference of the share (alone: of the rate over the bandwidth) is outside its 95 % interval over the seeds, and
        more than 2.5 percentage points. One or two seeds have no usable interval, and may differ by five points.
    share, share_half_width, share_prediction_half_width
        Share of the row's rule against one flow of the column's rule, shape (R, R); on the diagonal the
        larger share of two flows of the rule, whose mean decreases with the duration. `share_interval` ends at 0 and 1.
    rate, rate_half_width, rate_prediction_half_width
        Packets/s of one flow alone, shape (R,).
    delay, loss
        Mean queueing delay in s and loss ratio of one flow alone, shape (R,).
    jain
        Jain's index of two flows of the rule, shape (R,).
    rtt_exponent, rtt_exponent_half_width, rtt_exponent_prediction_half_width
        k in T_1/T_2 = (R_2/R_1)^k of two flows of the rule, one with twice the round-trip time of
        the path, shape (R,).

    Examples
    --------
    >>> from dfcmodel import PathOptions, compare
    >>> from responsefn import NewReno
    >>> options = PathOptions(duration=10.0)
    >>> comparison = compare([NewReno()], bandwidth=500.0, rtt=0.04, buffer=20, runs=2, options=options)
    >>> comparison.share.shape, len(comparison.caveats)
    ((1, 1), 4)
    >>> bool(comparison.drifting.any())
    False
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
    rtt_exponent_settled: NDArray[np.bool_]
    drifting: NDArray[np.bool_]
    alone_drifting: NDArray[np.bool_]
    share: Floats
    share_half_width: Floats
    share_prediction_half_width: Floats
    rate: Floats
    rate_half_width: Floats
    rate_prediction_half_width: Floats
    delay: Floats
    loss: Floats
    jain: Floats
    rtt_exponent: Floats
    rtt_exponent_half_width: Floats
    rtt_exponent_prediction_half_width: Floats

    @property
    def ranking(self) -> tuple[WindowRule, ...]:
        """The rules by falling mean share against the other rules."""
        return tuple(self.rules[n] for n in self._order)

    @property
    def rank_range(self) -> NDArray[np.int64]:
        """Best and worst rank (1: best) of each rule that the intervals of its shares allow, shape (2, R).

        The best is one more than the number of rules that get more than half beside it. The worst is the number of
        rules less the rules that get less than half. A pair whose interval includes one half affects neither.
        """
        low, high = self.share_interval
        off_diagonal = ~np.eye(len(self.rules), dtype=bool)
        losses = ((high < 0.5) & off_diagonal).sum(axis=1)
        wins = ((low > 0.5) & off_diagonal).sum(axis=1)
        return np.array([1 + losses, len(self.rules) - wins])

    @property
    def _order(self) -> list[int]:
        """The indices of the rules by falling mean share against the other rules."""
        score = self.rate if len(self.rules) == 1 else self.against_others
        return [int(n) for n in np.argsort(-score, kind="stable")]

    @property
    def share_interval(self) -> Floats:
        """95 % intervals of the mean shares, lower and upper ends, shape (2, R, R); NaN for one seed.

        Between 0 and 1, on the diagonal between 1/2 and 1.
        """
        return within_limits(self.share, self.share_half_width, 0.5 * np.eye(len(self.share)), 1.0)

    @property
    def share_prediction_interval(self) -> Floats:
        """Ends of the intervals that contain the share of one further run in 95 %, (2, R, R); NaN for one seed."""
        return within_limits(self.share, self.share_prediction_half_width, 0.5 * np.eye(len(self.share)), 1.0)

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Whether a share's interval includes one half or is missing, shape (R, R); False on the diagonal."""
        low, high = self.share_interval
        decided = (low > 0.5) | (high < 0.5) | np.eye(len(self.share), dtype=bool)
        return np.asarray(~decided)

    @property
    def wide(self) -> NDArray[np.bool_]:
        """Whether a share's 95 % interval is wider than 0.05, or NaN, after all seeds allowed, shape (R, R)."""
        return np.asarray(~(2.0 * self.share_half_width <= WIDTH))

    @property
    def alone_wide(self) -> NDArray[np.bool_]:
        """Whether the 95 % interval of a rule's rate alone is wider than 0.05 bandwidths, or NaN, shape (R,)."""
        return np.asarray(~(2.0 * self.rate_half_width / self.path.bandwidth <= WIDTH))

    @property
    def caveats(self) -> tuple[str, ...]:
        """Messages on limits of the numbers: missing effects, packets from before the measurement, drifts."""
        drifting = self.drifting.any() or self.alone_drifting.any()
        above = np.any(self.rate > self.path.bandwidth)
        return (*CAVEATS, *[ABOVE_CAPACITY] * bool(above), *[DRIFTING] * bool(drifting))

    @property
    def against_others(self) -> Floats:
        """Mean share of each rule against the other rules, shape (R,); NaN for a rule alone."""
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
            "share_prediction_half_width": self.share_prediction_half_width, "share_low": low, "share_high": high,
            "seeds": self.seeds, "wide": self.wide, "undecided": self.undecided, "settled": self.settled,
            "drifting": self.drifting,
        }  # fmt: skip
        units = {
            "rate": "packets/s", "rate_half_width": "packets/s", "rate_prediction_half_width": "packets/s",
            "delay": "s", "loss": "1", "jain": "1", "rtt_exponent": "1", "rtt_exponent_half_width": "1",
            "rtt_exponent_prediction_half_width": "1", "rtt_exponent_settled": "1", "against_others": "1",
            "alone_seeds": "1", "alone_wide": "1", "alone_settled": "1", "alone_drifting": "1", "alone_durations": "s",
        }  # fmt: skip
        variables: dict[str, Any] = {
            name: (("rule", "against"), values, {"units": "1"}) for name, values in pairs.items()
        }
        variables |= {name: ("rule", getattr(self, name), {"units": u}) for name, u in units.items()}
        variables["durations"] = (("rule", "against"), self.durations, {"units": "s"})
        ranks = np.argsort(self._order) + 1
        variables["rank"] = ("rule", ranks, {"units": "1", "long_name": "1: the largest mean share"})
        for name, bounds in zip(("best_rank", "worst_rank"), self.rank_range, strict=True):
            variables[name] = ("rule", bounds, {"units": "1", "long_name": "that the intervals of the pairs allow"})
        path = {name: getattr(self.path, name) for name in ("bandwidth", "rtt", "buffer", "loss")}
        return xr.Dataset(
            variables,
            coords={"rule": names, "against": names},
            attrs={**path, "runs": self.runs, "caveats": list(self.caveats)},
        )

    def summary(self) -> dict[str, object]:
        """Return texts by name: the path, shares and measures of each rule by falling mean share, and the caveats."""
        path = self.path
        bits = readable_text(8.0 * path.packet_size * path.bandwidth, "bit/s")
        rows: dict[str, object] = {
            "path": f"{path.bandwidth:.5g} packets/s ({bits}), rtt {path.rtt:g} s, buffer {path.buffer} packets "
            f"({readable_text(path.buffer / path.bandwidth, 's')}), {path.discipline!r}, "
            f"random loss {path.loss:g}{self._senders_text()}; "
            f"{path.warm_up:g} .. {path.duration:g} s",
            "recovery": self._recovery_text(),
            "seeds": self._seeds_text(),
            "settled": self._state_of_settings_text(),
        }
        if native := [full_name(rule) for rule in self.rules if isinstance(rule, NativeRule)]:
            rows["libraries"] = "; ".join(native)
        if len(self.rules) > 1:
            rows["rank"] = "that the intervals of the pairs allow, in the order of the mean share against the others"
        above = f" (caveat {self.caveats.index(ABOVE_CAPACITY) + 1})" if ABOVE_CAPACITY in self.caveats else ""
        for n in self._order:
            best, worst = self.rank_range[:, n]
            others = [f"{self._share_text(n, m)} against {self.rules[m]}" for m in self._order if m != n]
            rows[f"{best}{'' if best == worst else f' to {worst}'}. {self.rules[n]}"] = (
                "; ".join(others) + ("; " if others else "")
                + f"alone {self._estimate_text('rate', n, '.5g')} packets/s"
                f"{above if self.rate[n] > path.bandwidth else ''}, "
                f"queueing delay {1e3 * self.delay[n]:.3g} ms, loss {self.loss[n]:.2g}; two of it: Jain "
                f"{self.jain[n]:.3f}, RTT exponent {self._estimate_text('rtt_exponent', n, '.2f')}"
            )  # fmt: skip
        return rows | {f"caveat {n}": text for n, text in enumerate(self.caveats, 1)}

    def _senders_text(self) -> str:
        """Return the options of the senders that are not the defaults, as a string."""
        size = f", packets of {self.path.packet_size:g} bytes" if self.path.packet_size != PACKET_SIZE else ""
        return f"{size}, paced senders" if self.path.pacing else size

    def _recovery_text(self) -> str:
        """Return a line on the loss recovery of the senders; in a network it is that of each rule."""
        kinds = [rule.recovery for rule in self.rules]
        by_rule = by_recovery(map(str, self.rules), kinds)
        chosen = self.path.recovery
        if chosen is None:
            return f"that of each rule: {by_rule}"
        if set(kinds) == {chosen}:
            return f"{chosen}, that of each rule"
        native = [rule for rule in self.rules if isinstance(rule, NativeRule) and rule.recovery != chosen]
        if native:
            by_library = by_recovery(map(str, native), [rule.recovery for rule in native])
            return f"{chosen}, and of native rules that of their library ({by_library})"
        network = f"in a network that of each rule ({by_rule}) unless Packets(recovery={chosen!r}) sets it"
        return f"{chosen} for all; {network}"

    def _seeds_text(self) -> str:
        """Return a line on the numbers of seeds, and on settings whose intervals stayed wide."""
        used = seeds_text(np.append(self.seeds, self.alone_seeds))
        rows = self._setting_names(self.wide, self.alone_wide)
        exceptions = f"wider than that after {self.runs}: {', '.join(rows)}" if rows else "all are"
        return f"{used} per setting, until the interval is at most five points wide; {exceptions}"

    def _state_of_settings_text(self) -> str:
        """Return a line on how many numbers are settled, and on drifting and prolonged settings."""
        pairs = np.tril_indices(len(self.rules))
        flags = np.concatenate([self.settled[pairs], self.alone_settled, self.rtt_exponent_settled])
        text = f"{flags.sum()} of {flags.size} numbers are, with the word behind them: {SETTLED}"
        if drifting := self._setting_names(self.drifting, self.alone_drifting):
            text += f"; drifting: {', '.join(drifting)}"
        for duration in np.unique([*self.durations.ravel(), *self.alone_durations]):
            if duration > self.path.duration:
                longer = self._setting_names(self.durations == duration, self.alone_durations == duration)
                text += f"; {duration:g} s: {', '.join(longer)}"
        return text

    def _setting_names(self, pairs: NDArray[np.bool_], alone: NDArray[np.bool_]) -> list[str]:
        """Return the names of the settings that are True in ``pairs``, (R, R), or in ``alone`` (rules alone), (R,)."""
        rows = [
            f"{self.rules[n]} and {'another one' if n == m else self.rules[m]}"
            for n, m in itertools.combinations_with_replacement(range(len(self.rules)), 2)
            if pairs[n, m]
        ]
        return rows + [f"{self.rules[n]} alone" for n in np.flatnonzero(alone)]

    def _share_text(self, n: int, m: int) -> str:
        """Return share, intervals and state of rule n against rule m as a string."""
        low, high = 100 * self.share_interval[:, n, m]
        runs = 100 * self.share_prediction_interval[:, n, m]
        widths = f" ({low:.0f} .. {high:.0f}; single runs {runs[0]:.0f} .. {runs[1]:.0f})" if np.isfinite(low) else ""
        return f"{100 * self.share[n, m]:.0f} %{widths}{self._state(n, m, ' ')}"

    def _state(self, n: int, m: int, gap: str) -> str:
        """Return ``gap`` and "settled" or "drifting" for the share of rule n against rule m; "" if it is neither."""
        return gap + "settled" if self.settled[n, m] else gap + "drifting" if self.drifting[n, m] else ""

    def _estimate_text(self, name: str, n: int, form: str) -> str:
        """Return the estimate ``name`` of rule n, rate alone or exponent, with its intervals and state as a string."""
        mean, half = getattr(self, name)[n], getattr(self, f"{name}_prediction_half_width")[n]
        settled = (self.alone_settled if name == "rate" else self.rtt_exponent_settled)[n]
        lowest = 0.0 if name == "rate" else -np.inf
        runs = f" (single runs {max(lowest, mean - half):{form}} .. {mean + half:{form}})" if np.isfinite(half) else ""
        return f"{mean:{form}}{plus_minus(getattr(self, f'{name}_half_width')[n])}{runs}{' settled' * bool(settled)}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of each row's rule against each column's with its interval, by falling mean; return the Axes.

        Cells whose interval includes one half are grey: these seeds do not decide which rule has more. Cells whose
        interval is wider than five points after all seeds have a dashed frame.
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
            low, high = 100 * self.share_interval[:, n, m]
            text = f"{100 * self.share[n, m]:.0f} %" + (f"\n({low:.0f} .. {high:.0f})" if np.isfinite(low) else "")
            axes.text(
                column, row, text + self._state(n, m, "\n"), ha="center", va="center", fontsize=9,
                color="white" if dark else "black",
            )  # fmt: skip
            if self.wide[n, m]:
                axes.add_patch(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, linestyle="--"))
        names = [str(rule) for rule in self.ranking]
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
    """Compare rules on a path, alone and in pairs, by packet-level simulation; return `Comparison`.

    Each rule runs alone, two flows of it together, with equal and with unequal round-trip times, and
    one flow of it against one of every other rule.

    Parameters
    ----------
    rules
        Window rules, also one's own and rules of deliveries such as ``BBR()``; all different. Rules that answer
        marks, such as DCTCP and Prague, need a discipline that marks.
    path
        The bottleneck. A share means something when the measured time holds many cycles from loss to loss.
    runs
        Largest number of seeds per setting; from four on, fewer if the 95 % interval of the share, or of the
        utilisation of a rule alone, is at most five percentage points wide. The exponent gets the seeds of the rule's
        equal flows. A rule alone gets twice as many where a queue manager drops at random (all but `CoDel`) and the
        interval of four runs or more is narrower than one timeout over the measured time.
    seed
        Seed from which the seeds of the runs are spawned: other seeds share no run. All settings have the same seeds.
    prolong
        Whether a setting that drifts is simulated again, with other seeds, twice and then four times as long as the
        path says.

    Raises
    ------
    TypeError, ValueError
        Naming the parameter, its value and the allowed values.
    """
    chosen = validate_rules(instances("rules", rules, WindowRule), path.discipline)  # type: ignore[type-abstract]
    integer("number of rules", len(chosen), 1, 100)
    runs = integer("runs", runs, 1, 10_000)
    R = len(chosen)
    factors = DURATION_FACTORS if flag("prolong", prolong) else DURATION_FACTORS[:1]
    roots = spawn_seeds(seed_number("seed", seed), len(DURATION_FACTORS))
    seeds = [spawn_seeds(root, MORE_SEEDS * runs) for root in roots[: len(factors)]]  # others for each duration
    pairs, alone, exponents = np.empty((R, R), object), np.empty(R, object), np.empty(R, object)
    tasks = [*((n,) for n in range(R)), *itertools.combinations_with_replacement(range(R), 2)]
    for task in progress_bar(tasks, desc="compare", unit="setting"):
        n, m = task[0], task[-1]
        for factor, chain in zip(factors, seeds, strict=True):
            longer = replace(path, duration=factor * path.duration, warm_up=factor * path.warm_up)
            setting = _run_setting(longer, [chosen[i] for i in task], chain, runs)
            if not setting.estimate.drifting:
                break
        if len(task) == 1:
            alone[n] = setting
            continue
        pairs[n, m] = setting
        pairs[m, n] = setting if n == m else setting.reverse()
        if n == m:
            exponents[n] = _run_exponent(setting.path, chosen[n], chain[: len(setting.runs)])

    def column(settings: Any, value: Callable[[Any], Any]) -> Any:
        return np.array([value(setting) for setting in settings.ravel()]).reshape(settings.shape)

    def estimates(prefix: str, settings: Any, scale: float = 1.0) -> dict[str, Any]:
        names = {"": "mean", "_half_width": "half_width", "_prediction_half_width": "prediction_half_width"}
        return {
            prefix + suffix: scale * column(settings, operator.attrgetter(f"estimate.{name}"))
            for suffix, name in names.items()
        }

    return Comparison(
        rules=chosen, path=path, runs=runs,
        seeds=column(pairs, lambda setting: len(setting.runs)),
        alone_seeds=column(alone, lambda setting: len(setting.runs)),
        durations=column(pairs, lambda setting: setting.path.duration),
        alone_durations=column(alone, lambda setting: setting.path.duration),
        settled=column(pairs, lambda setting: setting.estimate.settled),
        alone_settled=column(alone, lambda setting: setting.estimate.settled),
        rtt_exponent_settled=column(exponents, lambda setting: setting.estimate.settled),
        drifting=column(pairs, lambda setting: setting.estimate.drifting),
        alone_drifting=column(alone, lambda setting: setting.estimate.drifting),
        **estimates("share", pairs), **estimates("rate", alone, path.bandwidth), **estimates("rtt_exponent", exponents),
        delay=column(alone, lambda setting: np.mean([run.delay for run in setting.runs])),
        loss=column(alone, lambda setting: np.mean([run.loss[0] for run in setting.runs])),
        jain=column(np.diag(pairs), lambda setting: np.mean([run.jain for run in setting.runs])),
    )  # fmt: skip


class _Estimate(NamedTuple):
    """Mean of a measure over runs, half widths of its two intervals, and whether it is settled, and drifts."""

    mean: float
    half_width: float
    prediction_half_width: float
    settled: bool
    drifting: bool


class _Setting(NamedTuple):
    """Runs of one flow or two, their path, and the estimate of their measure."""

    runs: list[Shared]
    path: Bottleneck
    estimate: _Estimate

    def reverse(self) -> _Setting:
        """Return the setting of the same runs whose share is that of the second flow."""
        return self._replace(estimate=self.estimate._replace(mean=1.0 - self.estimate.mean))


Measure = Callable[["NDArray[np.float64]"], float]


def _estimate(
    runs: list[Shared], measure: Measure, *, is_larger_share: bool = False, resolution: float = 0.0
) -> _Estimate:
    """Return the estimate of a measure; its bias is known if it is the larger of two shares.

    The half width is at least ``resolution``, in units of the measure; that of one further run at least twice as large.
    """
    values, first_half, second_half = (
        np.array([measure(rates) for rates in part])
        for part in ([run.rate for run in runs], *([run.half_rates[half] for run in runs] for half in (0, 1)))
    )
    half = float(np.maximum(half_width(values, STOPPING_LEVEL), resolution))
    mean = float(values.mean())
    bias = 0.5 * (mean - 0.5) if is_larger_share else 0.0  # at four times the duration
    settled = bool(is_settled(values, first_half, second_half, half, bias=bias))
    prediction = float(np.maximum(prediction_half_width(values, STOPPING_LEVEL), 2.0 * resolution))
    return _Estimate(mean, half, prediction, settled, is_drifting(first_half, second_half))


def _run_setting(path: Bottleneck, flows: list[WindowRule], seeds: NDArray[np.int64], budget: int) -> _Setting:
    """Run one flow or two with seeds until the measure's interval is narrow; ValueError if nothing arrives."""

    def utilisation(rates: Floats) -> float:
        return float(rates[0]) / path.bandwidth

    def larger_share(rates: Floats) -> float:
        return _ratio(float(rates.max()), float(rates.sum()))

    def share(rates: Floats) -> float:
        return _ratio(float(rates[0]), float(rates.sum()))

    measure = utilisation if len(flows) == 1 else larger_share if flows[0] is flows[1] else share
    # a count of packets in a short run has an error of half a packet
    resolution = (
        max(RATE_RESOLUTION, 0.5 / (path.bandwidth * (path.duration - path.warm_up)))
        if measure is utilisation
        else SHARE_RESOLUTION
    )
    runs = run_seeds(
        lambda seed: path.run(flows, seed=seed),
        seeds[:budget],
        lambda runs: is_narrow([measure(run.rate) for run in runs]),
    )
    manager = manager_of(path.discipline)
    if measure is utilisation and len(runs) >= MIN_SEEDS and not (manager is None or isinstance(manager, CoDel)):
        half = half_width([measure(run.rate) for run in runs], STOPPING_LEVEL)
        excludes_a_timeout = half < TIMEOUT / (path.duration - path.warm_up)
        runs += [path.run(flows, seed=int(seed)) for seed in seeds[len(runs) :]] if excludes_a_timeout else []
    if not all(run.rate.sum() > 0.0 for run in runs):
        raise ValueError(
            f"duration = {path.duration:g}, loss = {path.loss:g}: nothing arrived after the warm-up of "
            f"{path.warm_up:g} s; must be longer, or the loss smaller"
        )
    estimate = _estimate(runs, measure, is_larger_share=measure is larger_share, resolution=resolution)
    return _Setting(runs, path, estimate)


def _run_exponent(path: Bottleneck, rule: WindowRule, seeds: NDArray[np.int64]) -> _Setting:
    """Run all seeds with two flows, RTTs R and 2R; measure the exponent of their rates; ValueError if one is 0."""

    def exponent(rates: Floats) -> float:
        return float(np.log(rates[0] / rates[1]) / np.log(RTT_RATIO)) if rates.all() else float("nan")

    runs = [path.run([rule] * 2, seed=int(seed), rtts=[path.rtt, RTT_RATIO * path.rtt]) for seed in seeds]
    if not all(run.rate.all() for run in runs):
        raise ValueError(
            f"duration = {path.duration:g}, loss = {path.loss:g}: a flow delivered nothing after the warm-up"
        )
    return _Setting(runs, path, _estimate(runs, exponent))


def _ratio(part: float, total: float) -> float:
    """Return part / total; NaN for a total of 0."""
    return part / total if total else float("nan")
