"""Sphinx builds the documents into a site: `make docs`. Nothing is fetched, neither by the build
nor by a reader's browser: formulas become MathML, fonts and scripts come with the theme."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

from api_pages import list_own_methods

import lowd

project = "lowd"
author = "The lowd developers"
project_copyright = "The lowd developers"
version = release = lowd.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "api_pages",
    "mathml",
    "outside_links",
    "search_words",
]
root_doc = "index"
exclude_patterns = ["_site"]
templates_path = ["_site/templates"]
suppress_warnings = ["myst.header", "config.cache"]  # an included page may start below level 1

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_dmath_allow_labels = False
myst_dmath_allow_digits = False
myst_heading_anchors = 4
html_math_renderer = "mathml"

default_role = "py:obj"  # docstrings write `name`: a link where there is such a name
autosummary_context = {"list_own_methods": list_own_methods}
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the types stand in the sections of numpydoc
autodoc_preserve_defaults = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
viewcode_line_numbers = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"lowd {release}"
html_static_path = ["_site/static"]
html_css_files = ["lowd.css"]
html_logo = html_favicon = "_site/static/logo.svg"
html_search_scorer = str(Path(__file__).parent / "_site" / "scorer.js")
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("start", "which-method", "reading-a-map")}  # without parts
html_theme_options = {
    "logo": {"text": "lowd"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
