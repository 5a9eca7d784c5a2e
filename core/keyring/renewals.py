"""Work that makes again, under the primary key, what a purpose's earlier keys have made.

The rooms that keep such rows register theirs; `manage.py vault_rotate` runs them. Each works in
short transactions: it may die anywhere, and the next run goes on.
"""

from collections.abc import Callable, Iterator

# Returns how many rows it has made again.
Renewal = Callable[[], int]
_renewals: dict[str, Renewal] = {}


def register(rows: str, renewal: Renewal) -> None:
    """Let a room make its rows again.

    :param rows: the name of them, in the plural.
    """
    _renewals[rows] = renewal


def names() -> list[str]:
    """Return the names of the rows that can be made again."""
    return sorted(_renewals)


def run() -> Iterator[tuple[str, int]]:
    """Run all of them; yield the name of the rows, and how many were made again."""
    for name in names():
        yield name, _renewals[name]()
