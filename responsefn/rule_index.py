"""``python -m responsefn.rule_index``: write the index of rules and the stubs from the files in ``responsefn/rules/``.

The index, ``responsefn/rules/index.py``, finds rules without importing them; the stubs of `responsefn` and
`responsefn.linux` list them. A rule is a concrete class in the ``__all__`` of its module.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from hopflow.whole_files import replacing
from responsefn import rules
from responsefn.response import Response
from responsefn.rule_catalogue import KINDS

__all__ = ["index_files"]

PACKAGE = Path(__file__).parent
LAWS = "responsefn.laws"
WIDTH = 100
"""Longest line of a stub."""
INDEX = '''"""Rules and laws: the module and the kind of each. Written by ``python -m responsefn.rule_index``."""

from __future__ import annotations

RULES = {
%s}
'''


def index_files() -> dict[Path, str]:
    """Return the contents of the index and of the stubs by path."""
    public_rules = sorted(rules_of_modules(), key=lambda rule: (KINDS.index(rule.catalogue_kind), rule.package))
    lines = (f'    "{r.__name__}": ("{r.__module__}", "{r.catalogue_kind}"),\n' for r in public_rules)
    texts = {}
    for package in ("responsefn", "responsefn.linux"):
        path = PACKAGE.parent / package.replace(".", "/") / "__init__.pyi"
        texts[path] = stub(path, [rule for rule in public_rules if rule.package == package])
    return {PACKAGE / "rules" / "index.py": INDEX % "".join(lines), **texts}


def rules_of_modules() -> Iterator[type[Response]]:
    """Yield the rules of each module in ``responsefn/rules/``, files before folders, and then the laws."""
    names = [module_info.name for module_info in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")]
    for name in (*sorted(names, key=lambda name: (name.count("."), name)), LAWS):
        module = importlib.import_module(name)
        public = getattr(module, "__all__", ())
        for key, value in vars(module).items():
            if (
                key in public
                and inspect.isclass(value)
                and issubclass(value, Response)
                and (value.__module__, value.__name__) == (name, key)
                and not inspect.isabstract(value)
            ):
                yield value


def stub(path: Path, public: Iterable[type[Response]]) -> str:
    """Return a stub with its lines of rules replaced; other names are unchanged.

    Parameters
    ----------
    path
        Path of the stub.
    public
        Rules that it exports.
    """
    package = ".".join(path.parent.relative_to(PACKAGE.parent).parts)
    text = path.read_text(encoding="utf-8")
    submodules: list[str] = []
    imported: dict[str, set[str]] = {}
    for node in ast.parse(text).body:
        if not isinstance(node, ast.ImportFrom):
            continue
        names = {alias.name for alias in node.names}
        if node.module is None:
            submodules += sorted(names)
            continue
        module = importlib.util.resolve_name("." * node.level + node.module, package)
        if module.startswith(rules.__name__) or module == LAWS:
            names = {name for name in names if is_other_name(module, name)}
        imported[module] = names
    for rule in public:
        imported.setdefault(rule.__module__, set()).add(rule.__name__)
    return stub_text(text.splitlines()[0], package, submodules, imported)


def is_other_name(module: str, name: str) -> bool:
    """Return whether a module has a name that is no rule."""
    try:
        value = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError:
        return False
    rule = inspect.isclass(value) and issubclass(value, Response) and not inspect.isabstract(value)
    return value is not None and not rule


def stub_text(comment: str, package: str, submodules: Iterable[str], imported: Mapping[str, set[str]]) -> str:
    """Return the contents of a stub, sorted as by isort."""
    lines = [comment, *(f"from . import {name} as {name}" for name in submodules)]
    parent = package.split(".")
    for module, names in sorted(imported.items()):
        if not names:
            continue
        parts = module.split(".")
        common = 0
        while common < len(parent) and parent[common] == parts[common]:
            common += 1
        dots = "." * (len(parent) - common + 1)
        start = f"from {dots}{'.'.join(parts[common:])} import "
        ordered = sorted(names, key=isort_key)
        line = start + ", ".join(ordered)
        if len(line) > WIDTH:
            line = start + "(\n" + "".join(f"    {name},\n" for name in ordered) + ")"
        lines.append(line)
    everything = sorted((name for names in imported.values() for name in names), key=isort_key)
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in everything), "]"]
    return "\n".join(lines) + "\n"


def isort_key(name: str) -> tuple[int, str]:
    """Return isort's sort key of a name: constants, classes, functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


if __name__ == "__main__":
    for path, text in index_files().items():
        with replacing(path) as scratch:
            scratch.write_text(text, encoding="utf-8")
