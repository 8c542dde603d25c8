"""HTML tables of results for notebooks, from one template that escapes its arguments."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

__all__ = ["grid_html", "image_html", "table_html"]

TEMPLATES = {
    "table": """\
{%- macro rows(lines) -%}
{%- for line in lines -%}
<tr><th scope='row' style='text-align:left'>{{ line[0] }}</th>
{%- for cell in line[1:] %}<td style='text-align:left'>{{ cell }}</td>{% endfor -%}
</tr>
{%- endfor -%}
{%- endmacro -%}
<table>{% if caption %}<caption>{{ caption }}</caption>{% endif %}
{%- if head %}<tr>{% for cell in head %}<th scope='col' style='text-align:left'>{{ cell }}</th>{% endfor %}</tr>\
{% endif %}
{{- rows(shown) }}</table>
{%- if folded %}<details><summary>how it was computed</summary>\
<table>{{ rows(folded) }}</table></details>{% endif %}""",
    "image": """\
<style>{{ style | safe }}</style>\
<img class="{{ name }}" alt="{{ alt }}" width="{{ width }}" src="data:image/png;base64,{{ code }}">""",
}


def table_html(title: str, rows: Mapping[str, object], folded: Collection[str] = ()) -> str:
    """Return a table of names and values as HTML.

    Rows named in ``folded`` are in a collapsed section.

    >>> table_html("Run", {"p < 1": 2})  # doctest: +NORMALIZE_WHITESPACE
    "<table><caption>Run</caption><tr><th scope='row' style='text-align:left'>p &lt; 1</th><td
    style='text-align:left'>2</td></tr></table>"
    """
    shown = [(name, value) for name, value in rows.items() if name not in folded]
    hidden = [(name, value) for name, value in rows.items() if name in folded]
    return _render("table", caption=title, head=(), shown=shown, folded=hidden)


def grid_html(caption: str, head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table whose first row and first column are headings; an empty caption is omitted.

    Cells of type `markupsafe.Markup` are inserted as HTML; all others are escaped.

    >>> "<th scope='col' style='text-align:left'>a</th>" in grid_html("", ["", "a"], [["n", 1]])
    True
    """
    return _render("table", caption=caption, head=head, shown=rows, folded=())


def image_html(code: str, alt: str, width: int, name: str, style: str) -> str:
    """Return an ``<img>`` element of CSS class ``name`` with base64 data, preceded by the style of the class."""
    return _render("image", code=code, alt=alt, width=width, name=name, style=style)


def _render(template: str, **values: object) -> str:
    return _template_environment().get_template(template).render(values)


@functools.cache
def _template_environment() -> jinja2.Environment:
    import jinja2

    loader = jinja2.DictLoader(TEMPLATES)
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
