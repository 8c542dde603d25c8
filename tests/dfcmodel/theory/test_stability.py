"""Limits of stability, and spectra."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, DFC, Flow, Fluid, Link, Packets, Scenario, simulate, takano2006
from dfcmodel.theory import bare_law, spectrum, stability_limit, stability_map
from dfcmodel.theory.equations import drift_coefficients
from dfcmodel.theory.law import law_of
from dfcmodel.theory.stability import chain_limit, chain_matrix, growth_factors

# The modes of the bare law: von Neumann's, the finite chain's, and what simulations do.

ANGLES = np.linspace(-np.pi, np.pi, 721)


GOLDEN = (math.sqrt(5) - 1) / 2


def scenario(name: str = "1", **law):
    """A scenario of takano2006 with another law."""
    plain = takano2006(name)
    links = tuple(replace(link, discipline=DFC(**law)) for link in plain.links)
    return replace(plain, links=links)


def radius(hops: int, diffusion: float, intensity: float = 1.0) -> float:
    return float(np.abs(np.linalg.eigvals(chain_matrix(hops, diffusion, intensity))).max())


# --------------------------------------------------------------------------- the endless chain


def test_limit_of_takano2006_is_one() -> None:
    assert stability_limit(takano2006("1"), "diffusion") == 1.0
    assert stability_limit(takano2006("6"), "diffusion", kind="prescribed") == 1 / 3


@pytest.mark.parametrize(("kind", "limit"), [("closed", 1.0), ("prescribed", 1 / 3)])
def test_von_neumann_limits(kind: str, limit: float) -> None:
    """|z| <= 1 at every angle up to the limit, above one beyond it; 1e-7: a triple root at z = 1."""
    at, beyond = (np.abs(growth_factors(ANGLES, D, kind=kind)).max() for D in (limit, 1.01 * limit))
    assert at <= 1 + 1e-7
    assert beyond > 1.001


def test_closed_roots_for_alpha_one() -> None:
    """exp(i theta), w moving upstream; zero; and those of z^2 - (1-D) z - D/e = 0."""
    e = np.exp(1j * ANGLES)[:, None]
    z = growth_factors(ANGLES, 0.3)
    product = (z**2 - 0.7 * z - 0.3 / e) * (z - e) * z
    assert np.abs(product).max() < 1e-10


@pytest.mark.parametrize("alpha", [1.0, 1.05, 1.3, 1.8])
def test_limit_of_an_endless_chain_with_alpha(alpha: float) -> None:
    """(2 - alpha) / (alpha (5 alpha - 4)): stable at every angle below it, unstable above."""
    limit = stability_limit(scenario(intensity=alpha))
    assert limit == pytest.approx((2 - alpha) / (alpha * (5 * alpha - 4)))
    below, above = (np.abs(growth_factors(ANGLES, f * limit, alpha)).max() for f in (0.98, 1.02))
    assert below <= 1 + 1e-7
    assert above > 1 + 1e-7
    inverse = stability_limit(scenario(diffusion=limit), "intensity")
    assert inverse == pytest.approx(alpha, abs=1e-12)


def test_no_diffusion_is_stable_from_alpha_two_on() -> None:
    assert stability_limit(scenario(intensity=2.0)) == 0.0
    assert np.abs(growth_factors(ANGLES, 0.01, 2.05)).max() > 1


@pytest.mark.parametrize("D", [0.05, 0.3, 0.9])
def test_slow_root_drifts_and_spreads(D: float) -> None:
    """log z = -i v theta - D_eff theta^2 + O(theta^3): the remainders fall by 2^3 and 2^4."""
    c = drift_coefficients(D)

    def remainder(theta: float) -> tuple[float, float]:
        z = growth_factors([theta], D)[0]
        expected = np.exp(-1j * c.speed * theta - c.spread * theta**2)
        slow = np.log(z[np.argmin(abs(z - expected))])
        return abs(slow.imag + c.speed * theta), abs(slow.real + c.spread * theta**2)

    coarse, fine = remainder(0.1), remainder(0.05)
    assert np.log2(coarse[0] / fine[0]) == pytest.approx(3, abs=0.1)
    assert np.log2(coarse[1] / fine[1]) == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize("D", [0.05, 0.3, 0.9])
def test_w_pushes_packets_as_the_modified_equation_says(D: float) -> None:
    """n = a w with a = -(z+1)/(z^2+Dz+D), z = exp(i theta); to second order as s and beta have it."""
    c = drift_coefficients(D)

    def error(theta: float) -> float:
        z = np.exp(1j * theta)
        exact = -(z + 1) / (z**2 + D * z + D)
        limit = (-c.push + 1j * theta * c.push_spread) / (1 + c.speed - 1j * theta * c.spread)
        return abs(exact - limit)

    assert np.log2(error(0.02) / error(0.01)) == pytest.approx(2, abs=0.05)


def test_growth_on_a_ring_is_von_neumanns() -> None:
    """D = 1.1 and random packets: the mode with one wave around is left of those that were there.

    The uniform one, z = -D, is not: without a wave nothing moves at the start.
    """
    rng = np.random.default_rng(0)
    n = bare_law(1e-9 * rng.normal(size=16), 1.1, 3000)
    rate = np.log(np.linalg.norm(n[3000]) / np.linalg.norm(n[2000])) / 1000
    fastest = np.log(np.abs(growth_factors(2 * np.pi * np.arange(1, 16) / 16, 1.1)).max())
    assert rate == pytest.approx(fastest, rel=1e-4)


# --------------------------------------------------------------------------- the finite chain


def test_finite_limit_of_one_node_is_the_golden_ratio_and_falls_to_one_half() -> None:
    one = replace(takano2006("1"), flows=takano2006("1").flows[1:])
    assert law_of(takano2006("1")).bottleneck == 15
    lone = replace(one, links=one.links[-1:], flows=(replace(one.flows[0], path=(29, 30)),))
    assert stability_limit(lone, kind="finite") == pytest.approx(GOLDEN, abs=1e-10)
    short, long = (stability_limit(takano2006(name), kind="finite") for name in ("4S", "4"))
    assert GOLDEN > short > long > 0.5
    assert radius(30, 0.5) < 1 < radius(30, 0.51)


@pytest.mark.parametrize("D", [0.02, 0.3, 0.5])
def test_one_half_is_stable_at_any_length(D: float) -> None:
    assert max(radius(hops, D) for hops in (1, 2, 3, 5, 8, 13, 21)) < 1.0


@pytest.mark.parametrize("hops", [1, 2, 5, 15])
@pytest.mark.parametrize("D", [0.1, 0.45, 0.7])
def test_characteristic_equation(hops: int, D: float) -> None:
    """z^2 (z^2 (z-1+D)/D)^b + D (z+1) = 0 at the largest eigenvalue, by Newton's step.

    1e-9: eigenvalues of the matrix, which is far from normal, carry that much rounding.
    """
    z = np.linalg.eigvals(chain_matrix(hops, D))
    z = z[np.argmax(abs(z))]
    base = z**2 * (z - 1 + D) / D
    value = z**2 * base**hops + D * (z + 1)
    slope = 2 * z * base**hops + z**2 * hops * base**hops * (2 / z + 1 / (z - 1 + D)) + D
    assert abs(value / slope) < 1e-9


def test_steady_state_with_alpha_above_one() -> None:
    """J = c everywhere with r_(i-1) = c - (alpha - 1) r_i: n_(i+1) - n_i = (alpha r_i - c) / D."""
    alpha, D, c = 1.1, 0.2, 10.0
    n = bare_law(np.zeros(4), D, 4000, base_rate=c, intensity=alpha, ends="chain")
    r = [c]
    for _ in range(3):
        r.insert(0, c - (alpha - 1) * r[0])
    np.testing.assert_allclose(n[-1], np.cumsum((alpha * np.array(r) - c) / D), rtol=1e-10)


def test_alpha_narrows_the_range_and_has_a_limit_of_its_own() -> None:
    assert stability_limit(scenario(intensity=1.02), kind="finite") < 0.515
    alpha = stability_limit(scenario(), "intensity", kind="finite")
    assert radius(15, 0.1, alpha) == pytest.approx(1.0, abs=1e-9)
    assert math.isnan(stability_limit(scenario(diffusion=0.6), "intensity", kind="finite"))
    assert stability_limit(scenario(intensity=2.0), kind="finite") == 0.0


def test_map_has_the_radii() -> None:
    grid = stability_map([0.1, 0.55], [1.0, 1.1], [2, 8])
    assert grid.dims == ("hops", "intensity", "diffusion")
    assert float(grid.sel(hops=8, intensity=1.1, diffusion=0.55)) == radius(8, 0.55, 1.1)
    assert bool(grid.sel(hops=2, intensity=1.0, diffusion=0.55) < 1)
    assert bool(grid.sel(hops=8, intensity=1.0, diffusion=0.55) > 1)


def test_bad_input() -> None:
    fifo = takano2006("1", dfc=False)
    with pytest.raises(ValueError, match="discipline of link 1->2"):
        spectrum(fifo)
    with pytest.raises(ValueError, match="kind"):
        stability_limit(takano2006("1"), kind="infinite")
    with pytest.raises(ValueError, match="flow"):
        spectrum(takano2006("1"), flow=2)
    plain = takano2006("1")
    links = (replace(plain.links[0], delay=2.1e-4), *plain.links[1:])
    unequal = replace(plain, links=links)
    with pytest.raises(ValueError, match=r"delay of link 1->2.*must be whole"):
        spectrum(unequal)
    assert stability_limit(unequal) == 1.0
    primes = [2, 3, 5, 7, 11, 13, 17, 19]
    links = tuple(replace(link, delay=n * 1e-5) for link, n in zip(links, primes, strict=False))
    with pytest.raises(ValueError, match=r"delays = \(2, 2, 3, 5.* repeat after 9699690"):
        spectrum(replace(plain, links=links + plain.links[8:]), steps_per_delay=2)


# Spectrum of the chain from host to bottleneck, against runs and identities.


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


def one_node(diffusion: float, offered: float) -> Scenario:
    """Two flows at a link; alpha = 1.4 keeps packets of both queued, see docs/theory-stability.md."""
    link = Link(1, 2, 1e6, 1e-3, 1e9, DFC(diffusion=diffusion, intensity=1.4, phases="synchronous"))
    flows = tuple(Flow(name, (1, 2), CBR(offered * 0.5e6), host="shaped") for name in ("one", "two"))
    return Scenario("one node", (link,), flows, duration=0.4)


@pytest.mark.filterwarnings("ignore:diffusion of link")  # an endless chain's limit
@pytest.mark.parametrize("factor", [0.98, 1.01])
@pytest.mark.parametrize(
    ("method", "offered", "tolerance"),
    [(Fluid(1), 1.002, 2e-5), (Packets(seed=1), 1.1, 2e-3)],  # packets are whole
    ids=["fluid", "packets"],
)
def test_the_limit_is_crossed_in_a_run(
    factor: float, method: Fluid | Packets, offered: float, tolerance: float
) -> None:
    """Swings about the level change by the spectral radius per period, until the queue is empty once per swing."""
    D = factor * GOLDEN
    run = simulate(one_node(D, offered), method, sample=1e-3)
    swing = run.occupancy.sel(node=1).values / 2 / (0.4 * 1e6 * 1e-3 / 2 / D) - 1.0
    rows = np.arange(40, 140)
    assert np.abs(swing[40:143]).max() < 1.0  # not clipped
    fit, *_ = np.linalg.lstsq(np.stack([swing[rows + 1], swing[rows]], axis=1), swing[rows + 2])
    grows = math.sqrt(-fit[1])
    assert grows == pytest.approx(radius(1, D, 1.4), abs=tolerance)
    start, end = (np.ptp(part) for part in (swing[40:80], swing[-40:]))
    if factor < 1.0:
        assert run.limits == ()
        assert end < 0.5 * start
    else:
        assert run.limits[0].startswith("stability: D = 0.624214 is beyond 0.618, up to which the chain of 1 node")
        assert "limit, stability" in run.summary()
        assert end > 1.2 * start
        assert end > 1.5


@pytest.mark.parametrize(("D", "named"), [(0.1, []), (0.51, []), (0.6, ["stability"]), (1.0, ["stability"])])
def test_empty_queues_hide_the_limit_of_the_papers_scenarios(D: float, named: list[str]) -> None:
    run = simulate(scenario("1", diffusion=D), duration=0.7, level="fluid")
    assert [limit.partition(":")[0] for limit in run.limits] == named
    assert run.occupancy.values[:, run.time > 0.5].max() < 1e-6


def test_runs_name_the_limit_of_their_own_chain() -> None:
    for name in ("4S", "4", "4L"):
        limit = stability_limit(takano2006(name), kind="finite")
        assert chain_limit(law_of(takano2006(name)).bottleneck, 1.0) == pytest.approx(limit, abs=1e-9)
    run = simulate(scenario("4S", diffusion=0.55), duration=0.01, level="fluid")
    assert any("beyond 0.5322" in limit for limit in run.limits)


def test_the_chain_is_named_beside_each_limit() -> None:
    shown = repr(spectrum(takano2006("1")))
    assert "stable up to D = 0.518624 (kind='finite')" in shown
    assert "D = 1 with r fed back (kind='closed'), 0.3333 with r prescribed" in shown
    with pytest.warns(
        UserWarning, match=r"an endless chain \(alpha = 1\); that of a chain from host to bottleneck is another"
    ):
        simulate(scenario(diffusion=1.01), duration=0.01, level="fluid")


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
