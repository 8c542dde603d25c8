"""Stability of the bare law: its modes on an endless chain, and between a host and a bottleneck.

On an endless chain (von Neumann) a mode grows by z per period and by e = exp(i theta) per node. With
r fed back by eq. (5) one root is z = e, which is w = N - D n moving upstream (N the nominal rate per
period); the others solve

    z^3 - (1 - D) z^2 - D (1/e - (alpha - 1) e) z - D (alpha - 1) = 0.

They stay within the unit circle for D <= (2 - alpha) / (alpha (5 alpha - 4)), which is 1 for alpha = 1.
With r prescribed

    z^3 - (1 - D) z^2 - D (e + 1/e) z + D = 0,    stable for D <= 1/3.

A chain of b nodes between a host that obeys eq. (9) and a saturated last node has for alpha = 1

    z^2 (z^2 (z - 1 + D) / D)^b + D (z + 1) = 0,

stable up to (sqrt 5 - 1) / 2 for b = 1 and for D <= 1/2 at any length, the limit of long chains. The
derivations are in the documentation, under theory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.law import Law, Loop, advance, law_of
from hopflow.checks import choice, number, one_number, whole
from hopflow.results import Result, figure
from hopflow.status import Status

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    from dfcmodel.networks import Scenario

__all__ = [
    "Spectrum",
    "chain_matrix",
    "growth_factors",
    "spectrum",
    "stability_limit",
    "stability_map",
]

KINDS = ("closed", "prescribed", "finite")
SMALLEST = (
    1e-3  # of D and of alpha - 1: below it a mode takes a thousand periods and counts as none
)


def growth_factors(
    angle: ArrayLike, diffusion: float, intensity: float = 1.0, *, kind: str = "closed"
) -> NDArray[np.complex128]:
    """Return the factors z by which the modes exp(i angle) of an endless chain grow per period.

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
    By falling modulus, shape (A, 4) for the closed loop, (A, 3) otherwise.
    """
    theta = np.atleast_1d(number("angle", angle))
    D = one_number("diffusion", diffusion, above=0.0)
    alpha = one_number("intensity", intensity, at_least=1.0)
    e = np.exp(1j * theta)
    closed = choice("kind", kind, KINDS[:2]) == "closed"
    back = (alpha - 1.0) * e if closed else -e  # what feedback does to the gradient's second half
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
    """Return the matrix that advances a chain from its host to its bottleneck by one period.

    The state is (packets now and one period ago in the b nodes; sent one period ago by the host and
    b - 1 nodes; told one period ago by b - 1 nodes), as deviations from a steady state: the last node
    sends and tells a constant.

    Parameters
    ----------
    hops
        b, nodes up to the saturated one, that included.
    diffusion, intensity
        D and alpha.

    Returns
    -------
    Shape (4 b - 1, 4 b - 1).
    """
    b = whole("hops", hops, 1, 10_000)
    one_number("diffusion", diffusion, above=0.0)
    one_number("intensity", intensity, at_least=1.0)
    unit, none = np.eye(4 * b - 1), np.zeros((1, 4 * b - 1))
    now, before, sent, told = np.split(unit, [b, 2 * b, 3 * b])
    start = Loop(
        np.vstack([none, now]),
        np.vstack([none, before]),
        np.vstack([sent, none]),
        np.vstack([none, told, none]),
    )
    end = advance(start, diffusion, intensity, ends="chain")
    return np.vstack([end.packets[1:], end.before[1:], end.sent[:-1], end.told[1:-1]])


@dataclass(frozen=True, repr=False, eq=False)
class Spectrum(Result):
    """Modes of the DFC law in a scenario, per feedback period.

    Attributes
    ----------
    law
        The numbers of the scenario.
    eigenvalues
        Of the chain between host and bottleneck, by falling modulus, shape (M,), M = 4 b - 1.
    vectors
        Their right and left eigenvectors in columns, shape (2, M, M).
    matrix
        That chain's, shape (M, M).
    """

    law: Law
    eigenvalues: NDArray[np.complex128]
    vectors: NDArray[np.complex128]
    matrix: NDArray[np.float64]

    @property
    def status(self) -> Status:
        """CONVERGED when all eigenvalues are finite."""
        return Status.CONVERGED if np.all(np.isfinite(self.eigenvalues)) else Status.NOT_FINITE

    @property
    def radius(self) -> float:
        """Largest modulus: every disturbance of the chain falls like this per period, or grows."""
        return float(abs(self.eigenvalues[0]))

    @property
    def stable(self) -> bool:
        """Whether disturbances die out."""
        return self.radius < 1.0

    @property
    def settling_time(self) -> float:
        """Time in which the slowest mode falls to 1/e, in s; infinite where none falls."""
        return -self.law.delay / math.log(self.radius) if self.stable else math.inf

    @cached_property
    def endless(self) -> NDArray[np.complex128]:
        """Growth factors on an endless chain at 401 angles in [-pi, pi], shape (401, 4)."""
        angles = np.linspace(-np.pi, np.pi, 401)
        return growth_factors(angles, self.law.diffusion, self.law.intensity)

    def sensitivity(self, of: str) -> float:
        """Return the derivative of the radius by ``"diffusion"`` or ``"intensity"``.

        By the eigenvectors, y* A' x / y* x; valid where the largest eigenvalue is simple.
        """
        choice("of", of, ("diffusion", "intensity"))
        law = self.law
        D, alpha = law.diffusion, law.intensity
        more = (D + 1.0, alpha) if of == "diffusion" else (D, alpha + 1.0)
        slope = chain_matrix(law.bottleneck, *more) - self.matrix  # A is linear in either
        x, y = self.vectors[0, :, 0], self.vectors[1, :, 0]
        z = self.eigenvalues[0]
        change = (y.conj() @ slope @ x) / (y.conj() @ x)
        return float((z.conjugate() * change).real / abs(z))

    @cached_property
    def transient_growth(self) -> NDArray[np.float64]:
        """Norm of the k-th power of the matrix, k = 0, 1, ... until it has fallen below one, (K,).

        How much a disturbance can grow before it dies out: Euclidean norm over the state, 2000
        periods at most.
        """
        power, norms = np.eye(len(self.matrix)), [1.0]
        while len(norms) < 2000 and (len(norms) == 1 or norms[-1] >= 1.0):
            power = self.matrix @ power
            norms.append(float(np.linalg.norm(power, 2)))
        return np.array(norms)

    def to_xarray(self) -> xr.Dataset:
        """Return the eigenvalues of the chain, real and imaginary, with modulus."""
        import xarray as xr

        z = self.eigenvalues
        return xr.Dataset(
            {"real": ("mode", z.real), "imaginary": ("mode", z.imag), "modulus": ("mode", abs(z))},
            attrs={"diffusion": self.law.diffusion, "intensity": self.law.intensity},
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the eigenvalues, and those of the endless chain, in the unit circle."""
        if ax is None:
            _, ax = figure(width=4.4, height=4.4)
        turn = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 361))
        ax.plot(turn.real, turn.imag, color="gray", lw=0.7)
        ax.plot(
            self.endless.real.ravel(), self.endless.imag.ravel(), ".", ms=1, label="endless chain"
        )
        z = self.eigenvalues
        ax.plot(z.real, z.imag, ".", label=f"{self.law.bottleneck} nodes to the bottleneck")
        ax.set(xlabel="real part of z", ylabel="imaginary part", aspect="equal")
        ax.legend(fontsize=8, loc="lower left", markerscale=4)
        return ax

    def summary(self) -> dict[str, object]:
        """Return radius, settling time, limits, transient growth."""
        law = self.law
        grown = self.transient_growth
        most = int(np.argmax(grown))
        return {
            "law": f"D = {law.diffusion:g}, alpha = {law.intensity:g}, {law.bottleneck} nodes from "
            "the host to the bottleneck",
            "radius": f"{self.radius:.6f} per period of {law.delay:g} s",
            "settles in": f"{self.settling_time:.4g} s to 1/e",
            "endless chain": f"stable up to D = {_endless_limit(law.intensity, 'closed'):g}",
            "this chain": f"stable up to D = {_finite_limit(law, 'diffusion'):.6g}",
            "slopes": f"radius by D {self.sensitivity('diffusion'):+.4g}, by alpha "
            f"{self.sensitivity('intensity'):+.4g}",
            "transient growth": f"{grown[most]:.3g} times after {most} periods",
        }


def spectrum(scenario: Scenario, flow: int = 0) -> Spectrum:
    """Return the modes of the DFC law on the path of a flow.

    They are those of the unclipped law with synchronous clocks, around a state in which packets
    wait in every node from the host, which obeys eq. (9), to the saturated bottleneck.

    Parameters
    ----------
    scenario
        With diffusion-type flow control and equal link delays.
    flow
        Index of the flow; the bottleneck is where the first other flow joins it.

    Raises
    ------
    ValueError
        For a scenario without DFC or with unequal delays.

    Examples
    --------
    >>> from dfcmodel import takano2006
    >>> round(spectrum(takano2006("1")).radius, 4)
    0.9904
    """
    law = law_of(scenario, flow)
    law.delay  # noqa: B018 - raises where delays differ
    return _spectrum(law)


def _spectrum(law: Law) -> Spectrum:
    from scipy.linalg import eig

    matrix = chain_matrix(law.bottleneck, law.diffusion, law.intensity)
    found: Any = eig(matrix, left=True, right=True)
    z, left, right = found
    order = np.argsort(-np.abs(z), kind="stable")
    return Spectrum(law, z[order], np.stack([right[:, order], left[:, order]]), matrix)


def stability_limit(
    scenario: Scenario, parameter: str = "diffusion", *, kind: str = "closed", flow: int = 0
) -> float:
    """Return the largest value of a parameter at which the law of a scenario is stable.

    Parameters
    ----------
    scenario
        With diffusion-type flow control.
    parameter
        ``"diffusion"``: of D at the scenario's alpha (0 where no D is stable); ``"intensity"``: of
        alpha at its D (nan where alpha = 1 is not).
    kind
        ``"closed"``: von Neumann's on an endless chain, r fed back by eq. (5); ``"prescribed"``: with
        a given r; ``"finite"``: the chain from a host (eq. 9) to the saturated bottleneck.
    flow
        Index of the flow.

    Raises
    ------
    ValueError
        For a scenario without DFC, or an unknown parameter or kind.

    Notes
    -----
    On an endless chain with fed-back rates the limit of D is (2 - alpha) / (alpha (5 alpha - 4)), that
    of long waves; there is none from alpha = 2 on.

    Examples
    --------
    >>> from dfcmodel import takano2006
    >>> stability_limit(takano2006("1"), "diffusion")
    1.0
    >>> round(stability_limit(takano2006("1"), "diffusion", kind="finite"), 4)
    0.5186
    """
    choice("parameter", parameter, ("diffusion", "intensity"))
    choice("kind", kind, KINDS)
    law = law_of(scenario, flow)
    if kind == "finite":
        return _finite_limit(law, parameter)
    if parameter == "diffusion":
        return _endless_limit(law.intensity, kind)
    if law.diffusion > _endless_limit(1.0, kind):
        return math.nan
    if kind == "prescribed":  # what is prescribed does not react
        return math.inf
    D = law.diffusion
    return float((4.0 * D - 1.0 + math.sqrt((1.0 - 4.0 * D) ** 2 + 40.0 * D)) / (10.0 * D))


def _endless_limit(alpha: float, kind: str) -> float:
    """Return von Neumann's limit of D; the roots of the cubics touch the unit circle there."""
    if kind == "prescribed":
        return 1.0 / 3.0
    return max(0.0, (2.0 - alpha) / (alpha * (5.0 * alpha - 4.0)))


def _radius(hops: int, diffusion: float, intensity: float) -> float:
    return float(np.abs(np.linalg.eigvals(chain_matrix(hops, diffusion, intensity))).max())


def _finite_limit(law: Law, parameter: str) -> float:
    from scipy.optimize import brentq

    def excess(value: float) -> float:
        if parameter == "diffusion":
            return _radius(law.bottleneck, value, law.intensity) - 1.0
        return _radius(law.bottleneck, law.diffusion, value) - 1.0

    low, high = (SMALLEST, 1.0) if parameter == "diffusion" else (1.0, 2.0)
    if excess(low) >= 0.0:
        return 0.0 if parameter == "diffusion" else math.nan
    while excess(high) < 0.0:
        if high > 1e6:
            return math.inf
        high *= 2.0
    return float(brentq(excess, low, high, xtol=1e-13))


def stability_map(
    diffusion: ArrayLike, intensity: ArrayLike = 1.0, hops: ArrayLike = 15
) -> xr.DataArray:
    """Return the spectral radius of the chain from host to bottleneck on a grid of parameters.

    Parameters
    ----------
    diffusion, intensity
        Values of D and alpha, 1-d.
    hops
        Numbers of nodes up to the bottleneck, 1-d.

    Returns
    -------
    DataArray over (hops, intensity, diffusion); below one is stable.
    """
    import xarray as xr

    grids = {
        "hops": np.atleast_1d([whole("hops", b, 1, 10_000) for b in np.atleast_1d(hops)]),
        "intensity": np.atleast_1d(number("intensity", intensity, at_least=1.0)),
        "diffusion": np.atleast_1d(number("diffusion", diffusion, above=0.0)),
    }
    radius = np.empty(tuple(map(len, grids.values())))
    for at in np.ndindex(radius.shape):
        b, alpha, D = (grid[k] for grid, k in zip(grids.values(), at, strict=True))
        radius[at] = _radius(int(b), float(D), float(alpha))
    return xr.DataArray(radius, coords=grids, dims=list(grids), name="radius")
