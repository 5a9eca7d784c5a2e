"""Orders to the test bank, as an acquirer sends them, through the bank's real WSGI application."""

import json
from typing import Any

from testbank.models import Authorization, Capture, Reversal
from tests.stage.bank_transport import call_bank

CALLBACK = "https://pay.example/3ds/att_1.mac"


def card(number: str) -> dict[str, Any]:
    return {
        "number": number,
        "exp_month": 12,
        "exp_year": 2034,
        "cvc": "123",
        "holder_name": "Ada Lovelace",
    }


def order(number: str = "4242424242424242", **changes: Any) -> dict[str, Any]:
    """Return the body of an authorisation."""
    return {
        "reference": "ref_1",
        "merchant": "mer_acme",
        "amount": 12500,
        "currency": "try",
        "installments": 1,
        "capture": True,
        "card": card(number),
        **changes,
    }


def authentication_order(number: str = "4242424242424242", **changes: Any) -> dict[str, Any]:
    """Return the body of an authentication."""
    return {
        "reference": "ref_1",
        "merchant": "mer_acme",
        "merchant_name": "Acme Store",
        "amount": 12500,
        "currency": "try",
        "installments": 1,
        "card": card(number),
        "callback_url": CALLBACK,
        **changes,
    }


def ask(sent: Any, path: str = "/authorizations", method: str = "POST") -> tuple[int, Any]:
    """Send JSON (or bytes as they are); return status and what the bank told."""
    body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    status, content = call_bank(method, path, body)
    return status, json.loads(content) if content else None


def authorize(number: str = "4242424242424242", **changes: Any) -> dict[str, Any]:
    """Authorise, without capture if not told otherwise; return the bank's answer."""
    return ask(order(number, **{"capture": False, **changes}))[1]


def capture(amount: int, reference: str = "ref_1") -> dict[str, Any]:
    return ask({"amount": amount}, f"/authorizations/{reference}/capture")[1]


def void(reference: str = "ref_1") -> dict[str, Any]:
    return ask(b"", f"/authorizations/{reference}/void")[1]


def refund(
    amount: int = 12500, reference: str = "back_1", authorization: str = "ref_1"
) -> dict[str, Any]:
    sent = {"reference": reference, "authorization": authorization, "amount": amount}
    return ask(sent, "/refunds")[1]


def inquire_refund(reference: str = "back_1") -> dict[str, Any]:
    return ask(b"", f"/refunds/{reference}", "GET")[1]


def notices(after: int = 0) -> list[dict[str, Any]]:
    return ask(b"", f"/notices?after={after}", "GET")[1]["notices"]


def submit(dispute: str, text: str = "It was sent.", number: int = 1) -> dict[str, Any]:
    sent = {"number": number, "evidence": {"uncategorized_text": text}}
    return ask(sent, f"/disputes/{dispute}/evidence")[1]


def accept(dispute: str) -> dict[str, Any]:
    return ask(b"", f"/disputes/{dispute}/acceptance")[1]


def end_inquiry(dispute: str) -> dict[str, Any]:
    return ask(b"", f"/disputes/{dispute}/end")[1]


def inquire(reference: str = "ref_1") -> dict[str, Any]:
    return ask(b"", f"/authorizations/{reference}", "GET")[1]


def authenticate(number: str = "4242424242424242", **changes: Any) -> dict[str, Any]:
    return ask(authentication_order(number, **changes), "/authentications")[1]


# --- What it answers, and what it wrote down --------------------------------------------------


def captured(amount: int, code: str = "00") -> dict[str, Any]:
    """Return the answer to a capture: what is taken in all, and the code."""
    result = "captured" if code == "00" else "refused"
    told = {"result": result, "captured_amount": amount, "response_code": code}
    return {"reference": "ref_1", **told}


def voided(code: str = "00") -> dict[str, Any]:
    """Return the answer to a void, by its code."""
    result = "voided" if code == "00" else "refused"
    return {"reference": "ref_1", "result": result, "response_code": code}


def refunded(result: str = "refunded", code: str = "00", **changes: Any) -> dict[str, Any]:
    """Return the answer to a refund, apart from the number for the cardholder."""
    about = {"reference": "back_1", "authorization": "ref_1", "amount": 12500}
    return {**about, "result": result, "response_code": code, **changes}


def numbered(told: dict[str, Any]) -> dict[str, Any]:
    """Return the answer without its number, which is there once the money has left."""
    number = told.pop("network_reference")
    assert (number is not None) == (told["result"] in ("refunded", "bounced"))
    return told


def booked() -> tuple[str, int, int, int]:
    """Return the one authorisation's state, and the money: captured, taken, given back."""
    row = Authorization.objects.get()
    taken, returned = (
        sum(model.objects.values_list("amount", flat=True)) for model in (Capture, Reversal)
    )
    return row.state, row.captured_amount, taken, returned


def statement() -> list[tuple[str, str, int, int]]:
    """Return the statement: reference, state, captured amount, capturable amount."""
    lines = ask(b"", "/statement", "GET")[1]["lines"]
    names = ("reference", "state", "captured_amount", "capturable_amount")
    return [tuple(line[name] for name in names) for line in lines]
