"""Typical mistakes: each is refused by a message that says what to do, without `param` or a page.

An SDK's exception prints the message alone. `mistakes.json` is the table; `RECORD_MISTAKES=1`
writes into it what the service says now.
"""

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from core.rest import envelope
from core.secrets_in_text import hide_secrets
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.transfers import account

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

Mistake = dict[str, Any]
TABLE = Path(__file__).parent / "mistakes.json"
MISTAKES: list[Mistake] = json.loads(TABLE.read_text())
PAYMENTS = "/v1/payment_intents"


@pytest.fixture
def ids(acme: ApiClient, bank: BankTransport) -> dict[str, str]:
    """Payments that the table names."""
    account(acme.merchant)
    return {
        "waiting": acme.post(PAYMENTS, {"amount": 12500, "currency": "try"})["id"],
        "held": acme.pay(capture_method="manual")["id"],
        "paid": acme.pay()["id"],
    }


def answer_to(client: ApiClient, mistake: Mistake, ids: dict[str, str]) -> Answer:
    text = json.dumps(mistake)
    for name, value in ids.items():
        text = text.replace(f"{{{name}}}", value)
    made = json.loads(text)
    method, path = made["call"].split(" ")
    body = made["body"]
    raw = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    headers = {"authorization": f"Bearer {client.key}", **made.get("headers", {})}
    return client.send(method, path, raw.encode(), headers)


def said(answer: Answer) -> Mistake:
    code, param, message = (answer.body["error"][name] for name in ("code", "param", "message"))
    message = re.sub(r"on \d{4}-\d\d-\d\d\.", "on {day}.", message)
    return {"status": answer.status, "code": code, "param": param, "message": message}


def differing(
    client: ApiClient, ids: dict[str, str], mistakes: list[Mistake]
) -> dict[str, Mistake]:
    """Return the mistakes that are answered in another way than the table says, by their names."""
    answers = {one["what"]: said(answer_to(client, one, ids)) for one in mistakes}
    if os.environ.get("RECORD_MISTAKES") and mistakes is MISTAKES:
        rows = [json.dumps({**one, **answers[one["what"]]}, ensure_ascii=False) for one in MISTAKES]
        TABLE.write_text("[\n" + ",\n".join(rows) + "\n]\n")
    others = [one for one in mistakes if not answers[one["what"]].items() <= one.items()]
    return {one["what"]: answers[one["what"]] for one in others}


def test_a_message_that_does_not_name_its_parameter_is_found(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(envelope, "message_of", lambda refusal: refusal.text)
    some = [one for one in MISTAKES if one["what"] in ("an empty create", "a misspelt name")]

    assert len(differing(acme, {}, some)) == 2


def test_each_mistake_is_told_in_words(acme: ApiClient, ids: dict[str, str]) -> None:
    assert differing(acme, ids, MISTAKES) == {}
    assert len(MISTAKES) >= 50
    print(f"{len(MISTAKES)} mistakes")  # noqa: T201


def test_the_request_log_shows_the_message_as_it_was() -> None:
    """Nothing in the words of a message looks like a secret, but for the way to send a key."""
    hidden = [one for one in MISTAKES if hide_secrets(one["message"]) != one["message"]]

    assert {one["code"] for one in hidden} <= {"api_key_missing", "api_key_invalid"}


# --- Names that no message repeats ------------------------------------------------------------

SPACED = " ".join(GOOD_CARD[place : place + 4] for place in range(0, 16, 4))
HOSTILE = {
    "a card number": GOOD_CARD,
    "a card number in groups": SPACED,
    "a secret key": "sk_live_" + "k" * 49,
    "a signing secret": "whsec_" + "s" * 32,
    "10 KB": "n" * 10_240,
    "a line break": "amount\nINFO forged",
    "a control character": "amou\x1bnt",
    "a turn of direction": "amount\u202etnuoma",
    "Hebrew letters": "\u05e1\u05db\u05d5\u05dd",
    "an invisible character": "amo\u200bunt",
    "two halves of a letter": "\ud83d",
}


def bodies(name: str) -> list[Any]:
    """Return requests with a name at each place where a client may write one."""
    money = {"amount": 1, "currency": "try"}
    written = quote(name, errors="replace")
    return [
        {**money, name: 1},
        {**money, "metadata": {name: {}}},
        {**money, "payment_method_data": {"type": "card", "card": {name: 1}}},
        {**money, "line_items": [{name: 1}]},
        f"amount=1&currency=try&{written}=1",
        f"amount=1&currency=try&metadata[{written}][x]=1",
    ]


def refused(client: ApiClient, name: str) -> list[Answer]:
    answers = []
    for body in bodies(name):
        is_form = isinstance(body, str)
        kind = "application/x-www-form-urlencoded" if is_form else "application/json"
        headers = {"authorization": f"Bearer {client.key}", "content-type": kind}
        raw = body if is_form else json.dumps(body)
        answers.append(client.send("POST", PAYMENTS, raw.encode(), headers))
    asked = quote(name, errors="replace")
    answers += [client.get(f"{path}?{asked}=1") for path in (PAYMENTS, "/v1/balance")]
    return [*answers, client.get(f"{PAYMENTS}?metadata[{asked}][x]=1")]


def told(answers: list[Answer], name: str) -> list[str]:
    """Return messages that repeat a name, are not one line of plain text, or are too long."""
    messages = [answer.error["message"] for answer in answers]
    return [text for text in messages if name in text or not text.isprintable() or len(text) > 700]


def test_no_hostile_name_comes_back(acme: ApiClient) -> None:
    answers = {what: refused(acme, name) for what, name in HOSTILE.items()}

    statuses = {what: [answer.status for answer in found] for what, found in answers.items()}
    assert {what: found for what, found in statuses.items() if set(found) != {400}} == {}
    assert {what: told(found, HOSTILE[what]) for what, found in answers.items()} == dict.fromkeys(
        HOSTILE, []
    )
    print(f"{sum(map(len, answers.values()))} requests")  # noqa: T201
