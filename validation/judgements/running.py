"""Checking many claims: side by side in processes, and not again where nothing has changed.

A finding with its figures is kept under the hash of everything that it is made from: the code that its
claim uses, of the models too (`validation.judgements.code_hashes`), the texts, the published tables, the bundled
data (their manifest), and the versions of Python and of the libraries. There is nothing to
invalidate: after a change, the claims that use what was changed are checked again, with those results of
models that do not use it (`validation.judgements.keeping`).
"""

from __future__ import annotations

import concurrent.futures
import functools
import gc
import hashlib
import multiprocessing
import multiprocessing.context
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING

from hopflow.kernels import cache
from hopflow.processes import process_pool
from hopflow.sweeps.executors import cores, run_tasks
from validation.checks import subjects
from validation.claims import find, ledger
from validation.display.svg import drawn
from validation.judgements import keeping, pickles
from validation.judgements.code_hashes import hashes_of_code
from validation.judgements.settings import listed, stated
from validation.judgements.verdicts import Claim, Finding
from validation.manifest import MANIFEST_SHA256
from validation.networks import recomputing
from validation.records import OWN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parents[1]
FINDINGS = "findings"
"""Folder of the cache with the finding of each claim that was checked."""
NOT_USED = (
    "verdicts.csv", "thresholds.csv", "readings.csv", "numbers.csv", "without_packet_level.csv", "without_explanation.csv", "paraphrases.csv", "headlines.csv", "inferred.csv", "inferred_parameters.csv", "settings.csv", "manifest.txt",
)  # fmt: skip
"""Published tables that are written from findings, or are for the pages alone."""
MAKING = ("validation.checks", "validation.display.svg", "validation.judgements.settings")
"""Modules that make findings of what claims measure."""


def checked(
    claims: Sequence[Claim],
    *,
    jobs: int | None = None,
    fresh: bool = False,
    executor: concurrent.futures.Executor | None = None,
    recompute: Sequence[int] = (),
) -> Iterator[tuple[Claim, Finding]]:
    """Yield the claims with their findings, figures drawn, as they are done.

    Parameters
    ----------
    claims
        Which to check.
    jobs
        Processes side by side; None: one for each core, at most one for each claim to check.
    fresh
        True checks all again.
    executor
        Where to check instead of in processes of its own: any `concurrent.futures.Executor`, such as
        Dask's ``client.get_executor()``, on workers that have the same files.
    recompute
        Parts of the bundled runs of ns-2 that one of several processes computes again meanwhile
        (`validation.networks.recomputing.recompute`, which finds them done).
    """
    if fresh:
        keeping.forget()
    jobs = min(jobs or cores(), len(claims))
    if jobs > 1 and executor is None:
        begin_imports(fresh=fresh)
    kept = {} if fresh else {claim: _load(claim, key) for claim, key in zip(claims, keys_of(claims), strict=True)}
    yield from ((claim, finding) for claim, finding in kept.items() if finding)
    rest = sorted((claim for claim in claims if not kept.get(claim)), key=_longest_first)
    if executor is not None:
        yield from _found(rest, executor)
        return
    jobs = min(jobs, len(rest))
    if jobs <= 1:
        for claim in rest:
            yield claim, _check(claim.id)
        return
    with process_pool(jobs, _context(), collect_less_often) as pool:
        if recompute:
            pool.submit(_recompute, tuple(recompute))  # an error comes again where it is asked for
        yield from _found_by_paper(rest, pool, jobs)


IMPORTED = ("numba", "matplotlib.backends.backend_svg", "validation.display.svg")
"""What most claims import when they are checked, beside their modules."""


def _context() -> multiprocessing.context.BaseContext:
    """Return how workers begin: forked, where that can be, from a process that has imported what all need."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    files = (path.relative_to(HERE.parent) for path in (HERE / "claims").rglob("*.py"))
    modules = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files}
    context.set_forkserver_preload([*IMPORTED, *sorted(modules)])
    return context


def begin_imports(*, fresh: bool) -> None:
    """Begin the process that workers are forked from: it imports while this one does, and looks for findings.

    Not where findings are kept and used again: a few claims at most are checked then.
    """
    used = not fresh and cache.names(f"{FINDINGS}/")
    if cores() > 1 and not used and _context().get_start_method() == "forkserver":
        forkserver.ensure_running()


def collect_less_often() -> None:
    """Look for garbage less often in this process: compilers and syntax trees have many objects that live long.

    It takes a tenth of the time of workers, and a fifth of that of `keys_of`.
    """
    gc.set_threshold(50_000, 20, 100)


def _found(claims: list[Claim], executor: concurrent.futures.Executor) -> Iterator[tuple[Claim, Finding]]:
    """Yield the claims with their findings as they are done."""
    ids = [claim.id for claim in claims]
    for n, finding in run_tasks(_checks, ids, executor, max_batch=1):
        yield claims[n], finding


def _found_by_paper(
    claims: list[Claim], pool: concurrent.futures.Executor, jobs: int
) -> Iterator[tuple[Claim, Finding]]:
    """Yield the claims with their findings as they are done by ``jobs`` processes.

    Claims of a paper share tables and runs of models, which a process keeps: it goes on with the paper that it has begun,
    then with one that no other process has, and helps others at the end.
    """
    waiting, running = list(claims), dict[concurrent.futures.Future[Finding], Claim]()
    done = queue.SimpleQueue[tuple[Claim, concurrent.futures.Future[Finding]]]()
    lock = threading.Lock()

    def begin_next(paper: str | None) -> None:
        """Begin a claim, of this paper where one waits; the pool calls it as soon as a process is idle."""
        with lock:
            if not waiting:
                return
            others = {claim.paper for claim in running.values()}
            chosen = min(waiting, key=lambda claim: (claim.paper != paper, claim.paper in others))
            waiting.remove(chosen)
            future = pool.submit(_check, chosen.id)
            running[future] = chosen
        future.add_done_callback(finish)

    def finish(future: concurrent.futures.Future[Finding]) -> None:
        with lock:
            claim = running.pop(future)
        done.put((claim, future))
        if not future.cancelled() and future.exception() is None:
            begin_next(claim.paper)

    rest = list(claims)
    try:
        for _ in range(jobs):
            begin_next(None)
        while rest:
            claim, future = done.get()
            finding = future.result()
            rest.remove(claim)
            yield claim, finding
    except concurrent.futures.BrokenExecutor:
        yield from _found(rest, pool)  # which replaces the pool
    finally:
        waiting.clear()  # an error or Ctrl-C begins no more


def _recompute(parts: Sequence[int]) -> None:
    for _ in recomputing.recompute(parts):
        pass


def _checks(ids: Sequence[str]) -> Iterator[Finding]:
    return map(_check, ids)


SLOW = (
    "D04",  # compiles the fluid engine; the next one does not need it
    "S06", "S08", "D05", "D06", "D07", "D08", "K03", "K05", "K10",
    "D09",  # uses the runs of D04 to D08
    "K07", "K01", "K02", "M04", "M16", "M08", "M07", "K08",
)  # fmt: skip
"""Claims that take longest: their papers begin first, and they before others of their paper."""


def _longest_first(claim: Claim) -> tuple[int, str]:
    return (SLOW.index(claim.id) if claim.id in SLOW else len(SLOW)), claim.id


def _check(id: str) -> Finding:
    """Check a claim, draw its figures, and keep the result under the key of before."""
    claim = find(id)
    key = key_of(claim)
    found = claim.check()
    pictures = tuple(
        replace(drawn(picture), draw=functools.partial(_redraw, id, n)) for n, picture in enumerate(found.pictures)
    )
    settings = listed(found.cases) if stated(claim.paper) else {}  # by this process, which has read their tables
    finding = replace(found, pictures=pictures, settings=settings)
    pickles.write(f"{FINDINGS}/{id}", key, finding)
    return finding


def _redraw(id: str, n: int) -> Figure:
    return find(id).check().pictures[n].draw()


def keys_of(claims: Sequence[Claim]) -> list[str]:
    """Return, for each claim, the hash of everything that its finding is made from."""
    codes = hashes_of_code([*MAKING, *_modules_of(claim)] for claim in claims)
    keys = []
    for claim, code in zip(claims, codes, strict=True):
        own = subjects().get(claim.id)
        texts = keeping.hash_of([*([own.check.text] if own else []), *_shared_texts()])
        keys.append(hashlib.sha256(f"{claim.id} {_common()} {code} {texts}".encode()).hexdigest())
    return keys


def key_of(claim: Claim) -> str:
    """Return the hash of everything that the finding of a claim is made from."""
    (key,) = keys_of([claim])
    return key


def _modules_of(claim: Claim) -> list[str]:
    """Return the modules that register a claim, and those of the functions that check it."""
    folder = HERE / "claims" / ("." if claim.paper == OWN else claim.paper)
    naming = [path for path in folder.rglob("*.py") if f'"{claim.id}"' in _text(path)]
    own = [".".join(path.relative_to(HERE.parent).with_suffix("").parts) for path in naming]
    registered = subjects().get(claim.id)
    return [*own, *(registered.check.modules() if registered else ())]


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def _shared_texts() -> tuple[Path, ...]:
    """Return the texts that others include."""
    own = {subjects()[id].check.text for id in ledger()}
    return tuple(path for path in sorted((HERE / "claims").rglob("*.md")) if path not in own)


@functools.cache
def _common() -> str:
    published = (HERE / "published").rglob("*.*")
    files = sorted(path for path in published if path.name not in NOT_USED)
    made_from = f"{MANIFEST_SHA256} {keeping.versions()} {keeping.hash_of(files)}"
    return hashlib.sha256(made_from.encode()).hexdigest()


def _load(claim: Claim, key: str) -> Finding | None:
    finding = pickles.read(f"{FINDINGS}/{claim.id}", key)
    return finding if isinstance(finding, Finding) else None
