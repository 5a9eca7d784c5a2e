"""The pages of the reference that follow from the code and from docs/openapi.json."""

from pathlib import Path


def write(directory: Path) -> int:
    """Write the pages into a copy of docs/; return their number. Django is set up before.

    The pages that are there keep what is written in them: `errors.md` gets an entry for each code,
    `reference/index.md` the list of the new pages. All others are new files below `reference/`.

    :param directory: the copy.
    """
    from docsite.reference import pages  # noqa: PLC0415  # No room is imported before Django is up.

    return pages.write(directory)
