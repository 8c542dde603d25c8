"""Tables of results in notebooks, by one template that escapes whatever it is given."""

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
{%- if head %}<tr>{% for cell in head %}<th scope='col' style='text-align:left'>{{ cell }}</th>{% endfor %}</tr>{% endif %}
{{- rows(shown) }}</table>
{%- if folded %}<details><summary>how it was computed</summary><table>{{ rows(folded) }}</table></details>{% endif %}""",
    "image": """\
<style>{{ style | safe }}</style>\
<img class="{{ name }}" alt="{{ alt }}" width="{{ width }}" src="data:image/png;base64,{{ code }}">""",
}


def table_html(title: str, rows: Mapping[str, object], folded: Collection[str] = ()) -> str:
    """Return a title and rows of name and value as HTML; the rows named in ``folded`` are in a part that opens.

    >>> table_html("Run", {"p < 1": 2})
    "<table><caption>Run</caption><tr><th scope='row' style='text-align:left'>p &lt; 1</th><td style='text-align:left'>2</td></tr></table>"
    """
    shown = [(name, value) for name, value in rows.items() if name not in folded]
    hidden = [(name, value) for name, value in rows.items() if name in folded]
    return _filled("table", caption=title, head=(), shown=shown, folded=hidden)


def grid_html(caption: str, head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table whose first row and first column are headings, as HTML; no caption where it is empty.

    What is a `markupsafe.Markup` is HTML already; everything else is escaped.

    >>> "<th scope='col' style='text-align:left'>a</th>" in grid_html("", ["", "a"], [["n", 1]])
    True
    """
    return _filled("table", caption=caption, head=head, shown=rows, folded=())


def image_html(code: str, alt: str, width: int, name: str, style: str) -> str:
    """Return an ``<img>`` element of a class ``name`` with embedded data in base 64, and the class's style."""
    return _filled("image", code=code, alt=alt, width=width, name=name, style=style)


def _filled(template: str, **values: object) -> str:
    return _environment().get_template(template).render(values)


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    loader = jinja2.DictLoader(TEMPLATES)
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
