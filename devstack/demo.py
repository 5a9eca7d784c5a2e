"""The demo merchant: its key, a page to pay on, and the command that takes a first payment."""

import http.client
import json
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from devstack.state import write_private

# A shop that a developer runs on this machine: its pages, and its receiver of webhooks.
SHOP_AT = "localhost:3000"
# Of the simulated bank's doors the one that `./dev up` leads the demo merchant to by itself.
DOOR = "sandbox"
CREATE_MERCHANT = [
    "create_merchant",
    *("--name", "Acme Store"),
    *("--email", "owner@acme.example"),
    *("--website", "https://acme.example"),
    *("--callback", f"http://{SHOP_AT}/"),
    "--json",
]
SESSIONS = "/v1/checkout/sessions"
# Without addresses to lead back to: no shop needs to run.
FIRST_SESSION = {
    "currency": "try",
    "line_items": [{"name": "Tea glass", "unit_amount": 6250, "quantity": 2}],
    "payment_intent_data": {"description": "Two tea glasses"},
}
KEPT = ("secret_key", "merchant_id", "panel_email", "panel_password")


def merchant(
    file: Path,
    *,
    base_url: str,
    webhook_hosts: str,
    mail_directory: Path,
    create: Callable[[], str],
) -> dict[str, str]:
    """Return the demo merchant, written to `file`; made again when the old key is refused.

    :param webhook_hosts: where webhooks may go although no website is registered there.
    :param mail_directory: where the sandbox writes the mails that it sends.
    :param create: runs `create_merchant` and returns what it prints
    """
    known = _read(file)
    if not known or not key_works(base_url, known["secret_key"]):
        known = json.loads(create())
    found = {
        "base_url": base_url,
        # A passkey is of a name, so the panel is at `localhost` and not at its number.
        "panel_url": f"{base_url.replace('//127.0.0.1', '//localhost')}/panel/",
        "webhook_hosts": webhook_hosts,
        "mail_directory": str(mail_directory),
        **{name: known[name] for name in KEPT},
        **page_to_pay(base_url, known),
        "curl": curl(base_url, known["secret_key"]),
    }
    write(file, found)
    return found


def write(file: Path, found: dict[str, str]) -> None:
    """Keep what is known of the demo merchant."""
    write_private(file, json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def page_to_pay(base_url: str, known: dict[str, str]) -> dict[str, str]:
    """Return a checkout session of the demo merchant and its address; none without an answer.

    A new one, once the known one was paid or has ended.
    """
    kept = known.get("checkout_session")
    session = _called(base_url, known["secret_key"], f"{SESSIONS}/{kept}") if kept else None
    if session is None or session.get("status") != "open":
        session = _called(base_url, known["secret_key"], SESSIONS, FIRST_SESSION)
    return {"checkout_session": session["id"], "pay_url": session["url"]} if session else {}


def key_works(base_url: str, secret_key: str) -> bool:
    headers = {"Authorization": f"Bearer {secret_key}"}
    return status_of(f"{base_url}/v1/balance", headers=headers) == 200


def status_of(url: str, *, headers: dict[str, str] | None = None) -> int | None:
    """Return the status that GET answers, None without an answer.

    Not urllib: it would ask the developer's proxy for 127.0.0.1.
    """
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=5)
    try:
        connection.request("GET", parts.path, headers=headers or {})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _called(base_url: str, secret_key: str, path: str, body: dict | None = None) -> dict | None:
    """Return what the API answers, None for a refusal or no answer."""
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=5)
    headers = {"Authorization": f"Bearer {secret_key}", "Content-Type": "application/json"}
    try:
        text = json.dumps(body) if body else None
        connection.request("POST" if body else "GET", path, body=text, headers=headers)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        return told if answer.status == 200 else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def curl(base_url: str, secret_key: str) -> str:
    """Return a shell command that takes a payment.

    Without an Idempotency-Key: copied twice, it shall take two payments.
    """
    body = json.dumps(first_payment(), indent=2, ensure_ascii=False)
    return " \\\n  ".join(
        [
            f"curl {base_url}/v1/payment_intents",
            f"-H {shlex.quote(f'Authorization: Bearer {secret_key}')}",
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(body)}",
        ]
    )


def first_payment() -> dict:
    card = {
        "number": "4242424242424242",
        "exp_month": 12,
        "exp_year": datetime.now(UTC).year + 4,
        "cvc": "123",
    }
    payer = {
        "name": "Ayşe Yılmaz",
        "email": "ayse@example.com",
        "address": {"line1": "İstiklal Cd. 1", "city": "İstanbul", "country": "TR"},
    }
    return {
        "amount": 12500,
        "currency": "try",
        "confirm": True,
        "description": "My first payment",
        "payment_method_data": {"type": "card", "card": card, "billing_details": payer},
        "return_url": "https://acme.example/return",
    }


def _read(file: Path) -> dict | None:
    try:
        known = json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return known if all(known.get(name) for name in KEPT) else None
