"""Response curves: rates of several rules and laws over the loss event rate, with plot and table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import count_of, dimensions, format_value, instances, number, one_number
from hopflow.results import Result, figure
from hopflow.units import in_units, quantities
from responsefn.attractors import Remarks, distinct
from responsefn.diagnostics import collect_remarks
from responsefn.inputs import round_trip
from responsefn.response import Response, domain_of

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

__all__ = ["Curve", "curve"]

LINES = ("-", "--", "-.", ":")
MARKERS = "osD^vPX"
FADED = "faded: outside of the rule's domain"


@dataclass(frozen=True, repr=False, eq=False)
class Curve(Result):
    """Rates of rules and laws over the loss event rate.

    Attributes
    ----------
    rules
        The n rules and laws.
    p
        Loss event rates, shape (m,).
    rtt
        Round-trip time in s.
    rate
        Rates in packets/s, shape (n, m).
    bandwidth
        Capacity in packets/s for rules that depend on the queue; None without a capacity.
    attractors
        Rates in packets/s to which a rule comes from different windows, largest first and NaN for none, shape
        (n, m, 3): ``rate`` is one of them.
    searched
        Whether the search for other attractors finished, shape (n, m). False where the rate is a closed form known to
        be unique, or where a run of the search exceeds its limit of steps (`SeveralAttractorsWarning`).
    loss_events
        Loss events that a connection needs to come within 1 % of the rate, where more than 10,000; NaN elsewhere;
        shape (n, m).

    Examples
    --------
    >>> from responsefn import Reno, curve
    >>> curve(Reno(), [1e-4, 1e-2], rtt=0.1).mean_window.round(2)
    array([[122.47,  12.25]])
    """

    rules: tuple[Response, ...]
    p: NDArray[np.float64]
    rtt: float
    rate: NDArray[np.float64]
    bandwidth: float | None = None
    attractors: NDArray[np.float64] | None = None
    loss_events: NDArray[np.float64] | None = None
    searched: Bools | None = None

    @property
    def in_domain(self) -> Bools:
        """Whether p is within the domain of the rule or law, shape (n, m)."""
        return np.stack([rule.in_domain(self.p) for rule in self.rules])

    @property
    def mean_window(self) -> NDArray[np.float64]:
        """Mean windows in packets, ``rate * rtt``, shape (n, m)."""
        return self.rate * self.rtt

    def to_xarray(self) -> xarray.Dataset:
        """Return ``rate`` and ``mean_window`` over the dimensions ``rule`` and ``p``."""
        import xarray as xr

        dims = ("rule", "p")
        more = {
            name: (names, values)
            for name, names, values in (
                ("attractors", (*dims, "attractor"), self.attractors),
                ("loss_events", dims, self.loss_events),
                ("searched", dims, self.searched),
            )
            if values is not None
        }
        return xr.Dataset(
            more
            | {
                "rate": (dims, self.rate, {"units": "packets/s", "long_name": "rate"}),
                "mean_window": (
                    dims,
                    self.mean_window,
                    {"units": "packets", "long_name": "mean window"},
                ),
                "in_domain": (dims, self.in_domain, {"long_name": "p is within the rule's domain"}),
            },
            coords={
                "rule": [repr(rule) for rule in self.rules],
                "p": ("p", self.p, {"units": "1", "long_name": "loss event rate"}),
            },
            attrs={"rtt": self.rtt, "rtt_units": "s"},
        )

    def summary(self) -> dict[str, object]:
        """Return the ranges of p and of each rule's rate."""
        ranges: dict[str, object] = {
            "p": f"{self.p.min():g} .. {self.p.max():g} ({count_of(self.p.size, 'value')})",
            "rtt": f"{self.rtt:g} s",
        }
        for rule, rate, inside in zip(self.rules, self.rate, self.in_domain, strict=True):
            beyond = f"; {count_of(int((~inside).sum()), 'value')} outside of {domain_of(rule)}"
            ranges[repr(rule)] = f"{rate.min():.4g} .. {rate.max():.4g} packets/s{'' if inside.all() else beyond}"
        ranges |= self._remarks()
        return ranges

    def _remarks(self) -> dict[str, object]:
        """Return for each rule the number of p with several attractors or many loss events."""
        remarks: dict[str, object] = {}
        for n, rule in enumerate(self.rules):
            several = 0 if self.attractors is None else int((self.attractors[n, :, 1] > 0.0).sum())
            slow = 0 if self.loss_events is None else int((self.loss_events[n] > 0.0).sum())
            if several:
                remarks[f"several attractors, {rule!r}"] = f"at {several} of {self.p.size} values"
            if slow:
                remarks[f"over 10,000 loss events, {rule!r}"] = f"at {slow} of {self.p.size} values"
        return remarks

    def plot(
        self,
        ax: Axes | None = None,
        points: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    ) -> Axes:
        """Draw rate against p on logarithmic axes, faded outside each rule's domain, as the legend says.

        Parameters
        ----------
        ax
            Axes to draw on; None creates new axes.
        points
            Packet simulations drawn over the curves: label to (p, rate in packets/s).

        Returns
        -------
        The Axes. ``curve(...).plot().figure.savefig("curves.pdf")`` saves the picture.
        """
        axes: Axes = figure()[1] if ax is None else ax
        order = np.argsort(self.p)
        for index, (rule, rate) in enumerate(zip(self.rules, self.rate, strict=True)):
            p, sorted_rate = self.p[order], rate[order]
            style = LINES[index % len(LINES)]
            (line,) = axes.loglog(p, sorted_rate, style, label=repr(rule))
            outside = ~rule.in_domain(p)
            if outside.any():
                line.set_ydata(np.where(outside, np.nan, sorted_rate))
                # the neighbours inside join the two parts
                near = outside | np.roll(outside, 1) | np.roll(outside, -1)
                faded = np.where(near, sorted_rate, np.nan)
                axes.loglog(p, faded, style, color=line.get_color(), alpha=0.25)
        if not self.in_domain.all():
            axes.plot([], [], color="0.3", alpha=0.25, label=FADED)
        for index, (label, (at, rates)) in enumerate((points or {}).items()):
            axes.loglog(at, rates, MARKERS[index % len(MARKERS)], markersize=4, label=label)
        axes.set(
            xlabel="loss event rate p",
            ylabel="rate (packets/s)",
            title=f"Response at a round trip of {self.rtt:g} s",
        )
        axes.grid(alpha=0.3)
        axes.legend()
        return axes


@quantities(rtt="time", bandwidth="rate", p="share")
def curve(
    rules: Response | Iterable[Response],
    p: ArrayLike | None = None,
    rtt: float | str = 0.1,
    bandwidth: float | str | None = None,
    *,
    unit_check: bool = True,
) -> Curve:
    """Return the rates of rules and laws over the loss event rate.

    Parameters
    ----------
    rules
        Rules and laws; a single one needs no list.
    p
        Loss event rates, 0 < p <= 1, shape (m,); None for 1e-6 to 0.1.
    rtt
        Round-trip time in s, or a string such as ``"40ms"``.
    bandwidth
        Capacity in packets/s, or a string such as ``"1Mbps"`` (in packets of 1500 bytes), for rules
        that depend on the queue.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more.

    Raises
    ------
    ValueError
        For no rules or a repeated rule, a loss event rate outside 0 to 1, and an ``rtt`` that is not one number.

    Examples
    --------
    >>> import numpy as np
    >>> from responsefn import TFRC, Reno, curve
    >>> curve([Reno(), TFRC()], p=np.logspace(-4, -1, 31), rtt=0.04)
    Curve
      p       0.0001 .. 0.1 (31 values)
      rtt     0.04 s
      Reno()  96.82 .. 3062 packets/s; 7 values outside of p <= 0.02
      TFRC()  44.25 .. 3059 packets/s
    """
    entries = (rules,) if isinstance(rules, Response) else rules
    responses = instances("rules", entries, Response, "a rule or law, such as Reno() or TFRC()")
    if not responses or len(set(responses)) != len(responses):
        raise ValueError(f"rules = {responses!r}: must be at least one, each given once")
    p = np.geomspace(1e-6, 0.1, 101) if p is None else p
    p = number("p", p, above=0.0, at_most=1.0).copy()
    if p.ndim != 1 or p.size == 0:
        raise ValueError(f"p has shape {p.shape}: must be a list of one or more loss event rates")
    if dimensions(rtt) != ():
        raise ValueError(f"rtt = {format_value(rtt)}: must be one number")
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    bandwidth = in_units("bandwidth", bandwidth, "rate")
    rates, remarks = [], []
    for rule in responses:
        with collect_remarks() as rule_remarks:
            rates.append(np.asarray(rule.rate(p, rtt, bandwidth, unit_check=unit_check)))
        remarks.append(rule_remarks)
    rate = np.stack(rates)
    attractors, loss_events, searched = _tabulate_remarks(p, rate, remarks)
    p.flags.writeable = rate.flags.writeable = False
    return Curve(responses, p, rtt, rate, bandwidth, attractors, loss_events, searched)


def _tabulate_remarks(
    p: NDArray[np.float64], rate: NDArray[np.float64], remarks: Sequence[list[Remarks]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], Bools]:
    """Return attractors, loss events, and where the search finished, of n rules at m loss rates.

    Their shapes are (n, m, 3), (n, m) and (n, m).
    """
    attractors = np.full((*rate.shape, 3), np.nan)
    attractors[..., 0] = rate
    events = np.full(rate.shape, np.nan)
    searched = np.zeros(rate.shape, dtype=np.bool_)
    for n, remarks_of_rule in enumerate(remarks):
        for remark in remarks_of_rule:
            rows = {value: j for j, value in enumerate(remark.p)}
            for m, value in enumerate(p):
                if (j := rows.get(value)) is not None:
                    rates = distinct([rate[n, m], *remark.other_rates[j]])
                    attractors[n, m, : len(rates)] = rates
                    events[n, m] = remark.loss_events[j]
                    searched[n, m] = remark.searched[j]
    return attractors, events, searched
