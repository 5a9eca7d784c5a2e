"""3-D Secure: answers that are not the bank's, or not awaited."""

from typing import Any
from unittest.mock import patch

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from payments.intents.models import Attempt
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import RETURN_URL
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import bring, challenged, decide, open_page, return_to, shown

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def assert_untouched(client: ApiClient, paid: Answer) -> None:
    assert shown(client, paid).body == paid.body
    assert client.told(paid["id"]) == ["created", "requires_action"]
    assert len(bank_books.orders()) == 0


@pytest.mark.every_case("nothing that is forged may pass")
@pytest.mark.parametrize(
    "name",
    ["transaction_id", "reference", "amount", "currency", "md_status", "eci", "cavv", "issued_at",
     "signature"],
)  # fmt: skip
@pytest.mark.parametrize("change", ["other", "longer", "empty", "gone", "twice"])
def test_an_answer_that_was_changed_is_refused(
    name: str, change: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields: dict[str, Any] = dict(decide(paid, "Approve").fields)
    value = fields.pop(name)
    changed = {
        "other": {name: "1" if value != "1" else "2"},
        "longer": {name: f"{value}0"},
        "empty": {name: ""},
        "gone": {},
        "twice": {name: [value, value]},
    }[change]

    arrival = bring({**fields, **changed})

    assert (arrival.status, arrival.location) == (400, None)
    assert_untouched(acme, paid)


def test_a_field_more_is_refused(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields

    assert bring({**fields, "more": "1"}).status == 400
    assert bring({**fields, **{f"f{n}": "" for n in range(900)}}).status == 400
    assert_untouched(acme, paid)


def test_an_answer_is_used_once(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    first = bring(fields)

    second = bring(fields)

    assert (second.status, second.location) == (first.status, first.location)
    assert len(bank_books.orders()) == 1
    assert acme.told(paid["id"]) == ["created", "requires_action", "succeeded"]


def test_a_cheap_payments_answer_does_not_pay_a_dear_one(
    acme: ApiClient, bank: BankTransport
) -> None:
    cheap, dear = challenged(acme, amount=100), challenged(acme, amount=99_900)
    fields = decide(cheap, "Approve").fields
    dears = Attempt.objects.get(intent_id=dear["id"])

    swapped = bring({**fields, "reference": dears.acquirer_reference, "amount": "99900"})

    assert swapped.status == 400
    assert shown(acme, dear).body == dear.body
    assert shown(acme, cheap).body == cheap.body


def test_an_answer_signed_for_another_amount_is_refused(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    with_another_amount(paid)

    assert bring(fields).status == 400


def with_another_amount(paid: Answer) -> None:
    """As if the bank had been asked for another payment under this reference."""
    attempt = Attempt.objects.get(intent_id=paid["id"])
    attempt.authentication |= {"transaction_id": "3ds_other"}
    attempt.save()


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data"])
def test_what_is_no_form_is_refused(
    content_type: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)

    arrival = bring(b"\xff\x00{", content_type=content_type)

    assert arrival.status == 400
    assert_untouched(acme, paid)


def test_an_upload_is_refused_before_it_is_read(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    upload = encode_multipart(BOUNDARY, {**fields, "more": ContentFile(b"x" * 3_000_000, "f")})

    with patch.object(TemporaryFileUploadHandler, "new_file") as spooling:
        arrivals = [
            bring(sent, content_type=MULTIPART_CONTENT)
            for sent in (encode_multipart(BOUNDARY, fields), upload)
        ]

    assert [arrival.status for arrival in arrivals] == [400, 413]
    assert not spooling.called
    assert_untouched(acme, paid)


def test_a_get_changes_nothing(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    query = "&".join(f"{name}={value}" for name, value in fields.items())

    assert open_page(f"{return_to(paid)}?{query}").status == 405
    assert_untouched(acme, paid)


def test_an_answer_that_comes_too_late_changes_nothing(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    sweep_after(3700)
    assert shown(acme, paid)["last_payment_error"]["reason"] == "authentication_abandoned"

    arrival = bring(fields)

    assert (arrival.status, arrival.location) == (302, f"{RETURN_URL}?payment_intent={paid['id']}")
    assert shown(acme, paid)["status"] == "requires_payment_method"
    assert len(bank_books.orders()) == 0
