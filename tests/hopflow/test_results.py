"""Results: text, page and pictures."""

from __future__ import annotations

import base64
import struct

import pytest

from hopflow import Status
from hopflow.results import Result, figure, png, table_text


class Answer(Result):
    def __init__(self, status):
        self.status = status

    def summary(self):
        return {"status": self.status, "a <b>": "1 & 2"}

    def plot(self, ax=None):
        if ax is None:
            _, ax = figure()
        ax.plot([1, 2], [3, 4])
        return ax


class TestResults:
    def test_display(self):
        answer = Answer(Status.CONVERGED)
        assert repr(answer) == "Answer\n  status  converged\n  a <b>   1 & 2"
        page = answer._repr_html_()
        assert "a &lt;b&gt;" in page
        assert "1 &amp; 2" in page
        assert 'alt="plot of Answer" width="512" src="data:image/png;base64,iVBOR' in page
        assert table_text("empty", {}) == "empty"

    def test_pictures_have_two_dots_per_pixel_and_follow_dark_pages(self):
        page = Answer(Status.CONVERGED)._repr_html_()
        code = page.partition("base64,")[2].partition('"')[0]
        size = struct.unpack(">2I", base64.b64decode(code)[16:24])  # IHDR
        assert size == (1024, 576)
        for dark in ("data-jp-theme-light=false", "vscode-dark", "data-theme=dark"):
            assert f"{dark}] .hopflow-figure" in page or f".{dark} .hopflow-figure" in page

    def test_the_same_picture_twice(self):
        pictures = {
            png(Answer(Status.CONVERGED).plot().figure, 'a "quoted" text') for _ in range(2)
        }
        assert len(pictures) == 1
        assert 'alt="a &#34;quoted&#34; text"' in pictures.pop()

    def test_bases_ask_for_their_methods(self):
        for method in (Result.summary, Result.plot):
            with pytest.raises(NotImplementedError):
                method(Result())
