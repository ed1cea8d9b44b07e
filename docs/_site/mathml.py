"""Formulas as MathML, which browsers draw by themselves: no script, no font to fetch."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    formula = convert(node.astext(), display="block")
    self.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
