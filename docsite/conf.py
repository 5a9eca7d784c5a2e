"""Sphinx's settings for the documentation's site (see `docsite.__main__`)."""

from pathlib import Path

import django
from sphinx.application import Sphinx
from sphinx.config import Config

from docsite import reference

project = "Card payment service"
html_title = project
extensions = ["myst_parser", "docsite.pages"]
root_doc = "index"
language = "en"

myst_heading_anchors = 4
# Only what GitHub shows too: the pages are read there as well.
myst_enable_extensions = ["html_admonition"]
highlight_language = "none"
nitpicky = True
# MyST knows no anchors that are HTML (`<a id>`): `docsite.findings` follows every link instead.
suppress_warnings = ["myst.xref_missing"]

html_theme = "plain"
html_theme_path = ["theme"]
html_permalinks_icon = "#"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
html_link_suffix = ""
html_file_suffix = ".html"
smartquotes = False
html_search_scorer = str(Path(__file__).with_name("theme") / "scorer.js")


def setup(app: Sphinx) -> None:
    app.connect("config-inited", _write_reference)


def _write_reference(app: Sphinx, _config: Config) -> None:
    """Add the pages that are made from the schema and from the code, before sources are read."""
    django.setup()
    reference.write(Path(app.srcdir))
