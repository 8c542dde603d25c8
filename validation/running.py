"""Checking many claims: side by side in processes, and not again where nothing has changed.

A finding with its figures is kept under the hash of everything that it is made from: the sources of
the models, of `validation` and of the claims of its paper, the published tables, the bundled data
(their manifest), and the versions of Python and of the libraries. There is nothing to invalidate.
"""

from __future__ import annotations

import concurrent.futures
import functools
import hashlib
import importlib.metadata
import multiprocessing
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import dfcmodel
import hopflow
import markov
import responsefn
from hopflow.kernels.loading import folder as cache_folder
from validation.claims import find
from validation.manifest import MANIFEST_SHA256
from validation.report import drawn
from validation.tally import OWN
from validation.verdicts import Claim, Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["checked", "key_of"]

HERE = Path(__file__).parent
LIBRARIES = ("numpy", "scipy", "numba", "pandas", "matplotlib")
RECORDED = ("verdicts.csv", "thresholds.csv")
"""Published tables that are written from findings."""
PATTERNS = ("*.py", "*.md", "*.csv", "*.toml")


def checked(
    claims: Sequence[Claim], *, jobs: int | None = None, fresh: bool = False
) -> Iterator[tuple[Claim, Finding]]:
    """Yield the claims with their findings, figures drawn, as they are done.

    Parameters
    ----------
    claims
        Which to check.
    jobs
        Processes side by side; None: one for each core, at most one for each claim to check.
    fresh
        True checks all anew.
    """
    kept = {} if fresh else {claim: _load(claim) for claim in claims}
    yield from ((claim, finding) for claim, finding in kept.items() if finding)
    rest = sorted((claim for claim in claims if not kept.get(claim)), key=_longest_first)
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(rest))
    if jobs <= 1:
        for claim in rest:
            yield claim, _check(claim.id)
        return
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, context) as pool:
        done = {pool.submit(_check, claim.id): claim for claim in rest}
        try:
            for future in concurrent.futures.as_completed(done):
                yield done[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


SLOW = ("S06", "S08", "K03", "D04", "K01", "D16", "M16", "K07", "K08")
"""Claims that take longest, which begin first."""


def _longest_first(claim: Claim) -> tuple[int, str]:
    return (SLOW.index(claim.id) if claim.id in SLOW else len(SLOW)), claim.id


def _check(id: str) -> Finding:
    """Check a claim, draw its figures, and keep the result under the key of before."""
    place = _place(find(id))
    found = find(id).check()
    pictures = tuple(
        replace(picture, svg=drawn(picture), draw=functools.partial(_redraw, id, n))
        for n, picture in enumerate(found.pictures)
    )
    finding = replace(found, pictures=pictures)
    _keep(place, finding)
    return finding


def _redraw(id: str, n: int) -> Figure:
    return find(id).check().pictures[n].draw()


def key_of(claim: Claim) -> str:
    """Return the hash of everything that the finding of a claim is made from."""
    own = hashlib.sha256(f"{claim.id} {_common()}".encode())
    for path in _sources(HERE / "claims" / _folder(claim)):
        own.update(path.name.encode() + path.read_bytes())
    return own.hexdigest()


def _folder(claim: Claim) -> str:
    return "." if claim.paper == OWN else claim.paper


@functools.cache
def _common() -> str:
    digest = hashlib.sha256(MANIFEST_SHA256.encode())
    versions = [sys.version, *(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)]
    digest.update(" ".join(versions).encode())
    folders = [
        Path(str(module.__file__)).parent for module in (hopflow, dfcmodel, markov, responsefn)
    ]
    files = [path for folder in folders for path in _sources(folder)]
    files += [path for path in HERE.glob("*.py") if path.name not in ("cli.py", "running.py")]
    published = [path for path in _sources(HERE / "published") if path.name not in RECORDED]
    files += [*published, *_sources(HERE / "statistics")]
    files += sorted((HERE / "claims").glob("*.*"))
    for path in files:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _sources(folder: Path) -> list[Path]:
    return sorted(path for pattern in PATTERNS for path in folder.rglob(pattern))


def _place(claim: Claim) -> Path:
    return cache_folder() / "findings" / f"{claim.id}-{key_of(claim)[:32]}.pickle"


def _load(claim: Claim) -> Finding | None:
    try:
        finding = pickle.loads(_place(claim).read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError, TypeError):
        return None
    return finding if isinstance(finding, Finding) else None


def _keep(place: Path, finding: Finding) -> None:
    """Write a finding in one step, and remove those of the claim that were made from other sources."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
        pickle.dump(finding, file)
    Path(file.name).replace(place)
    for old in place.parent.glob(f"{place.name.partition('-')[0]}-*.pickle"):
        if old != place:
            old.unlink(missing_ok=True)
