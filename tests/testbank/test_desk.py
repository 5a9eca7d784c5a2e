"""The operators' desk at the test bank: decisions on pages of their own, and nothing else."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from merchants.models import User
from testbank.models import Authorization, Dispute, Refund
from testbank.states import DisputeState, RefundState
from tests.stage.bank_disputes import INQUIRED, complained, told
from tests.stage.bank_orders import authorize, refund
from tests.stage.teams import let_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def operator(client: Client) -> Client:
    root = User.objects.create_superuser("operator@example.com", "a long enough one")
    return let_in(client, root)


def address(row: Model, decision: str) -> str:
    name = f"admin:testbank_{row._meta.model_name}_decide"
    return reverse(name, args=[row.pk, decision])


@pytest.mark.parametrize(
    ("card", "decision", "state"),
    [
        ("4000000000000259", "win", DisputeState.WON),
        ("4000000000000259", "lose", DisputeState.LOST),
        (INQUIRED, "escalate", DisputeState.OPEN),
        (INQUIRED, "end", DisputeState.CLOSED),
    ],
)
def test_an_operator_decides_a_dispute(
    card: str, decision: str, state: str, operator: Client
) -> None:
    complained(card)
    dispute = Dispute.objects.get()
    page = operator.get(address(dispute, decision))
    assert dispute.reference in page.content.decode()
    assert len(told()) == 1

    answer = operator.post(address(dispute, decision))

    assert answer.status_code == 302
    assert operator.get(answer.headers["Location"]).status_code == 200
    assert Dispute.objects.get().state == state
    assert LogEntry.objects.get().change_message == decision


def test_an_operator_bounces_a_refund_and_disputes_a_part(operator: Client) -> None:
    authorize(capture=True)
    refund()
    operator.post(address(Refund.objects.get(), "bounce"))
    terms = {"reason": "duplicate", "amount": "5000"}

    operator.post(address(Authorization.objects.get(), "dispute"), terms)

    assert Refund.objects.get().state == RefundState.BOUNCED
    assert told() == ["refund_bounced", "dispute_opened"]
    assert (Dispute.objects.get().reason, Dispute.objects.get().amount) == ("duplicate", 5000)


def test_a_refusal_stands_on_the_page(operator: Client) -> None:
    complained()

    answer = operator.post(address(Dispute.objects.get(), "end"))

    assert answer.status_code == 400
    assert "The dispute is open at the bank." in answer.content.decode()
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("amount", ["0", "-1", "x", "12501"])
def test_an_amount_that_is_none_opens_nothing(amount: str, operator: Client) -> None:
    authorize(capture=True)
    terms = {"reason": "duplicate", "amount": amount}

    answer = operator.post(address(Authorization.objects.get(), "dispute"), terms)

    assert answer.status_code == 400
    assert not Dispute.objects.exists()


def test_a_row_shows_its_decisions(operator: Client) -> None:
    complained()
    [dispute] = Dispute.objects.all()

    page = operator.get(reverse("admin:testbank_dispute_change", args=[dispute.pk]))

    for decision in ("win", "lose", "escalate", "regain", "end"):
        assert f'href="../decide/{decision}/"' in page.content.decode()


@pytest.mark.parametrize("decision", ["bounce", "Undecidable", "transaction", "x"])
def test_other_names_are_no_decisions(decision: str, operator: Client) -> None:
    complained()

    assert operator.post(address(Dispute.objects.get(), decision)).status_code == 404


def test_a_row_that_is_not_there(operator: Client) -> None:
    for wanted in ("7", "x", "9" * 30):
        page = reverse("admin:testbank_dispute_decide", args=[wanted, "win"])
        assert operator.get(page).status_code == 404


def test_only_operators_with_the_permission_decide(client: Client) -> None:
    complained()
    page = address(Dispute.objects.get(), "win")
    assert client.post(page).status_code == 302
    client.force_login(User.objects.create_user("new@example.com", "x" * 12, is_staff=True))

    assert client.post(page).status_code == 403
    assert len(told()) == 1
