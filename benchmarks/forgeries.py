"""``python -m benchmarks.forgeries [NAME ...] [--save]``: forge the evidence in clones of this repository, and see who notices.

Each forgery is made in a clone of the last commit, sealed (`python -m validation.generate --seal`), recorded (`hopflow validate --claim
... --record`) where it is of a claim, and committed without a line in the changelog. A forger who also writes a line leaves it there to
be read. `hopflow data verify` is run first; then `hopflow validate` of the claim, then the quick test named, until one notices.

Forgeries A to N are those of a review. Forgeries O to AB were written down before any was tried. ``--save`` writes
``benchmarks/results/forgeries.md``.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results" / "forgeries.md"
CLAIMS, PUBLISHED, DATA = "validation/claims", "validation/published", "validation/data"
IDENTITY = {f"GIT_{role}_{field}": "forger" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}


@dataclass(frozen=True)
class Tree:
    """A clone in which a forgery is made."""

    root: Path

    def run(self, *words: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the clone, whose package Python imports."""
        variables = (
            os.environ
            | IDENTITY
            | {"GIT_CONFIG_GLOBAL": os.devnull, "PYTHONPATH": str(self.root), "COLUMNS": "400"}
            | environment
        )
        return subprocess.run(words, cwd=self.root, env=variables, capture_output=True, text=True, check=check)

    def python(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a module of the clone."""
        return self.run(sys.executable, "-m", *words, check=check)

    def commit(self, message: str = "Tidy", date: str = "") -> None:
        """Commit all."""
        self.run("git", "add", "-A")
        self.run("git", "commit", "-qm", message, date=date)

    def seal(self) -> None:
        """Write the manifests and their hashes."""
        self.python("validation.generate", "--seal")

    def edit(self, path: str, pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> None:
        """Replace the first match of a pattern in a file.

        Raises
        ------
        ValueError
            If nothing changes: the file is another one than the forgery was written for.
        """
        file = self.root / path
        text = file.read_text(encoding="utf-8")
        forged = re.sub(pattern, replacement, text, count=1)
        if forged == text:
            raise ValueError(f"{path}: nothing matches {pattern!r}; the forgery has to be written again")
        file.write_text(forged, encoding="utf-8")

    def edit_table(self, case: str, name: str, change: Callable[[list[dict[str, str]]], None]) -> None:
        """Change the rows of a table of a case, and renew its checksum and number of rows in the record."""
        folder = self.root / DATA / case
        file = next(folder.glob(f"{name}.csv*"))
        opened = lzma.open if file.suffix == ".xz" else open
        with opened(file, "rt", encoding="utf-8", newline="") as source:
            rows = list(csv.DictReader(source))
        columns = list(rows[0])
        change(rows)
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        content = text.getvalue().encode()
        file.write_bytes(lzma.compress(content) if file.suffix == ".xz" else content)

        def renew(record: dict[str, object]) -> None:
            about = record["files"][file.name]  # type: ignore[index]
            about |= {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "rows": len(rows)}

        self.edit_record(case, renew)

    def edit_record(self, case: str, change: Callable[[dict[str, object]], None]) -> None:
        """Change the record of a case."""
        path = self.root / DATA / case / "provenance.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        change(record)
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _scale(column: str, factor: float = 1.0, summand: float = 0.0) -> Callable[[list[dict[str, str]]], None]:
    """Return a change of a column in the first row."""

    def change(rows: list[dict[str, str]]) -> None:
        rows[0][column] = f"{float(rows[0][column]) * factor + summand:.10g}"

    return change


def _unrun_seed(record: dict[str, object]) -> None:
    record["date"] = "2026-11-20"
    record["seeds"] = [*record["seeds"], 99]  # type: ignore[misc]


def _expectation(tree: Tree) -> None:
    tree.edit(f"{PUBLISHED}/fabric_expectations.csv", r"(?m)^(I05,same,.*)margin 0\.05", r"\1margin 0.5")
    tree.edit(f"{CLAIMS}/mittal2018/fat_tree.py", r'("I05".*)equal=0\.05', r"\1equal=0.5")


def _figure(tree: Tree) -> None:
    tree.edit(
        "docs/figures/dfc_tcp.svg", r'(<use xlink:href="#\w+" x=")(\d+)', lambda match: f"{match[1]}{int(match[2]) + 9}"
    )


def _deleted_case(tree: Tree) -> None:
    shutil.rmtree(tree.root / DATA / "zheng2002" / "ecn")


def _finding(tree: Tree) -> None:
    """Write the finding of a claim again with another number, under its key and with a right digest."""
    code = (
        "from validation.claims import find; from validation.judgements import pickles, running; from dataclasses import replace;"
        "claim = find('K09'); key = running.key_of(claim); name = f'{running.FINDINGS}/K09';"
        "finding = pickles.read(name, key); assert finding is not None;"
        "finding = replace(finding, summary=finding.summary + ' All 77 agree.');"
        "assert pickles.write(name, key, finding)"
    )
    tree.python("hopflow", "validate", "--claim", "K09", "--report", str(tree.root / "build" / "before"))
    tree.run(sys.executable, "-c", code)


def _after_a_line(tree: Tree) -> None:
    """An honest change of the claim with its line comes first."""
    tree.edit(f"{PUBLISHED}/headlines.csv", r"(?m)^(K09,[^\n]*)\.", r"\1!")
    tree.edit("CHANGELOG.md", "### Added\n\n", "### Added\n\n- The answer of K09 is reworded.\n")
    tree.seal()
    tree.commit("Reword an answer")
    tree.edit(
        f"{PUBLISHED}/headlines.csv",
        r"(?m)^K09,([\w ]+),([\w ]+),[^\n]*",
        r"K09,\1,\2,Yes: windows stay near the product!",
    )


def _in_a_merge(tree: Tree) -> None:
    """Neither parent of the merge has the cell."""
    tree.run("git", "checkout", "-q", "-b", "side")
    (tree.root / "notes.txt").write_text("notes\n", encoding="utf-8")
    tree.commit("Notes")
    tree.run("git", "checkout", "-q", "-")
    (tree.root / "other.txt").write_text("other\n", encoding="utf-8")
    tree.commit("Other notes")
    tree.run("git", "merge", "-q", "--no-commit", "--no-ff", "side")
    tree.edit(f"{PUBLISHED}/yang2001_table1.csv", r"122\.9", "22.9")


def _moved_base(tree: Tree) -> None:
    """The base becomes the commit that forges."""
    tree.edit(
        f"{PUBLISHED}/headlines.csv",
        r"(?m)^Y18,([\w ]+),([\w ]+),[^\n]*",
        r"Y18,\1,\2,Yes: the spread grows with the priority.",
    )
    tree.seal()
    tree.commit("Reword")
    head = tree.run("git", "rev-parse", "HEAD").stdout.strip()
    tree.edit("validation/history.py", r'BASE = "\w+"', f'BASE = "{head}"')


def _recorded_verdict(tree: Tree) -> None:
    tree.edit(f"{PUBLISHED}/verdicts.csv", r"(?m)^(Y18,)contradicted", r"\1holds")


def _second_reading(tree: Tree) -> None:
    """Table 6 and the second reading of it, which the test compares."""
    tree.edit(f"{PUBLISHED}/yang2001_table6.csv", r"22\.517", "82.517")
    tree.edit("tests/validation/published/second_reading.toml", r"22\.517", "82.517")


def _dropped_seed(tree: Tree) -> None:
    """The runs of a seed go, with the seed in the record, its runs and rows."""
    case, seeds = "zheng2002/pairs-8x8", []

    def drop(rows: list[dict[str, str]]) -> None:
        seeds.append(rows[-1]["seed"])
        rows[:] = [row for row in rows if row["seed"] != seeds[0]]

    for file in sorted((tree.root / DATA / case).glob("*.csv*")):
        tree.edit_table(case, file.name.split(".")[0], drop)
    tree.edit_record(case, lambda record: record.update(seeds=[s for s in record["seeds"] if str(s) != seeds[0]]))  # type: ignore[attr-defined]


def _listed_program(tree: Tree) -> None:
    """A driver that changed is listed with a reason."""
    path = tree.root / "validation/generate/ns3/rules.h"
    recorded = hashlib.sha256(path.read_bytes()).hexdigest()
    tree.edit("validation/generate/ns3/rules.h", r"0\.9 \* m_rate", "0.8 * m_rate")
    now = hashlib.sha256(path.read_bytes()).hexdigest()
    row = f"validation/generate/ns3/rules.h,{recorded},{now},0bae48b6,options,the constant is not used\n"
    with (tree.root / PUBLISHED / "changed_programs.csv").open("a", encoding="utf-8") as file:
        file.write(row)


def _unwatched(tree: Tree) -> None:
    """Git is told that the file does not change, and the change is not committed."""
    tree.run("git", "update-index", "--skip-worktree", f"{PUBLISHED}/readings.csv")
    tree.edit(f"{PUBLISHED}/readings.csv", r"(?m)^(K06,,3,)contradicted", r"\1holds")


def _identity(tree: Tree) -> None:
    """The check that the cell breaks is removed."""
    tree.edit("validation/row_checks.py", r'    Identity\("utilisation \* rate \* duration".*\n', "")
    tree.edit_table("kaneko2007/buffers-ns3", "links", _scale("utilisation", summand=-0.2))


@dataclass(frozen=True)
class Forgery:
    """What is forged, how, and whose record is written again.

    Attributes
    ----------
    name, text
        Its letter, and what it is.
    make
        Makes it in a clone; what it leaves is sealed and committed.
    claim
        The claim that is recorded again, and checked if `hopflow data verify` does not notice.
    test
        A quick test that may notice.
    dated
        The date of the commit; "" is now.
    """

    name: str
    text: str
    make: Callable[[Tree], None]
    claim: str = ""
    test: str = ""
    dated: str = ""


READ_AGAIN = "tests/validation/published/test_papers.py"
FORGERIES: Sequence[Forgery] = (
    Forgery("A", "cell mean_cwnd x1.25", lambda t: t.edit_table("kaneko2007/buffers-ns3", "flows", _scale("mean_cwnd", 1.25)), "K09"),
    Forgery("B", "cell utilisation +0.2", lambda t: t.edit_table("kaneko2007/buffers-ns3", "links", _scale("utilisation", summand=0.2)), "K07"),
    Forgery("C", "margin of an expectation, in the table and in the code", _expectation, "I05"),
    Forgery("D", "reading removed", lambda t: t.edit(f"{CLAIMS}/kaneko2007/beside_reno.py", r"in SMALLER_SIZES\.items\(\)", "in list(SMALLER_SIZES.items())[:1]"), "K06"),
    Forgery("E", "constant of a claim", lambda t: t.edit(f"{CLAIMS}/yang2001/priorities.py", "LINK, SIZE, FLOWS = 1e6", "LINK, SIZE, FLOWS = 0.9e6"), "Y17"),
    Forgery("F", "threshold of a claim", lambda t: t.edit(f"{CLAIMS}/yang2001/priorities.py", r'("Y17", least=)EQUAL', r"\g<1>1.3 * EQUAL"), "Y17"),
    Forgery("G", "text of a cause turned round", lambda t: t.edit(f"{CLAIMS}/yang2001/unused_slots.md", "has to fill", "need not fill"), "Y17"),
    Forgery("H", "dots of the README's figure", _figure),
    Forgery("I", "cached finding with a right digest", _finding, "K09"),
    Forgery("J", "case and its lines of the manifest deleted", _deleted_case),
    Forgery("K", "date of a record, and a seed that was not run", lambda t: t.edit_record("zheng2002/ecn", _unrun_seed)),
    Forgery("L", "statement declared minor", lambda t: t.edit(f"{PUBLISHED}/minor_statements.csv", r"\Z", "Y12,drr_cc,the paper mentions it in passing\n"), "Y12"),
    Forgery("M", "cell of Table 4", lambda t: t.edit(f"{PUBLISHED}/yang2001_table4.csv", r"451\.61", "951.61"), "", READ_AGAIN),
    Forgery("N", "constant of a driver whose hash is in records", lambda t: t.edit("validation/generate/ns3/rules.h", r"0\.9 \* m_rate", "0.8 * m_rate")),
    Forgery("O", "answer changed after an honest change of the same claim that has its line", _after_a_line),
    Forgery("P", "cell of Table 1 changed in a merge", _in_a_merge),
    Forgery("Q", "the base moved to the commit that forges", _moved_base),
    Forgery("R", "recorded verdict", _recorded_verdict),
    Forgery("S", "setting of ours declared to be the paper's", lambda t: t.edit(f"{PUBLISHED}/settings.csv", r"(takano2006,load of UDP),ours,not stated how much UDP sends", r"\1,paper,Sect. 4")),
    Forgery("T", "cell of Table 6 and its second reading", _second_reading, "", READ_AGAIN),
    Forgery("U", "seed dropped from tables and record", _dropped_seed, "Z10"),
    Forgery("V", "changed driver, listed with a reason", _listed_program),
    Forgery("W", "case excused", lambda t: t.edit(f"{PUBLISHED}/excused_cases.csv", r"\Z", "yang2001/slots-per-turn,Y17,another question\n")),
    Forgery("X", "paraphrase narrowed to what was run", lambda t: t.edit(f"{PUBLISHED}/paraphrases.csv", r"(?m)^(I05,.*)150 MB", r"\g<1>15 MB")),
    Forgery("Y", "inferred weight", lambda t: t.edit(f"{PUBLISHED}/inferred.csv", r"(zheng2002,Z06,share),0\.001", r"\1,0.901")),
    Forgery("Z", "recorded reading, in a file that git is told to pass over", _unwatched),
    Forgery("AA", "identity removed with the cell that breaks it", _identity),
    Forgery("AB", "answer, in a commit dated before the base", lambda t: t.edit(f"{PUBLISHED}/headlines.csv", r"(?m)^(D18,[\w ]+,[\w ]+),[^\n]*", r"\1,Yes: the same with and without."), dated="2001-01-01T00:00:00"),
)  # fmt: skip


def outcome(forgery: Forgery, folder: Path) -> str:
    """Make a forgery in a clone below a folder; return who notices it."""
    tree = Tree(folder / forgery.name)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(tree.root)], check=True)
    try:
        forgery.make(tree)
        tree.seal()
        if tree.run("git", "status", "--porcelain").stdout.strip():
            tree.commit(date=forgery.dated)
        report = str(tree.root / "build" / "report")
        check = ("hopflow", "validate", "--claim", forgery.claim, "--report", report)
        if forgery.claim and forgery.make is not _finding:
            tree.python(*check, "--record", check=False)
            if tree.run("git", "status", "--porcelain").stdout.strip():
                tree.commit("Record")
        verified = tree.python("hopflow", "data", "verify", check=False)
        if verified.returncode:
            marks = r"(?:NO LINE|NOT AS COMMITTED|CHANGED WITHOUT|EXPECTATION|Error).*|.*(?:do not add up|not the program that made).*"
            lines = re.findall(marks, (verified.stdout + verified.stderr).replace(f"{tree.root}/", ""))
            return f"`data verify`: {_short(lines)}"
        if forgery.claim:
            checked = tree.python(*check, check=False)
            if checked.returncode:
                lines = [line for line in (checked.stdout + checked.stderr).splitlines() if forgery.claim in line]
                return f"`validate`: {_short(lines[-1:])}"
        if forgery.test and tree.python("pytest", "-q", "-m", "not slow", forgery.test, check=False).returncode:
            return f"`{forgery.test}`"
        return "NOBODY"
    finally:
        if forgery.make is _finding:  # the cache is that of the user
            tree.run(
                sys.executable, "-c", "from hopflow.kernels import cache; cache.clear('findings/K09')", check=False
            )
        shutil.rmtree(tree.root)


def _short(lines: Sequence[str]) -> str:
    """Return the first of some lines of output, as far as a table can show it."""
    text = re.sub(r"\s+", " ", lines[0].replace("|", "/")) if lines else "exit status"
    return f"{text[:90]}..." if len(text) > 90 else text


def main(words: Sequence[str]) -> int:
    """Print who notices each forgery; return how many nobody does."""
    names = [word for word in words if not word.startswith("--")]
    rows = ["| | forgery | noticed by |", "|---|---|---|"]
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        if outcome(Forgery("none", "nothing forged", lambda _: None), Path(folder)) != "NOBODY":
            raise SystemExit("the last commit itself is not clean: `hopflow data verify` says why")
        for forgery in FORGERIES:
            if names and forgery.name not in names:
                continue
            by = outcome(forgery, Path(folder))
            unnoticed += by == "NOBODY"
            rows.append(f"| {forgery.name} | {forgery.text}{f' ({forgery.claim})' if forgery.claim else ''} | {by} |")
            sys.stdout.write(f"{rows[-1]}\n")
            sys.stdout.flush()
    if "--save" in words:
        RESULTS.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return unnoticed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
