"""Formulas as MathML, which browsers draw by themselves: no script, no font to fetch."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

# Names of functions stand apart from their neighbors, as in TeX: "d log d", not "dlogd".
BEFORE_NAME = re.compile(r"(</m(?:i|n|sub|sup|subsup|frac)>)(?=<mi>(?:cos|exp|ln|log|sin)</mi>)")
AFTER_NAME = re.compile(r'(<mi>(?:cos|exp|ln|log|sin)</mi>)(?!<mo stretchy="false">|</)')
THIN_SPACE = r'\1<mspace width="0.17em"/>'


def write_mathml(tex: str, display: str) -> str:
    formula = BEFORE_NAME.sub(THIN_SPACE, convert(tex, display=display))
    return AFTER_NAME.sub(THIN_SPACE, formula)


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(write_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    formula = write_mathml(node.astext(), "block")
    self.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
