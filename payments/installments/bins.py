"""The issuer's facts of a card, by the first digits of its number (contract 10)."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from acquirers.gateway import IssuerFacts
from core import prepared
from core.cards import brand_of
from merchants.models import Merchant
from payments.installments.models import Bin

LENGTHS = (8, 7, 6)
CALLER = "bins"  # Its name in `config.caller`.
OF_CALLER = "SELECT version.id::text FROM installments_binimport version WHERE version.is_active"
# Prefixes of one number sort by their length.
FIND = """
SELECT prefix, brand, card_type, country, issuer, program, commercial, three_d_secure_required
FROM installments_bin
WHERE version_id = %(version)s::bigint AND prefix = ANY(%(prefixes)s::text[])
ORDER BY prefix DESC LIMIT 1
"""
# Most payments are made with the cards of few issuers.
PREFIXES_KEPT = 4096


class FoundBin(NamedTuple):
    prefix: str
    facts: IssuerFacts


def facts_of(
    number: str, *, built_in: Mapping[str, IssuerFacts], merchant: Merchant | None = None
) -> IssuerFacts:
    """Return the facts under the longest prefix; of an unknown card, those that are assumed.

    Of two prefixes of one length the imported one counts.

    :param number: a card number, or its first 6 to 8 digits.
    :param built_in: the gateway's own facts, by prefix.
    :param merchant: the merchant that asks: if it came with an API key, the active version was
        found with it.
    """
    prefixes = tuple(number[:length] for length in LENGTHS if length <= len(number))
    version = _active_version(merchant)
    imported = _imported(version, prefixes) if version else []
    found = [*imported, *_built_in(prefixes, built_in)]
    if not found:
        return IssuerFacts(brand_of(number), Bin.CardType.CREDIT.value, country=None)
    return max(found, key=lambda one: len(one.prefix)).facts  # The first of equal ones.


def frozen(facts: IssuerFacts, merchant: Merchant) -> dict[str, Any]:
    """Return the facts as they are kept with a payment of the merchant's; they never change there.

    `domestic`: the card was issued in the merchant's country.
    """
    return {
        "brand": facts.brand,
        "card_type": facts.card_type,
        "domestic": facts.country == merchant.country,
        "country": facts.country,
        "issuer": facts.issuer,
        "program": facts.program,
        "commercial": facts.commercial,
        "three_d_secure_required": facts.three_d_secure_required,
    }


def demand_authentication(card: Mapping[str, Any]) -> bool:
    """Return whether a card demands 3-D Secure: a domestic debit card's, or its issuer does.

    :param card: the `frozen` facts.
    """
    is_domestic_debit = card["domestic"] and card["card_type"] == Bin.CardType.DEBIT
    return bool(is_domestic_debit or card["three_d_secure_required"])


def _active_version(merchant: Merchant | None) -> str | None:
    if merchant is not None and merchant.caller is not None:
        return merchant.caller[CALLER]
    found = prepared.rows(OF_CALLER, {})
    return found[0][0] if found else None


@lru_cache(maxsize=PREFIXES_KEPT)
def _imported(version: str, prefixes: tuple[str, ...]) -> list[FoundBin]:
    """Return a version's facts by prefix; cached, because a version's lines never change."""
    values = {"version": version, "prefixes": prepared.array(prefixes)}
    return [FoundBin(prefix, IssuerFacts(*facts)) for prefix, *facts in prepared.rows(FIND, values)]


def _built_in(prefixes: Sequence[str], facts: Mapping[str, IssuerFacts]) -> list[FoundBin]:
    return [FoundBin(prefix, facts[prefix]) for prefix in prefixes if prefix in facts]
