"""How answers look: table, page, pictures, progress and the command line."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from typer.testing import CliRunner

from hopflow import Status
from markov import (
    GTH,
    MM1K,
    Courtois,
    GaussSeidel,
    JacksonTandem,
    Krylov,
    Multilevel,
    PauseTandem,
    Power,
    SparseLU,
    stationary,
)
from markov.computing.progress import report, watched
from validation.cli import app


def command(*arguments):
    return CliRunner().invoke(app, arguments)


def rows(text):
    """Return the rows of a table by name."""
    lines = [line.split("  ", 2) for line in text.splitlines() if line.startswith("  ")]
    return {line[1]: line[2].strip() for line in lines}


def test_solve_pause_on_the_command_line():
    done = command("solve", "pause", "--high-threshold", "15", "--rtt", "1")
    assert done.exit_code == 0
    shown = rows(done.output)
    answer = stationary(PauseTandem(high_threshold=15, rtt=1.0))
    assert shown["throughput"] == f"{answer.throughput:.6g} packets/s"
    assert shown["error bound (TV)"] == f"{answer.error_bound:.1e}"
    assert shown["status"] == "converged"


def test_every_option_reaches_the_model(tmp_path):
    file = tmp_path / "marginals.png"
    options = (
        "--buffers 4 6 --high-threshold 5 --low-threshold 3 --link-rate 50 --paused-rate 1 "
        "--bottleneck-rate 9 --rtt 0.5 --recovery up --pause-at-threshold both"
    )
    rates = ("--arrival-rates", "20 10 1")
    done = command("solve", "pause", *options.split(), *rates, "--plot", str(file))
    model = PauseTandem(
        buffers=(4, 6),
        high_threshold=5,
        low_threshold=3,
        link_rate=50.0,
        paused_rate=1.0,
        bottleneck_rate=9.0,
        arrival_rates=(20.0, 10.0, 1.0),
        rtt=0.5,
        recovery="up",
        pause_at_threshold="both",
    )
    assert done.exit_code == 0
    assert rows(done.output)["throughput"] == f"{stationary(model).throughput:.6g} packets/s"
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--high-threshold", "21"), r"high_threshold = 21: must be a whole number in 1\.\.20"),
        (("--arrival-rates", "25 x"), "arrival_rates = '25 x': must be numbers"),
        (("--rtt", "0"), "rtt = 0"),
    ],
)
def test_bad_options(arguments, said):
    done = command("solve", "pause", *arguments)
    with pytest.raises(ValueError, match=said):
        raise done.exception


def test_table_of_a_model():
    answer = stationary(PauseTandem())
    shown = rows(repr(answer))
    assert repr(answer).splitlines()[0] == "Stationary"
    assert next(iter(shown)) == "status"
    assert shown["chain"] == "PauseTandem()"
    assert shown["states"] == "484, 0 of them transient"
    assert shown["transitions"] == "1606"
    assert shown["recurrent classes"] == "1"
    assert shown["method"] == "GTH(block=64)"
    assert shown["pause_fraction"] == f"{answer['pause_fraction']:.6g}"


def test_a_failure_shows_first():
    answer = dataclasses.replace(stationary(MM1K()), status=Status.NEGATIVE)
    assert repr(answer).splitlines()[1].split("  ")[-1].strip() == str(Status.NEGATIVE)


def test_marginals_of_small_and_large_components():
    answer = stationary(PauseTandem())
    axes = answer.plot()
    paused = float(answer["pause_fraction"])
    assert f"P(k = 2) = {paused:.3g}" in axes.get_title()
    assert axes.get_ylim()[0] == 0.0
    many = stationary(MM1K(arrival_rate=9.9, capacity=900)).plot()
    np.testing.assert_allclose(many.lines[0].get_ydata().sum(), 1.0)
    assert many.lines[0].get_marker() == "None"
    given = stationary([[-1.0, 1.0], [2.0, -2.0]])
    assert "given by its generator" in repr(given)
    assert "<img" in given._repr_html_()


def test_reports_are_collected():
    report(1, 1.0)  # nobody looks on
    with watched(1e-6) as history:
        for n in range(4):
            report(n, 10.0**-n)
        with watched(None) as inner:
            report(7, 0.5)
        report(4, 0.0)
    report(9, 1.0)
    assert history == [(0, 1.0), (1, 0.1), (2, 0.01), (3, 0.001), (4, 0.0)]
    assert inner == [(7, 0.5)]


def test_a_long_solve_shows_digits_and_residual(monkeypatch, capsys):
    monkeypatch.setattr("markov.computing.progress.PATIENCE", 0.0)
    monkeypatch.setattr("markov.computing.progress.REFRESH", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with watched(1e-4):
        for n in range(5):
            report(n, 10.0**-n)
    shown = capsys.readouterr().err
    assert "pi Q = 0: 100 % of the digits" in shown
    assert "iteration 4, residual 1.0e-04" in shown


@pytest.mark.parametrize(
    "method", [GaussSeidel(), Krylov(), Multilevel(), Power()], ids=lambda m: type(m).__name__
)
def test_methods_report_their_residuals(method):
    answer = stationary(PauseTandem(), method)
    iterations, residuals = zip(*answer.history, strict=True)
    assert list(iterations) == sorted(iterations)
    assert residuals[-1] <= method.tolerance
    # the residual of the answer, up to the rounding of its normalization
    assert residuals[-1] == pytest.approx(answer.residual, rel=1e-2, abs=1e-15)
    assert answer.plot_convergence().lines


def test_convergence_is_drawn():
    answer = dataclasses.replace(
        stationary(Courtois(), SparseLU()), method=Multilevel(), history=((1, 1e-3), (2, 1e-13))
    )
    axes = answer.plot_convergence()
    assert axes.get_yscale() == "log"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [1e-3, 1e-13])
    assert axes.lines[1].get_ydata()[0] == 1e-12
    assert answer.plot_convergence(axes) is axes
    with pytest.raises(ValueError, match=r"^GTH\(block=64\) reported no residuals"):
        stationary(Courtois(), GTH()).plot_convergence()


def test_levels_of_a_multigrid_answer_are_in_its_table():
    answer = stationary(JacksonTandem(), Multilevel())
    states, transitions = zip(*answer.levels, strict=True)
    recurrent = answer.chain.irreducible(0)
    assert (states[0], transitions[0]) == (recurrent.shape[0], recurrent.nnz - recurrent.shape[0])
    assert all(2 * coarse <= 1.5 * fine for fine, coarse in itertools.pairwise(states))
    table = repr(answer)
    assert f"{states[-1]} states" in table
    assert f"operator complexity {sum(transitions) / transitions[0]:.2f}" in table
    assert stationary(JacksonTandem(), GTH()).levels == ()
