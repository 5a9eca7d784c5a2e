"""The search over all merchants, and the audit log, at the desk."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.models import Event
from merchants import keys
from merchants.models import AuditEntry
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import past_guards
from tests.stage.desk import Desk
from tests.stage.factories import GOOD_CARD, payment
from tests.stage.hooks import created

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def desk() -> Desk:
    return Desk()


def found(desk: Desk, text: str) -> list[str]:
    answer = desk.get("desk_search", q=text)
    assert answer.status_code == 200
    for one in answer.context["found"]:
        if one.url:
            assert desk.http.get(one.url).status_code == 200, one
    return [one.id for one in answer.context["found"]]


def test_any_id_is_found_at_any_merchant(
    desk: Desk, acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    for shop in (acme, globex):
        paid = shop.pay()
        customer = shop.post("/v1/customers", {"name": "Ada"})["id"]
        refund = shop.refund(paid["id"])["id"]
        endpoint = shop.get("/v1/events")["data"][0]["id"]
        key = keys.ApiKey.objects.for_merchant(shop.merchant).first().id
        for one in (
            paid["id"], paid["latest_attempt"], customer, refund, endpoint, key, shop.merchant.id
        ):  # fmt: skip
            assert found(desk, f"  {one} ") == [one]


def test_the_banks_reference_is_found(desk: Desk, acme: ApiClient, bank: BankTransport) -> None:
    attempt = Attempt.objects.get(intent_id=acme.pay()["id"])

    assert found(desk, attempt.acquirer_reference) == [attempt.id]


def test_an_address_finds_people_customers_and_payments(
    desk: Desk, acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    customers = [
        shop.post("/v1/customers", {"email": "Ada@Example.com"})["id"] for shop in (acme, globex)
    ]
    details = payment(GOOD_CARD)
    details["payment_method_data"]["billing_details"]["email"] = "ada@example.com"
    paid = acme.post("/v1/payment_intents", details)["id"]

    assert sorted(found(desk, "ada@EXAMPLE.com")) == sorted([*customers, paid])
    assert acme.merchant.members.get().user.email in found(desk, acme.merchant.email)


def test_a_request_finds_what_it_left(desk: Desk, acme: ApiClient) -> None:
    answer = acme.post("/v1/customers", {"name": "Ada"})
    event = Event.objects.get()
    hook = created(acme)
    row = AuditEntry.objects.get(action="endpoint.created")

    # The rows of request logs are written once an answer has left.
    assert event.id in found(desk, answer.headers["Request-Id"])
    assert row.id in found(desk, row.request_id)
    assert found(desk, hook["id"]) == [hook["id"]]


@pytest.mark.parametrize(
    "text", ["pi_unknown", "nothing", "nobody@example.com", "req_", "req_ü", "x" * 255, "%", "'",
             "pi_" + "0" * 24, "req_" + "z" * 24, "\ufffd", "_", "case_1"],
)  # fmt: skip
def test_nothing_is_found_of_nothing(desk: Desk, acme: ApiClient, text: str) -> None:
    assert found(desk, text) == []


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("text", [GOOD_CARD, "4242 4242-4242 4242", f"x {GOOD_CARD}"])
def test_a_card_number_is_refused_and_not_shown_again(desk: Desk, text: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        answer = desk.get("desk_search", q=text)

    assert answer.status_code == 400
    assert text not in answer.content.decode()
    assert not any("4242" in one["sql"] for one in queries)


def test_a_long_text_is_refused(desk: Desk) -> None:
    assert desk.get("desk_search", q="x" * 256).status_code == 400


@pytest.mark.parametrize("query", ["q=%ff", "q=%ED%A0%80", "q=a&q=b"])
def test_odd_addresses_are_pages(desk: Desk, query: str) -> None:
    assert desk.http.get(f"/admin/desk/?{query}").status_code == 200


def test_a_text_is_shown_as_text(desk: Desk) -> None:
    assert "<script>x" not in desk.get("desk_search", q="<script>x").content.decode()


def test_only_what_the_person_may_see_is_found(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()["id"]
    reader = Desk("reader@example.com", "merchants.view_merchant")

    assert found(reader, paid) == []
    assert found(reader, acme.merchant.id) == [acme.merchant.id]


# --- The audit log ----------------------------------------------------------------------------


def rows(desk: Desk, **query: str) -> list[str]:
    answer = desk.get("desk_audit", **query)
    assert answer.status_code == 200, answer.context["form"].errors
    return [row.id for row in answer.context["found"].rows]


def test_the_log_is_filtered(desk: Desk, acme: ApiClient, globex: ApiClient) -> None:
    hook = created(acme)["id"]
    row = AuditEntry.objects.get(action="endpoint.created")
    today = datetime.now(UTC).date()
    everything = rows(desk, limit="100")

    assert everything == sorted(everything, reverse=True)
    assert len(everything) == AuditEntry.objects.count()
    for query in (
        {"action": "endpoint.created"}, {"subject": hook}, {"subject": row.request_id},
        {"merchant": acme.merchant.id, "actor": "api_key"},
    ):  # fmt: skip
        assert rows(desk, **query) == [row.id]
    day = timedelta(days=1)
    assert rows(desk, created_from=str(today), created_to=str(today), limit="100") == everything
    assert rows(desk, created_from=str(today + day)) == []
    assert rows(desk, created_to=str(today - day)) == []
    assert rows(desk, person="nobody@example.com") == []
    assert set(rows(desk, merchant=globex.merchant.id)) < set(everything)


def test_a_persons_rows_are_those_about_them_and_those_by_them(desk: Desk, acme: ApiClient) -> None:
    key, _secret = keys.create(acme.merchant, name="Second")
    desk.send("desk_key_revoke", key.id, form={"why": "It leaked."})
    [row] = AuditEntry.objects.filter(action="key.revoked")

    assert rows(desk, person=desk.person.email) == [row.id]
    shown = desk.get("desk_audit_entry", row.id).content.decode()
    assert "It leaked." in shown
    assert row.request_id in shown


def test_the_log_walks_older(desk: Desk, acme: ApiClient) -> None:
    for query in ({}, {"merchant": acme.merchant.id}):
        everything = rows(desk, limit="100", **query)
        walked, page = [], desk.get("desk_audit", limit="2", **query).context["found"]
        while True:
            walked += [row.id for row in page.rows]
            if not page.older:
                break
            page = desk.http.get(page.older).context["found"]
        assert walked == everything


@pytest.mark.parametrize(
    ("query", "status"),
    [({"action": "x"}, 400), ({"actor": "x"}, 400), ({"created_from": "x"}, 400),
     ({"created_to": "9999-12-31"}, 200), ({"created_from": "0001-01-01"}, 200),
     ({"limit": "0"}, 400), ({"starting_after": "x"}, 404), ({"subject": GOOD_CARD}, 400)],
)  # fmt: skip
def test_bad_filters_are_told(desk: Desk, query: dict[str, str], status: int) -> None:
    answer = desk.get("desk_audit", **query)

    assert answer.status_code == status
    assert GOOD_CARD not in answer.content.decode()


def test_the_log_is_verified(desk: Desk, acme: ApiClient) -> None:
    for _ in range(3):
        keys.create(acme.merchant, name="One more")
    clean = desk.send("desk_audit_verify")
    assert "none was touched" in clean.content.decode()

    with past_guards() as cursor:
        cursor.execute("UPDATE merchants_auditentry SET reason = 'other' WHERE sequence = 2")

    touched = desk.send("desk_audit_verify")
    assert [one.sequence for one in touched.context["problems"]] == [2]


def test_an_unknown_row_is_404(desk: Desk) -> None:
    assert desk.get("desk_audit_entry", "aud_unknown").status_code == 404
