"""Comparison of runs, ensembles, answers of chains, or rules: dispatch by their kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, overload

from dfcmodel.results.ensemble_comparisons import EnsembleComparison
from dfcmodel.results.run_comparisons import RunComparison
from dfcmodel.sharing.bottlenecks import PathOptions, bottleneck_of
from dfcmodel.sharing.comparisons import BUDGET, Comparison, compare_rules
from hopflow.checks import choice, format_value, instances
from hopflow.deprecations import collect_options, states_options
from hopflow.results import Result, SideBySide, kind_for
from hopflow.units import declares
from responsefn import WindowRule

if TYPE_CHECKING:
    from dfcmodel.results.ensembles import Ensemble
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["compare"]

KINDS = "runs (of simulate), ensembles, answers of chains (of stationary), or window rules"
OLD_KEYWORDS = {"seconds", *(field.name for field in fields(PathOptions))}
"""Keywords for rules until 0.2, fields of `PathOptions` now."""
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
    options: PathOptions | None = ...,
) -> Comparison: ...
@overload
def compare(*compared: Result | Iterable[Result], **labelled: Result) -> SideBySide[Any]: ...
@states_options(options=PathOptions)  # type: ignore[misc]
@declares(bandwidth="rate", rtt="time", buffer="amount")
def compare(
    *compared: Any,
    rules: Iterable[WindowRule] | None = None,
    bandwidth: float | str | None = None,
    rtt: float | str | None = None,
    buffer: int | str | None = None,
    runs: int | None = None,
    options: PathOptions | None = None,
    **labelled: Result,
) -> Result:
    """Return runs, ensembles, or answers of chains side by side; or simulate and compare window rules on a path.

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
        More results; the keyword is the label of the column.
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
    options
        Loss, duration, recovery, discipline, pacing, packet size and seed, see `PathOptions`; None: the defaults. The
        result says which settings are drifting after the last duration, and which are settled: longer runs would not
        leave the interval.

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
    >>> from dfcmodel import PathOptions, compare, simulate, takano2006
    >>> fifo, dfc = (simulate(takano2006("1", dfc=dfc), duration=0.1, level="fluid") for dfc in (False, True))
    >>> compare(without=fifo, dfc=dfc).summary()["goodput of target (packets/s)"]
    {'without': '1.571e+04', 'dfc': '1.763e+04'}

    >>> from responsefn import CUBIC, NewReno
    >>> options = PathOptions(duration=30.0)
    >>> comparison = compare(NewReno(), CUBIC(), bandwidth=2000.0, rtt=0.04, buffer=80, options=options)
    >>> comparison.ranking[0], comparison.rules[0]
    (CUBIC(), NewReno())
    """
    is_list = len(compared) == 1 and isinstance(compared[0], Iterable)
    items = compared[0] if is_list and not isinstance(compared[0], str) else compared
    listed = [(_kind_of(f"compared[{n}]", item), item) for n, item in enumerate(items)]
    arguments: dict[str, Any] = {"bandwidth": bandwidth, "rtt": rtt, "buffer": buffer, "runs": runs, "options": options}
    labels = {name: item for name, item in arguments.items() if kind_for(item) is not None}
    arguments = {name: value for name, value in arguments.items() if value is not None and name not in labels}
    old = {name: value for name, value in labelled.items() if name in OLD_KEYWORDS and kind_for(value) is None}
    labels |= {name: item for name, item in labelled.items() if name not in old}
    for name, item in labels.items():
        if kind_for(item) is None and None in (kind for kind, _ in listed):
            choice("name of an option", name, ("rules", "bandwidth", "rtt", "buffer", "runs", "options"))
        if kind_for(item) is None:
            raise TypeError(f"{name} = {format_value(item)}: must be a result, with {name} as its label")
    kinds = dict.fromkeys([*(kind for kind, _ in listed), *map(kind_for, labels.values())])
    if len(kinds) > 1:
        names_of_kinds = " and ".join("rules" if kind is None else kind.CALLED for kind in kinds)
        raise TypeError(f"compare: must be all {KINDS}; given: {names_of_kinds}")
    kind = next(iter(kinds), None)
    results = [item for _, item in listed]
    if kind is not None:
        for name, value in (arguments | old).items():
            reason = f"is for rules; {kind.CALLED} are compared without a path"
            raise TypeError(f"{name} = {format_value(value)}: {reason}")
        return kind.of(results, labels)
    if results and rules is not None:
        raise TypeError("rules: must stand once, one after another or as rules=[...]")
    if old and "options" in arguments:
        conflict = f"options and {', '.join(old)}"
        raise TypeError(f"compare: {conflict} were given; PathOptions has the parameters")
    if old:
        arguments["options"] = collect_options("compare", PathOptions, "options", old, seconds="duration")
    return _compare_rules(results if rules is None else rules, **arguments)


def _kind_of(name: str, item: object) -> type[SideBySide[Any]] | None:
    """Return the class that compares results such as ``item``; None for a window rule; TypeError for other values."""
    kind = kind_for(item)
    if kind is None and not isinstance(item, WindowRule):
        raise TypeError(f"{name} = {format_value(item)}: must be one of {KINDS}")
    return kind


def _compare_rules(
    rules: Iterable[WindowRule], options: PathOptions | None = None, runs: int = BUDGET, **path: Any
) -> Comparison:
    """Simulate and compare rules on a path; TypeError unless ``path`` has bandwidth, rtt and buffer."""
    for name in ("bandwidth", "rtt", "buffer"):
        if name not in path:
            curves = "responsefn.curve([...]) has their rates over loss ratios, without a path"
            raise TypeError(f"{name}: is missing, rules are compared on a path such as {PATH}; {curves}")
    chosen = PathOptions.of(options)
    rules = instances("rules", rules, WindowRule)  # type: ignore[type-abstract]
    bottleneck = bottleneck_of(**path, options=chosen)
    return compare_rules(rules, bottleneck, prolong=chosen.duration is None, runs=runs, seed=chosen.seed)
