"""Countries, by the two letters that ISO 3166-1 gives them, and their names."""

from functools import cache
from importlib import resources

from babel import Locale

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


# Of the languages of pages; letters of others stand behind.
_ALPHABET = "aâàåãäbcçdeéèêfgğhıiîjklmnñoôöpqrsştuûüvwxyz"
_TURKISH_LOWER = str.maketrans("Iİ", "ıi")


@cache
def named(language: str) -> list[tuple[str, str]]:
    """Return the codes of all countries with their names in a language, in its alphabet's order."""
    territories = Locale.parse(language).territories
    names = [(code, territories.get(code, code)) for code in CODES]
    return sorted(names, key=lambda one: _order(one[1], language))


def _order(name: str, language: str) -> list[int]:
    lower = name.translate(_TURKISH_LOWER).lower() if language == "tr" else name.lower()
    return [_ALPHABET.find(char) for char in lower if char.isalpha()]
