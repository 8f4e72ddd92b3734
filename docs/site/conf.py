"""Settings of the documentation site. `build.py`, beside this file, builds it."""

from __future__ import annotations

from importlib.metadata import distribution
from typing import TYPE_CHECKING, Any

from docutils import nodes

from anonrisk import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "anonrisk"
version = release = __version__
project_copyright = "the authors of anonrisk, Apache-2.0"
language = "en"
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
templates_path = ["_templates"]
exclude_patterns = ["_templates", "README.md"]

# Markdown is that of the code forge: the same anchors, formulas between dollars.
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
# Notebooks are kept without what they print; Spark would need Java to show what pandas shows.
nb_execution_mode = "force"
nb_execution_excludepatterns = ["tutorials/on_spark.ipynb"]
nb_execution_raise_on_error = True
nb_execution_timeout = 300

# A name between single backquotes is a link where there is a page for it, and else code.
default_role = "autolink"
nitpick_ignore_regex = [("py:obj", ".*")]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "anonrisk"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["reach.js"]
# Else its script complains in the console of every page.
html_context = {"default_mode": "auto"}
# There is no second page beside it to lead to.
html_sidebars: dict[str, list[str]] = {"glossary": []}
html_copy_source = False
html_show_sourcelink = False
# The words around a find are fetched, which a page that is opened from disk must not do.
html_show_search_summary = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": True,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# One file that holds its own glyphs: no font and no further script is asked for.
mathjax_path = "tex-svg-full.js"
_MATHJAX = f"sphinx-mathjax-offline/static/mathjax/{mathjax_path}"
html_static_path += [str(distribution("sphinx-mathjax-offline").locate_file(_MATHJAX))]
mathjax3_config = {"options": {"enableMenu": False}}

# So much of a page's first paragraph is shown by a search engine.
_DESCRIPTION = 160


def describe(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Take the first paragraph of a page for its description."""
    first = next((node for node in doctree.findall(nodes.paragraph)), None) if doctree else None
    if first is None:
        return
    text = " ".join(first.astext().split())
    if len(text) > _DESCRIPTION:
        text = text[:_DESCRIPTION].rpartition(" ")[0] + " …"
    shown = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    context["metatags"] += f'\n<meta name="description" content="{shown}" />'


def note_terms(app: Sphinx, doctree: nodes.document) -> None:
    """Make every heading of the glossary a term, so that :term: finds what a plain link finds."""
    if app.env.docname != "glossary":
        return
    domain = app.env.domains.standard_domain
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title)
        if title is not None and section.parent is not doctree:
            domain._note_term(title.astext(), section["ids"][0], location=title)  # noqa: SLF001


def setup(app: Sphinx) -> None:
    """Register the two hooks."""
    app.connect("html-page-context", describe)
    app.connect("doctree-read", note_terms)
