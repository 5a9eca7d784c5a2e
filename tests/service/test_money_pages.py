"""The admin's pages of refunds, disputes, notices and the ledger: each list and each row opens."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from acquirers.notices.models import Inbox, Notice
from acquirers.transfers.models import TransferNotice
from ledger.models import Account, LedgerEntry, Movement
from merchants.models import User
from payments.disputes.models import Dispute, DisputeDelivery
from payments.refunds.models import Refund
from payouts.models import Payout
from payouts.topups.models import IncomingTransfer, Topup
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.complaints import Complaint
from tests.stage.notifier import Notifier
from tests.stage.sweeper import sweep_after
from tests.stage.teams import let_in
from tests.stage.transfers import hear_after, pay_out, rich

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PASSWORD = "a long enough password"
TOLD = [
    Refund, Dispute, DisputeDelivery, Notice, Inbox, Movement, Account, Payout, TransferNotice,
    Topup, IncomingTransfer,
]  # fmt: skip
EVIDENCE = "The parcel was signed for by Ayşe."


@pytest.fixture
def rows(acme: ApiClient, bank: BankTransport, notifier: Notifier) -> None:
    """A refund in each status, a dispute with evidence that is owed, and a notice of nothing."""
    begin_at_noon()
    for number, amount in (("4242424242424242", 100), ("4000001100000074", 100)):
        acme.refund(acme.pay(number)["id"], amount)
    bank.fault = "lost"
    acme.refund(acme.pay()["id"], 100)
    bank.fault = None
    pay_out(rich(acme), 100)
    sweep_after(60)
    hear_after(5)
    complaint = Complaint(acme, notifier).opened()
    complaint.submit(uncategorized_text=EVIDENCE).told(
        "dispute_won", dispute="BANK000000000000DP77"
    )


def signed_in(client: Client, *permissions: str) -> Client:
    """Sign in as an operator who may do so much; everything if nothing is named."""
    if permissions:
        user = User.objects.create_user("reader@example.com", PASSWORD, is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    else:
        user = User.objects.create_superuser("operator@example.com", PASSWORD)
    let_in(client, user)
    return client


def pages(model: type[Model]) -> list[str]:
    """Return the addresses of the list and of every row of a model."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    rows = [reverse(f"{name}_change", args=[row.pk]) for row in model._default_manager.all()]
    return [reverse(f"{name}_changelist"), *rows]


@pytest.mark.parametrize("model", TOLD, ids=lambda model: model.__name__)
def test_every_page_opens_and_holds_nothing_to_type_into(
    model: type[Model], rows: None, client: Client
) -> None:
    operator = signed_in(client)
    opened = pages(model)

    answers = [operator.get(page) for page in opened]

    assert [answer.status_code for answer in answers] == [200] * len(opened)
    assert len(opened) > 1
    assert all(b"_save" not in answer.content for answer in answers)


@pytest.mark.parametrize("model", TOLD, ids=lambda model: model.__name__)
def test_every_search_and_filter_answers(model: type[Model], rows: None, client: Client) -> None:
    operator = signed_in(client)
    shown = admin.site._registry[model]
    [first, *_] = pages(model)
    filters = [name for name in shown.list_filter if isinstance(name, str)]

    asked = [f"{first}?q=re_1", *(f"{first}?{name}__exact=x" for name in filters)]

    assert {operator.get(page).status_code for page in asked} == {200}


@pytest.mark.parametrize("model", TOLD, ids=lambda model: model.__name__)
def test_who_may_read_something_else_sees_none_of_it(
    model: type[Model], rows: None, client: Client
) -> None:
    reader = signed_in(client, "view_merchant")

    assert {reader.get(page).status_code for page in pages(model)} == {403}


@pytest.mark.parametrize("model", [Refund, Dispute, Notice], ids=lambda model: model.__name__)
def test_no_row_is_changed_or_deleted_by_a_form(
    model: type[Model], rows: None, client: Client
) -> None:
    operator, before = signed_in(client), list(model._default_manager.order_by("pk").values())
    [_list, page, *_rest] = pages(model)

    changed = operator.post(page, {"status": "won", "amount": "1"})
    deleted = operator.post(page.replace("/change/", "/delete/"), {"post": "yes"})

    assert (changed.status_code, deleted.status_code) == (403, 403)
    assert list(model._default_manager.order_by("pk").values()) == before


def test_the_page_of_a_refund_lists_its_exchanges_and_no_other_refunds(
    rows: None, client: Client
) -> None:
    failed = Refund.objects.get(status="failed")
    page = reverse("admin:refunds_refund_change", args=[failed.id])

    text = signed_in(client).get(page).content.decode()

    assert "refund: declined, code 05" in text
    assert "approved, code 00" not in text


def test_a_movements_page_shows_its_entries(rows: None, client: Client) -> None:
    movement = Movement.objects.filter(kind="refund").first()
    assert movement is not None

    text = signed_in(client).get(pages(Movement)[0]).content.decode()
    page = reverse("admin:ledger_movement_change", args=[movement.id])
    shown = client.get(page).content.decode()

    assert movement.cause_id in text
    for entry in LedgerEntry.objects.filter(movement=movement):
        assert str(entry.amount) in shown
