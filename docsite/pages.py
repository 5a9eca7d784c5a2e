"""The builder: pages under clean addresses, each as Markdown too, and a list of them for programs.

`how-to/refunds.html` has the address `how-to/refunds`, and its Markdown is `how-to/refunds.md`.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.writers.html5 import HTML5Translator

# An entry of a list in an index page: `- [Refunds](refunds.md): give money back`.
ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<page>[^)#:]+)\.md\)(?:: (?P<about>.+))?$", re.M)
# A heading's own anchor before it: MyST gives the heading this id, and GitHub does too.
OWN_ANCHOR = re.compile(r'^<a id="([a-z0-9_-]+)"></a>\n\n(?=#+ `\1`$)', re.M)


class Pages(StandaloneHTMLBuilder):
    name = "pages"

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        """Return a page's address below the site's; an index has that of its directory."""
        is_index = docname == "index" or docname.endswith("/index")
        return quote(docname.removesuffix("index") if is_index else docname)


class Page(HTML5Translator):
    """Wide tables and samples can be scrolled by keys: not every reader has a mouse."""

    def visit_table(self, node: nodes.table) -> None:
        self.body.append('<div class="table-wrap" tabindex="0">')
        super().visit_table(node)

    def depart_table(self, node: nodes.table) -> None:
        super().depart_table(node)
        self.body.append("</div>")

    def visit_literal_block(self, node: nodes.literal_block) -> None:
        try:
            super().visit_literal_block(node)
        finally:
            self.body[-1] = self.body[-1].replace("<pre>", '<pre tabindex="0">', 1)


def setup(app: Sphinx) -> None:
    app.add_builder(Pages)
    app.set_translator(Pages.name, Page, override=True)
    app.connect("source-read", _order_by_index)
    app.connect("source-read", _drop_second_anchors)
    app.connect("build-finished", _add_texts)


def _order_by_index(_app: Sphinx, docname: str, content: list[str]) -> None:
    """Let the list that an index page shows be the navigation's order too."""
    if docname.rpartition("/")[2] == "index":
        listed = "\n".join(dict.fromkeys(entry["page"] for entry in ENTRY.finditer(content[0])))
        content[0] += f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def _drop_second_anchors(_app: Sphinx, _docname: str, content: list[str]) -> None:
    content[0] = OWN_ANCHOR.sub("", content[0])


def _add_texts(app: Sphinx, failure: Exception | None) -> None:
    if failure is None:
        for page in app.env.found_docs:
            shutil.copy(app.env.doc2path(page), Path(app.outdir) / f"{page}.md")
        (Path(app.outdir) / "llms.txt").write_text("\n".join(_list_for_programs(app)) + "\n")


def _list_for_programs(app: Sphinx) -> Iterator[str]:
    """Yield the lines of `llms.txt` (llmstxt.org): every page, its Markdown and its subject."""
    yield f"# {app.config.project}\n"
    yield "> Documentation. Each page is Markdown at its address + `.md`."
    abouts = dict(_abouts(Path(app.srcdir)))
    for part in app.env.toctree_includes["index"]:
        yield f"\n## {app.env.titles[part].astext()}\n"
        for page in [part, *_below(app, part)]:
            about = abouts.get(page)
            yield f"- [{app.env.titles[page].astext()}]({page}.md)" + (
                f": {about}" if about else ""
            )


def _below(app: Sphinx, page: str) -> Iterator[str]:
    for below in app.env.toctree_includes.get(page, []):
        yield below
        yield from _below(app, below)


def _abouts(source: Path) -> Iterator[tuple[str, Any]]:
    for index in source.rglob("index.md"):
        for entry in ENTRY.finditer(index.read_text()):
            page = (index.parent / entry["page"]).resolve()
            yield str(page.relative_to(source.resolve())), entry["about"]
