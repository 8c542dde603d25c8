"""Spectrum of the chain from host to bottleneck, against runs and identities."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, DFC, Flow, Fluid, Link, Scenario, bare_law, simulate, spectrum, takano2006
from dfcmodel.theory.stability import chain_matrix


def scenario(name: str = "1", **law):
    """A scenario of takano2006 with another law."""
    plain = takano2006(name)
    links = tuple(replace(link, discipline=DFC(**law)) for link in plain.links)
    return replace(plain, links=links)


def radius(hops: int, diffusion: float, intensity: float = 1.0) -> float:
    return float(np.abs(np.linalg.eigvals(chain_matrix(hops, diffusion, intensity))).max())


@pytest.mark.parametrize(("hops", "D", "alpha"), [(3, 0.7, 1.0), (15, 0.6, 1.0), (5, 0.6, 1.1)])
def test_growth_on_a_chain_is_the_spectrums(hops: int, D: float, alpha: float) -> None:
    """An unstable chain behind a host: packets per period over 2000 periods, 1e-4."""
    rng = np.random.default_rng(1)
    start = 1e-9 * rng.normal(size=hops)
    n = bare_law(start, D, 3000, intensity=alpha, ends="chain")
    late = np.linalg.norm(n, axis=1)
    envelope = np.maximum.reduce([late[k : len(late) - 60 + k] for k in range(60)])  # it turns
    rate = np.log(envelope[-1] / envelope[1000]) / (len(envelope) - 1001)
    grows = np.log(radius(hops, D, alpha))
    assert grows > 0
    assert rate == pytest.approx(grows, abs=1e-4)


@pytest.mark.filterwarnings("ignore:diffusion of link")  # an endless chain's limit
@pytest.mark.parametrize("D", [0.35, 0.5])
def test_growth_in_the_fluid_is_the_spectrums(D: float) -> None:
    """Two equal flows at one node, its bottleneck: each holds half of the link.

    alpha = 1.4 keeps (alpha - 1) c / D packets of each there, so that nothing is clipped once they are
    there. The engine counts in 2^-26 packets: fitted down to 1e-3 of them.
    """
    B, d = 1e6, 1e-3
    link = Link(1, 2, B, d, 1e9, DFC(diffusion=D, intensity=1.4, phases="synchronous"))
    flows = tuple(Flow(name, (1, 2), CBR(B), host="shaped") for name in ("one", "two"))
    run = simulate(Scenario("one node", (link,), flows, duration=0.6), method=Fluid(1), sample=d)
    x = run.occupancy.sel(node=1).values / 2
    level = 0.4 * B * d / 2 / D
    assert x[-1] == pytest.approx(level, rel=1e-6)
    late = np.flatnonzero(np.abs(x - level) > 1e-3)[-1]
    rows = np.arange(late - 40, late)
    after, before = (x - level)[rows + 1], (x - level)[rows]
    fit, *_ = np.linalg.lstsq(np.stack([after, before], axis=1), (x - level)[rows + 2])
    assert math.sqrt(-fit[1]) == pytest.approx(radius(1, D, 1.4), abs=1e-4)


def test_sensitivity_is_the_derivative() -> None:
    """Central differences with a step of 1e-6: 1e-8 of rounding."""
    modes = spectrum(scenario(diffusion=0.2, intensity=1.02))
    for of, (dD, da) in {"diffusion": (1e-6, 0), "intensity": (0, 1e-6)}.items():
        up, down = (radius(15, 0.2 + s * dD, 1.02 + s * da) for s in (1, -1))
        assert modes.sensitivity(of) == pytest.approx((up - down) / 2e-6, rel=1e-5)


def test_transient_growth_bounds_what_happens() -> None:
    """A stable chain may first amplify a disturbance, by the norms and never by more."""
    modes = spectrum(scenario(diffusion=0.4))
    grown = modes.transient_growth
    assert grown.max() > 2
    assert grown[-1] < 1
    state = np.random.default_rng(3).normal(size=len(modes.matrix))
    for k in range(1, 10):
        after = np.linalg.matrix_power(modes.matrix, k) @ state
        assert np.linalg.norm(after) <= grown[k] * np.linalg.norm(state) * (1 + 1e-12)


def test_display() -> None:
    modes = spectrum(takano2006("1"))
    assert "0.5186" in repr(modes)
    assert modes.status.ok
    assert modes.stable
    assert modes.settling_time == pytest.approx(-1e-4 / np.log(modes.radius))
    assert float(modes.to_xarray()["modulus"].max()) == pytest.approx(modes.radius, rel=1e-15)
    assert modes.plot().get_xlabel()
