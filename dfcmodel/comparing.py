"""Comparison of runs, ensembles, answers of chains, or rules: dispatch by their kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack, overload

from dfcmodel.results.ensemble_comparisons import EnsembleComparison
from dfcmodel.results.run_comparisons import RunComparison
from dfcmodel.sharing.bottlenecks import QueueOptions, bottleneck_of
from dfcmodel.sharing.comparisons import Comparison, compare_rules
from hopflow.checks import choice, format_value, instances
from hopflow.deprecations import accept_old_names
from hopflow.keywords import takes_keywords
from hopflow.results import Result, SideBySide, kind_for
from hopflow.units import declares
from responsefn import WindowRule

if TYPE_CHECKING:
    import numpy as np

    from dfcmodel.results.ensembles import Ensemble
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["compare"]

KINDS = "runs (of simulate), ensembles, answers of chains (of stationary), or window rules"
PATH = 'bandwidth="24Mbps", rtt="40ms", buffer="80pkt"'


@overload
def compare(*compared: Trajectory | Iterable[Trajectory], **labelled: Trajectory) -> RunComparison: ...
@overload
def compare(*compared: Ensemble | Iterable[Ensemble], **labelled: Ensemble) -> EnsembleComparison: ...
@overload
def compare(
    *compared: WindowRule | Iterable[WindowRule],
    rules: Iterable[WindowRule] = ...,
    bandwidth: float | str,
    rtt: float | str,
    buffer: int | str,
    runs: int = ...,
    seed: int | np.random.Generator = ...,
    **options: Unpack[QueueOptions],
) -> Comparison: ...
@overload
def compare(*compared: Result | Iterable[Result], **labelled: Result) -> SideBySide[Any]: ...
@declares(  # type: ignore[misc]
    bandwidth="rate", rtt="time", buffer="amount", loss="share", duration="time", warm_up="time", packet_size="size"
)
@accept_old_names(seconds="duration")
@takes_keywords(QueueOptions)
def compare(
    *compared: Any,
    rules: Iterable[WindowRule] | None = None,
    bandwidth: float | str | None = None,
    rtt: float | str | None = None,
    buffer: int | str | None = None,
    runs: int | None = None,
    seed: int | np.random.Generator | None = None,
    **labelled: Any,
) -> Result:
    """Return two or more runs, ensembles, answers of chains, or window rules side by side.

    Runs, ensembles and answers give a table with a column for each and one figure; of runs ``animate`` shows the queues
    one above another, of ensembles the table has intervals and the figure bands. Rules are simulated packet by packet
    on a path: each alone, two flows of it together, with equal and with unequal round-trip times, and one flow of it
    against one of every other rule, over a drop-tail or a managed queue. Shares, rates and exponents are means over
    seeds and starts with their 95 % interval and the range of single runs. The table is in the order of the mean
    shares, with the ranks that the intervals allow; arrays are in the order of the call.

    Parameters
    ----------
    compared
        Results of `simulate`, of `ensemble`, or of `markov.stationary`, at least two; or window rules, also one's
        own and rules of deliveries such as ``BBR()``, all different. Also one list of them.
    labelled
        More results; the keyword is the label of the column. Of rules the keywords from ``loss`` on.
    rules
        The rules as a keyword. The parameters below are for rules: the path, and how it is measured.
    bandwidth
        Packets/s, or a string such as ``"20Mbps"`` (in packets of ``packet_size``).
    rtt
        Propagation there and back, without the time of transmission: s, or a string such as ``"40ms"``.
    buffer
        Packets that wait in the queue, besides the packet in transmission; also ``"80pkt"``, or ``"120kB"``:
        as many packets of ``packet_size`` as fit (no others wait there, so that a `ByteBuffer` would hold the same).
    runs
        Most seeds per setting (16): a setting gets from four on fewer where the interval of its share, or of the
        utilisation of a rule alone, is at most five percentage points wide. The result says which are wider.
    seed
        Seed from which the seeds of the runs are spawned (0), or a `numpy.random.Generator` that draws it. Other seeds
        share no run.
    loss
        Probability that a packet is lost at random before the queue (0).
    duration, warm_up
        Simulated time and the part before the measurement (None: a fifth) in s. Without a duration 60 s are simulated.
        Where the shares of the two halves of the measured time differ by more than chance, as while a flow still gains
        on another, the setting is simulated for 120 s and then for 240 s. The result says which settings are drifting
        after that, or after the duration given, and which are settled: longer runs would not leave the interval.
    recovery
        Loss recovery of all senders (see `Packets`; ``"sack"``); None: that of each rule.
    discipline
        Of the queue, such as ``RED()``, ``CoDel()`` or ``PIE()``; None: drop-tail. Rules that answer marks,
        such as DCTCP and Prague, need one that marks: ``StepMarking(20)``, ``PI2()`` or ``DualPI2()``.
    pacing
        Whether window senders without a pacing rate of their own are paced (`Flow.pacing`).
    packet_size
        Bytes of a packet, 1500, or a string such as ``"1 kB"``.

    Returns
    -------
    RunComparison, EnsembleComparison, markov.results.AnswerComparison or Comparison

    Raises
    ------
    TypeError, ValueError
        For things of different kinds or of another kind, naming them; else naming the parameter, its value and
        the allowed values.

    Examples
    --------
    >>> from dfcmodel import compare, simulate, takano2006
    >>> fifo, dfc = (simulate(takano2006("1", dfc=dfc), duration=0.1, level="fluid") for dfc in (False, True))
    >>> compare(without=fifo, dfc=dfc).summary()["goodput of target (packets/s)"]
    {'without': '1.571e+04', 'dfc': '1.763e+04'}

    >>> from responsefn import CUBIC, NewReno
    >>> comparison = compare(NewReno(), CUBIC(), bandwidth=2000.0, rtt=0.04, buffer=80, duration=30.0)
    >>> comparison.ranking[0], comparison.rules[0]
    (CUBIC(), NewReno())
    """
    is_list = len(compared) == 1 and isinstance(compared[0], Iterable)
    items = compared[0] if is_list and not isinstance(compared[0], str) else compared
    listed = [(_kind_of(f"compared[{n}]", item), item) for n, item in enumerate(items)]
    path = {"bandwidth": bandwidth, "rtt": rtt, "buffer": buffer}
    option_names = (*path, "runs", "seed", *QueueOptions.__annotations__)
    arguments = path | {"runs": runs, "seed": seed}
    arguments = {name: value for name, value in arguments.items() if value is not None} | labelled
    options = {name: value for name, value in arguments.items() if name in option_names and not kind_for(value)}
    labelled = {name: value for name, value in arguments.items() if name not in options}
    for name, item in labelled.items():
        if kind_for(item) is None and None in (kind for kind, _ in listed):
            choice("name of an option", name, ("rules", *option_names))
        if kind_for(item) is None:
            raise TypeError(f"{name} = {format_value(item)}: must be a result, with {name} as its label")
    kinds = dict.fromkeys([*(kind for kind, _ in listed), *map(kind_for, labelled.values())])
    if len(kinds) > 1:
        names_of_kinds = " and ".join("rules" if kind is None else kind.CALLED for kind in kinds)
        raise TypeError(f"compare: must be all {KINDS}; given: {names_of_kinds}")
    kind = next(iter(kinds), None)
    results = [item for _, item in listed]
    if kind is None:
        if results and rules is not None:
            raise TypeError("rules: must stand once, one after another or as rules=[...]")
        return _compare_rules(results if rules is None else rules, options)
    for name, value in options.items():
        reason = f"is for rules; {kind.CALLED} are compared without a path"
        raise TypeError(f"{name} = {format_value(value)}: {reason}")
    return kind.of(results, labelled)


def _kind_of(name: str, item: object) -> type[SideBySide[Any]] | None:
    """Return the class that compares an item with others; None for a rule."""
    kind = kind_for(item)
    if kind is None and not isinstance(item, WindowRule):
        raise TypeError(f"{name} = {format_value(item)}: must be one of {KINDS}")
    return kind


def _compare_rules(rules: Iterable[WindowRule], options: dict[str, Any]) -> Comparison:
    """Compare rules on the path of ``options``."""
    for name in ("bandwidth", "rtt", "buffer"):
        if name not in options:
            curves = "responsefn.curve([...]) has their rates over loss ratios, without a path"
            raise TypeError(f"{name}: is missing, rules are compared on a path such as {PATH}; {curves}")
    rules = instances("rules", rules, WindowRule)  # type: ignore[type-abstract]
    sampling = {name: options.pop(name) for name in ("runs", "seed") if name in options}
    optional = {n: v for n, v in options.items() if n == "recovery" or v is not None}
    return compare_rules(rules, bottleneck_of(**optional), prolong="duration" not in optional, **sampling)
