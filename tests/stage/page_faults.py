"""Faults that stand in the text of a page: forms without their token, inline styles and scripts."""

from html.parser import HTMLParser

# Beside them the policy refuses `on…` attributes.
INLINE = ("style", "script")
TOKEN = "csrfmiddlewaretoken"  # noqa: S105  # A name.
Attributes = list[tuple[str, str | None]]


class _Reader(HTMLParser):
    """Reads a page, and keeps a word for each fault."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self._awaits_token = False

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        named = dict(attrs)
        self.faults += [f"{name} on <{tag}>" for name in named if _is_inline(name)]
        if tag in INLINE and "src" not in named:
            self.faults.append(f"inline <{tag}>")
        if tag == "form":
            self._awaits_token = (named.get("method") or "get").lower() == "post"
        if tag == "input" and named.get("name") == TOKEN:
            self._awaits_token = False

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self._awaits_token:
            self.faults.append("a form without its CSRF token")
            self._awaits_token = False


def _is_inline(name: str) -> bool:
    return name == "style" or name.startswith("on")


def of(page: str) -> list[str]:
    """Return the faults of a page's HTML."""
    reader = _Reader()
    reader.feed(page)
    return reader.faults
