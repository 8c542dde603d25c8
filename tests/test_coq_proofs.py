"""The proofs in `proofs/coq`: nothing is admitted, they compile, and Coq and the extracted program accept what Python does."""

from __future__ import annotations

import gzip
import importlib.util
import re
import shutil
import subprocess
from fractions import Fraction
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from markov import JacksonTandem, Kanban, explore, read_prism, stationary
from markov.proofs.certificate_files import write_long_run
from markov.proofs.checker import CertificateError, Contents, check, read
from tests.markov.proofs.test_checker import BRANCHES, TWO, corrupted
from tests.surface import HANG

ROOT = Path(__file__).resolve().parents[1]
COQ = ROOT / "proofs" / "coq"
SHORTCUTS = re.compile(r"\b(?:Admitted|admit|Axioms?|Parameters?|Conjecture|Hypotheses|give_up|bypass_check)\b")
AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
"""Those of Coq's real numbers; docs/markov-bound.md names them."""
MACHINES = """ctmc
module machines
  up : [0..20] init 20;
  [] up > 0 -> 0.01 * up : (up' = up - 1);
  [] up < 20 -> 0.7 : (up' = up + 1);
endmodule
label "all down" = up = 0;
"""


def translated(found: Contents) -> str:
    """Return the Coq file of a certificate."""
    spec = importlib.util.spec_from_file_location("translate", COQ / "translate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text: str = module.translated(found)
    return text


def test_nothing_is_admitted() -> None:
    files = sorted(COQ.glob("*.v"))
    assert [path.name for path in files] == ["Assumptions.v", "Checker.v", "Extract.v", "Theory.v"]
    for path in files:
        assert SHORTCUTS.findall(path.read_text(encoding="utf-8")) == []
    assert SHORTCUTS.findall("Theorem t : 1 = 2. Proof. admit. Admitted.") == ["admit", "Admitted"]


def test_a_certificate_as_a_coq_file() -> None:
    text = translated(read(StringIO(TWO)))
    assert (
        "Certificate\n[[Transition 2 (1)]; [Transition 1 (3)]]\n[(6); (2)] [(6); (2)] [(0); (1)]\n(1) (2) (8) 1 (0) (1)."
        in text
    )
    assert "[Mean [(0); (1)] [(0); (0)]\n(1) (1) (1) (4) (1) (4)]." in text


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> tuple[Path, str]:
    """Compile the proofs in a folder; returns it and what is printed."""
    if shutil.which("coqc") is None or shutil.which("make") is None:
        pytest.skip("Coq is not installed")
    folder = tmp_path_factory.mktemp("coq")
    for path in [*COQ.glob("*.v"), COQ / "Makefile"]:
        shutil.copy(path, folder)
    done = subprocess.run(["make"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.mark.slow
def test_the_proofs_compile_and_depend_on_the_axioms_of_the_reals_alone(compiled) -> None:
    _, printed = compiled
    theorems = (COQ / "Assumptions.v").read_text(encoding="utf-8").count("Print Assumptions")
    assert printed.count("Axioms:") == theorems
    assert set(re.findall(r"^([A-Z]\w+\.\w+)", printed, re.MULTILINE)) == AXIOMS
    page = (ROOT / "docs" / "markov-bound.md").read_text(encoding="utf-8")
    assert all(name.partition(".")[2] in page for name in AXIOMS)


def accepts(folder: Path, text: str) -> bool:
    """Return whether Coq proves that its checker accepts a certificate."""
    (folder / "Case.v").write_text(text)
    done = subprocess.run(["coqc", "Case.v"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or 'Unable to unify "true" with "false"' in done.stderr, done.stderr
    return done.returncode == 0


@pytest.mark.slow
def test_coq_accepts_a_certificate_of_a_solution(compiled, tmp_path) -> None:
    folder, _ = compiled
    model, path = tmp_path / "machines.sm", tmp_path / "machines.cert"
    model.write_text(MACHINES)
    stationary(read_prism(model)).certificate(path, model=model)
    with path.open() as file:
        found = read(file)
    assert found.bound > 0
    assert found.functions
    text = translated(found)
    assert accepts(folder, text)
    found.bound /= 2
    assert not accepts(folder, translated(found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "true"),
    [
        ("bound 0", "bound 0", True),
        ("0 6 0 0 0 0 1 1", "0 5 1 0 0 0 1 1", False),
        ("1 2 0 1 1 0 0 3", "1 2 0 0 1 0 0 3", False),
        ("1 2 0 1 1 0 0 3", "1 2 0 1 1 0 0 4", False),
        ("1/4 1/4", "1/5 6/25", False),
        ("1/4 1/4", "6/25 1/3", True),
        ("1/4 1/4", "13/50 1/3", False),
    ],
)
def test_coq_accepts_and_rejects_what_is_true_and_false(compiled, old, new, true) -> None:
    folder, _ = compiled
    assert accepts(folder, translated(read(StringIO(TWO.replace(old, new))))) is true


@pytest.fixture(scope="module")
def certcheck(tmp_path_factory):
    """Build the extracted program; return a function that runs it on the text of a certificate."""
    if any(shutil.which(name) is None for name in ("coqc", "make", "ocamlfind")):
        pytest.skip("Coq or OCaml is not installed")
    folder = tmp_path_factory.mktemp("certcheck")
    for path in [*COQ.glob("*.v"), COQ / "Makefile", COQ / "vectors.ml", COQ / "certcheck.ml"]:
        shutil.copy(path, folder)
    done = subprocess.run(["make", "certcheck"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    def run(text: str | bytes) -> subprocess.CompletedProcess[bytes]:
        given = text.encode() if isinstance(text, str) else text
        return subprocess.run([folder / "certcheck"], input=given, capture_output=True, check=False, timeout=HANG)

    return run


@pytest.mark.slow
def test_certcheck_prints_the_statement_that_was_claimed(certcheck) -> None:
    assert certcheck(TWO).stdout.decode().splitlines() == [
        "proved      exactly one stationary distribution on the 2 listed states (2 transitions)",
        "proved      total variation of the listed probabilities <= 0e0",
        "proved      mean of second in [2.5e-1, 2.5e-1]",
        "rows        as in the certificate",
    ]
    third = TWO.replace("1/4 1/4", "-1/3 1/3").replace("states", "made-by a reader\nstates")
    printed = certcheck(third).stdout.decode()
    low, high = re.findall(r"-?[0-9.]+e-1", printed)
    assert 0 < Fraction(-1, 3) - Fraction(low) == Fraction(high) - Fraction(1, 3) < 1e-58
    assert "not checked made-by: a reader" in printed


def both_accept(certcheck, text: str | bytes, path: Path) -> bool:
    """Return whether a certificate is accepted, after comparing the two checkers."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = certcheck(text)
    try:
        check(path)
        accepted = True
    except CertificateError:
        accepted = False
    assert (done.returncode, bool(done.stdout)) == (int(not accepted), accepted), text
    assert accepted or done.stderr.startswith(b"certcheck: line ")
    return accepted


@pytest.mark.slow
@pytest.mark.parametrize("model", [JacksonTandem(), explore(Kanban(tickets=1)), explore(Kanban(tickets=2))], ids=repr)
def test_certcheck_accepts_certificates(certcheck, model, tmp_path) -> None:
    path = tmp_path / "model.cert.gz"
    stationary(model).certificate(path)
    with gzip.open(path, "rb") as file:
        text = file.read()
    assert both_accept(certcheck, text, tmp_path / "model.cert")
    assert both_accept(certcheck, text.replace(b"\n", b"\r\n"), tmp_path / "model.cert")


@pytest.mark.slow
def test_certcheck_rejects_what_the_other_checker_rejects(certcheck, tmp_path) -> None:
    """Numbers, lines and single bytes are changed: both checkers decide the same."""
    path, rng = tmp_path / "chain.cert", np.random.default_rng(5)
    stationary(JacksonTandem()).certificate(path)
    accepted = 0
    for original in (TWO, path.read_text()):
        for _ in range(200):
            accepted += both_accept(certcheck, corrupted(original, rng), path)
        for _ in range(200):
            data = bytearray(original.encode())
            data[int(rng.integers(len(data)))] = int(rng.choice(list(b" \n\r\t_+-/.x09afAF\xe9")))
            accepted += both_accept(certcheck, bytes(data), path)
    assert 10 < accepted < 200


@pytest.mark.slow
def test_long_run_means_of_several_classes_are_accepted_by_coq_and_certcheck(compiled, certcheck, tmp_path) -> None:
    model, path = tmp_path / "branches.sm", tmp_path / "branches.cert"
    model.write_text(BRANCHES)
    chain = read_prism(model).chain
    found = write_long_run(path, chain, 0, measures=["stuck"], model=model)
    assert accepts(compiled[0], translated(found))
    text, rng = path.read_text(), np.random.default_rng(6)
    assert b"proved      long-run mean of stuck in [2." in certcheck(text).stdout
    assert both_accept(certcheck, text, path)
    kept = sum(both_accept(certcheck, corrupted(text, rng), path) for _ in range(300))
    assert 0 < kept < 150
    found.functions[0].E = [0] * len(found.rows)
    assert not accepts(compiled[0], translated(found))
