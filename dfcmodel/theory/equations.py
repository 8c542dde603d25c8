"""The continuous limits of the DFC law as partial differential equations; `pde` solves them.

`DiffusionEquation` is the equation of takano2006, (6)-(8), with a prescribed rate r and the boundary
condition (9). `FeedbackEquation` is the limit of the law when r is fed back by eq. (5) over links of
equal delay d: packets drift downstream and spread weakly, while w = J d - D n moves upstream,

    d n_t = -(v n + s w)_x + D_eff n_xx + beta w_xx,        d w_t = w_x,

with x in links, v = D/(1+D), s = 2/(1+D), D_eff = D(1-D)/(2(1+D)^3) and beta as in
`drift_coefficients`; derived in the documentation, under theory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.theory.law import law_of
from hopflow.checks import flag, one_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario

__all__ = ["DiffusionEquation", "Drift", "Empty", "FeedbackEquation", "drift_coefficients"]


@dataclass(frozen=True)
class Empty:
    """An external node with an empty queue, ``distance`` units of x beyond the bar: boundary condition (9).

    Parameters
    ----------
    distance
        Distance from the end of the bar, > 0, in the unit of x.

    Examples
    --------
    >>> from dfcmodel.theory import DiffusionEquation, Empty, Lines, evolve
    >>> bar = DiffusionEquation(lambda x: 1 + 0 * x, coefficient=0.1, outflow=Empty(0.01))
    >>> solution = evolve(bar, [0.0, 1.0], Lines(cells=50))
    >>> bool(solution.outflow[-1] > 0 and solution.packets[-1] < 1)
    True
    """

    distance: float

    def __post_init__(self) -> None:
        one_number("distance", self.distance, above=0.0)


End = Empty | Callable[[Any], Any] | float


def _functions_or_numbers(equation: Any, *names: str) -> None:
    """Raise ValueError unless each named field is a function or a finite number."""
    for name in names:
        value = getattr(equation, name)
        if not callable(value) and not isinstance(value, Empty):
            one_number(name, value, hint="or a function of arrays")


@dataclass(frozen=True)
class DiffusionEquation:
    """n_t = -J_x with J = alpha r - kappa n_x: eqs. (6)-(8) of takano2006.

    Functions take and return arrays in double precision.

    Parameters
    ----------
    initial
        n(x) at t = 0, packets per unit of x.
    coefficient
        kappa > 0, a number or a function of x, which may jump at cell faces. For nodes at distance
        h and links of delay d it is D h^2 / d, see `of`.
    length
        Length of the bar, 0 <= x <= length.
    rate
        r, packets/s: a number or a function of x and t.
    intensity
        Flow intensity alpha.
    inflow, outflow
        Flux through the left and the right end in packets/s: a number or a function of t; 0 is a
        closed end. `Empty` is an external node without packets, to which the law applies (eq. 9).
    periodic
        Whether the ends are joined; inflow and outflow are then ignored.

    Raises
    ------
    ValueError
        For a length or coefficient that is not positive, and an intensity below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dfcmodel.theory import DiffusionEquation, Lines, evolve
    >>> bar = DiffusionEquation(lambda x: 1 + np.cos(np.pi * x), coefficient=0.1)
    >>> evolve(bar, [0.0, 1.0], Lines(cells=50)).mean.round(3).tolist()  # 1/2 - 2 a(t) / pi^2
    [0.297, 0.424]
    """

    initial: Callable[[Any], Any]
    coefficient: Callable[[Any], Any] | float
    length: float = 1.0
    rate: Callable[[Any, Any], Any] | float = 0.0
    intensity: float = 1.0
    inflow: End = 0.0
    outflow: End = 0.0
    periodic: bool = False

    def __post_init__(self) -> None:
        _functions_or_numbers(self, "initial", "rate", "inflow", "outflow")
        flag("periodic", self.periodic)
        if not callable(self.coefficient):
            one_number("coefficient", self.coefficient, above=0.0)
        one_number("length", self.length, above=0.0)
        one_number("intensity", self.intensity, at_least=1.0)

    @classmethod
    def of(cls, scenario: Scenario, initial: Callable[[Any], Any], **more: Any) -> DiffusionEquation:
        """Return the equation on the path of a scenario's first flow, from ``initial(x)`` on; units: links and seconds.

        Link i, from x = i - 1 to i, has the coefficient D / d_i (eq. 3); ``more`` are other fields.
        """
        law = law_of(scenario)
        kappa = law.diffusion / np.array(law.delays)

        def coefficient(x: Any) -> Any:
            return kappa[np.clip(np.ceil(x).astype(int) - 1, 0, law.hops - 1)]

        fields = {"length": float(law.hops), "intensity": law.intensity, **more}
        return cls(initial, coefficient, **fields)

    def start(self, x: Any) -> Any:
        """Return n at t = 0, shape (1, N).

        Raises
        ------
        ValueError
            For a coefficient that is not positive in a cell.
        """
        kappa = _on(self.coefficient, x)
        wrong = np.flatnonzero(~(kappa > 0.0))
        if len(wrong):
            at = wrong[0]
            raise ValueError(f"coefficient at x = {x[at]:g}: {kappa[at]:g}, must be > 0")
        return _on(self.initial, x)[None]

    def fluxes(self, t: Any, fields: Any, faces: Any) -> Any:
        """Return J at the faces, shape (1, N + 1)."""
        n, h = fields[0], faces[1] - faces[0]
        resistance = 1.0 / _on(self.coefficient, (faces[1:] + faces[:-1]) / 2.0)
        between = 2.0 / (resistance[1:] + resistance[:-1])  # harmonic mean of the adjacent cells
        flow = self.intensity * _on(self.rate, faces, t)
        J = flow[1:-1] - between * np.diff(n) / h
        if self.periodic:
            kappa = 2.0 / (resistance[:1] + resistance[-1:])
            joint = flow[:1] - kappa * (n[:1] - n[-1:]) / h
            return np.concatenate([joint, J, joint])[None]
        # the external node is empty: the gradient spans half a cell and the distance of the node
        kappa = _on(self.coefficient, faces[np.array([0, -1])])
        left = _end(self.inflow, t, flow[0], -kappa[0] * n[0], h)
        right = _end(self.outflow, t, flow[-1], kappa[1] * n[-1], h)
        return np.concatenate([left[None], J, right[None]])[None]


class Drift(NamedTuple):
    """Coefficients of the closed loop's continuous limit, in links and periods; see `FeedbackEquation`."""

    speed: float
    spread: float
    push: float
    push_spread: float
    initial_shift: float


def drift_coefficients(diffusion: float) -> Drift:
    """Return v, D_eff, s, beta and the initial shift of a profile, for alpha = 1, as `Drift`.

    Parameters
    ----------
    diffusion
        D, 0 < D <= 1.

    Returns
    -------
    ``speed`` v = D/(1+D), ``spread`` D_eff = D(1-D)/(2(1+D)^3), ``push`` s = 2/(1+D),
    ``push_spread`` beta = (3 + D) / (1+D)^3, and ``initial_shift`` = D^2/(1+D)^2, in links: the
    displacement, in addition to v t, of a profile that starts at rest with w = 0.

    Examples
    --------
    >>> drift_coefficients(0.25).speed
    0.2
    """
    D = one_number("diffusion", diffusion, above=0.0, at_most=1.0)
    return Drift(
        speed=D / (1.0 + D),
        spread=D * (1.0 - D) / (2.0 * (1.0 + D) ** 3),
        push=2.0 / (1.0 + D),
        push_spread=(3.0 + D) / (1.0 + D) ** 3,
        initial_shift=D**2 / (1.0 + D) ** 2,
    )


@dataclass(frozen=True)
class FeedbackEquation:
    """The closed loop's continuous limit with alpha = 1: n drifts downstream, w moves upstream.

    Parameters
    ----------
    initial
        n(x) at t = 0, packets per node, x in links.
    diffusion
        Diffusion D, at most 1.
    delay
        Delay d of every link in s.
    length
        Number of links from the host, x = 0, to the last node.
    push
        w(x) = J d - D n at t = 0, packets per period.
    told
        Rate reported to the last node from downstream, packets per period: the boundary value of w.
    saturated
        Constant rate of a saturated last node, packets per period; the boundary value of w is then
        saturated - D n. None if the last node follows the law.
    periodic
        Whether the ends are joined.
    spreads
        Whether the second-order terms (D_eff, beta) are included; otherwise only the drift.

    Raises
    ------
    ValueError
        For a length or delay that is not positive, and a negative ``saturated``.

    Examples
    --------
    >>> import numpy as np
    >>> from dfcmodel.theory import FeedbackEquation, Lines, evolve
    >>> load = lambda x: np.exp(-((x - 10) ** 2) / 2)
    >>> equation = FeedbackEquation(load, diffusion=0.25, length=40.0)
    >>> solution = evolve(equation, [0.0, 50.0], Lines(cells=400))
    >>> (solution.mean[1] - solution.mean[0]).round(2).item()  # 50 periods at v = D / (1 + D)
    10.0
    """

    initial: Callable[[Any], Any]
    diffusion: float
    delay: float = 1.0
    length: float = 1.0
    push: Callable[[Any], Any] | float = 0.0
    told: float = 0.0
    saturated: float | None = None
    periodic: bool = False
    spreads: bool = True

    def __post_init__(self) -> None:
        drift_coefficients(self.diffusion)
        _functions_or_numbers(self, "initial", "push")
        flag("periodic", self.periodic)
        flag("spreads", self.spreads)
        one_number("delay", self.delay, above=0.0)
        one_number("length", self.length, above=0.0)
        one_number("told", self.told)
        if self.saturated is not None:
            one_number("saturated", self.saturated, at_least=0.0)

    def start(self, x: Any) -> Any:
        """Return n and w at t = 0, shape (2, N)."""
        return np.stack([_on(self.initial, x), _on(self.push, x)])

    def fluxes(self, t: Any, fields: Any, faces: Any) -> Any:  # noqa: ARG002
        """Return the fluxes of n and w at the faces, shape (2, N + 1)."""
        c, h = drift_coefficients(self.diffusion), faces[1] - faces[0]
        n, w = fields
        if self.periodic:
            n, w = (np.concatenate([field[-1:], field, field[:1]]) for field in (n, w))
        else:
            # the host's queue is empty (eq. 9); outgoing fields are extrapolated at the ends
            beyond = 1.5 * n[-1] - 0.5 * n[-2]
            enters = self.told if self.saturated is None else self.saturated - self.diffusion * beyond
            n = np.concatenate([-n[:1], n, 2.0 * n[-1:] - n[-2:-1]])
            w = np.concatenate([2.0 * w[:1] - w[1:2], w, 2.0 * enters - w[-1:]])
        mean_n, mean_w = (n[1:] + n[:-1]) / 2.0, (w[1:] + w[:-1]) / 2.0
        J = c.speed * mean_n + c.push * mean_w
        if self.spreads:
            J -= (c.spread * np.diff(n) + c.push_spread * np.diff(w)) / h
        return np.stack([J, -mean_w]) / self.delay


def _on(function: Any, x: Any, *t: Any) -> NDArray[np.float64]:
    """Return function(x, *t), or a constant, as an array of the shape of ``x``; TypeError for single precision."""
    values = np.asarray(function(x, *t) if callable(function) else function)
    if values.dtype in (np.float32, np.float16):
        raise TypeError(
            f"a function of x returned {values.dtype}: must be in double precision; with jax.numpy, "
            "switch its 64 bits on (jax_enable_x64)"
        )
    return np.broadcast_to(values.astype(float, copy=False), x.shape)


def _end(end: End, t: float, flow: Any, pulled: Any, h: Any) -> Any:
    """Return the flux through an end; ``flow``: alpha r there, ``pulled``: +- kappa n in its cell of width ``h``."""
    if isinstance(end, Empty):
        return flow + pulled / (end.distance + h / 2.0)
    return np.asarray(end(t) if callable(end) else end, dtype=float)
