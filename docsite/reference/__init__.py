"""The pages of the reference that follow from the code and from docs/openapi.json.

No page repeats what the code says: an entry's sentences stand next to the code that owns them, and
`tests/docsite` walks the code and asks whether each object, field, code, event, setting and
header has its entry.
"""

from pathlib import Path

from docsite.reference import declines, errors


def write(directory: Path) -> int:
    """Write the pages into a copy of docs/; return their number. Django is set up before.

    `errors.md` keeps its written first part. All others are new files below `reference/`.

    :param directory: the copy, with `errors.md` in it.
    """
    pages = {
        "errors.md": errors.page((directory / "errors.md").read_text()),
        "reference/declines.md": declines.page(),
    }
    for name, text in pages.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return len(pages)
