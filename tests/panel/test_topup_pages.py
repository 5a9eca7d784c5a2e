"""Top-ups in the panel: asked for, with the text of the transfer, listed, and called off."""

from typing import Any

import pytest
from django.test import Client

from merchants.models import AuditEntry
from payouts.topups.models import Topup
from tests.stage.audited import audit
from tests.stage.client import ApiClient
from tests.stage.panel_pages import address
from tests.stage.teams import person, signed_in
from tests.stage.topups import awaited, come, come_after, sent, top_up
from tests.stage.transfers import balance

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("bank"),
]


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def read(client: Client, acme: ApiClient, name: str, thing: str = "") -> str:
    page = client.get(address(name, acme.merchant.id, thing))
    assert page.status_code == 200
    return " ".join(page.content.decode().split())


def ask(client: Client, acme: ApiClient, **fields: str) -> Any:
    form = {"token": "once", "amount": "500.00", "currency": "try", "source": "test_never"}
    return client.post(address("create_topup", acme.merchant.id), {**form, **fields})


def call_off(client: Client, acme: ApiClient, topup_id: str) -> Any:
    return client.post(address("cancel_topup", acme.merchant.id, topup_id), {"token": "off"})


def test_a_topup_is_made_once_and_says_what_to_do(owner: Client, acme: ApiClient) -> None:
    answers = [ask(owner, acme) for _ in range(2)]

    made = Topup.objects.get()
    assert [one.status_code for one in answers] == [303, 303]
    assert {one.url for one in answers} == {address("topup", acme.merchant.id, made.id)}
    [row] = AuditEntry.objects.filter(action="topup.created", subject=made.id)
    assert row.after == {"amount": 50000, "currency": "try"}
    page = read(owner, acme, "topup", made.id)
    for words in (made.reference, "What to do", "exactly this amount", "₺500.00",
                  "Nothing was booked", "Cancel top-up"):  # fmt: skip
        assert words in page, words


def test_the_transfer_that_is_written_so_makes_it_available(owner: Client, acme: ApiClient) -> None:
    ask(owner, acme)
    made = Topup.objects.get()

    sent(made.reference, 50000)

    page = read(owner, acme, "topup", made.id)
    assert balance(acme) == 50000
    for words in ("the money is available", "Top-ups", "topup.succeeded", "The transfer has come."):
        assert words in page, words
    assert "What to do" not in page
    assert "/cancel" not in page
    audit()


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"amount": "x"}, "amount"), ({"currency": "x"}, "currency"), ({"source": "x"}, "source")],
)
def test_a_refusal_stands_at_its_input(
    owner: Client, acme: ApiClient, fields: dict[str, str], field: str
) -> None:
    page = ask(owner, acme, **fields)

    assert page.status_code == 400
    assert list(page.context["form"].errors) == [field]
    assert not Topup.objects.exists()


def test_a_closed_account_is_told_why(owner: Client, acme: ApiClient) -> None:
    acme.merchant.status = "closed"
    acme.merchant.save()

    page = ask(owner, acme)

    assert "does not allow this now" in page.content.decode()
    assert not Topup.objects.exists()


def test_live_has_no_words_of_the_test_bank(owner: Client, acme: ApiClient, settings: Any) -> None:
    settings.LIVEMODE, settings.PANEL_AT = True, settings.API_AT

    page = owner.get(address("create_topup", acme.merchant.id))

    assert "source" not in page.context["form"].fields


def test_a_pending_topup_is_called_off_once(owner: Client, acme: ApiClient) -> None:
    made = awaited(acme)["id"]
    asked = read(owner, acme, "cancel_topup", made)

    answers = [call_off(owner, acme, made) for _ in range(2)]

    assert "Cancel only if you have not sent it" in asked
    assert [one.status_code for one in answers] == [303, 303]
    assert Topup.objects.get().status == "canceled"
    assert AuditEntry.objects.filter(action="topup.canceled", subject=made).count() == 1


def test_each_end_is_told(owner: Client, acme: ApiClient) -> None:
    ids = {word: top_up(acme, source=word)["id"] for word in ("test_fail", "test_reverse")}
    come()
    come_after(5)
    come_after(5)

    failed, back = (read(owner, acme, "topup", ids[word]) for word in ids)
    refused = call_off(owner, acme, ids["test_reverse"])

    assert "<code>could_not_process</code>" in failed
    assert "Taken back" in back
    assert "Top-up taken back" in back
    assert refused.status_code == 400
    assert set(Topup.objects.values_list("status", flat=True)) == {"failed", "reversed"}


def test_the_list_is_the_apis(owner: Client, acme: ApiClient, globex: ApiClient) -> None:
    made = [awaited(acme, 1000 + number)["id"] for number in range(3)]
    acme.post(f"/v1/topups/{made[0]}/cancel")
    awaited(globex)

    for query in ("", "status[]=pending", "sort=amount", "currency=usd", "created[lt]=1000000000"):
        page = owner.get(f"{address('topups', acme.merchant.id)}?{query}")
        answer = acme.get(f"/v1/topups?{query}")
        assert [row.id for row in page.context["page"].rows] == [
            row["id"] for row in answer["data"]
        ], query
