"""Forgeries of a copy of the package, one at a time: which commands notice them, and which only the hashes of a release tell.

The ways in which a file can differ from its manifest are in `test_manifest`, those in which a finding can differ from its record in
`test_recording`. Here the commands are run as a reader would.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from validation import manifest

pytestmark = pytest.mark.slow
PACKAGE = Path(manifest.__file__).parent
RECORD = "data/zheng2002/periodic-loss/provenance.json"
DATA = {
    "a digit of a table": ("data/zheng2002/ecn/link.csv", r"\d(?=\n)", "x"),
    "a unit of a parameter": (RECORD, r'"unit": "s"', '"unit": "ms"'),
    "a seed": (RECORD, r'"seeds": \[\s*1\b', '"seeds": [7'),
    "the program": (RECORD, r"[0-9a-f]{64}", "0" * 64),
}
LEDGER = {
    "the claim": ("published/claims.csv", "all variants share", "no variant shares"),
    "its figure": ("published/claims.csv", r"Fig\. 7", "Fig. 9"),
    "its paraphrase": ("published/paraphrases.csv", "The friendly rules", "The greedy rules"),
    "a statistic": ("published/statements.csv", "lower, by a rank", "higher, by a rank"),
    "a minor statement": ("published/minor_statements.csv", "Z13,closer", "Z13,order"),
    "an answer": ("published/headlines.csv", "Yes:", "No:"),
    "an undecidable statement": ("published/undecidable_statements.csv", "M14,", "M15,"),
    "a table of the paper": ("published/yang2001_table4.csv", "290.39", "390.39"),
    "a table of an RFC": ("published/rfc3649_appendixB.csv", "0.31", "0.13"),
    "a measured queue": ("published/spang2021_queue_depths.csv", r"(?m),(\d+)\.0$", r",9\1.0"),
    "an inferred weight": ("published/inferred.csv", r"0\.9", "0.1"),
    "an excuse": ("published/without_packet_level.csv", "nothing is sent", "nothing was found"),
    "a source": ("published/SOURCES.md", "5f7ae08", "5f7ae09"),
    "a finding": ("claims/zheng2002/one_flow_by_its_window.md", "Utilisation rises", "Utilisation falls"),
}
JUDGED = {
    "a limit": ("claims/yang2001/best_effort.py", "FAR = 2.0", "FAR = 1.1", "Y06"),
    "what a reading means": (
        "claims/zheng2002/pairs.py", r'EXCHANGED: \{"reading": EXCHANGED\}', 'EXCHANGED: {"reading": "b"}', "Z08",
    ),
    "a recorded verdict": ("published/verdicts.csv", "Z02,holds,holds", "Z02,holds,contradicted", "Z02"),
    "a recorded reading": ("published/readings.csv", "Z08,,1,contradicted", "Z08,,1,holds", "Z08"),
    "a recorded number": ("published/numbers.csv", r"(Z02,summary,)\d", r"\g<1>9", "Z02"),
    "a recorded threshold": ("published/thresholds.csv", r"Z02,tolerance,0\.5", "Z02,tolerance,0.4", "Z02"),
}  # fmt: skip


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package, beside the others."""
    folder = tmp_path_factory.mktemp("forged")
    for name in ("hopflow", "dfcmodel", "markov", "responsefn"):
        (folder / name).symlink_to(PACKAGE.parent / name, target_is_directory=True)
    shutil.copytree(PACKAGE, folder / "validation", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def package(copy: Path) -> Iterator[Path]:
    """Return the copy of the package, whose files are put back after the test."""
    yield copy / "validation"
    for path in (*(copy / "validation").rglob("*.csv"), *(copy / "validation").rglob("*.md")):
        _put_back(copy, path)
    for name in (
        RECORD,
        "manifest.py",
        *(f"{place}/manifest.txt" for place in ("data", "published")),
    ):
        _put_back(copy, copy / "validation" / name)
    for name, *_ in JUDGED.values():
        _put_back(copy, copy / "validation" / name)


def _put_back(copy: Path, path: Path) -> None:
    original = PACKAGE / path.relative_to(copy / "validation")
    if original.read_bytes() != path.read_bytes():
        shutil.copy(original, path)


def forge(package: Path, name: str, old: str, new: str) -> None:
    """Change the first place of a file that a pattern fits."""
    path = package / name
    text = path.read_text(encoding="utf-8")
    changed, places = re.subn(old, new, text, count=1)
    assert places == 1
    assert changed != text
    path.write_text(changed, encoding="utf-8")


def status(package: Path, *words: str) -> int:
    """Return the exit status of a command that takes the copy for the package."""
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=package.parent, capture_output=True, check=False).returncode


def seal(package: Path) -> None:
    """Write the manifests of the forged files, and their hashes in the package."""
    assert status(package, "validation.generate", "--seal") == 0


VERIFY = ("hopflow", "data", "verify")


def test_the_copy_itself_is_whole(package: Path) -> None:
    assert status(package, *VERIFY) == 0


@pytest.mark.parametrize("forgery", [*DATA.values(), *LEDGER.values()], ids=[*DATA, *LEDGER])
def test_verify_notices_a_file_that_is_not_as_listed(package: Path, forgery) -> None:
    """Also where its line in the manifest is renewed: the package has the hash of the manifest."""
    forge(package, *forgery)
    assert status(package, *VERIFY) != 0
    known = (package / "manifest.py").read_bytes()
    seal(package)
    (package / "manifest.py").write_bytes(known)
    assert status(package, *VERIFY) != 0


@pytest.mark.parametrize("forgery", JUDGED.values(), ids=JUDGED)
def test_validate_notices_what_judges_otherwise_than_recorded(package: Path, forgery) -> None:
    *change, claim = forgery
    forge(package, *change)
    assert status(package, "hopflow", "validate", "--claim", claim) == 1


@pytest.mark.parametrize(
    ("forgery", "constant"),
    [
        (DATA["a unit of a parameter"], "MANIFEST_SHA256"),
        (LEDGER["the claim"], "PUBLISHED_SHA256"),
        (LEDGER["a finding"], "PUBLISHED_SHA256"),
    ],
    ids=["data", "ledger", "text"],
)
def test_a_consistent_forgery_shows_in_the_hashes_of_a_release_alone(package, forgery, constant):
    """Whoever renews files, manifest and hash together is told by the hash that reports of the release print."""
    forge(package, *forgery)
    seal(package)
    assert status(package, *VERIFY) == 0
    forged = re.search(rf'^{constant} = "(\w+)"', (package / "manifest.py").read_text(), re.MULTILINE)
    assert forged
    assert forged[1] != getattr(manifest, constant)
