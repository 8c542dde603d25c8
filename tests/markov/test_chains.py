"""Generators that are given, their structure, chains by rules, and how results show themselves."""

from __future__ import annotations

import math
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
import xarray as xr

import markov
import markov.computing.memory
from markov import (
    GTH,
    ChainModel,
    Levels,
    MarkovChain,
    PauseTandem,
    SparseLU,
    TooLargeError,
    explore,
    generator,
    stationary,
    stationary_by_class,
)
from markov.generators.building import build_chain
from markov.generators.compiled import fill
from markov.generators.splicing import spliced

GOOD = np.array([[-3.0, 1.0, 2.0], [4.0, -4.0, 0.0], [0.0, 5.0, -5.0]])
FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_array, sp.csc_matrix])


def changed(*entries):
    Q = GOOD.copy()
    for row, column, value in entries:
        Q[row, column] = value
    return Q


# --------------------------------------------------------------------------- what is refused


@FORMS
@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([(1, 0, -4.0), (1, 1, 4.0)], r"^Q\[1, 0\] = -4 \(row 1\): rates .* finite and >= 0"),
        ([(2, 1, math.nan)], r"^Q\[2, 1\] = nan \(row 2\): rates .* finite and >= 0"),
        ([(2, 2, math.nan)], r"^Q\[2, 2\] = nan \(row 2\): "),
        ([(0, 2, math.inf), (0, 0, -math.inf)], r"^Q\[0, 0\] = -inf \(row 0\): "),
        ([(1, 1, -4.1)], r"^row 1 of Q sums to -0.1: must be 0 within 1e-10 of .* entry, 4.1"),
        ([(2, 2, 5.0)], r"^row 2 of Q sums to 10: must be 0 within 1e-10"),
        ([(0, 0, -3.0 * (1 + 1.1e-10))], r"^row 0 of Q sums to -3.3\d*e-10: must be 0"),
    ],
)
def test_bad_generator(form, entries, said):
    with pytest.raises(ValueError, match=said):
        MarkovChain(form(changed(*entries)))
    with pytest.raises(ValueError, match=said):
        stationary(form(changed(*entries)))


@pytest.mark.parametrize(
    ("Q", "said"),
    [
        (np.zeros((2, 3)), r"^Q has shape \(2, 3\): a square matrix"),
        (np.zeros(4), r"^Q has shape \(4,\): a square matrix"),
        (np.zeros((2, 2, 2)), r"^Q has shape \(2, 2, 2\): a square matrix"),
        (np.zeros((0, 0)), r"^Q has shape \(0, 0\): a square matrix"),
        (sp.csr_matrix((3, 2)), r"^Q has shape \(3, 2\): a square matrix"),
        (3.0, r"^Q has shape \(\): a square matrix"),
        ([["-1", "1"], ["1", "-1"]], "^Q has entries of type <U2: real numbers are expected"),
        ([[-1j, 1j], [1j, -1j]], "^Q has entries of type complex128: real numbers"),
        (sp.csr_matrix(np.eye(2) * 0j), "^Q has entries of type complex128: real numbers"),
        (np.eye(2, dtype=bool), "^Q has entries of type bool: real numbers"),
        (None, "^Q has entries of type object: real numbers"),
        ("takano2006", "^Q has entries of type <U10: real numbers"),
        ([[-1.0, 1.0], [1.0]], "^Q: a matrix of numbers is expected"),
    ],
    ids=str,
)
def test_not_a_matrix(Q, said):
    with pytest.raises(ValueError, match=said):
        MarkovChain(Q)


@FORMS
def test_rows_just_inside_are_accepted_and_the_diagonal_is_not_used(form):
    reference = stationary(GOOD).pi
    for factor in (1 - 0.9e-10, 1 + 0.9e-10):
        chain = MarkovChain(form(GOOD - np.diag(np.diag(GOOD)) * (1 - factor)))
        np.testing.assert_array_equal(chain.Q.toarray(), GOOD)
        np.testing.assert_array_equal(stationary(chain).pi, reference)


def test_integers_duplicates_and_explicit_zeros():
    rows, columns = [0, 0, 0, 1, 1, 0], [0, 1, 1, 0, 1, 0]
    Q = sp.coo_matrix(([-2, 1, 1, 5, -5, 0], (rows, columns)), shape=(2, 2))
    chain = MarkovChain(Q)
    assert chain.Q.toarray().tolist() == [[-2.0, 2.0], [5.0, -5.0]]
    assert chain.Q.nnz == 4
    assert chain.exit_rates.tolist() == [2.0, 5.0]
    stored = sp.coo_matrix(([-1.0, 1.0, 0.0], ([0, 0, 1], [0, 1, 0])), shape=(2, 2))
    assert MarkovChain(stored).Q.nnz == 2
    assert stationary(stored).pi.tolist() == [0.0, 1.0]


def test_the_callers_matrix_stays_as_it_is():
    for Q in (GOOD.copy(), sp.csr_matrix(GOOD)):
        MarkovChain(Q)
        np.testing.assert_array_equal(sp.csr_matrix(Q).toarray(), GOOD)


# --------------------------------------------------------------------------- structure


@pytest.fixture
def two_classes():
    """States 0, 3: one class; 1 absorbing; 2 and 4 transient."""
    rates = np.zeros((5, 5))
    rates[0, 3], rates[3, 0] = 1.0, 3.0
    rates[2, 0], rates[2, 1], rates[2, 4], rates[4, 2] = 1.0, 1.0, 2.0, 1.0
    return rates - np.diag(rates.sum(axis=1))


@FORMS
def test_several_classes(form, two_classes):
    chain = MarkovChain(form(two_classes))
    assert sorted(states.tolist() for states in chain.recurrent_classes) == [[0, 3], [1]]
    assert chain.transient_states.tolist() == [2, 4]
    with pytest.raises(
        ValueError, match=r"2 recurrent class.* not unique; use stationary_by_class"
    ):
        stationary(chain)
    answers = stationary_by_class(chain)
    found = sorted(answer.pi.tolist() for answer in answers)
    np.testing.assert_allclose(found, [[0, 1, 0, 0, 0], [0.75, 0, 0, 0.25, 0]], rtol=1e-15)
    assert sorted(answer.smallest for answer in answers) == pytest.approx([0.25, 1.0])
    for answer in answers:
        assert np.abs(answer.pi @ two_classes).max() < 1e-15
        assert answer.error_bound < 1e-14


@FORMS
def test_transient_states_get_nothing(form):
    rates = np.zeros((4, 4))
    rates[0, 1] = rates[1, 2] = rates[2, 3] = 1.0
    rates[3, 2] = 4.0
    answer = stationary(form(rates - np.diag(rates.sum(axis=1))))
    np.testing.assert_allclose(answer.pi, [0, 0, 0.8, 0.2], rtol=1e-15)
    assert answer.smallest == pytest.approx(0.2)
    assert "2 transient states" in repr(answer.chain)


def test_restricted(two_classes):
    chain = MarkovChain(two_classes)
    part = chain.restricted(np.array([0, 3]))
    np.testing.assert_allclose(stationary(part).pi, [0.75, 0.25])
    assert part.model is None
    with pytest.raises(ValueError, match="row 2 of Q sums to -3"):  # not closed
        chain.restricted(np.array([0, 3, 2]))


def test_no_transitions_at_all():
    chain = MarkovChain(np.zeros((3, 3)))
    assert len(chain.recurrent_classes) == 3
    assert [a.pi.tolist() for a in stationary_by_class(chain)] == np.eye(3).tolist()
    assert "3 states, 0 transitions, 3 recurrent" in repr(chain)


# --------------------------------------------------------------------------- chains by rules


class Queue(ChainModel):
    """M/M/1/K."""

    class State(NamedTuple):
        n: int

    class Params(NamedTuple):
        arrival_rate: float = 7.0
        service_rate: float = 10.0
        capacity: int = 12
        lowest: int = 0

    def space(self):
        return {"n": range(self.lowest, self.lowest + self.capacity + 1)}

    @staticmethod
    def rules(s, q):
        if s.n < q.lowest + q.capacity:
            yield s._replace(n=s.n + 1), q.arrival_rate
        if s.n > q.lowest:
            yield s._replace(n=s.n - 1), q.service_rate
        yield s, 5.0  # to itself: nothing


class Bad(Queue):
    """Goes wrong in one state, in a way that can be chosen."""

    class Params(NamedTuple):
        step: float = 1.0
        rate: float = 1.0
        capacity: int = 3
        lowest: int = 0

    @staticmethod
    def rules(s, q):
        if s.n == 2:
            yield s._replace(n=s.n + q.step), q.rate
        yield s._replace(n=0), 1.0
        yield s._replace(n=(s.n + 1) % 4), 0.5
        yield s._replace(n=(s.n + 1) % 4), 0.25  # rates to one target add up


@pytest.mark.parametrize("lowest", [0, -3, 5])
@pytest.mark.parametrize("compiled", [False, True])
def test_queue(lowest, compiled):
    model = Queue(lowest=lowest)
    chain = MarkovChain(model)
    rho = 0.7
    exact = (1 - rho) * rho ** np.arange(13) / (1 - rho**13)
    np.testing.assert_allclose(stationary(chain).pi, exact, rtol=1e-13)
    Q = generator(model, compiled=compiled)
    np.testing.assert_array_equal(Q.toarray(), chain.Q.toarray())
    assert model.shape == (13,)
    assert model.size == 13
    assert model.states().n.tolist() == list(range(lowest, lowest + 13))
    assert model.transitions((lowest,)) == [((lowest + 1,), 7.0), ((lowest,), 5.0)]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"step": 2.0}, r"State\(n=2\) -> State\(n=4.0\) at rate 1.0: the target is outside"),
        ({"step": -3.0}, r"State\(n=2\) -> State\(n=-1.0\) at rate 1.0: the target is outside"),
        ({"step": 0.5}, r"State\(n=2\) -> State\(n=2.5\) at rate 1.0: the target is outside"),
        ({"rate": -1.0}, r"State\(n=2\) -> State\(n=3.0\) at rate -1.0: a rate must be finite"),
        ({"rate": math.nan}, r"State\(n=2\) -> .* at rate nan: a rate must be finite and >= 0"),
        ({"rate": math.inf}, r"State\(n=2\) -> .* at rate inf: a rate must be finite and >= 0"),
    ],
)
def test_bad_rules(changes, said, compiled):
    with pytest.raises(ValueError, match=r"^Bad: " + said):
        generator(Bad(**changes), compiled=compiled)


def test_one_signature_per_kernel():
    """Two in one cached file could be mixed up by processes that write at the same time."""
    kernels = []
    for rate in (7.0, 7, True):
        model = Queue(arrival_rate=rate)
        assert build_chain(model, by="compiled").Q[0, 1] == float(rate)
        kernels.append(spliced(fill, model))
    assert len(set(kernels)) == 3
    assert [len(kernel.kernel.signatures) for kernel in kernels] == [1, 1, 1]


def test_rates_add_up():
    Q = generator(Bad(rate=0.0)).toarray()
    np.testing.assert_array_equal(Q[1], [1.0, -1.75, 0.75, 0.0])
    np.testing.assert_array_equal(Q[3], [1.75, 0.0, 0.0, -1.75])


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"m": range(3)}, r"space\(\) has m: must be n"),
        ({"n": range(3), "m": range(2)}, r"space\(\) has n, m: must be n"),
        ({"n": range(0, 6, 2)}, r"space\(\): n = range\(0, 6, 2\): must be a range with step 1"),
        ({"n": range(0)}, r"space\(\): n = range\(0, 0\): must be a range with step 1, not empty"),
        ({"n": [0, 0]}, r"space\(\): n = \[0, 0\]: must be .* a list of different values"),
        ({"n": "ab"}, r"space\(\): n = 'ab': must be a range"),
        ({"n": (range(2), range(0))}, r"space\(\): n = \(range\(0, 2\), range\(0, 0\)\): must be"),
        ([3], r"space\(\) returns \[3\]: must be a dict of the fields of State"),
    ],
)
def test_bad_space(space, said):
    class Odd(Queue):
        def space(self):
            return space

    with pytest.raises(ValueError, match=said):
        generator(Odd())


class Coin(ChainModel):
    """A model without parameters."""

    class State(NamedTuple):
        side: int

    def space(self):
        return {"side": range(2)}

    def start(self):
        return self.State(0)

    @staticmethod
    def rules(s, q):
        yield s._replace(side=1 - s.side), 1.0 + 2.0 * s.side


@pytest.mark.parametrize("compiled", [True, False])
def test_no_parameters(compiled):
    expected = [[-1.0, 1.0], [3.0, -3.0]]
    assert generator(Coin(), compiled=compiled).toarray().tolist() == expected
    assert explore(Coin(), compiled=compiled).chain.Q.toarray().tolist() == expected


def test_explored_chains_know_their_components():
    """By which methods find structure, and the proof what multigrid on the matrix alone cannot."""
    found = explore(PauseTandem(buffers=(30, 60), high_threshold=45))
    assert set(found.chain.components) == {"i", "j", "k", "a"}
    for name, values in found.chain.components.items():
        np.testing.assert_array_equal(values, getattr(found.states, name))
    part = found.chain.restricted(found.chain.recurrent_classes[0])
    assert part.components["j"].max() == 60
    answer = stationary(found.chain, Levels("i"))
    np.testing.assert_allclose(answer.pi, stationary(found.chain, GTH()).pi, rtol=1e-12)
    assert MarkovChain(found.chain.Q).components is None


def test_entries_of_a_column_add_up_wherever_they_are():
    class Twins(Queue):
        @staticmethod
        def rules(s, q):
            for n in (5, 2, 9, 2, 5, 2, 7):
                yield s._replace(n=n), 1.0 + n

    model = Twins(lowest=0)
    Q, plain = generator(model), generator(model, compiled=False)
    np.testing.assert_array_equal(Q.toarray(), plain.toarray())
    assert Q.has_canonical_format
    assert Q[0].toarray().ravel()[[2, 5, 7, 9]].tolist() == [9.0, 12.0, 8.0, 10.0]


@pytest.mark.parametrize("compiled", [True, False])
def test_rates_whose_sum_overflows(compiled):
    class Fast(Coin):
        @staticmethod
        def rules(s, q):
            yield s._replace(side=1 - s.side), 1e308
            yield s._replace(side=1 - s.side), 1e308

    with pytest.raises(ValueError, match=r"^Fast: State\(side=0\): the sum of the rates overflows"):
        generator(Fast(), compiled=compiled)


def test_too_large_is_predicted(monkeypatch):
    model = PauseTandem(buffers=(10**6, 10**6), high_threshold=15)
    with pytest.raises(TooLargeError, match=r"^PauseTandem: a matrix on 4\d* states") as caught:
        generator(model, reachable=False)
    assert caught.value.predicted > 4e12 * 24 > caught.value.available
    monkeypatch.setattr(markov.computing.memory, "available", lambda: 1e5)
    monkeypatch.setattr(markov.computing.memory, "SMALL", 0.0)
    with pytest.raises(TooLargeError, match=r"^PauseTandem: more than \d+ reachable states: "):
        explore(PauseTandem(buffers=(100, 100)))


@pytest.mark.parametrize("method", [GTH(), Levels(), Levels(cyclic=False)], ids=repr)
def test_filled_in_too_large_is_predicted(monkeypatch, method):
    """The prediction covers what the method then holds, and is of its order."""
    chain = MarkovChain(PauseTandem())
    used = stationary(chain, method).memory
    monkeypatch.setattr(markov.computing.memory, "available", lambda: 1e5)
    monkeypatch.setattr(markov.computing.memory, "SMALL", 0.0)
    with pytest.raises(
        TooLargeError, match=rf"^{type(method).__name__}\(\) o.* states: "
    ) as caught:
        stationary(chain, method)
    assert used <= caught.value.predicted <= 2 * used


def test_a_class_that_is_defined_again():
    """As in a notebook: the same name, another rule, and never the old kernel."""

    def define(slope):
        class Again(Queue):
            @staticmethod
            def rules(s, q):
                if s.n > 0:
                    yield s._replace(n=s.n - 1), slope * q.service_rate
                else:
                    yield s._replace(n=q.capacity), q.arrival_rate

        return Again

    for slope in (1.0, 2.0, 1.0):
        model = define(slope)()
        Q = generator(model)
        assert Q[1, 0] == 10.0 * slope
        assert stationary(model).pi[0] == pytest.approx(1 / (1 + 12 * 0.7 / slope), rel=1e-13)


def test_start_decides_between_closed_classes():
    class Forked(Queue):
        class Params(NamedTuple):
            first: int = 0

        capacity = 5

        def space(self):
            return {"n": range(6)}

        def start(self):
            return None if self.first < 0 else self.State(self.first)

        @staticmethod
        def rules(s, q):
            if s.n == 0:
                yield s._replace(n=1), 1.0
            elif s.n == 1:
                yield s._replace(n=0), 3.0
            elif s.n < 5:
                yield s._replace(n=s.n + 1), 1.0

    np.testing.assert_allclose(stationary(Forked()).pi, [0.75, 0.25])
    assert stationary(Forked(first=3)).states.n.tolist() == [3, 4, 5]
    assert stationary(Forked(first=3)).pi.tolist() == [0, 0, 1]
    assert len(stationary_by_class(Forked(first=-1))) == 2
    whole = MarkovChain(Forked(), reachable=False)
    assert whole.transient_states.tolist() == [2, 3, 4, 5]
    np.testing.assert_allclose(stationary(whole).pi, [0.75, 0.25, 0, 0, 0, 0])


# --------------------------------------------------------------------------- display


def test_result_of_a_model():
    answer = stationary(PauseTandem())
    data = answer.to_xarray()
    assert isinstance(data, xr.Dataset)
    assert data.pi.dims == ("i", "j", "k", "a")
    assert data.pi.sizes == {"i": 11, "j": 21, "k": 2, "a": 2}
    assert data.k.values.tolist() == [1, 2]
    assert float(data.pi.sel(i=3, j=7, k=1, a=2)) == answer.probability((3, 7, 1, 2))
    assert float(data.pi.sel(i=3, j=7, k=2, a=2)) == 0.0  # never entered
    assert float(data.pi.sum()) == pytest.approx(1.0, rel=1e-14)
    assert data.attrs == {} or "status" in data.attrs
    assert data.throughput == answer.throughput == answer["throughput"]
    axes = answer.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["i", "j"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), data.pi.sum(["j", "k", "a"]))
    assert answer.plot(axes) is axes
    text = repr(answer)
    for word in ("converged", "throughput", "error bound", "GTH(block=64)", "mass defect"):
        assert word in text
    assert f"{answer.throughput:.6g}" in text
    page = answer._repr_html_()
    assert "<table>" in page
    assert "data:image/png;base64," in page


def test_result_of_a_matrix():
    answer = stationary(GOOD, SparseLU())
    assert answer.to_xarray().pi.dims == ("state",)
    np.testing.assert_array_equal(answer.to_xarray().pi, answer.pi)
    np.testing.assert_array_equal(answer.plot().lines[0].get_ydata(), answer.pi)
    assert "img" in answer._repr_html_()
    assert len(answer.measures) == 0
    with pytest.raises(AttributeError, match="has no throughput"):
        answer.throughput  # noqa: B018
    assert answer.mass_defect < 1e-15
    assert answer.seconds > 0.0


# --------------------------------------------------------------------------- imports

HEAVY = ("jax", "matplotlib", "sympy", "numba", "xarray", "pandas", "networkx")
ROOT = Path(markov.__file__).parents[1]


@pytest.mark.parametrize(
    "then",
    [
        "",
        "model = markov.PauseTandem(); model.states(); model.transitions((0, 0, 1, 1))",
        "markov.MarkovChain([[-1, 1], [1, -1]]).recurrent_classes",
        "markov.stationary([[-1, 1], [1, -1]]).smallest",
        "markov.generator(markov.PauseTandem(), compiled=False)",
    ],
)
def test_import_loads_nothing_heavy(then):
    code = f"import sys, markov\n{then}\nprint([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert out.stdout.strip() == "[]"


WITHOUT_NUMBA = """
import sys
sys.path[:0] = [sys.argv[1]]
for name in {absent}:
    sys.modules[name] = None
import numpy
from markov import PauseTandem, SparseLU, stationary
answer = stationary(PauseTandem())
other = stationary(PauseTandem(), SparseLU())
assert answer.error_bound < 1e-11
assert abs(other.pi - answer.pi).max() < 1e-12
print(numpy.__version__, repr(answer.throughput))
"""


def test_without_numba():
    code = WITHOUT_NUMBA.format(absent=[*HEAVY, "llvmlite"])
    out = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)], capture_output=True, text=True, check=True
    )
    expected = stationary(PauseTandem()).throughput
    assert float(out.stdout.split()[1]) == pytest.approx(expected, rel=1e-13)


@pytest.mark.slow
def test_with_the_oldest_numpy(tmp_path):
    """Rules and chains run with NumPy 1.24 and SciPy alone, as on clusters."""
    folder = tmp_path / "old"
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "numpy==1.24.4", "scipy==1.15.*"], check=True, timeout=600)
    out = subprocess.run(
        [python, "-W", "error", "-c", WITHOUT_NUMBA.format(absent=[]), str(ROOT)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert out.returncode == 0, out.stderr
    version, throughput = out.stdout.split()
    assert version == "1.24.4"
    assert float(throughput) == pytest.approx(stationary(PauseTandem()).throughput, rel=1e-13)
