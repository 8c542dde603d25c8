"""Sphinx configuration; `make docs` builds it."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from importlib import import_module
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

from hopflow.public_names import public_modules
from responsefn import linux
from responsefn.rules.index import RULES

sys.path.insert(0, str(Path(__file__).parent))  # mathml.py, generated.py

os.environ["TQDM_DISABLE"] = "1"  # no progress bars among the outputs of examples

_about = metadata("hopflow")
project = "hopflow"
author = "The hopflow developers"
project_copyright = author
release = _about["Version"]
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "matplotlib.sphinxext.plot_directive",
    "myst_nb",
    "mathml",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "py:obj"  # names in docstrings are links where they have a page
autosummary_ignore_module_all = False  # the pages of docs/reference/ are of the names in __all__
autosummary_imported_members = True


def _figures() -> dict[str, dict[str, str]]:
    """Return code and caption of each object's figure, of reference-figures.toml."""
    found = {}
    table = Path(__file__).with_name("reference-figures.toml").read_text(encoding="utf-8")
    figures = tomllib.loads(table)["figure"]
    named = {full for figure in figures for full in figure.get("objects", ())}
    for figure in figures:
        rules = [full for full in map(_public_rule, RULES) if full not in named]
        kinds = figure.get("rules", ())
        of_kinds = [full for full in rules if RULES[full.rsplit(".", 1)[1]][1] in kinds]
        for full in [*figure.get("objects", ()), *of_kinds]:
            words = dict(zip(("module", "name"), full.rsplit(".", 1), strict=True))
            words["model"] = figure.get("model", {}).get(words["name"], words["name"])
            words["given"] = figure.get("given", {}).get(words["name"], "")
            texts = {"code": figure["code"].strip(), "caption": figure["caption"]}
            for key, word in words.items():
                texts = {kind: text.replace(f"{{{key}}}", word) for kind, text in texts.items()}
            found[full] = texts
    return found


def _public_rule(name: str) -> str:
    """Return the full public name of a rule."""
    return f"responsefn.linux.{name}" if name in linux.__all__ else f"responsefn.{name}"


def _described_before() -> set[str]:
    """Return names of objects that are public in an earlier package, too, and have their page there."""
    first: dict[int, str] = {}
    again = set()
    for package in map(import_module, public_modules()):
        for name in package.__all__:
            known = getattr(package, name)
            if isinstance(known, type) and first.setdefault(id(known), package.__name__) != package.__name__:
                again.add(f"{package.__name__}.{name}")
    return again


autosummary_context = {"figures": _figures(), "described_before": _described_before()}
plot_formats = ["svg"]
plot_html_show_formats = plot_html_show_source_link = False
plot_apply_rcparams = True
plot_rcparams = {"figure.figsize": (6.4, 3.6), "figure.constrained_layout.use": True}

suppress_warnings = ["ref.python"]  # parameters of one name in several classes, such as rtt

# Names of other projects become links where their inventories can be had: set INTERSPHINX=1. Without a
# network the build would wait for each of them, and warn.
_others = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "pandas": "https://pandas.pydata.org/docs/",
    "xarray": "https://docs.xarray.dev/en/stable/",
    "matplotlib": "https://matplotlib.org/stable/",
    "networkx": "https://networkx.org/documentation/stable/",
    "jax": "https://docs.jax.dev/en/latest/",
}
_online = os.environ.get("INTERSPHINX") or os.environ.get("READTHEDOCS")
intersphinx_mapping = {name: (url, None) for name, url in _others.items()} if _online else {}

html_theme = "furo"
html_title = f"hopflow {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]

myst_heading_anchors = 2
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
nb_execution_mode = "cache"
nb_merge_streams = True  # what a cell prints is one block, however slowly it comes
nb_render_markdown_format = "myst"  # formulas in outputs, too
nb_execution_raise_on_error = True
nb_execution_timeout = 300

autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_ivar = True  # an attribute that has a docstring of its own is described once

_LITERAL = re.compile(r"(``.+?``)")
_SEVERAL = re.compile(r":ivar (\w+(?:, \w+)+): (.*)")


def _escape_bars(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Take ``|x|`` in a docstring for a modulus, not for a reST substitution."""
    for k, line in enumerate(lines):
        if "|" in line and not line.lstrip().startswith((">>>", "...", "|", "+")):
            parts = _LITERAL.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[k] = "".join(parts)


def _split_names(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Give each of several attributes with one text the text: Sphinx takes the first name for a type."""
    done: list[str] = []
    while lines:
        found = _SEVERAL.fullmatch(lines[0])
        text = [lines.pop(0)]
        while found and lines and lines[0].startswith(" "):
            text.append(lines.pop(0))
        if found:
            for own in found[1].split(", "):
                done += [f":ivar {own}: {found[2]}", *text[1:]]
        else:
            done += text
    lines[:] = done


def _skip_bare_fields(_app: Any, _what: str, _name: str, obj: Any, _skip: bool, _options: Any) -> bool | None:
    """Leave out the fields of named tuples as members: signature and class docstring have them.

    The tuples that functions of recoveries take are left out too: that of each class is made, under one name.
    """
    doc = getattr(obj, "__doc__", "") or ""
    return True if doc.startswith(("Alias for field", "Sender(")) else None


def _make_accessible(_app: Any, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Say of what level the captions of tables of contents are, which Sphinx calls headings; keys scroll what is wide.

    A fold is called what it says, not by a second name.
    """
    if "body" in context:
        body = context["body"].replace("<pre>", '<pre tabindex="0">')
        body = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
        context["body"] = body.replace(' aria-label="Toggle hidden content"', "")
    for part in ("body", "furo_navigation_tree"):
        if part in context:
            context[part] = context[part].replace(' role="heading">', ' role="heading" aria-level="2">')


def _write_index(_app: Any) -> None:
    """Write the page of all modules, reference/modules.md."""
    import generated

    generated.write_index()


def _write_calculators(app: Any, error: Exception | None) -> None:
    """Write the page of calculators beside the pages."""
    if error is None and app.builder.name == "html":
        from calculator_page import write_page

        write_page(Path(app.outdir) / "calculators")


def setup(app: Any) -> None:
    """Register the hooks of this file."""
    app.connect("builder-inited", _write_index)
    app.connect("build-finished", _write_calculators)
    app.connect("html-page-context", _make_accessible, priority=900)  # after the theme
    app.connect("autodoc-skip-member", _skip_bare_fields)
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("autodoc-process-docstring", _split_names)
