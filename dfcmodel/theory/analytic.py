"""Exact solutions of eqs. (6)-(8) of takano2006, and of the drift limit of the closed loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import integer, number, one_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["cosine_series", "gaussian", "packet_spread", "steady_state"]


def gaussian(
    x: ArrayLike,
    time: float,
    coefficient: float,
    *,
    packets: float = 1.0,
    centre: float = 0.0,
    width: float = 0.0,
    speed: float = 0.0,
) -> NDArray[np.float64]:
    """Return densities at ``x`` and ``time`` on a line, from a normal distribution of standard deviation ``width``.

    Solution of n_t = -speed n_x + coefficient n_xx: the mean moves at ``speed``, the variance grows
    by 2 ``coefficient`` per second.

    Parameters
    ----------
    x
        Positions, any shape.
    time
        Time in s.
    coefficient
        kappa (D h^2 / d), or D_eff of the closed loop.
    packets, centre, width
        Number, mean and standard deviation at time 0; for width 0 (a point) time must be > 0.
    speed
        Drift speed, in units of x per second.

    Returns
    -------
    Packets per unit of x, the shape of x.

    Raises
    ------
    ValueError
        For a parameter out of range.

    Examples
    --------
    >>> gaussian(0.0, 0.5, 1.0).round(6).item()  # 1 / sqrt(2 pi)
    0.398942
    """
    at = number("x", x)
    t = one_number("time", time, at_least=0.0)
    kappa = one_number("coefficient", coefficient, at_least=0.0)
    variance = width**2 + 2.0 * kappa * t
    if variance <= 0.0:
        raise ValueError(f"width = {width}: must be > 0 at time 0, or with coefficient 0")
    distance = at - centre - speed * t
    density: NDArray[np.float64] = packets * np.exp(-(distance**2) / (2.0 * variance)) / np.sqrt(2.0 * np.pi * variance)
    return density


def cosine_series(
    initial: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    coefficient: float,
    length: float = 1.0,
    terms: int = 200,
) -> Callable[[ArrayLike, float], NDArray[np.float64]]:
    """Return a function (x, time) of the density on a bar with closed ends and constant r, from ``initial`` at t = 0.

    n = sum_k a_k cos(k pi x / L) exp(-kappa (k pi / L)^2 t), with a_k from a discrete cosine
    transform of the initial density (midpoint rule, eight points per term).

    Parameters
    ----------
    initial
        n(x) at time 0.
    coefficient, length
        kappa and L.
    terms
        Number of terms of the series.

    Examples
    --------
    >>> import numpy as np
    >>> density = cosine_series(lambda x: 1 + np.cos(np.pi * x), coefficient=0.1)
    >>> round(float(density(0.0, 1.0) - 1 - np.exp(-0.1 * np.pi**2)), 9)
    0.0
    """
    from scipy.fft import dct

    kappa = one_number("coefficient", coefficient, above=0.0)
    L = one_number("length", length, above=0.0)
    count = 8 * integer("terms", terms, 1, 10**6)
    midpoints = (np.arange(count) + 0.5) * L / count
    amplitude = dct(np.asarray(initial(midpoints), dtype=float), type=2)[:terms] / count
    amplitude[0] /= 2.0
    wave = np.pi * np.arange(terms) / L

    def density(x: ArrayLike, time: float) -> NDArray[np.float64]:
        damped = amplitude * np.exp(-kappa * wave**2 * time)
        sum_: NDArray[np.float64] = np.cos(np.multiply.outer(np.asarray(x), wave)) @ damped
        return sum_

    return density


def steady_state(
    x: ArrayLike,
    coefficient: Callable[[NDArray[np.float64]], ArrayLike] | float,
    rate: Callable[[NDArray[np.float64]], ArrayLike] | float = 0.0,
    *,
    flow: float = 0.0,
    last: float = 0.0,
    intensity: float = 1.0,
    length: float = 1.0,
) -> NDArray[np.float64]:
    """Return the steady density at ``x``, (N,), with a constant ``flow`` through the bar, and ``last`` at its end.

    J = alpha r - kappa n_x equals the flow everywhere, hence n(x) = n(L) - int_x^L (alpha r - flow)
    / kappa, computed by Gauss-Legendre quadrature.

    Parameters
    ----------
    x
        Positions, shape (N,).
    coefficient, rate
        kappa and r: numbers or functions of x.
    flow
        J, packets/s; 0 for closed ends.
    last
        n(L). Behind an `Empty` node at distance delta it is (flow - alpha r(L)) delta / kappa(L).
    intensity, length
        alpha and L.

    Returns
    -------
    Shape (N,).
    """
    at = number("x", x, at_least=0.0, at_most=length)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    half = (length - at) / 2.0
    points = at[:, None] + half[:, None] * (nodes + 1.0)

    def on(function: Callable[[NDArray[np.float64]], ArrayLike] | float) -> NDArray[np.float64]:
        return np.broadcast_to(function(points) if callable(function) else function, points.shape)

    slope = (intensity * on(rate) - flow) / on(coefficient)
    density: NDArray[np.float64] = last - half * (slope @ weights)
    return density


def packet_spread(diffusion: float, periods: int) -> NDArray[np.float64]:
    """Return packet fractions, (periods + 1,), in nodes 0, 1, ... after a start in node 0; the rest is in transit.

    The packets appear at time 0 in an empty, idle chain (alpha = 1, hence w = 0 at all times). In
    every period a node sends the fraction D of its packets, and a packet needs one period per link.
    The fraction in the j-th node downstream is C(m, j) D^j (1-D)^(m-j) with m = periods - j; the
    remainder, D/(1+D) in the limit, is in transit. The mean and variance of j grow by D/(1+D) and
    2 D_eff per period.

    Parameters
    ----------
    diffusion
        D, 0 < D < 1.
    periods
        Number of periods since the start.

    Returns
    -------
    Fractions in the nodes 0, 1, 2, ... downstream of the loaded one, shape (periods + 1,).

    Examples
    --------
    >>> packet_spread(0.5, 2).round(12).tolist()  # after two periods a quarter is still in the loaded node
    [0.25, 0.5, 0.0]
    """
    from scipy.stats import binom

    D = one_number("diffusion", diffusion, above=0.0, below=1.0)
    periods = integer("periods", periods, 0, 10**7)
    j = np.arange(periods + 1)
    part: NDArray[np.float64] = np.where(2 * j <= periods, binom.pmf(j, periods - j, D), 0.0)
    return part
