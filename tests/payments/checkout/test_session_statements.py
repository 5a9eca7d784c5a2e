"""The cost of sessions: nothing for a payment without one, three statements for a create."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from payments.checkout import tasks
from payments.intents import transition
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import SESSIONS, of_amount, opened
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import confirmation, line
from tests.stage.payment_pages import Payer

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAYMENTS = "/v1/payment_intents"


def statements(call: Callable[[], Answer | None]) -> int:
    with CaptureQueriesContext(connection) as taken:
        answer = call()
    assert answer is None or answer.status == 200
    assert len(taken) > 0
    return len(taken)


def test_a_payment_without_a_session_costs_no_statement_more(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme.pay()  # The first request asks what the process then remembers.
    with_followers = statements(acme.pay)
    assert transition.FOLLOWERS

    monkeypatch.setattr(transition, "FOLLOWERS", {})

    assert statements(acme.pay) == with_followers


@pytest.mark.parametrize("changes", [
    {}, {"line_items": [line(12500)]}, {"customer": "one"}, {"metadata": {"a": "b"}},
])  # fmt: skip
def test_a_session_takes_three_statements_more_than_its_payment(
    acme: ApiClient, changes: dict[str, object]
) -> None:
    if "customer" in changes:
        changes = {"customer": acme.post("/v1/customers", {"name": "Ayşe"})["id"]}
    of_payment = of_amount(**changes)
    without_sum = {"amount": None} if "line_items" in changes else {}
    of_session = {**of_payment, **without_sum, "success_url": "https://acme.example/ok"}
    acme.post(PAYMENTS, of_payment), acme.post(SESSIONS, of_session)

    payment = statements(lambda: acme.post(PAYMENTS, of_payment))

    assert statements(lambda: acme.post(SESSIONS, of_session)) <= payment + 3


def test_a_longer_list_takes_no_more_statements(acme: ApiClient) -> None:
    path = f"{SESSIONS}?expand[]=data.payment_intent&expand[]=data.line_items"
    acme.post(SESSIONS, {"line_items": [line(5)], "currency": "try"})
    one = statements(lambda: acme.get(path))

    for _ in range(5):
        acme.post(SESSIONS, {"line_items": [line(5)] * 3, "currency": "try"})

    assert statements(lambda: acme.get(path)) == one


def test_a_look_at_the_page_takes_six_statements(acme: ApiClient) -> None:
    payer = Payer()
    known = acme.post("/v1/customers", {"name": "Ayşe"})["id"]
    made = acme.post(SESSIONS, {"line_items": [line(5)] * 20, "currency": "try", "customer": known})
    payer.open(made["url"])

    with CaptureQueriesContext(connection) as taken:
        page = payer.open(made["url"])

    assert page.status == 203
    assert 0 < len(taken) <= 6


def test_a_press_takes_seven_statements_more_than_a_confirm(
    acme: ApiClient, bank: BankTransport
) -> None:
    payer, forms = Payer(), []
    for _ in range(2):
        forms.append(payer.open(opened(acme)["url"]))
    payments = [acme.post(PAYMENTS, of_amount())["id"] for _ in range(2)]
    paths = [f"{PAYMENTS}/{payment}/confirm" for payment in payments]
    # The first requests ask what the process then remembers.
    acme.post(paths[0], confirmation(), idempotency_key="one"), payer.press(forms[0])

    of_confirm = statements(lambda: acme.post(paths[1], confirmation(), idempotency_key="two"))
    with CaptureQueriesContext(connection) as of_press:
        pressed = payer.press(forms[1])

    assert pressed.headers["Location"].endswith("/back")
    shown = [one["sql"][:80] for one in of_press]
    assert 0 < len(of_press) <= of_confirm + 7, shown


def test_the_job_with_nothing_due_takes_one_statement_and_the_clocks(acme: ApiClient) -> None:
    opened(acme)

    with CaptureQueriesContext(connection) as taken:
        tasks.expire_due()

    assert [one["sql"] for one in taken if "core_clock" not in one["sql"]][1:] == []
