"""Countries, by the two letters that ISO 3166-1 gives them."""

from importlib import resources

TABLE = resources.files("tzdata") / "zoneinfo" / "iso3166.tab"
# ISO gives it no letters; banks, post and the European Union use these.
KOSOVO = "XK"


def _codes() -> frozenset[str]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return frozenset(line[:2] for line in lines if not line.startswith("#")) | {KOSOVO}


CODES = _codes()


def is_country(code: str) -> bool:
    """Return whether two capital letters are those of a country."""
    return code in CODES
