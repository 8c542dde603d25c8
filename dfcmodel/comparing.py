"""Comparison of runs, ensembles, answers of chains, or rules: which kind it is, and who compares it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

from dfcmodel.results.ensemble_comparisons import EnsembleComparison
from dfcmodel.results.run_comparisons import RunComparison
from dfcmodel.sharing.comparisons import Comparison, compare_rules
from hopflow.checks import choice, shown
from hopflow.results import Result
from hopflow.side_by_side import SideBySide, kind_for
from responsefn import WindowRule

if TYPE_CHECKING:
    from dfcmodel.network.disciplines import Discipline
    from dfcmodel.results.ensembles import Ensemble
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["compare"]

PATH = ("bandwidth", "rtt", "buffer")
OPTIONS = tuple(inspect.signature(compare_rules).parameters)
KINDS = "runs (of simulate), ensembles, answers of chains (of stationary), or window rules"


@overload
def compare(
    *compared: Trajectory | Iterable[Trajectory], **labelled: Trajectory
) -> RunComparison: ...
@overload
def compare(
    *compared: Ensemble | Iterable[Ensemble], **labelled: Ensemble
) -> EnsembleComparison: ...
@overload
def compare(
    *compared: WindowRule | Iterable[WindowRule],
    rules: Iterable[WindowRule] = ...,
    bandwidth: float | str,
    rtt: float | str,
    buffer: int | str,
    loss: float = ...,
    seconds: float | str = ...,
    warm_up: float | None = ...,
    runs: int = ...,
    recovery: str | None = ...,
    seed: int = ...,
    discipline: Discipline | None = ...,
    pacing: bool = ...,
) -> Comparison: ...
@overload
def compare(*compared: Result | Iterable[Result], **labelled: Result) -> SideBySide[Any]: ...
def compare(*compared: Any, **options: Any) -> Result:
    """Return two or more runs, ensembles, answers of chains, or window rules side by side.

    Runs, ensembles and answers give a table with a column for each and one figure; of runs ``animate`` shows the
    queues one above another, of ensembles the table has intervals and the figure bands. Rules are simulated packet by packet on a path, and sorted by who wins: each alone,
    two flows of it together, with equal and with unequal round-trip times, and one flow of it against
    one of every other rule, over a drop-tail or a managed queue.

    Parameters
    ----------
    compared
        Results of `simulate`, of `ensemble`, or of `markov.stationary`, at least two; or window rules, also one's
        own and those of deliveries such as ``BBR()``, all different. One list of them may stand instead.
    options
        Of runs, ensembles and answers: more of them, the keyword is the label of the column. Of rules the path
        and how it is measured:

        - bandwidth: packets/s, or a text such as ``"20Mbps"`` (in packets of 1500 bytes);
        - rtt: propagation there and back, without the time of transmission: s, or a text such as ``"40ms"``;
        - buffer: packets that wait in the queue, besides the one in transmission; also ``"80pkt"``, or ``"120kB"``:
          as many packets of 1500 bytes as fit (no others wait there, so that a `ByteBuffer` would hold the same);
        - loss: probability that a packet is lost at random before the queue (0);
        - seconds, warm_up: simulated time (60) and the part before the measurement (None: a fifth) in s;
        - runs: seeds per setting (3); seed: the first of them (0);
        - recovery: loss recovery of all senders (``"sack"``, see `Packets`); None: that of each rule;
        - discipline: of the queue, such as ``RED()``, ``CoDel()`` or ``PIE()``; None: drop-tail. Rules that
          answer marks, such as DCTCP and Prague, need one that marks: ``StepMarking(20)``, ``PI2()`` or
          ``DualPI2()``;
        - pacing: whether window senders without a pacing rate of their own are paced (`Flow.pacing`).

    Returns
    -------
    RunComparison, EnsembleComparison, markov.AnswerComparison or Comparison

    Raises
    ------
    TypeError, ValueError
        For things of different kinds or of another kind, naming them; else naming the parameter, its value and
        what is allowed.

    Examples
    --------
    >>> from dfcmodel import compare, simulate, takano2006
    >>> fifo, dfc = (simulate(takano2006("1", dfc=dfc), duration=0.1) for dfc in (False, True))
    >>> compare(without=fifo, dfc=dfc).summary()["goodput of target (packets/s)"]
    {'without': '1.571e+04', 'dfc': '1.763e+04'}

    >>> from responsefn import CUBIC, NewReno
    >>> found = compare(NewReno(), CUBIC(), bandwidth=2000.0, rtt=0.04, buffer=80, seconds=30.0)
    >>> found.rules[0]
    CUBIC()
    """
    one = len(compared) == 1 and isinstance(compared[0], Iterable)
    items = compared[0] if one and not isinstance(compared[0], str) else compared
    listed = [(_kind_of(f"compared[{n}]", each), each) for n, each in enumerate(items)]
    labelled = {name: each for name, each in options.items() if kind_for(each) is not None}
    kinds = dict.fromkeys([*(kind for kind, _ in listed), *map(kind_for, labelled.values())])
    if len(kinds) > 1:
        given = " and ".join("rules" if kind is None else kind.CALLED for kind in kinds)
        raise TypeError(f"compare: must be all {KINDS}; given: {given}")
    kind = next(iter(kinds), None)
    found = [each for _, each in listed]
    if kind is None:
        return _rules(found, options)
    for name, value in options.items():
        if name not in labelled:
            said = f"must be one of the {kind.CALLED}, with {name} as its label"
            raise TypeError(f"{name} = {shown(value)}: {said}; options are for rules")
    return kind.of(found, labelled)


def _kind_of(name: str, item: object) -> type[SideBySide[Any]] | None:
    """Return what compares an item; None for a rule."""
    kind = kind_for(item)
    if kind is None and not isinstance(item, WindowRule):
        raise TypeError(f"{name} = {shown(item)}: must be one of {KINDS}")
    return kind


def _rules(found: list[WindowRule], options: dict[str, Any]) -> Comparison:
    """Compare rules on the path that options give."""
    for name in options:
        choice("name of an option", name, OPTIONS)
    if found and "rules" in options:
        raise TypeError("rules: must stand once, one after another or as rules=[...]")
    missing = [name for name in PATH if name not in options]
    if missing:
        path = 'bandwidth="24Mbps", rtt="40ms", buffer="80pkt"'
        curves = "responsefn.curve([...]) has their rates over loss ratios, without a path"
        raise TypeError(
            f"{missing[0]}: is missing, rules are compared on a path such as {path}; {curves}"
        )
    return compare_rules(options.pop("rules", found), **options)
