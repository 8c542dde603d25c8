"""Which rule wins on a path: every rule alone, against itself and against every other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.endpoints.flow_recoveries import by_recovery
from dfcmodel.sharing.bottlenecks import Bottleneck, Shared, checked_rules, mean_of, within_limits
from dfcmodel.sharing.seed_budgets import WIDTH, is_narrow, run_seeds, seeds_text
from hopflow.checks import listed, seed_number, whole
from hopflow.display.results import Result, figure
from hopflow.execution.progress import progress_bar
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
BUDGET = 16
"""Most seeds of a setting by default."""
LONGER = 2.0
"""Ratio of the round-trip times from which the exponent of the unfairness is taken."""


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """R rules on one path, the winner first.

    The order is by the mean share against the other rules, for a rule alone by its rate.

    Attributes
    ----------
    rules
        The R rules in that order.
    path
        The bottleneck.
    runs
        The budget: most seeds per setting. A setting gets no more when the interval of its share (alone: of its rate
        over the bandwidth) is at most five percentage points wide.
    seeds, alone_seeds
        That each pair and each rule alone got, shapes (R, R) and (R,).
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
    """

    rules: tuple[WindowRule, ...]
    path: Bottleneck
    runs: int
    seeds: NDArray[np.int64]
    alone_seeds: NDArray[np.int64]
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
        """What the numbers leave out, and what they count that was sent before."""
        return (*CAVEATS, ABOVE_CAPACITY) if np.any(self.rate > self.path.bandwidth) else CAVEATS

    @property
    def against_others(self) -> Floats:
        """Mean share against the other rules, shape (R,); NaN for a rule alone."""
        return _against_others(self.share)

    def to_xarray(self) -> xarray.Dataset:
        """Return shares over ``rule`` and ``against``, the other measures over ``rule``."""
        import xarray as xr

        names = [repr(rule) for rule in self.rules]
        low, high = self.share_interval
        pairs = {
            "share": self.share, "share_half_width": self.share_half_width,
            "share_low": low, "share_high": high, "seeds": self.seeds, "wide": self.wide,
            "undecided": self.undecided,
        }  # fmt: skip
        units = {
            "rate": "packets/s", "rate_half_width": "packets/s", "delay": "s", "loss": "1",
            "jain": "1", "rtt_exponent": "1", "rtt_exponent_half_width": "1", "against_others": "1",
            "alone_seeds": "1", "alone_wide": "1",
        }  # fmt: skip
        variables: dict[str, Any] = {
            name: (("rule", "against"), values, {"units": "1"}) for name, values in pairs.items()
        }
        variables |= {
            name: ("rule", getattr(self, name), {"units": u}) for name, u in units.items()
        }
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
        }
        for n, rule in enumerate(self.rules):
            others = [
                f"{self._share_text(n, m)} against {other!r}"
                for m, other in enumerate(self.rules)
                if m != n
            ]
            rows[f"{n + 1}. {rule!r}"] = (
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
        rows = [
            f"{self.rules[n]!r} and {'another one' if n == m else repr(self.rules[m])}"
            for n, m in itertools.combinations_with_replacement(range(len(self.rules)), 2)
            if self.wide[n, m]
        ]
        rows += [f"{self.rules[n]!r} alone" for n in np.flatnonzero(self.alone_wide)]
        said = f"wider than that after {self.runs}: {', '.join(rows)}" if rows else "all are"
        return f"{used} per setting, until the interval is at most five points wide; {said}"

    def _share_text(self, n: int, m: int, gap: str = " ") -> str:
        """Return a share with its interval, as text."""
        low, high = 100 * self.share_interval[:, n, m]
        ends = f"{gap}({low:.0f} .. {high:.0f})" if np.isfinite(low) else ""
        return f"{100 * self.share[n, m]:.0f} %{ends}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of each row's rule against each column's, with its interval; return the Axes.

        Cells whose interval includes one half are grey: who has more is not decided by these seeds. Those whose interval
        is wider than five points after all seeds have a dashed frame.
        """
        from matplotlib.patches import Rectangle

        axes: Axes = figure(6.4, 5.2)[1] if ax is None else ax
        axes.set_facecolor("0.85")
        shown = np.ma.masked_array(self.share, self.undecided)
        axes.imshow(shown, vmin=0.0, vmax=1.0, cmap="RdBu")
        for n, m in np.ndindex(self.share.shape):
            dark = abs(self.share[n, m] - 0.5) > 0.3 and not self.undecided[n, m]
            axes.text(
                m, n, self._share_text(n, m, "\n"), ha="center", va="center", fontsize=9,
                color="white" if dark else "black",
            )  # fmt: skip
            if self.wide[n, m]:
                axes.add_patch(
                    Rectangle((m - 0.46, n - 0.46), 0.92, 0.92, fill=False, linestyle="--")
                )
        names = [repr(rule) for rule in self.rules]
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

    Raises
    ------
    TypeError, ValueError
        Naming the parameter, its value and what is allowed.
    """
    chosen = checked_rules(listed("rules", rules, WindowRule), path.discipline)  # type: ignore[type-abstract]
    whole("number of rules", len(chosen), 1, 100)
    first, runs = seed_number("seed", seed, most=2**30) % 2**30, whole("runs", runs, 1, 10_000)
    seeds = range(first, first + runs)
    R = len(chosen)
    share, half, used = np.empty((R, R)), np.empty((R, R)), np.empty((R, R), np.int64)
    used_alone = np.empty(R, np.int64)
    alone, alone_half, delay, lost, jain, exponent, exponent_half = np.empty((7, R))
    tasks = [*((n,) for n in range(R)), *itertools.combinations_with_replacement(range(R), 2)]
    for who in progress_bar(tasks, desc="compare", unit="setting"):
        flows = [chosen[n] for n in who]
        found = _runs(path, flows, seeds)
        if not all(run.rate.sum() > 0.0 for run in found):
            raise ValueError(
                f"duration = {path.duration:g}, loss = {path.loss:g}: nothing arrived after the warm-up of {path.warm_up:g} s; "
                "must be longer, or the loss smaller"
            )
        n, m = who[0], who[-1]
        if len(who) == 1:
            used_alone[n] = len(found)
            alone[n], alone_half[n] = mean_of([run.rate[0] for run in found])
            delay[n] = np.mean([run.delay for run in found])
            lost[n] = np.mean([run.loss[0] for run in found])
            continue
        used[n, m] = used[m, n] = len(found)
        share[n, m], half[n, m] = mean_of([_measure(run, path, equal=n == m) for run in found])
        if n == m:
            jain[n] = np.mean([run.jain for run in found])
            exponent[n], exponent_half[n] = _exponent(path, chosen, n, seeds[: len(found)])
        else:
            share[m, n], half[m, n] = 1.0 - share[n, m], half[n, m]
    order = np.argsort(-(alone if R == 1 else _against_others(share)), kind="stable")
    return Comparison(
        rules=tuple(chosen[n] for n in order), path=path, runs=runs,
        seeds=used[np.ix_(order, order)], alone_seeds=used_alone[order], share=share[np.ix_(order, order)], share_half_width=half[np.ix_(order, order)],
        rate=alone[order], rate_half_width=alone_half[order], delay=delay[order],
        loss=lost[order], jain=jain[order], rtt_exponent=exponent[order],
        rtt_exponent_half_width=exponent_half[order],
    )  # fmt: skip


def _runs(path: Bottleneck, flows: list[WindowRule], seeds: range) -> list[Shared]:
    """Return the runs of one flow or two, until the interval of what they measure is narrow."""
    equal = flows[0] is flows[-1]

    def narrow(runs: list[Shared]) -> bool:
        return is_narrow([_measure(run, path, equal) for run in runs])

    return run_seeds(lambda seed: path.run(flows, seed=seed), seeds, narrow)


def _measure(run: Shared, path: Bottleneck, equal: bool) -> float:
    """Return the utilisation of a flow alone, the larger share of two equal flows, or the first one's share."""
    if len(run.rate) == 1:
        return float(run.rate[0]) / path.bandwidth
    return float(run.share.max() if equal else run.share[0])


def _within(half_width: float, form: str) -> str:
    """Return a half width as text; nothing where one run has none."""
    return f" ± {half_width:{form}}" if np.isfinite(half_width) else ""


def _exponent(
    path: Bottleneck, chosen: tuple[WindowRule, ...], n: int, seeds: Iterable[int]
) -> tuple[float, float]:
    """Return mean and half width of the exponent of two flows with the path's round trip and twice it."""
    rtts = [path.rtt, LONGER * path.rtt]
    rates = [path.run([chosen[n]] * 2, seed=s, rtts=rtts).rate for s in seeds]
    if not np.all(rates):
        raise ValueError(
            f"duration = {path.duration:g}, loss = {path.loss:g}: a flow delivered nothing after the warm-up"
        )
    return mean_of([float(np.log(short / long) / np.log(LONGER)) for short, long in rates])


def _against_others(share: Floats) -> Floats:
    """Return the mean of each row without the diagonal; NaN without others."""
    R = len(share)
    if R == 1:
        return np.full(1, np.nan)
    return np.asarray((share.sum(axis=1) - np.diag(share)) / (R - 1))
