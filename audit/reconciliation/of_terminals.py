"""Conditions on terminals: a reading of the file of one leaves the rows of the others alone."""


def is_same(one: str, other: str) -> str:
    """Return the condition that two rows may be of one terminal: null is the installation's."""
    return f"({one} IS NULL OR {other} IS NULL OR {one} = {other})"


def is_covered(terminal: str) -> str:
    """Return the condition that the file of this reading speaks for a row of a terminal."""
    return f"(%(terminal)s::varchar IS NULL OR {terminal} IS NOT DISTINCT FROM %(terminal)s)"
