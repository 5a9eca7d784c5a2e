"""Card numbers of a sandbox and their issuers; only the test bank decides how a payment ends.

No real card enters a sandbox: a number that is not listed here is refused before
it is sealed (contract 11).
"""

from acquirers.gateway import IssuerFacts
from core.cards import brand_of

TURKISH = {
    "4603450000000000": IssuerFacts("visa", "credit", "TR", "Test Bank A", "bonus"),
    "5526080000000006": IssuerFacts("mastercard", "credit", "TR", "Test Bank B", "axess"),
    "5528790000000008": IssuerFacts("mastercard", "credit", "TR", "Test Bank C", "paraf"),
    "9792030000000000": IssuerFacts("troy", "credit", "TR", "Test Bank D", "cardfinans"),
    "4766620000000001": IssuerFacts("visa", "debit", "TR", "Test Bank A"),
    "9792020000000001": IssuerFacts("troy", "debit", "TR", "Test Bank D"),
}
FOREIGN_CREDIT = frozenset(
    {
        "4000000000000002",
        "4000000000000069",
        "4000000000000119",
        "4000000000000127",
        "4000000000000259",
        "4000000000001976",
        "4000000000002685",
        "4000000000005126",
        "4000000000005423",
        "4000000000007726",
        "4000000000009979",
        "4000000000009987",
        "4000000000009995",
        "4000001100000017",
        "4000001100000025",
        "4000001100000033",
        "4000001100000041",
        "4000001100000058",
        "4000001100000066",
        "4000001100000074",
        "4000002760003184",
        "4000008400001629",
        "4100000000000019",
        "4111111111111111",
        "4111111111111129",
        "4129111111111111",
        "4131111111111117",
        "4151111111111112",
        "4242424242424242",
        "5400010000000004",
        "5555555555554444",
    }
)
NUMBERS = FOREIGN_CREDIT | TURKISH.keys()
# The facts of all cards that begin with the same six digits, as issuers hand them out.
BUILT_IN_BINS = {
    **{number[:6]: IssuerFacts(brand_of(number), "credit", "US") for number in FOREIGN_CREDIT},
    **{number[:6]: facts for number, facts in TURKISH.items()},
}
