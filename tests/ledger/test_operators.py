"""Operators write off what a merchant owes, and set holidays, in the admin, with a reason."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from ledger.models import HolidayChange, Movement, Price
from ledger.models.accounts import account_id
from merchants.models import AuditEntry, NegativeLimit, RequestLog, User
from tests.stage.acts import form_of, owe, page_of, written_off
from tests.stage.book_keeping import Till, limit, price
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.teams import let_in
from tests.stage.threads import team

pytestmark = pytest.mark.django_db

EMAIL, PASSWORD = "operator@example.com", "a long enough password"
WHY = "They are bankrupt."
ROWS = AuditEntry.objects.filter(action="balance.written_off")


@pytest.fixture
def till(acme: ApiClient) -> Till:
    """A merchant that owes 3000."""
    till = Till(acme.merchant)
    owe(till, 3000)
    return till


@pytest.fixture
def operator(client: Client) -> Client:
    """An operator who may read the accounts, write off and set holidays."""
    acts = ("write_off", "change_holidaychange", "view_holidaychange")
    return signed_in(client, "view_account", *acts)


@pytest.fixture
def reader(client: Client) -> Client:
    """An operator who may change accounts for all that Django knows, and not write off."""
    return signed_in(client, "view_account", "change_account", "view_price")


def signed_in(client: Client, *permissions: str) -> Client:
    user = User.objects.create_user(EMAIL, PASSWORD, is_staff=True)
    of_ledger = Permission.objects.filter(content_type__app_label="ledger")
    user.user_permissions.add(*of_ledger.filter(codename__in=permissions))
    return let_in(client, user)


def traces() -> tuple[int, int, int]:
    """Count the write-offs and the rows that tell of them."""
    written = Movement.objects.filter(kind="write_off").count()
    return written, ROWS.all().count(), LogEntry.objects.count()


NONE, ONE = (0, 0, 0), (1, 1, 1)


# --- What is written --------------------------------------------------------------------------


@pytest.mark.parametrize(("amount", "left"), [(3000, 0), (1, -2999)])
def test_an_operator_writes_off_with_a_reason(
    operator: Client, till: Till, amount: int, left: int
) -> None:
    answer = written_off(operator, till, amount, why=WHY)

    assert (answer.status_code, till.sums()["available"]) == (302, left)
    assert till.sums()["losses"] == -amount
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.user.email, entry.change_message) == (
        account_id(till.merchant.id, "try", "available"), EMAIL, WHY,
    )  # fmt: skip


def test_the_merchant_sees_an_adjustment_and_the_balance(
    operator: Client, till: Till, acme: ApiClient
) -> None:
    written_off(operator, till, 2000, why=WHY)

    [shown] = acme.get("/v1/balance_transactions?type=adjustment")["data"]
    assert (shown["amount"], shown["fee"], shown["net"]) == (2000, 0, 2000)
    assert (shown["currency"], shown["status"]) == ("try", "available")
    assert acme.get("/v1/balance")["available"] == [{"amount": -1000, "currency": "try"}]


def test_the_audit_row_tells_both_balances_and_the_transaction(
    operator: Client, till: Till, acme: ApiClient
) -> None:
    written_off(operator, till, 2000, why=WHY)

    row, movement = ROWS.all().get(), Movement.objects.get(kind="write_off")
    assert (row.action, row.subject) == ("balance.written_off", acme.get("/v1/balance")["id"])
    assert row.before == {"currency": "try", "available": -3000}
    assert row.after == {
        "currency": "try", "available": -1000, "balance_transaction": movement.id,
    }  # fmt: skip
    assert (row.merchant, row.reason, row.actor_name) == (till.merchant, WHY, EMAIL)


def test_it_is_a_piece_of_work_that_is_logged_and_tells_no_event(
    operator: Client, till: Till, acme: ApiClient
) -> None:
    balance_id = acme.get("/v1/balance")["id"]
    before = acme.events_of(balance_id)

    written_off(operator, till, 3000, why=WHY)

    work = RequestLog.objects.get(kind="job")
    assert (work.path, work.merchant_id) == ("operators.write_off", till.merchant.id)
    assert work.object_id == Movement.objects.get(kind="write_off").id
    assert work.id == ROWS.all().get().request_id
    assert acme.events_of(balance_id) == before


# --- The page ---------------------------------------------------------------------------------


def test_the_page_shows_the_balance_and_changes_nothing(operator: Client, till: Till) -> None:
    limit(till.merchant, 1234)
    till.charge(777)

    page = operator.get(page_of(till))

    assert (page.status_code, traces()) == (200, NONE)
    text = page.content.decode()
    for shown in ("-3000", "3000", "1234", "777", till.merchant.id, till.merchant.name):
        assert shown in text
    assert ("<script" in text.split("<form")[-1], "style=" in text) == (False, False)


def test_the_accounts_page_leads_there(operator: Client, till: Till) -> None:
    pages = {
        kind: operator.get(
            reverse("admin:ledger_account_change", args=[account_id(till.merchant.id, "try", kind)])
        ).content.decode()
        for kind in ("available", "pending")
    }

    assert page_of(till) in pages["available"]
    assert "write_off" not in pages["pending"]


@pytest.mark.parametrize("account", ["pending", "losses", "unknown"])
def test_no_other_account_is_written_off(operator: Client, till: Till, account: str) -> None:
    key = account_id(till.merchant.id, "try", account)
    page = reverse("admin:ledger_account_write_off", args=[key])

    assert [operator.get(page).status_code, operator.post(page).status_code] == [404, 404]


# --- Refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 0}, {"amount": -1}, {"amount": ""}, {"amount": 3001}, {"amount": 2**63},
        {"amount": "9" * 5000}, {"amount": "1.5"}, {"amount": "1\x00"}, {"why": ""},
        {"why": "a\x00"}, {"why": f"Card {GOOD_CARD}"}, {"why": "a" * 501}, {"act": ""},
        {"act": "act_1"}, {"act": "act_1:\x00"}, {"act": "a" * 201},
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_is_shown_again(
    operator: Client, till: Till, change: dict[str, Any]
) -> None:
    form = {**form_of(operator, till, amount=3000, why=WHY), **change}

    answer = operator.post(page_of(till), form)

    assert (answer.status_code, traces()) == (400, NONE)
    assert not RequestLog.objects.filter(kind="job").exists()


def test_nothing_is_written_off_of_a_merchant_who_owes_nothing(
    operator: Client, acme: ApiClient
) -> None:
    till = Till(acme.merchant)
    till.topup(1)

    answer = written_off(operator, till, 1, why=WHY)

    assert (answer.status_code, traces()) == (400, NONE)
    assert "0 is owed" in answer.content.decode()


def test_what_came_in_since_the_page_was_opened_counts(operator: Client, till: Till) -> None:
    form = form_of(operator, till, amount=3000, why=WHY)
    till.topup(1)

    answer = operator.post(page_of(till), form)

    assert (answer.status_code, traces()) == (400, NONE)
    assert "2999 is owed" in answer.content.decode()


def test_a_form_of_another_account_is_refused(
    operator: Client, till: Till, globex: ApiClient
) -> None:
    other = Till(globex.merchant)
    owe(other, 3000)

    answer = operator.post(page_of(other), form_of(operator, till, amount=1, why=WHY))

    assert (answer.status_code, traces()) == (400, NONE)


@pytest.mark.parametrize("method", ["get", "post"])
def test_who_may_only_look_may_not_write_off(reader: Client, till: Till, method: str) -> None:
    assert getattr(reader, method)(page_of(till)).status_code == 403
    key = account_id(till.merchant.id, "try", "available")
    shown = reader.get(reverse("admin:ledger_account_change", args=[key]))
    assert (shown.status_code, page_of(till) in shown.content.decode()) == (200, False)
    assert traces() == NONE


def test_nobody_writes_off_without_signing_in(client: Client, till: Till) -> None:
    answer = client.post(page_of(till), {"amount": 1, "why": WHY, "act": "act_1"})

    assert (answer.status_code, "login" in answer["location"], traces()) == (302, True, NONE)


def test_a_form_from_elsewhere_is_refused(operator: Client, till: Till) -> None:
    form = form_of(operator, till, amount=3000, why=WHY)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies

    assert (strict.post(page_of(till), form).status_code, traces()) == (403, NONE)
    page = strict.get(page_of(till))
    form["csrfmiddlewaretoken"] = page.context["csrf_token"]
    assert (strict.post(page_of(till), form).status_code, traces()) == (302, ONE)


# --- Once -------------------------------------------------------------------------------------


def test_a_form_that_is_sent_twice_writes_off_once(operator: Client, till: Till) -> None:
    form = form_of(operator, till, amount=1000, why=WHY)

    answers = [operator.post(page_of(till), form) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [302, 302]
    assert (traces(), till.sums()["available"]) == (ONE, -2000)


def test_a_form_that_is_sent_again_with_another_amount_is_refused(
    operator: Client, till: Till
) -> None:
    form = form_of(operator, till, amount=1000, why=WHY)
    operator.post(page_of(till), form)

    answer = operator.post(page_of(till), {**form, "amount": 999})

    assert (answer.status_code, traces()) == (400, ONE)
    assert "sent before" in answer.content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_same_form", [True, False])
def test_of_two_at_once_one_writes_off(operator: Client, till: Till, is_same_form: bool) -> None:
    forms = [form_of(operator, till, amount=3000, why=WHY) for _ in range(2)]
    if is_same_form:
        forms[1] = forms[0]

    with team(2) as meet:
        answers = meet(
            [lambda form=form: twin(operator).post(page_of(till), form) for form in forms]
        )

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == ([302, 302] if is_same_form else [302, 400])
    assert (traces(), till.sums()["available"]) == (ONE, 0)


def twin(operator: Client) -> Client:
    other = Client()
    other.cookies = operator.cookies
    return other


def test_row_and_movement_are_of_one_transaction(
    operator: Client, till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any) -> None:
        raise RuntimeError("the log is broken")

    form = form_of(operator, till, amount=3000, why=WHY)
    monkeypatch.setattr("merchants.audit_log.record_all", fail)

    with pytest.raises(RuntimeError):
        operator.post(page_of(till), form)

    assert (traces(), till.sums()["available"]) == (NONE, -3000)


# --- Terms ------------------------------------------------------------------------------------


def test_prices_and_limits_are_read_and_not_edited(client: Client, till: Till) -> None:
    let_in(client, User.objects.create_superuser(EMAIL, PASSWORD))
    limit(till.merchant, 4321)
    price(till.merchant, bps=271)

    for model, shown in ((Price, "271"), (NegativeLimit, "4321")):
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        row = reverse(f"{name}_change", args=[model.objects.get().pk])
        for page in (reverse(f"{name}_changelist"), row):
            assert shown in client.get(page).content.decode()
        assert client.post(row, {}).status_code == 403
        assert client.get(reverse(f"{name}_add")).status_code == 403


# --- Holidays ---------------------------------------------------------------------------------

HOLIDAY = {"country": "TR", "date": "2026-11-03", "is_holiday": "yes", "why": "a decree"}


def test_a_holiday_that_is_set_moves_what_is_captured_from_then_on(
    operator: Client, till: Till
) -> None:
    page = reverse("admin:ledger_holidaychange_set")
    before = till.charge(1000)
    operator.post(page, HOLIDAY)
    during = till.charge(1000)
    operator.post(page, {**HOLIDAY, "is_holiday": "no"})

    after = till.charge(1000)

    dates = [str(row.entries.get(available_on__isnull=False).available_on)
             for row in (before, during, after)]  # fmt: skip
    assert dates == ["2026-11-03", "2026-11-04", "2026-11-03"]
    of_holidays = AuditEntry.objects.filter(action__startswith="holiday.").order_by("sequence")
    assert [row.action for row in of_holidays] == ["holiday.added", "holiday.removed"]
    listed = operator.get(reverse("admin:ledger_holidaychange_changelist"))
    assert "Set a holiday" in listed.content.decode()


@pytest.mark.parametrize(
    "typed",
    [{"country": "tr"}, {"date": "2026-13-01"}, {"date": ""}, {"is_holiday": "maybe"}, {"why": ""}],
    ids=str,
)
def test_a_holiday_that_cannot_be_is_refused(operator: Client, typed: dict[str, str]) -> None:
    answer = operator.post(reverse("admin:ledger_holidaychange_set"), {**HOLIDAY, **typed})

    assert answer.status_code == 400
    assert not HolidayChange.objects.exists()


def test_who_may_only_look_may_not_set_a_holiday(reader: Client) -> None:
    page = reverse("admin:ledger_holidaychange_set")

    assert reader.post(page, HOLIDAY).status_code == 403
    assert reader.get(page).status_code == 403
