"""The old bank's proofs: an authentication is good once, for its own order and amount."""

from testbank import behaviours
from testbank.behaviours import Behaviour
from tests.stage.oldbank.book import Book
from tests.stage.oldbank.messages import CURRENCIES, Refused, minor

DOES_NOT_FIT, USED_UP = "E-2002", "E-2003"
AUTHENTICATED, SILENT = "authenticated", "silent"


def use_up(book: Book, message: dict[str, str]) -> Behaviour:
    """Return the card's behaviour towards a payment that comes with this proof.

    :raises Refused: the proof is of another order, of other money, or was used before.
    """
    with book.changing():
        facts = book.kept(message["Md"])
        if facts is None or not _fits(facts, message):
            raise Refused(DOES_NOT_FIT)
        if facts["is_used"]:
            raise Refused(USED_UP)
        book.keep(message["Md"], {**facts, "is_used": True})
    behaviour = behaviours.BY_NAME[facts["behaviour"]]
    if facts["state"] == SILENT:
        return behaviour.declined(behaviours.DO_NOT_HONOR, silent=True)
    return behaviour.authenticated()


def _fits(facts: dict[str, object], message: dict[str, str]) -> bool:
    expected = {
        "terminal": message["Terminal"],
        "trantype": message["Type"],
        "order_id": message["OrderId"],
        "minor": minor(message["Amount"]),
        "currency": CURRENCIES[message["Currency"]],
        "xid": message["Xid"],
        "eci": message["Eci"],
        "cavv": message["Cavv"],
    }
    is_proven = facts["state"] in (AUTHENTICATED, SILENT)
    return is_proven and all(facts[name] == value for name, value in expected.items())
