"""A shop that speaks to the old bank by hand: what the bank checks is tried with this."""

import re
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from tests.stage.oldbank.process import PATIENCE_SECONDS, OldBank
from tests.stage.oldbank.terminals import FIRST, Account

ORDER = "0RDER0RDER0RDER0RDER"
PAYMENT = {
    "Merchant": "mer_acme",
    "Amount": "125.00",
    "Currency": "949",
    "Installment": "",
    "Pan": "4242424242424242",
    "Expiry": "1234",
    "Cvc": "123",
}


def message(kind: str, account: Account = FIRST, **elements: str) -> dict[str, str]:
    """Return a message's elements in the bank's order."""
    head = {
        "Terminal": account.terminal,
        "User": account.user,
        "Password": account.password,
        "Type": kind,
        "OrderId": ORDER,
    }
    payment = PAYMENT if kind in ("Sale", "PreAuth") else {}
    return {**head, **payment, **elements}


def tell(bank: OldBank, elements: dict[str, str]) -> dict[str, str]:
    """Send elements as they are; return the answer's, the lines joined by spaces."""
    inside = "".join(f"<{name}>{text}</{name}>" for name, text in elements.items())
    return answer(send(bank, f"<BankRequest>{inside}</BankRequest>"))


def send(bank: OldBank, document: str) -> bytes:
    request = Request(bank.api_url, urlencode({"DATA": document}).encode())  # noqa: S310
    with urlopen(request, timeout=PATIENCE_SECONDS) as response:  # noqa: S310
        return response.read()


def answer(content: bytes) -> dict[str, str]:
    told: dict[str, str] = {}
    for name, text in re.findall(r"<([A-Za-z]+)>([^<]*)</", content.decode("iso-8859-9")):
        told[name] = f"{told[name]} {text}" if name in told else text
    return told
