"""Spectrum of the DFC law between a host and its bottleneck: modes, settling time, growth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.networks import Scenario
from dfcmodel.theory.law import Law, law_of
from dfcmodel.theory.stability import (
    endless_limit,
    finite_limit,
    growth_factors,
    period_matrix,
    scenario_clocks,
)
from hopflow.checks import choice, count_of, instance, integer, seed_number
from hopflow.deprecations import accept_old_names
from hopflow.fork_safety import cached_property
from hopflow.results import Result, Status, figure

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from dfcmodel.theory.clocks import Clocks

__all__ = ["Spectrum", "spectrum"]


@dataclass(frozen=True, repr=False, eq=False)
class Spectrum(Result):
    """Modes of the DFC law in a scenario, per feedback period.

    Attributes
    ----------
    law
        Parameters of the law along the flow's path.
    clocks
        Clocks of the nodes between host and bottleneck; None for synchronous clocks and equal delays.
    eigenvalues
        Eigenvalues of the chain between host and bottleneck, by decreasing modulus, shape (M,);
        M = 4 b - 1 for synchronous clocks, see `Clocks.monodromy` for others.
    vectors
        Right and left eigenvectors in columns, shape (2, M, M).
    matrix
        Matrix that advances the chain by one `period`, shape (M, M).

    Examples
    --------
    >>> from dfcmodel import takano2006
    >>> from dfcmodel.theory import spectrum
    >>> modes = spectrum(takano2006("1"))
    >>> modes.stable, round(1e3 * modes.settling_time, 1)  # ms
    (True, 10.4)
    """

    law: Law
    clocks: Clocks | None
    eigenvalues: NDArray[np.complex128]
    vectors: NDArray[np.complex128]
    matrix: NDArray[np.float64]

    @property
    def status(self) -> Status:
        """CONVERGED when all eigenvalues are finite."""
        return Status.CONVERGED if np.all(np.isfinite(self.eigenvalues)) else Status.NOT_FINITE

    @property
    def period(self) -> float:
        """Period of the feedback, s: the link delay, or the common period of all clocks."""
        return self.law.delays[0] if self.clocks is None else self.clocks.period

    @property
    def radius(self) -> float:
        """Spectral radius: factor per period of the slowest disturbance; below 1 it decays."""
        return float(abs(self.eigenvalues[0]))

    @property
    def stable(self) -> bool:
        """Whether all disturbances decay: the radius is below 1."""
        return self.radius < 1.0

    @property
    def settling_time(self) -> float:
        """Time in which the slowest mode decays to 1/e, s; inf if the law is unstable."""
        return -self.period / math.log(self.radius) if self.stable else math.inf

    @property
    def _even(self) -> bool:
        """Whether all links have the same delay in steps; True without clocks."""
        return self.clocks is None or len(set(self.clocks.delays)) == 1

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
        law, tiny = self.law, 1e-30j  # a complex step: exact, the matrix is a polynomial
        D, alpha = law.diffusion, law.intensity
        shifted = (D + tiny, alpha) if of == "diffusion" else (D, alpha + tiny)
        slope = period_matrix(law, self.clocks, *shifted).imag / tiny.imag
        x, y = self.vectors[0, :, 0], self.vectors[1, :, 0]
        z = self.eigenvalues[0]
        change = (y.conj() @ slope @ x) / (y.conj() @ x)
        return float((z.conjugate() * change).real / abs(z))

    @cached_property
    def transient_growth(self) -> NDArray[np.float64]:
        """Norm of the k-th power of the matrix, k = 0, 1, ..., until it is below one, (K,), K at most 2000.

        The factor by which a disturbance can grow before it decays, in the Euclidean norm of the
        state; at most 2000 periods.
        """
        u, s, vh = np.linalg.svd(self.matrix)
        nonzero = s > 1e-15 * s[0]  # the matrix is singular: rates of the past have no effect after one period
        u, s, vh = u[:, nonzero], s[nonzero], vh[nonzero]
        reduced = s[:, None] * (vh @ u)
        power, norms = np.diag(s), [1.0, float(s[0])]
        while norms[-1] >= 1.0 and len(norms) < 2000:
            power = reduced @ power
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
        """Draw the eigenvalues of this chain and of the endless chain with the unit circle; return the Axes."""
        if ax is None:
            _, ax = figure(width=4.4, height=4.4)
        turn = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 361))
        ax.plot(turn.real, turn.imag, color="gray", lw=0.7)
        if self._even:
            endless = self.endless.ravel()
            ax.plot(endless.real, endless.imag, ".", ms=1, label="endless chain")
        z = self.eigenvalues
        ax.plot(z.real, z.imag, ".", label=f"{count_of(self.law.bottleneck, 'node')} to the bottleneck")
        ax.set(xlabel="real part of z", ylabel="imaginary part", aspect="equal")
        ax.legend(fontsize=8, loc="lower left", markerscale=4)
        return ax

    def summary(self) -> dict[str, object]:
        """Return texts by name: radius, settling time, stability limits, sensitivity and transient growth."""
        law = self.law
        growth = self.transient_growth
        peak = int(np.argmax(growth))
        limit = endless_limit(law.intensity, "closed")
        return {
            "law": f"D = {law.diffusion:g}, alpha = {law.intensity:g}, {count_of(law.bottleneck, 'node')} from "
            "the host to the bottleneck",
            "clocks": "synchronous" if self.clocks is None else f"phases {self.clocks.phases} in steps",
            "radius": f"{self.radius:.6f} per period of {self.period:g} s",
            "settling time": f"{self.settling_time:.4g} s to 1/e",
            "this chain": f"stable up to D = {finite_limit(law, self.clocks, 'diffusion'):.6g} (kind='finite')",
            "endless chain": f"stable up to D = {limit:g} with r fed back (kind='closed'), "
            f"{endless_limit(1.0, 'prescribed'):.4g} with r prescribed, for equal delays and synchronous clocks",
            "applies": "while packets are queued in every node; where queues drain, clipping hides it",
            "sensitivity": f"radius by D {self.sensitivity('diffusion'):+.4g}, by alpha "
            f"{self.sensitivity('intensity'):+.4g}",
            "transient growth": f"factor {growth[peak]:.3g} after {peak} periods",
        }


@accept_old_names(rng="seed")
def spectrum(
    scenario: Scenario,
    flow: int = 0,
    *,
    seed: int | np.random.Generator | None = None,
    steps_per_delay: int = 4,
) -> Spectrum:
    """Return the modes of the DFC law on the path of a flow, as `Spectrum`.

    The law is linearized around a state with packets queued in every node from the host, which obeys
    eq. (9), to the saturated bottleneck; rates are not clipped. For asynchronous clocks or unequal
    delays they are the modes of the monodromy matrix over the common period of all clocks.

    Parameters
    ----------
    scenario
        A scenario with diffusion-type flow control.
    flow
        Index of the flow; its bottleneck is the first node that another flow joins.
    seed
        Seed of the clock phases, as in ``simulate(scenario, seed=seed)``; None: synchronous clocks.
    steps_per_delay
        For asynchronous clocks: steps per shortest link delay, of which delays and phases are
        multiples.

    Raises
    ------
    ValueError
        For a scenario without DFC, for delays that are not multiples of the step, or whose common
        multiple exceeds 20,000 steps.

    Examples
    --------
    >>> from dfcmodel import takano2006
    >>> round(spectrum(takano2006("1")).radius, 4)
    0.9904
    >>> round(spectrum(takano2006("1"), seed=0).radius, 4)
    0.9911
    """
    from scipy.linalg import eig

    if seed is not None:
        seed = seed_number("seed", seed)
    steps_per_delay = integer("steps_per_delay", steps_per_delay, 1, 10_000)
    instance("scenario", scenario, Scenario)
    law = law_of(scenario, flow)
    clocks = scenario_clocks(scenario, law, flow, seed, steps_per_delay)
    matrix = period_matrix(law, clocks, law.diffusion, law.intensity)
    decomposition: Any = eig(matrix, left=True, right=True)
    z, left, right = decomposition
    order = np.argsort(-np.abs(z), kind="stable")
    vectors = np.stack([right[:, order], left[:, order]])
    return Spectrum(law, clocks, z[order], vectors, matrix)
