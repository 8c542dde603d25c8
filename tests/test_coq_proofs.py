"""The proofs in `proofs/coq`: nothing is admitted, they compile, and Coq accepts and rejects certificates as Python does."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest

from markov import read_prism, stationary
from markov.proofs.checker import Contents, read

ROOT = Path(__file__).resolve().parents[1]
COQ = ROOT / "proofs" / "coq"
SHORTCUTS = re.compile(
    r"\b(?:Admitted|admit|Axioms?|Parameters?|Conjecture|Hypotheses|give_up|bypass_check)\b"
)
AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
"""Those of Coq's real numbers; docs/markov-bound.md names them."""
TWO = """hopflow-certificate 1
rate-unit 1/2
scale 8
reference 0
bound 0
columns n
function 1 1 1/4 1/4 second
states 2
0 6 0 0 0 0 1 1
1 2 0 1 1 0 0 3
"""
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
    assert [path.name for path in files] == ["Assumptions.v", "Checker.v", "Theory.v"]
    for path in files:
        assert SHORTCUTS.findall(path.read_text(encoding="utf-8")) == []
    assert SHORTCUTS.findall("Theorem t : 1 = 2. Proof. admit. Admitted.") == ["admit", "Admitted"]


def test_a_certificate_as_a_coq_file() -> None:
    text = translated(read(StringIO(TWO)))
    assert (
        "Certificate\n[Edge 0%N 1%N (1); Edge 1%N 0%N (3)]\n[(6); (2)] [(6); (2)] [(0); (1)]\n(8) 0%N (0) (1)."
        in text
    )
    assert "Mean [(0); (1)] [(0); (0)]\n(1) (1) (1) (2) (1) (4) (1) (4)." in text


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
    done = subprocess.run(
        ["coqc", "Case.v"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or 'Unable to unify "true" with "false"' in done.stderr, done.stderr
    return done.returncode == 0


@pytest.mark.slow
def test_coq_accepts_a_certificate_of_a_solution(compiled, tmp_path) -> None:
    folder, _ = compiled
    model, path = tmp_path / "machines.sm", tmp_path / "machines.cert"
    model.write_text(MACHINES)
    stationary(read_prism(model)).write_certificate(path, model=model)
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
