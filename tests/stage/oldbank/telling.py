"""The old bank's words: what has become of an order or a refund, before it is written as XML."""

from dataclasses import dataclass

from tests.stage.oldbank.book import Transaction

RESULTS = {"A": "Approved", "D": "Declined", "W": "Pending"}
# The bank's own words, as its pages and messages spell them.
WORDS = {"A": "Onaylandı", "D": "İşlem reddedildi", "W": "İşlem beklemede"}


@dataclass(frozen=True, slots=True)
class Told:
    """An answer before it is written as XML; with `is_silent` it is never sent."""

    facts: dict[str, str]
    lines: tuple[str, ...] = ()
    is_silent: bool = False


def listed(oldest_first: list[Transaction]) -> Told:
    """Return the answer to an inquiry that tells of several things, the newest first."""
    lines = tuple(_line(one) for one in reversed(oldest_first))
    facts = {"Result": "Approved", "Code": "00", "Count": str(len(lines)), "Text": WORDS["A"]}
    return Told(facts, lines)


def told(one: Transaction, *, is_silent: bool = False) -> Told:
    """Return the answer to the request that did one thing."""
    facts = {
        "Result": RESULTS[one.state],
        "Code": one.code,
        "AuthCode": one.auth_code,
        "HostRef": one.host_ref,
        "TransId": one.trans_id,
        "Text": WORDS[one.state],
    }
    return Told(facts, is_silent=is_silent)


def _line(one: Transaction) -> str:
    at = f"{one.at:.3f}"
    facts = (one.kind, one.state, one.amount, one.code, one.auth_code, one.host_ref, one.trans_id)
    return "|".join([*map(str, facts), at])
