"""``hopflow explore``: pages with knobs, served on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from hopflow.console.command_line import AsJson, Commands, examples

commands = Commands()


def _views(incomplete: str) -> list[str]:
    """Complete the name of a page."""
    from validation.explore import VIEWS

    return [view.name for view in VIEWS if view.name.startswith(incomplete)]


@commands.command(
    "explore",
    epilog=examples(
        "hopflow explore",
        "hopflow explore tcp",
        "hopflow explore dfc --no-browser --port 5006",
        "hopflow explore headroom --no-browser --json",
    ),
)
def explore_views(
    view: Annotated[
        str | None,
        typer.Argument(help="threshold, dfc, tcp or headroom; the first is the default.", autocompletion=_views),
    ] = None,
    port: Annotated[int, typer.Option(help="On this machine; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    json: AsJson = False,
) -> None:
    """Open pages with knobs and live curves, until Ctrl-C: pause thresholds, DFC, which TCP wins, headroom.

    With --json the addresses of all pages come first, as JSON. Needs Bokeh, which `pip install 'hopflow[explore]'` brings.
    """
    from validation.explore import serve

    try:
        serve(view, port=port, browser=browser, json=json)
    except ImportError as error:
        raise ValueError(str(error)) from None
