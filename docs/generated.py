"""``python docs/generated.py``: write the parts of the documentation that are read from the code.

Such a part stands in a page between two comments, ``<!-- NAME: made by docs/generated.py -->`` and ``<!-- end -->``.
The index of modules is a page of its own, ``reference/modules.md``, written whenever the documentation is built.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PACKAGES = ("hopflow", "responsefn", "markov", "dfcmodel", "validation")
BLOCK = re.compile(r"(<!-- (\w+): made by docs/generated\.py -->\n).*?(<!-- end -->)", re.DOTALL)


def table(names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    names = list(names)
    lines = [names, [":--"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def methods() -> str:
    """Return the methods of `stationary`."""
    from markov.registries import METHODS

    rows = (
        (f"`{type(entry.method).__name__}`", entry.how, entry.cost, entry.when) for entry in METHODS
    )
    return table(("Method", "How", "Cost", "When"), rows)


def chains() -> str:
    """Return the chains that have names."""
    from markov.registries import CHAINS

    rows = []
    for entry in CHAINS:
        text = inspect.getdoc(entry.kind) or ""
        params = ", ".join(f"`{name}`" for name in entry.kind.Params._fields)
        rows.append((f"`{entry.kind.__name__}`", text.splitlines()[0].rstrip("."), params))
    return table(("Chain", "What it is", "Parameters"), rows)


def modules() -> str:
    """Return each module with the first line of its docstring, by folder."""
    parts = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("__init__.py")):
            folder = path.parent
            files = sorted(folder.glob("*.py"))
            rows = [(f"`{file.name}`", first_line(file)) for file in files]
            name = folder.relative_to(ROOT).as_posix()
            parts.append(f"## `{name}/`\n\n{table(('file', 'what it is'), rows)}")
    return "\n".join(parts)


def first_line(file: Path) -> str:
    """Return the first line of a module's docstring, safe in a table."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").rstrip(".").replace("|", r"\|")


MAKE: dict[str, Callable[[], str]] = {"methods": methods, "chains": chains}
PAGES = ("markov.md",)


def filled(text: str) -> str:
    """Return a page with its generated parts made again."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{MAKE[found[2]]()}\n{found[3]}", text)


def write_index() -> None:
    """Write the page of all modules, which is not kept in the repository."""
    path = DOCS / "reference" / "modules.md"
    path.parent.mkdir(exist_ok=True)
    about = "Every module, with the first line of its docstring. [Architecture](../architecture.md) says how they work together."
    path.write_text(f"# Index of modules\n\n{about}\n\n{modules()}", encoding="utf-8")


def main() -> None:
    """Write the generated parts, and the index of modules."""
    write_index()
    for page in PAGES:
        path = DOCS / page
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
