"""Stability of the bare law: on an endless chain, and between a host and a bottleneck.

On an endless chain (von Neumann) a mode grows by z per period and by e = exp(i theta) per node. With
r fed back by eq. (5) one root is z = e, which is w = N - D n moving upstream (N the nominal rate per
period); the others solve

    z^3 - (1 - D) z^2 - D (1/e - (alpha - 1) e) z - D (alpha - 1) = 0.

They are within the unit circle for D <= (2 - alpha) / (alpha (5 alpha - 4)), which is 1 for alpha = 1.
With r prescribed

    z^3 - (1 - D) z^2 - D (e + 1/e) z + D = 0,    stable for D <= 1/3.

A chain of b nodes with synchronous clocks, from a host that obeys eq. (9) to a saturated last node, has
for alpha = 1 the characteristic equation

    z^2 (z^2 (z - 1 + D) / D)^b + D (z + 1) = 0,

stable up to D = (sqrt 5 - 1) / 2 for b = 1, and for D <= 1/2, the limit of long chains, at any length.
Asynchronous clocks lower the limit, see `clocks`. The derivations are in the documentation, under
theory.
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.disciplines import DFC, dfc_of
from dfcmodel.theory.clocks import Clocks, clocks_of
from dfcmodel.theory.law import Law, Loop, advance, law_of
from hopflow.checks import choice, instance, integer, number, one_number, seed_number
from hopflow.deprecations import accept_old_names
from hopflow.progress import progress_bar

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray


__all__ = [
    "chain_limit",
    "chain_matrix",
    "endless_limit",
    "finite_limit",
    "growth_factors",
    "period_matrix",
    "scenario_clocks",
    "stability_limit",
    "stability_map",
    "warn_if_unstable",
]

KINDS = ("closed", "prescribed", "finite")
MIN_DIFFUSION = 1e-3  # minimum tested D: its modes decay over a thousand periods


def growth_factors(
    angle: ArrayLike, diffusion: float, intensity: float = 1.0, *, kind: str = "closed"
) -> NDArray[np.complex128]:
    """Return growth factors z per period, (angles, 3 or 4), of modes exp(i angle) on an endless chain, largest first.

    Parameters
    ----------
    angle
        theta, radians per node, shape (A,).
    diffusion, intensity
        D and alpha.
    kind
        ``"closed"``: r is fed back (eq. 5); ``"prescribed"``.

    Returns
    -------
    By decreasing modulus, shape (A, 4) for the closed loop, (A, 3) otherwise.
    """
    theta = np.atleast_1d(number("angle", angle))
    D = one_number("diffusion", diffusion, above=0.0)
    alpha = one_number("intensity", intensity, at_least=1.0)
    e = np.exp(1j * theta)
    closed = choice("kind", kind, KINDS[:2]) == "closed"
    back = (alpha - 1.0) * e if closed else -e  # coefficient of the upstream term of the gradient
    companion = np.zeros((len(theta), 3, 3), dtype=complex)
    companion[:, 1, 0] = companion[:, 2, 1] = 1.0
    companion[:, 0, 0] = 1.0 - D
    companion[:, 0, 1] = D * (1.0 / e - back)
    companion[:, 0, 2] = D * back / e
    z = np.asarray(np.linalg.eigvals(companion), dtype=complex)
    if closed:
        z = np.concatenate([z, e[:, None]], axis=1)
    return np.take_along_axis(z, np.argsort(-np.abs(z), axis=1), axis=1)


def chain_matrix(hops: int, diffusion: float, intensity: float = 1.0) -> NDArray[np.float64]:
    """Return the matrix, (4 b - 1, 4 b - 1), that advances a chain of b ``hops`` to its bottleneck by one period.

    The state is (packets now and one period ago in the b nodes; rates sent one period ago by the host
    and b - 1 nodes; rates reported one period ago by b - 1 nodes), as deviations from a steady state.
    The last node sends and reports a constant rate.

    Parameters
    ----------
    hops
        b, number of nodes up to and including the saturated one.
    diffusion, intensity
        D and alpha.

    Returns
    -------
    Shape (4 b - 1, 4 b - 1).
    """
    hops = integer("hops", hops, 1, 10_000)
    one_number("diffusion", diffusion, above=0.0)
    one_number("intensity", intensity, at_least=1.0)
    matrix: NDArray[np.float64] = _chain(hops, diffusion, intensity)
    return matrix


def _chain(b: int, diffusion: complex, intensity: complex) -> NDArray[Any]:
    """Return `chain_matrix` of ``b`` hops, (4 b - 1, 4 b - 1), unchecked; complex parameters allow derivatives."""
    unit, none = np.eye(4 * b - 1), np.zeros((1, 4 * b - 1))
    now, before, sent, nominal = np.split(unit, [b, 2 * b, 3 * b])
    start = Loop(
        np.vstack([none, now]),
        np.vstack([none, before]),
        np.vstack([sent, none]),
        np.vstack([none, nominal, none]),
    )
    end = advance(start, diffusion, intensity, ends="chain")
    return np.vstack([end.packets[1:], end.before[1:], end.sent[:-1], end.nominal[1:-1]])


def scenario_clocks(scenario: Scenario, law: Law, flow: int, seed: int | None, steps_per_delay: int) -> Clocks | None:
    """Return the clocks of a flow's chain; None if clocks are synchronous and delays equal.

    Parameters
    ----------
    scenario, law, flow
        A scenario with diffusion-type flow control, the `law_of` a flow, and the flow's index.
    seed, steps_per_delay
        As for `stability_limit`.
    """
    in_step = seed is None or law.synchronous
    if in_step and len(set(law.delays[: law.bottleneck])) == 1:
        return None
    return clocks_of(scenario, law, flow, seed=seed, steps_per_delay=steps_per_delay)


def period_matrix(law: Law, clocks: Clocks | None, diffusion: complex, intensity: complex) -> NDArray[Any]:
    """Return the square matrix that advances a chain by a period, or with clocks by their common period.

    Parameters
    ----------
    law, clocks
        See `scenario_clocks`.
    diffusion, intensity
        D and alpha; complex values differentiate.
    """
    if clocks is None:
        return _chain(law.bottleneck, diffusion, intensity)
    return clocks.monodromy(diffusion, intensity)


@accept_old_names(rng="seed")
def stability_limit(
    scenario: Scenario,
    parameter: str = "diffusion",
    *,
    kind: str = "closed",
    flow: int = 0,
    seed: int | np.random.Generator | None = None,
    steps_per_delay: int = 4,
) -> float:
    """Return the largest stable ``parameter``, by default on an endless chain; inf: any; 0 or NaN: there is none.

    Each ``kind`` is a different chain with its own limit, and none is the complete network of the scenario: rates are
    not clipped (eqs. 1, 13), and packets are queued in every node. If queues drain, as in the paper's scenarios, a run
    beyond the limit may not show an instability.

    Parameters
    ----------
    scenario
        A scenario with diffusion-type flow control. The endless chains use only its D and alpha; the finite chain also
        uses the path of a flow up to its bottleneck.
    parameter
        ``"diffusion"``: the limit of D at the scenario's alpha (0 if no D is stable);
        ``"intensity"``: the limit of alpha at its D (nan if alpha = 1 is unstable).
    kind
        ``"closed"``: an endless chain (von Neumann), r fed back by eq. (5), 1 for alpha = 1; ``"prescribed"``: an
        endless chain, r prescribed, 1/3; ``"finite"``: the chain of the scenario from a host (eq. 9) to the saturated
        bottleneck of a flow, 0.5186 for 15 nodes and between 0.5 and 0.6181 for any number, alpha = 1 and synchronous
        clocks.
    flow
        For the finite chain: index of the flow.
    seed
        For the finite chain: seed of the clock phases, see `spectrum`; None: synchronous clocks.
    steps_per_delay
        For the finite chain with asynchronous clocks: steps per shortest link delay.

    Raises
    ------
    ValueError
        For a scenario without DFC, an unknown parameter or kind, or delays that are not multiples
        of the step.

    Notes
    -----
    On an endless chain with fed-back rates the limit of D is (2 - alpha) / (alpha (5 alpha - 4)), set
    by long waves; no D is stable for alpha >= 2.

    Examples
    --------
    >>> from dfcmodel import takano2006
    >>> stability_limit(takano2006("1"), "diffusion")  # an endless chain
    1.0
    >>> round(stability_limit(takano2006("1"), "diffusion", kind="finite"), 4)  # its own 15 nodes
    0.5186
    >>> round(stability_limit(takano2006("1"), "diffusion", kind="prescribed"), 4)  # an endless chain, r prescribed
    0.3333
    """
    if seed is not None:
        seed = seed_number("seed", seed)
    steps_per_delay = integer("steps_per_delay", steps_per_delay, 1, 10_000)
    instance("scenario", scenario, Scenario)
    choice("parameter", parameter, ("diffusion", "intensity"))
    choice("kind", kind, KINDS)
    law = law_of(scenario, flow)
    if kind == "finite":
        clocks = scenario_clocks(scenario, law, flow, seed, steps_per_delay)
        return finite_limit(law, clocks, parameter)
    if parameter == "diffusion":
        return endless_limit(law.intensity, kind)
    if law.diffusion > endless_limit(1.0, kind):
        return math.nan
    if kind == "prescribed":  # a prescribed rate is independent of alpha
        return math.inf
    D = law.diffusion
    return float((4.0 * D - 1.0 + math.sqrt((1.0 - 4.0 * D) ** 2 + 40.0 * D)) / (10.0 * D))


def endless_limit(alpha: float, kind: str) -> float:
    """Return the largest D at which an endless chain is stable, by von Neumann's criterion.

    Parameters
    ----------
    alpha
        The flow intensity multiplier.
    kind
        ``"closed"`` or ``"prescribed"``.
    """
    if kind == "prescribed":
        return 1.0 / 3.0
    return DFC(intensity=alpha).stability_limit


def warn_if_unstable(scenario: Scenario) -> None:
    """Warn of the first link whose diffusion is unstable on an endless chain (von Neumann)."""
    for link in scenario.link_table.kinds:
        rule = dfc_of(link.discipline)
        if rule is not None and not rule.is_stable:
            limit = f"{rule.stability_limit:.4g}, its stability limit on an endless chain"
            msg = f"beyond {limit} (alpha = {rule.intensity:g})"
            other = "that of a chain from host to bottleneck is another one, see run.limits"
            warnings.warn(f"diffusion of link {link.name} = {rule.diffusion:g}: {msg}; {other}", stacklevel=3)
            return


def _radius(matrix: NDArray[np.float64]) -> float:
    """Return the spectral radius of a matrix: the largest modulus of an eigenvalue."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def finite_limit(law: Law, clocks: Clocks | None, parameter: str) -> float:
    """Return the largest ``parameter`` at which the chain from host to bottleneck is stable; inf: any; 0, NaN: none.

    Parameters
    ----------
    law, clocks
        See `scenario_clocks`.
    parameter
        ``"diffusion"`` or ``"intensity"``.
    """
    from scipy.optimize import brentq

    def excess(value: float) -> float:
        D, alpha = law.diffusion, law.intensity
        at = (value, alpha) if parameter == "diffusion" else (D, value)
        return _radius(period_matrix(law, clocks, *at)) - 1.0

    low, high = (MIN_DIFFUSION, 1.0) if parameter == "diffusion" else (1.0, 2.0)
    if excess(low) >= 0.0:
        return 0.0 if parameter == "diffusion" else math.nan
    while excess(high) < 0.0:
        if high > 1e6:
            return math.inf
        high *= 2.0
    return float(brentq(excess, low, high, xtol=1e-13))


@functools.lru_cache(maxsize=256)
def chain_limit(hops: int, intensity: float) -> float:
    """Return the largest D at which a chain from a host (eq. 9) to its bottleneck is stable, with equal clocks.

    Parameters
    ----------
    hops
        Number of nodes up to and including the saturated one.
    intensity
        alpha.
    """
    law = Law(
        hops=hops, bottleneck=hops, diffusion=1.0, intensity=intensity, delays=(1.0,) * hops, link_rate=1.0,
        buffer=math.inf, host="shaped", synchronous=True,
    )  # fmt: skip
    return finite_limit(law, None, "diffusion")


def stability_map(diffusion: ArrayLike, intensity: ArrayLike = 1.0, hops: ArrayLike = 15) -> xr.DataArray:
    """Return the spectral radius of chains from host to bottleneck on a grid, over (hops, intensity, diffusion).

    Parameters
    ----------
    diffusion, intensity
        Values of D and alpha, 1-d.
    hops
        Numbers of nodes up to the bottleneck, 1-d.

    Returns
    -------
    DataArray over (hops, intensity, diffusion); the law is stable where it is below one.

    Raises
    ------
    ValueError
        For a value out of range.

    Examples
    --------
    >>> from dfcmodel.theory import stability_map
    >>> radius = stability_map([0.4, 0.6], hops=[1, 15])
    >>> (radius < 1.0).values[:, 0].tolist()
    [[True, True], [True, False]]
    """
    import xarray as xr

    grids = {
        "hops": np.atleast_1d([integer("hops", b, 1, 10_000) for b in np.atleast_1d(number("hops", hops))]),
        "intensity": np.atleast_1d(number("intensity", intensity, at_least=1.0)),
        "diffusion": np.atleast_1d(number("diffusion", diffusion, above=0.0)),
    }
    radius = np.empty(tuple(map(len, grids.values())))
    for at in progress_bar(np.ndindex(radius.shape), total=radius.size, desc="stability_map"):
        b, alpha, D = (grid[k] for grid, k in zip(grids.values(), at, strict=True))
        radius[at] = _radius(chain_matrix(int(b), float(D), float(alpha)))
    return xr.DataArray(radius, coords=grids, dims=list(grids), name="radius")
