"""Reports of iterations: collected, and shown on a terminal."""

from __future__ import annotations

from markov.computing.progress import report, watched


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
