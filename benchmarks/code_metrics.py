"""``python -m benchmarks.code_metrics [ROOT] [--packages NAMES]``: size, import cycles, language, public signatures.

``--signatures`` prints the parameters of public callables as `inspect.signature` shows them, ``--footprints`` the files
and functions that a call enters. docs/code-metrics.md explains the figures. Rates of names in model code bases (simpy,
QuantEcon, diffrax, lineax, pyamg, stormvogel, networkx.algorithms, scipy.integrate) are in ``data/model_names.csv``.
"""

from __future__ import annotations

import ast
import csv
import functools
import importlib
import inspect
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import networkx as nx
import typer

ROOT = Path(__file__).parents[1]
PACKAGES = ("hopflow", "dfcmodel", "markov", "responsefn", "validation")
LINE_LENGTH = 120
MAX_PARAMETERS = 8
FUNCTION_NODES = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITION_NODES = (ast.ClassDef, *FUNCTION_NODES)
EMPTY_WORDS = frozenset(
    {"found", "each", "given", "said", "own", "known", "place", "places", "kept", "least", "most"}
    | {"asked", "told", "seen", "whole", "ends", "here", "there"}
)
"""Words that do not say what a name holds; a compound name with one of them counts as well."""
MODEL_EMPTY_WORDS = 1.6
"""Bindings of names with an empty word per 1,000 bindings of the model code bases."""
PARTICIPLE = re.compile(r"[a-z]+(ed|wn|ept|ade|ound|ought|ent|iven|aken|osen|ritten|aid|old|ut)")
NOUNS_LIKE_PARTICIPLES = frozenset(
    {"agent", "argument", "assignment", "bound", "client", "component", "content", "count", "cut"}
    | {"decrement", "deployment", "embed", "event", "experiment", "exponent", "feed", "goodput"}
    | {
        "gradient",
        "gradients",
        "hold",
        "increment",
        "independent",
        "input",
        "moment",
        "need",
        "out",
    }
    | {"about", "output", "percent", "put", "quotient", "round", "seed", "segment", "speed"}
    | {"statement", "threshold", "transient", "without"}
)
PHRASES = {
    "clause for a noun (what is/has/a/the ...)": (
        r"\bwhat\b (?:is|was|has|a|an|the|it|they|needs?|comes?|goes|flows?|waits?|can|does|do|each|of)\b"
    ),
    "those that/of/with": r"\bthose (?:that|of|with|which|in|who)\b",
    "the one, ones": r"\bthe one\b|\bones\b",
    "some ...s": r"\bsome [a-z]+s\b",
}
MODEL_RATES = dict(zip(PHRASES, (0.17, 0.3, 1.5, 1.3), strict=True))
"""Occurrences of the phrases per 10,000 docstring words of the model code bases."""


class Source:
    """A Python file with its syntax tree and its line counts."""

    def __init__(self, path: Path, module: str) -> None:
        self.path, self.module = path, module
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        self.tree = ast.parse(text, str(path))
        self.nodes = list(ast.walk(self.tree))
        self.docstrings: list[str] = []
        doc_lines: set[int] = set()
        # A string that stands alone documents its module, class or function, or the attribute above it.
        for owner in self.nodes:
            if not isinstance(owner, (ast.Module, *DEFINITION_NODES)):
                continue
            for node in owner.body:
                if (
                    isinstance(node, ast.Expr)
                    and isinstance(node.value, ast.Constant)
                    and isinstance(node.value.value, str)
                ):
                    self.docstrings.append(node.value.value)
                    numbers = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                    doc_lines.update(number for number in numbers if lines[number - 1].strip())
        import_lines = sum(
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in self.nodes
            if isinstance(node, (ast.Import, ast.ImportFrom))
        )
        blank = sum(not line.strip() for line in lines)
        comments = sum(line.strip().startswith("#") and number not in doc_lines for number, line in enumerate(lines, 1))
        self.counts = {
            "files": 1,
            "lines": len(lines),
            "blank": blank,
            "docs": len(doc_lines),
            "comments": comments,
            "imports": import_lines,
            "code": len(lines) - blank - comments - len(doc_lines) - import_lines,
            "statements": sum(isinstance(node, ast.stmt) for node in self.nodes) - len(self.docstrings),
            "long": sum(len(line) > LINE_LENGTH for line in lines),
            "unformatted": text.count("# fmt: skip") + text.count("# fmt: off"),
        }

    @property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All functions and methods of the file."""
        return [node for node in self.nodes if isinstance(node, FUNCTION_NODES)]


def read_sources(root: Path, packages: Iterable[str]) -> list[Source]:
    """Parse the Python files of packages of a checkout."""
    sources = []
    for package in packages:
        if not (root / package).is_dir():
            raise typer.BadParameter(f"{package} is no package of {root}", param_hint="--packages")
        for path in sorted((root / package).rglob("*.py")):
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            sources.append(Source(path, module.removesuffix(".__init__")))
    return sources


# Import cycles


def _imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the module, the name and the local name of each ``from ... import``, with relative ones resolved."""
    parents = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield source, alias.name, alias.asname or alias.name


def import_graph(sources: Sequence[Source]) -> dict[str, set[str]]:
    """Return the modules that each module imports anywhere, for types and inside functions too.

    A name that a package only re-exports counts as an import of the module that defines it.
    """
    modules = {source.module for source in sources}
    exports: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for source in sources:
        if source.path.name == "__init__.py":
            stub = source.path.with_suffix(".pyi")
            trees = [source.tree, *([ast.parse(stub.read_text("utf-8"))] if stub.exists() else [])]
            for tree in trees:
                for target, name, local in _imports(tree, source.module, True):
                    exports[source.module][local] = target, name

    def defining_module(module: str, name: str) -> str:
        visited: set[tuple[str, str]] = set()
        while (module, name) not in visited:
            visited.add((module, name))
            if f"{module}.{name}" in modules:
                return f"{module}.{name}"
            target, original = exports[module].get(name, ("", ""))
            if target not in modules:
                break
            module, name = target, original
        return module

    graph: dict[str, set[str]] = {module: set() for module in modules}
    for source in sources:
        targets = graph[source.module]
        for node in source.nodes:
            if isinstance(node, ast.Import):
                targets.update(alias.name for alias in node.names if alias.name in modules)
            elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                function = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                if function == "import_module" and node.args[0].value in modules:
                    targets.add(node.args[0].value)
        for target, name, _ in _imports(source.tree, source.module, source.path.name == "__init__.py"):
            if target in modules:
                targets.add(defining_module(target, name))
        targets.discard(source.module)
    return graph


def import_cycles(sources: Sequence[Source]) -> list[str]:
    """Return the import cycles between children of one folder, each as ``"folder: child child ..."``."""
    graph = import_graph(sources)
    folders = sorted({module.rpartition(".")[0] for module in graph if "." in module})
    cycles = []
    for folder in folders:
        prefix, depth = f"{folder}.", folder.count(".") + 2
        edges = {
            (".".join(module.split(".")[:depth]), ".".join(target.split(".")[:depth]))
            for module, targets in graph.items()
            for target in targets
            if module.startswith(prefix) and target.startswith(prefix)
        }
        components = nx.strongly_connected_components(nx.DiGraph(sorted(edges)))
        cycles += sorted(
            f"{folder}: {' '.join(sorted(child.removeprefix(prefix) for child in component))}"
            for component in components
            if len(component) > 1
        )
    return cycles


# Public signatures


class Signature(NamedTuple):
    """A public callable, its number of parameters without ``self``, and whether it takes ``**keywords``."""

    name: str
    is_class: bool
    parameters: int
    has_keywords: bool


def public_signatures(root: Path, packages: Iterable[str]) -> list[Signature]:
    """Return the signatures of the callables that the stubs of packages name, each once, most parameters first."""
    rows: dict[int, Signature] = {}
    stubs = [path for package in packages for path in sorted((root / package).rglob("__init__.pyi"))]
    for stub in stubs:
        module = importlib.import_module(".".join(stub.parent.relative_to(root).parts))
        tree = ast.parse(stub.read_text(encoding="utf-8"))
        for _, _, name in _imports(tree, module.__name__, True):
            public: Any = getattr(module, name, None)
            try:
                parameters = inspect.signature(public).parameters.values()
            except (TypeError, ValueError):  # a module, a constant, a class without a signature
                continue
            count = sum(parameter.name != "self" for parameter in parameters)
            has_keywords = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
            full_name = f"{module.__name__}.{name}"
            rows.setdefault(id(public), Signature(full_name, inspect.isclass(public), count, has_keywords))
    return sorted(rows.values(), key=lambda row: (-row.parameters, row.name))


# Language


def binding_rates(sources: Iterable[Source]) -> dict[str, float]:
    """Return how often each local, global or parameter name is bound, per 1,000 bindings."""
    bindings: Counter[str] = Counter()
    for source in sources:
        for node in source.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bindings[node.id] += 1
            elif isinstance(node, ast.arg):
                bindings[node.arg] += 1
    total = max(1, bindings.total())
    return {name: 1000.0 * count / total for name, count in bindings.most_common()}


def has_empty_word(name: str) -> bool:
    """Return whether a word of a name does not say what the name holds."""
    return not EMPTY_WORDS.isdisjoint(name.strip("_").split("_"))


def begins_with_participle(function: str) -> bool:
    """Return whether the first word of a function's name is a past participle."""
    word = function.strip("_").split("_")[0]
    return bool(PARTICIPLE.fullmatch(word)) and word not in NOUNS_LIKE_PARTICIPLES


@functools.cache
def model_names() -> dict[str, float]:
    """Return the rates of names in the model code bases, per 1,000 bindings."""
    with (Path(__file__).parent / "data" / "model_names.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: float(row["per_1000_bindings"]) for row in csv.DictReader(file)}


def phrase_rates(sources: Iterable[Source]) -> dict[str, float]:
    """Return the occurrences of `PHRASES` per 10,000 words of docstrings, examples left out."""
    prose = [
        " ".join(line for line in text.splitlines() if not line.strip().startswith((">>>", "...")))
        for source in sources
        for text in source.docstrings
    ]
    text = re.sub(r"\s+", " ", "\n".join(prose).lower())
    words = max(1, len(text.split()))
    return {label: 1e4 * len(re.findall(pattern, text)) / words for label, pattern in PHRASES.items()}


# Reports


def print_size(root: Path, sources: Sequence[Source], packages: Sequence[str]) -> None:
    """Print line counts by package, the largest files, and counts of functions and docstrings."""
    columns = list(sources[0].counts)
    typer.echo(f"{'package':12}" + "".join(f"{column:>12}" for column in columns))
    for package in (*packages, "all"):
        group = [source for source in sources if package in ("all", source.module.partition(".")[0])]
        sums = [sum(source.counts[column] for source in group) for column in columns]
        typer.echo(f"{package:12}" + "".join(f"{count:12}" for count in sums))
    largest = sorted(sources, key=lambda source: -source.counts["code"])[:10]
    listed = (f"{source.path.relative_to(root)} {source.counts['code']}" for source in largest)
    typer.echo(f"largest files: {', '.join(listed)}")
    functions = [function for source in sources for function in source.functions]
    used = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for source in sources
        for node in source.nodes
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
    )
    helpers = [f.name for f in functions if f.name.startswith("_") and not f.name.startswith("__")]
    once = sum(used[name] == 1 for name in helpers)
    public = [
        node
        for source in sources
        for node in source.nodes
        if isinstance(node, DEFINITION_NODES) and not node.name.startswith("_")
    ]
    documented = sum(ast.get_docstring(node) is not None for node in public)
    typer.echo(f"functions {len(functions)}; private {len(helpers)}, named once outside their definition {once}")
    typer.echo(f"public definitions {len(public)}, with a docstring {documented} ({documented / len(public):.1%})")


def print_language(sources: Sequence[Source]) -> None:
    """Print rates of names and phrases beside those of the model code bases."""
    rates, models = binding_rates(sources), model_names()
    empty = {name: rate for name, rate in rates.items() if has_empty_word(name)}
    typer.echo(f"empty words in names: {sum(empty.values()):.1f} per 1,000 bindings (models {MODEL_EMPTY_WORDS})")
    typer.echo("    most: " + ", ".join(f"{name} {rate:.1f}" for name, rate in list(empty.items())[:12]))
    unusual = [
        f"{name} {rate:.1f}"
        for name, rate in rates.items()
        if len(name) > 3 and rate >= 1.0 and rate > 5.0 * models.get(name, 0.0)
    ]
    typer.echo(f"names of four letters or more, 1 per 1,000 and five times the models' rate: {len(unusual)}")
    typer.echo("    " + ", ".join(unusual[:60]))
    names = [f.name for source in sources for f in source.functions if not f.name.startswith("__")]
    participles = sum(map(begins_with_participle, names)) / max(1, len(names))
    typer.echo(f"functions whose name begins with a participle: {participles:.1%}")
    typer.echo("docstrings, per 10,000 words:")
    for label, rate in phrase_rates(sources).items():
        typer.echo(f"    {label} {rate:.1f} (models {MODEL_RATES[label]:g})")


def print_signatures(root: Path, packages: Sequence[str]) -> None:
    """Print the public callables with more than `MAX_PARAMETERS` parameters, and those with ``**``."""
    rows = public_signatures(root, packages)
    for label, is_class in (("functions", False), ("classes", True)):
        group = [row for row in rows if row.is_class is is_class]
        wide = [f"{row.name} {row.parameters}" for row in group if row.parameters > MAX_PARAMETERS]
        typer.echo(f"public {label} {len(group)}, with more than {MAX_PARAMETERS} parameters {len(wide)}")
        typer.echo("    " + ", ".join(wide))
    typer.echo("public callables with **: " + ", ".join(row.name for row in rows if row.has_keywords))


CALLS = (
    "generator(PauseTandem(high_threshold=18))",
    "stationary(PauseTandem(high_threshold=18))",
    "stationary(PauseTandem(buffers=(40, 80), high_threshold=60))",
    "simulate(takano2006('1'), Fluid(), duration=0.05)",
    "simulate(takano2006('1'), Packets(), duration=0.05)",
    "simulate(takano2006('1'), duration=0.05)",
    "curve([Reno(), TFRC()])",
    "invert(TFRC(), rate=1000.0, rtt=0.1)",
    "compare([CUBIC(), Reno()], bandwidth='24Mbps', rtt='40ms', buffer=80, options=PathOptions(duration=5.0))",
)
"""Calls whose footprint is printed."""
FOLLOW_CALLS = """
import sys
root, packages, call = sys.argv[1], sys.argv[2].split(), sys.argv[3]
sys.path.insert(0, root)
from hopflow import CUBIC, MM1K, TFRC, Fluid, Packets, PauseTandem, Reno
from hopflow import PathOptions, compare, curve, generator, invert, simulate, stationary, takano2006
folders = tuple(f"{root}/{package}/" for package in packages)
for n in range(3):
    if n == 2:
        for capacity in range(10, 20):
            stationary(MM1K(capacity=capacity))
            stationary(PauseTandem(high_threshold=capacity))
    functions = set()
    def on_event(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(folders):
            functions.add((code.co_filename, code.co_qualname))
    sys.setprofile(on_event)
    eval(call)
    sys.setprofile(None)
    print(len({file for file, _ in functions}), "/", len(functions), end="   ")
"""


def print_footprints(root: Path, packages: Sequence[str]) -> None:
    """Print the files and functions of packages that calls enter, each in a process of its own."""
    typer.echo(
        f"files / functions of {', '.join(packages)} entered, in the first and in the second call of a process, "
        "and after ten chains of each of two other shapes"
    )
    for call in CALLS:
        command = [sys.executable, "-c", FOLLOW_CALLS, str(root), " ".join(packages), call]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        typer.echo(f"    {call}: {process.stdout.strip() or process.stderr.strip().splitlines()[-1]}")


def main(
    root: Annotated[Path, typer.Argument(help="a checkout; default: this one")] = ROOT,
    packages: Annotated[str, typer.Option(help="names of packages, with blanks between")] = " ".join(PACKAGES),
    signatures: Annotated[bool, typer.Option(help="print parameters of public callables")] = False,
    footprints: Annotated[bool, typer.Option(help="print files that calls enter")] = False,
) -> None:
    """Print size, import cycles and language of a checkout's packages."""
    root, names = root.resolve(), packages.split()
    if signatures:
        print_signatures(root, names)
    if footprints:
        print_footprints(root, names)
    if signatures or footprints:
        return
    sources = read_sources(root, names)
    print_size(root, sources, names)
    cycles = import_cycles(sources)
    typer.echo(f"import cycles between the children of a folder: {len(cycles)}")
    for cycle in cycles:
        typer.echo(f"    {cycle}")
    print_language(sources)


if __name__ == "__main__":
    typer.run(main)
