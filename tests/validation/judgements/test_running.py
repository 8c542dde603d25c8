"""Findings and runs over seeds are kept by what they are made from, and bundled runs are computed again."""

from __future__ import annotations

import datetime as dt
import functools
import importlib.util
import inspect
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest

from hopflow.kernels import cache
from tests.surface import for_each, invoke
from validation import evidence
from validation.claims import find
from validation.display.svg import drawn
from validation.generate.packets import further_seeds as further_seeds_plan
from validation.generate.packets import seed_tables
from validation.judgements import code_hashes, keeping, running
from validation.judgements.code_hashes import PACKAGES, ROOT, _file, hashes_of_code, modules_used
from validation.judgements.verdicts import Sides
from validation.networks import further_seeds, recomputing
from validation.networks.further_seeds import CASE, lines, named, over_seeds, plain
from validation.networks.recomputing import (
    PARTS,
    RANDOM,
    Run,
    compare,
    part_of,
    parts_of,
    recompute,
    runs,
)
from validation.records import recorded_verdicts

# Findings are kept by what they are made from.


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))
    return tmp_path / "findings"


def test_a_finding_is_used_again_with_its_figures(kept: Path) -> None:
    claim = find("Y11")
    ((_, first),) = running.checked([claim])
    ((_, again),) = running.checked([claim])
    assert (again.model, again.simulation) == (first.model, first.simulation)
    assert again.pictures[0].svg.startswith("<svg")
    assert len(list(kept.iterdir())) == 1


def test_a_worker_repeats_runs_of_ns2_beside_the_claims(kept, monkeypatch) -> None:
    """Threads stand for processes; the parts come first, and every claim is checked all the same."""
    repeated: list[int] = []
    monkeypatch.setattr(running, "begin_imports", lambda *, fresh: None)
    monkeypatch.setattr(running, "process_pool", lambda jobs, *_: ThreadPoolExecutor(jobs))
    monkeypatch.setattr(running.recomputing, "recompute", lambda parts: map(repeated.append, parts))
    monkeypatch.setattr(running, "_check", lambda id: (id, list(repeated)))
    claims = [find("Y11"), find("Y12")]
    found = dict(running.checked(claims, jobs=2, recompute=range(3, 5)))
    assert {claim.id: checked[0] for claim, checked in found.items()} == {
        "Y11": "Y11",
        "Y12": "Y12",
    }
    assert repeated == [3, 4]
    assert not kept.exists()


def test_workers_import_every_module_of_the_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    context = running._context()
    if context.get_start_method() != "forkserver":
        pytest.skip("workers are spawned here")
    asked: list[str] = []
    monkeypatch.setattr(context, "set_forkserver_preload", asked.extend, raising=False)
    monkeypatch.setattr(running.multiprocessing, "get_context", lambda _: context)
    running._context()
    assert {subject.check.measure.__module__ for subject in running.subjects().values()} <= set(asked)
    assert all(importlib.util.find_spec(name) for name in asked)


def test_what_is_incomplete_is_checked_again(kept: Path) -> None:
    claim = find("Y11")
    list(running.checked([claim]))
    (file,) = kept.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert running._load(claim, running.key_of(claim)) is None


@pytest.mark.parametrize("part", ["hashes_of_code", "_common", "keeping.hash_of"])
def test_the_key_follows_code_data_and_texts(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = find("Y11")
    before = running.key_of(claim)
    assert running.key_of(find("Y12")) != before
    monkeypatch.setattr(f"validation.judgements.running.{part}", lambda *_: ["another"])
    assert running.key_of(claim) != before


def test_a_claim_does_not_depend_on_models_that_it_does_not_use() -> None:
    def used(id: str) -> set[str]:
        return {name for each in running._modules_of(find(id)) for name in modules_used(each)}

    assert "markov.driver" in used("M04")
    assert "dfcmodel.sharing.coexistence" in used("K05")
    assert not {name for name in used("Y11") if name.startswith(("markov", "dfcmodel"))}
    assert "validation.claims.takano2006.vegas" not in used("D05")


@pytest.mark.parametrize("id", ["D03", "Y11"])
def test_what_a_claim_runs_is_what_its_key_is_made_from(id: str) -> None:
    claim = find(id)
    modules = [*running.MAKING, *running._modules_of(claim)]
    files = {str(_file(name)) for each in modules for name in modules_used(each)}
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # no module or class
            ran.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        for picture in claim.check().pictures:
            drawn(picture)
    finally:
        sys.setprofile(None)
    folders = [ROOT / name for name in PACKAGES]  # not .venv, which a checkout has beside them
    own = {name for name in ran if any(Path(name).is_relative_to(each) for each in folders)}
    assert {name for name in own if name.endswith(".py")} <= files
    assert any(str(_file(name)) in own for name in running._modules_of(claim))


@pytest.mark.slow
def test_claims_are_checked_on_an_executor(kept: Path) -> None:
    claim = find("Y11")
    with ThreadPoolExecutor(1) as pool:
        ((checked, found),) = running.checked([claim], executor=pool)
    assert checked is claim
    assert found.pictures[0].svg.startswith("<svg")
    assert len(list(kept.iterdir())) == 1


@pytest.mark.slow
def test_claims_are_checked_side_by_side_in_forked_workers(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))  # of the workers
    monkeypatch.setattr(running, "_load", lambda _claim, _key: None)
    claims = [find("Y11"), find("Y12")]
    found = dict(running.checked(claims, jobs=2))
    assert set(found) == set(claims)
    for claim in claims:
        sides = Sides(found[claim].model, found[claim].simulation)
        assert sides == recorded_verdicts()[claim.id]


# Results of models are computed once, whatever process asks.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(keeping, "_memory", {})
    return tmp_path / "computed"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, folder: Path):
    calls: list[float] = []

    def square(x: float, power: int = 2) -> float:
        calls.append(x)
        return x**power

    square.__module__ = "validation.judgements.keeping"
    return calls, keeping.kept(square)


def another_process() -> None:
    keeping._memory.clear()


def test_one_computation_serves_all_ways_to_ask_and_all_processes(asked) -> None:
    calls, square = asked
    assert square(3.0) == square(x=3.0) == square(3.0, 2) == 9.0
    another_process()
    assert square(3.0) == 9.0
    assert calls == [3.0]
    assert square(3.0, 3) == 27.0
    assert calls == [3.0, 3.0]


def test_what_is_incomplete_is_computed_again(asked, folder: Path) -> None:
    calls, square = asked
    square(3.0)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:5])
    another_process()
    assert square(3.0) == 9.0
    assert calls == [3.0, 3.0]


def test_other_code_gives_another_result_in_the_place_of_the_old(asked, folder, monkeypatch):
    calls, square = asked
    square(3.0)
    square(4.0)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(keeping, "_made_from", lambda module: "0" * 64)
    another_process()
    square(3.0)
    assert calls == [3.0, 4.0, 3.0]
    after = {path: path.read_bytes() for path in folder.iterdir()}
    assert set(after) == set(before)
    assert sum(after[path] != before[path] for path in after) == 1


def test_a_result_is_made_from_the_code_that_its_module_uses(monkeypatch: pytest.MonkeyPatch):
    seen: list[list[str]] = []
    monkeypatch.setattr(keeping, "hashes_of_code", lambda groups: [f"{seen.extend(groups)}"])
    keeping._made_from.__wrapped__("validation.claims.malhotra2005.chain")
    assert seen == [["validation.claims.malhotra2005.chain"]]


def test_functions_of_other_packages_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="must be one of hopflow, dfcmodel"):
        keeping.kept(another_process)()


def test_forgetting_computes_anew(asked, folder: Path) -> None:
    calls, square = asked
    square(3.0)
    keeping.forget()
    assert not folder.exists()
    square(3.0)
    assert calls == [3.0, 3.0]


def damage(folder: Path, rng: random.Random) -> str:
    """Flip one bit of one file of the cache; return which kind of entry it is."""
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.hopflow")):
        kind = path.relative_to(folder).parts[0].partition("-")[0]
        files.setdefault(kind, []).append(path)
    kind = rng.choice(sorted(files))
    path = rng.choice(files[kind])
    content = bytearray(path.read_bytes())
    position = rng.randrange(8 * len(content))
    content[position // 8] ^= 1 << position % 8
    path.write_bytes(content)
    if kind == "computed":  # which is read only for a new finding
        cache.clear("findings/")
    return kind


def answer(id: str) -> tuple[str, list[str]]:
    """Return the finding on a claim as a new process computes or reads it: without what is in memory."""
    another_process()
    for name in ("_known", "_source", "_own_hash"):
        getattr(code_hashes, name).cache_clear()
    ((_, finding),) = running.checked([find(id)])
    return repr(replace(finding, pictures=())), [picture.svg for picture in finding.pictures]


def damage_and_ask(ask: Callable[[], object], folder: Path, flips: int) -> set[str]:
    """Flip a bit of one file of the cache before each call; return the kinds of the damaged entries."""
    expected = ask()
    rng = random.Random(3)
    damaged = set()
    for _ in range(flips):
        damaged.add(damage(folder, rng))
        assert ask() == expected
    return damaged


@pytest.mark.slow
def test_a_flipped_bit_in_the_cache_changes_no_answer(tmp_path, monkeypatch, asked) -> None:
    _, square = asked

    def ask() -> object:
        return answer("Y11"), square(3.0), square(4.0)

    assert damage_and_ask(ask, tmp_path, 40) == {"findings", "computed", "code_hashes"}


@pytest.mark.slow
def test_a_flipped_bit_in_the_cache_of_m06_changes_no_answer(tmp_path, monkeypatch) -> None:
    """M06 runs packets; its kernels are not in the folder that is damaged here."""
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))
    kinds = damage_and_ask(lambda: answer("M06"), tmp_path, 30)
    assert kinds == {"findings", "computed", "code_hashes"}


def test_claims_are_checked_without_a_cache(monkeypatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: None)
    expected = answer("Y11")
    assert answer("Y11") == expected
    assert cache.contents() == (None, 0, 0)


def test_arguments_that_look_alike_are_refused(asked) -> None:
    _, square = asked
    with pytest.raises(TypeError, match="no repr that tells it apart"):
        square(object())


def test_rules_are_told_apart_by_their_parameters() -> None:
    """What `validation.claims.simulators.window_model` asks for."""
    from validation.claims.simulators import window_model

    rules = [*window_model.BY_LOSS.values(), *window_model.BY_DELAY.values()]
    rules += window_model.IN_NS3.values()
    assert len({repr(rule) for rule in rules}) == len(rules)


# Code is hashed with what it uses, and with nothing else.


CACHED = ("_file", "modules_used", "_source", "_imports", "_defined_in", "_own_hash", "_known")
FILES = {
    "hopflow/__init__.py": "from hopflow.sums import total\nfrom hopflow.means import mean\n",
    "hopflow/sums.py": 'def total(x):\n    """Add."""\n    return sum(x)\n',
    "hopflow/means.py": "from hopflow.sums import total\n\ndef mean(x): return total(x) / len(x)\n",
    "hopflow/loops/__init__.py": "",
    "hopflow/loops/run.py": "from .steps import step\n",
    "hopflow/loops/inner/__init__.py": "",
    "hopflow/loops/inner/again.py": "from ..steps import step\nfrom ...means import mean\n",
    "hopflow/loops/steps.py": "STEP = 1\ndef step(): return STEP\n",
    "markov/__init__.py": "if TYPE_CHECKING:\n    from markov.paths import walk\n",
    "markov/paths.py": "def walk(): pass\n",
    "markov/table.csv": "a,b\n",
    "validation/__init__.py": "",
    "validation/judgements/code_hashes.py": "",
    "validation/one.py": "from hopflow import total\n",
    "validation/two.py": "from hopflow import (\n    mean,  # of numbers\n)\n",
    "validation/three.py": "from markov import walk\n",
    "validation/four.py": 'LOOP = "hopflow.means"\n',
    "validation/five.py": "from hopflow import unknown\n",
    "validation/six.py": "from hopflow.loops.inner import again\n",
    "validation/seven.py": "def f():\n    import hopflow.sums; from markov import paths\n",
    "validation/eight.py": 'def f():\n    """>>> from hopflow import mean"""\n    return "one.py"\n',
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(code_hashes, "ROOT", tmp_path)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    for name in CACHED:
        getattr(code_hashes, name).cache_clear()


@pytest.mark.parametrize(
    ("module", "used"),
    [
        ("validation.one", {"hopflow.sums"}),
        ("validation.two", {"hopflow.sums", "hopflow.means"}),
        ("validation.three", {"markov.paths"}),
        ("validation.four", {"hopflow.means", "hopflow.sums"}),
        (
            "validation.six",
            {"hopflow.loops", "hopflow.loops.inner", "hopflow.loops.inner.again"}
            | {"hopflow.loops.steps", "hopflow.means", "hopflow.sums"},
        ),
        ("validation.seven", {"hopflow.sums", "markov.paths"}),
        ("validation.eight", {"validation.one", "hopflow.sums"}),
    ],
)
def test_a_name_stands_for_the_module_that_defines_it(tree: Path, module: str, used: set[str]):
    packages = {name.partition(".")[0] for name in (*used, module)}
    assert modules_used(module) == used | packages | {module}


def test_a_name_that_is_nowhere_to_be_found_stands_for_all(tree: Path) -> None:
    assert {"markov.paths", "hopflow.means"} <= modules_used("validation.five")


def test_other_modules_are_refused(tree: Path) -> None:
    with pytest.raises(ValueError, match="module = 'numpy': must be one of hopflow, dfcmodel"):
        modules_used("numpy")


@pytest.mark.parametrize(
    ("file", "text", "same"),
    [
        ("hopflow/sums.py", '# New\n\ndef total(x):\n    """Sum up."""\n    return sum(x)\n', True),
        ("hopflow/means.py", "changed = True\n", True),
        ("hopflow/sums.py", "def total(x):\n    return sum(x) + 1\n", False),
        ("hopflow/sums.py", "def total(x, y=0):\n    return sum(x)\n", False),
    ],
)
def test_only_used_code_counts(tree: Path, file: str, text: str, same: bool) -> None:
    before = hashes_of_code([["validation.one"]])
    (tree / file).write_text(text)
    forget()
    assert (hashes_of_code([["validation.one"]]) == before) is same


def test_tables_beside_a_module_count(tree: Path) -> None:
    before = hashes_of_code([["validation.three"]])
    (tree / "markov/table.csv").write_text("a,c\n")
    forget()
    assert hashes_of_code([["validation.three"]]) != before


def test_hashes_are_kept_by_the_text_of_a_module(tree: Path, monkeypatch: pytest.MonkeyPatch):
    before = hashes_of_code([["validation.two"]])
    forget()
    monkeypatch.setattr(code_hashes, "_bare", None)  # nothing is compiled again
    assert hashes_of_code([["validation.two"]]) == before


def test_another_way_of_hashing_does_not_use_the_hashes_of_the_old_one(tree: Path) -> None:
    before = code_hashes._entry()
    (tree / "validation/judgements/code_hashes.py").write_text("CHANGED = 1\n")
    forget()
    assert code_hashes._entry() != before


def test_sets_hash_alike_in_all_processes() -> None:
    assert code_hashes._bare((frozenset({"b", "a"}),)) == (["'a'", "'b'"],)


# Bundled runs computed again by the packet level.


LOT = Run("packets/parking-lots-ns2", "sack", 1, 1)


def test_every_run_of_the_cases_is_in_one_part_and_no_part_is_much_larger() -> None:
    ordered = sorted(runs(), key=recomputing._hash)
    parts = [ordered[part::PARTS] for part in range(PARTS)]
    assert sum(map(len, parts)) == len(set(runs())) == 412
    assert {len(part) for part in parts} == {17, 18}
    assert [run.seed for run in runs() if run.case == RANDOM] == list(range(100))


@for_each(range(0, 100, 11))
def test_random_networks_are_equal(seed: int) -> None:
    (run,) = (run for run in runs() if (run.case, run.seed) == (RANDOM, seed))
    found = compare(run)
    assert found.differences == ()
    assert found.packets > 0


@pytest.mark.parametrize(
    ("table", "column", "difference"),
    [
        ("acks", "acknowledged", "acknowledgements at ten times"),
        ("links", "drops", "drops"),
        ("flows", "sent", "packets sent"),
    ],
)
def test_one_digit_makes_a_random_network_differ(monkeypatch, table, column, difference) -> None:
    real = evidence.frame

    def changed(case: str, name: str | None = None):
        frame = real(case, name)
        if name == table:
            first = frame.index[frame["seed"] == 2][0]
            frame.loc[first, column] += 1
        return frame

    monkeypatch.setattr(evidence, "frame", changed)
    assert compare(Run(RANDOM, "mixed", 3, 2)).differences == (difference,)
    assert compare(Run(RANDOM, "mixed", 4, 3)).differences == ()


def test_each_day_has_a_part_and_all_have_their_turn() -> None:
    days = (dt.date(2026, 2, 20) + dt.timedelta(n) for n in range(PARTS))
    assert {part_of(day) for day in days} == set(range(PARTS))


def test_words_stand_for_parts() -> None:
    assert (list(parts_of("5")), len(parts_of("all")), len(parts_of("none"))) == ([5], PARTS, 0)
    assert len(parts_of("today")) == 1


def test_a_run_is_equal_and_one_digit_makes_it_differ(monkeypatch) -> None:
    """A packet more in the table, or a timeout, is named; the others stay equal."""
    assert compare(LOT).differences == ()
    real = evidence.frame

    def changed(case: str, name: str | None = None):
        frame = real(case, name)
        if name == "flows":
            frame["timeouts"] += frame["flow"] == 2
        return frame

    monkeypatch.setattr(evidence, "frame", changed)
    assert compare(LOT).differences == ("timeouts",)
    assert compare(LOT).packets == compare(LOT).packets > 10_000


@pytest.mark.slow
def test_all_runs_are_equal() -> None:
    assert [each.run for each in recompute(range(PARTS)) if each.differences] == []


def test_a_run_that_differs_ends_the_command_with_1(tmp_path, monkeypatch) -> None:
    found = [recomputing.Recomputed(LOT, 10, ("drops",))]
    monkeypatch.setattr(recomputing, "recompute", lambda parts: iter(found * len(parts)))
    arguments = ["validate", "--claim", "Z01", "--report", str(tmp_path), "--recompute", "3"]
    done = invoke(arguments)
    assert done.exit_code == 1
    assert "1 differ" in done.output
    assert '"drops"' in (tmp_path / "recomputed.json").read_text()


# Runs of hopflow's packet level over seeds: bundled ones are used only where the first one, run again, equals its record.


class Pair(NamedTuple):
    """What a function of a seed may return."""

    mean: float
    both: list[float]


@pytest.fixture
def counted(monkeypatch):
    """Return a function over three seeds that is kept in the process alone, and the seeds that it was run for."""
    monkeypatch.setattr(further_seeds, "kept", functools.cache)
    ran = []

    @over_seeds((1, 2, 3))
    def squares(seed: int, shift: float = 0.0) -> Pair:
        ran.append(seed)
        return Pair(seed**2 + shift, [float(seed), -float(seed)])

    return squares, ran


def test_the_seeds_of_a_check_are_run_where_none_are_bundled(counted) -> None:
    squares, ran = counted
    assert [pair.mean for pair in squares(0.5)] == [1.5, 4.5, 9.5]
    assert ran == [1, 2, 3]
    assert len(squares(0.25, base=(1, 2))) == 2


def test_bundled_seeds_are_taken_where_the_first_run_equals_its_record(counted, monkeypatch):
    squares, ran = counted
    bundle = {1: [2.0, 1.0, -1.0], 2: [5.0, 2.0, -2.0], 7: [50.0, 7.0, -7.0]}
    monkeypatch.setattr(further_seeds, "_bundled", lambda *_: bundle)
    found = squares(1.0)
    assert found == [Pair(2.0, [1.0, -1.0]), Pair(5.0, [2.0, -2.0]), Pair(50.0, [7.0, -7.0])]
    assert ran == [1]


@pytest.mark.parametrize("first", [[2.0 + 1e-6, 1.0, -1.0], [2.0, 1.0], []])
def test_all_bundled_seeds_are_run_where_the_first_one_differs(counted, monkeypatch, first) -> None:
    """Stale numbers are never mixed with new ones."""
    squares, ran = counted
    monkeypatch.setattr(further_seeds, "_bundled", lambda *_: {1: first, 7: [0.0, 0.0, 0.0]})
    assert [pair.mean for pair in squares(1.0)] == [2.0, 50.0]
    assert ran == [1, 7]


def test_named_tuples_become_plain_ones() -> None:
    assert repr(plain((Pair(1.0, [2.0]), "a"))) == "((1.0, [2.0]), 'a')"


def _settings() -> list[tuple[str, str]]:
    table = evidence.table(CASE)[["function", "arguments"]].drop_duplicates()
    return [(str(f), str(a)) for f, a in table.itertuples(index=False, name=None)]


def _differs(function: str, arguments: str, seed: int) -> bool:
    table = evidence.table(CASE)
    own = table[(table["function"] == function) & (table["arguments"] == arguments)]
    known = own[own["seed"] == seed].sort_values("number")["value"].tolist()
    found = [float(line.split(",")[2]) for line in lines(function, arguments, [seed])]
    return not further_seeds._equal(found, known)


def test_a_bundled_run_is_the_same_when_made_again() -> None:
    assert not _differs("li2019.telemetry.shares", "()", 107)


@pytest.mark.slow
def test_every_setting_has_its_last_seed_when_it_is_run_again() -> None:
    table = evidence.table(CASE)
    last = table.groupby(["function", "arguments"])["seed"].max()
    assert [key for key in _settings() if _differs(*key, int(last[key]))] == []


def test_the_plan_has_each_setting_once_and_as_many_seeds_as_a_claim_needs() -> None:
    settings = [
        (run["function"], *setting)
        for run in further_seeds_plan.runs(further_seeds_plan.asked())
        for setting in run["settings"]
    ]
    keys = [(function, arguments) for function, _, _, arguments in settings]
    assert len(keys) == len(set(keys))
    seeds = {key: last - first + 1 for key, (_, first, last, _) in zip(keys, settings, strict=True)}
    assert seeds["zhu2015.sharing.lot_rates_of_dcqcn", "()"] == further_seeds_plan.NEEDED["Q02"]
    assert seeds["li2019.telemetry.shares", "()"] == further_seeds_plan.MIN_SEEDS
    assert all(named(function).seeds[0] == first for function, first, *_ in settings)


def test_lines_become_rows_with_all_digits() -> None:
    run = {"function": "f", "settings": [[1, 1, "(1,)"], [1, 1, "(2,)"]]}
    rows = seed_tables.read(run, Path(), ["0,1,0,0.1\n1,1,0,0.30000000000000004\n"])["runs"]
    assert [row["arguments"] for row in rows] == ["(1,)", "(2,)"]
    assert rows[1]["value"] == "0.30000000000000004"
    assert seed_tables.calls(run) == [["f", "1", "1", "(1,)", "1", "1", "(2,)"]]


@for_each(
    [
        ("goyal2022.beside.measured", 4), ("goyal2022.flows.active", 4), ("guo2016.operation.incast_and_short", 4),
        ("kaneko2007.level.two_flows", 3), ("kaneko2007.runs.two_in_model", 8), ("li2019.telemetry.shares", 4),
        ("malhotra2005.level.endless_run", 4), ("malhotra2005.level.files_run", 8),
        ("mittal2018.fat_tree.random_runs", 3), ("mittal2018.fat_tree.request_times", 4),
        ("yang2001.load.shares_of", 3), ("zheng2002.level.run_of", 3), ("zhu2015.incast.queues", 4),
        ("zhu2015.sharing.victim_rates", 4), ("zhu2016.dcqcn.seen", 4),
    ]
)  # fmt: skip
def test_a_new_setting_is_run_with_as_many_seeds_as_its_pages_say(function: str, seeds: int) -> None:
    """Bundled settings have seeds of their own: a smaller number would not show in any verdict."""
    assert len(named(function).seeds) == seeds


def test_a_process_goes_on_with_its_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes have different papers while others wait, every claim is checked once, and an error ends the run."""
    claims = [find(id) for id in ("D04", "K01", "D05", "D06", "Z01", "K02", "Z02")]
    begun: list[tuple[str, list[str]]] = []
    in_flight: list[str] = []

    def check(id: str) -> str:
        begun.append((find(id).paper, list(in_flight)))
        in_flight.append(find(id).paper)
        time.sleep(0.02)
        in_flight.remove(find(id).paper)
        return id

    monkeypatch.setattr(running, "_check", check)
    with ThreadPoolExecutor(2) as pool:
        found = dict(running._found_by_paper(claims, pool, 2))
    assert {claim.id: str(finding) for claim, finding in found.items()} == {claim.id: claim.id for claim in claims}
    papers = [paper for paper, _ in begun]
    for n, (paper, others) in enumerate(begun):
        assert paper not in others or set(papers[n:]) <= set(others)
    monkeypatch.setattr(running, "_check", {}.__getitem__)
    with ThreadPoolExecutor(2) as pool, pytest.raises(KeyError):
        list(running._found_by_paper(claims, pool, 2))


def test_claims_of_a_broken_pool_are_checked_in_a_new_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A worker that dies costs time, no claim."""
    tmp_path.joinpath("dying.py").write_text("import os\n\ndef end_process(id):\n    os._exit(len(id))\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    claims = [find(id) for id in ("D04", "K01", "Z01")]
    monkeypatch.setattr(running, "_check", importlib.import_module("dying").end_process)
    monkeypatch.setattr(running, "_checks", list)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        found = dict(running._found_by_paper(claims, pool, 2))
    assert [str(found[claim]) for claim in claims] == [claim.id for claim in claims]
