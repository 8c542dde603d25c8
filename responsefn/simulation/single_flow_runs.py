"""Runs of a rule under given losses; in blocks of ACKs only where these follow single ACKs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.kernels import engine
from responsefn.responses import rule_kernels as templates
from responsefn.responses.kernel.rows import PATH, RECORD, ROWS
from responsefn.responses.loss_cycles.cycle_loops import KERNEL
from responsefn.responses.loss_cycles.cycles import follows_blocks
from responsefn.responses.rule_checks import raise_wrong
from responsefn.responses.rule_compilation import compile_step, parameters_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.rules.base import WindowRule

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Path", "Run", "blocks_follow", "by_blocks_or_acks", "follow"]

FOLLOWED, FOLLOWED_CYCLES, FOLLOWED_LONG = 2_000_000, 4, 10_000_000
"""ACKs of a run that are followed both ways; cycles that are, where these have up to the last number of ACKs."""
ERROR = 0.004
"""Relative difference of rates, or of windows before a loss, from which on a run goes ACK by ACK."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run at the loss rate ``at``: packets from loss to loss, and the state to begin with."""

    at: int
    method: str
    gaps: Ints
    start: Floats


class Path(NamedTuple):
    """Round-trip time and time per packet in s, the window that loses a packet, and whether losses of a window merge."""

    rtt: float
    service: float
    limit: float
    merge: bool


class WrongBlockError(Exception):
    """A block of ACKs ends at a window that cannot be, which single ACKs may not."""


def by_blocks_or_acks(rule: WindowRule, runs: Sequence[Run], path: Path) -> dict[Run, Floats]:
    """Return the rows of the kernel's `runs` of each run; runs that blocks do not follow go ACK by ACK."""
    first: dict[int, bool] = {}
    for run in runs:
        if run.method == "blocks" and run.at not in first:
            first[run.at] = blocks_follow(rule, run, path)
    done: dict[Run, Floats] = {}
    single = [run for run in runs if run.method == "acks"]
    blocks = [run for run in runs if run.method == "blocks" and first[run.at]]
    if blocks:
        try:
            done |= follow(rule, blocks, path)
        except WrongBlockError:
            first = dict.fromkeys(first, False)
    single += [
        replace(run, method="acks") for run in runs if run.method == "blocks" and not first[run.at]
    ]
    return done | (follow(rule, single, path) if single else {})


def blocks_follow(rule: WindowRule, run: Run, path: Path) -> bool:
    """Return whether the first losses of a run come at the same times and windows in blocks and ACK by ACK."""
    if rule.counts_acks:
        return False
    p, bandwidth = len(run.gaps) / run.gaps.sum(), 1.0 / path.service if path.service else None
    if path.limit == math.inf and not follows_blocks(rule, p, path.rtt, bandwidth):
        return False
    sums = np.cumsum(run.gaps)
    enough = max(FOLLOWED, min(FOLLOWED_LONG, int(sums[:FOLLOWED_CYCLES].max())))
    count = max(1, int(np.searchsorted(sums, enough, side="right")))
    gaps = np.minimum(run.gaps[:count], FOLLOWED_LONG)
    times, windows = [], []
    for method in ("blocks", "acks"):
        short = replace(run, method=method, gaps=gaps)
        try:
            (rows,) = follow(rule, [short], path).values()
        except WrongBlockError:
            return False
        last = rows[len(rows) // 2 :]
        times.append(last[:, 0].sum() / last[:, 1].sum())
        windows.append(last[:, 4].mean())
    apart = max(abs(math.log(one / two)) for one, two in (times, windows))
    return bool(apart <= ERROR)


def follow(
    rule: WindowRule, runs: Sequence[Run], path: Path, *, compiled: bool = True
) -> dict[Run, Floats]:
    """Return the rows of the kernel's `runs` of each run, all of one method, those of the longest run first.

    Raises
    ------
    RuleError
        For an invalid window.
    WrongBlockError
        For one that a block of ACKs makes.
    """
    runs = sorted(runs, key=lambda run: -int(run.gaps.sum()))
    move = templates.block if runs[0].method == "blocks" else templates.ack
    step = compile_step(templates.to_next_loss, rule, move=move, compiled=compiled)
    loss = compile_step(templates.loss, rule, compiled=compiled)
    lengths = np.array([len(run.gaps) for run in runs])
    first = np.concatenate([[0], np.cumsum(lengths)])
    starts = np.array([run.start for run in runs])
    gaps = np.concatenate([run.gaps for run in runs]).astype(np.float64)
    table = np.zeros(1, PATH)
    table[0] = path.rtt, path.service, path.limit, path.merge
    if not compiled:
        table = table.view(np.recarray)
    go = engine(KERNEL, "runs", compiled=compiled)
    rows, full = first, True
    while full:  # a buffer may lose more than was drawn
        if path.limit < math.inf:
            rows = np.concatenate([[0], np.cumsum(2 * np.diff(rows) + 64)])
        one = np.zeros(ROWS)
        parameters_in(one, rule)
        out, counts = np.empty((rows[-1], 5)), np.zeros(len(runs), dtype=np.int64)
        wrong = np.zeros(RECORD + starts.shape[1])
        losses = gaps, first, starts, rows
        full = not go(losses, table, (step, loss), one, (out, counts, wrong))
        if wrong[0] and move is templates.block:
            raise WrongBlockError
        raise_wrong((rule,), wrong)
    return {run: out[rows[j] : rows[j] + counts[j]] for j, run in enumerate(runs)}
