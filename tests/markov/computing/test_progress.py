"""Reports of iterations: collected, and shown on a terminal."""

from __future__ import annotations

from markov.computing import progress
from markov.computing.progress import Counter, report, watched


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
    monkeypatch.setattr("markov.computing.progress.DELAY", 0.0)
    monkeypatch.setattr("markov.computing.progress.REFRESH", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with watched(1e-4):
        for n in range(5):
            report(n, 10.0**-n)
    shown = capsys.readouterr().err
    assert "pi Q = 0: 100 % of the digits" in shown
    assert "iteration 4, residual 1.0e-04" in shown


def test_the_time_left_counts_from_the_beginning(monkeypatch, capsys):
    monkeypatch.setattr("markov.computing.progress.DELAY", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Counter("levels", total=100) as counter:
        counter.begin -= 50.0  # as if it had taken as long
        counter.show(50)
        assert 45.0 < counter.bar.format_dict["elapsed"] < 60.0
    assert "50/100" in capsys.readouterr().err
    with watched(1e-4):
        report(0, 1.0)
        progress._watching.get().begin -= 50.0
        monkeypatch.setattr("markov.computing.progress.REFRESH", 0.0)
        progress._watching.get().bar = None  # not shown until now
        progress._watching.get().next = 0.0
        report(10, 1e-2)
        assert "50 % of the digits [00:50<00:" in capsys.readouterr().err
