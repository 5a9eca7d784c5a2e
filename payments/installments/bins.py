"""The issuer's facts of a card, by the first digits of its number (contract 10)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from acquirers.gateway import IssuerFacts
from core import prepared
from core.cards import brand_of
from merchants.models import Merchant
from payments.installments.models import Bin

LENGTHS = (8, 7, 6)
# Asked for every card, and therefore prepared. Prefixes of one number sort by their length.
FIND = """
SELECT prefix, brand, card_type, country, issuer, program, commercial, three_d_secure_required
FROM installments_bin
WHERE version_id = (SELECT id FROM installments_binimport WHERE is_active)
  AND prefix = ANY(%(prefixes)s::text[])
ORDER BY prefix DESC LIMIT 1
"""


class Found(NamedTuple):
    prefix: str
    facts: IssuerFacts


def facts_of(number: str, *, built_in: Mapping[str, IssuerFacts]) -> IssuerFacts:
    """Return the facts under the longest prefix; of an unknown card, those that are assumed.

    Of two prefixes of one length the imported one counts.

    :param number: a card number, or its first 6 to 8 digits.
    :param built_in: the gateway's own facts, by prefix.
    """
    prefixes = [number[:length] for length in LENGTHS if length <= len(number)]
    found = [*_imported(prefixes), *_built_in(prefixes, built_in)]
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
    """Tell whether a card demands 3-D Secure: a domestic debit card's, or its issuer does.

    :param card: the `frozen` facts.
    """
    is_domestic_debit = card["domestic"] and card["card_type"] == Bin.CardType.DEBIT
    return bool(is_domestic_debit or card["three_d_secure_required"])


def _imported(prefixes: list[str]) -> list[Found]:
    rows = prepared.rows(FIND, {"prefixes": prepared.array(prefixes)})
    return [Found(prefix, IssuerFacts(*facts)) for prefix, *facts in rows]


def _built_in(prefixes: list[str], facts: Mapping[str, IssuerFacts]) -> list[Found]:
    return [Found(prefix, facts[prefix]) for prefix in prefixes if prefix in facts]
