"""Refused sign-ins and looks into the audit log: one row of it per minute, with a count."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from merchants import audit_tallies, sign_in, tasks
from merchants.models import AuditEntry, AuditTally, User
from tests.stage.client import ApiClient
from tests.stage.desk import Desk
from tests.stage.second_factors import add_app, half_signed_in, send_code, wrong_code
from tests.stage.teams import let_in
from tests.stage.visitors import Visitor

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

NAME = "operator@example.com"


@pytest.fixture
def operator() -> User:
    return User.objects.create_superuser(NAME, "a long enough password")


def pass_a_minute() -> None:
    for row in AuditTally.objects.all():
        row.minute -= timedelta(minutes=2)
        row.save()


def written() -> list[AuditEntry]:
    """Return the rows of the minutes that are over."""
    pass_a_minute()
    known = set(AuditEntry.objects.values_list("pk", flat=True))
    tasks.write_audit_tallies()
    assert not AuditTally.objects.exists()
    return list(AuditEntry.objects.exclude(pk__in=known).order_by("action", "chain"))


def counts(rows: list[AuditEntry]) -> list[tuple[str, str, Any]]:
    return [(row.action, row.chain, (row.after or {})["count"]) for row in rows]


def test_refused_sign_ins_of_a_minute_are_one_row_of_the_person(operator: User) -> None:
    for _ in range(3):
        Visitor("203.0.113.7").sign_in("wrong", NAME)

    rows = written()

    # A minute may have ended in between.
    assert sum((row.after or {})["count"] for row in rows) == 3
    assert {(row.action, row.chain) for row in rows} == {("sign_in.refused", f"user:{operator.pk}")}
    assert {(row.actor, row.address) for row in rows} == {("system", "203.0.113.7")}


def test_unknown_names_are_one_row_and_kept_nowhere() -> None:
    for number in range(4):
        Visitor("203.0.113.7").sign_in("wrong", f"n{number}@example.com")

    rows = written()

    assert sum((row.after or {})["count"] for row in rows) == 4
    assert {(row.chain, row.subject) for row in rows} == {("installation", "unknown name")}


def test_a_refused_code_is_a_row(operator: User) -> None:
    add_app(operator)
    visitor = half_signed_in(NAME)
    send_code(visitor, wrong_code())

    assert [row for row in counts(written()) if row[0] == "mfa.refused"] == [
        ("mfa.refused", f"user:{operator.pk}", 1)
    ]


def test_a_right_password_leaves_none(operator: User) -> None:
    assert sign_in.is_proved_by(operator, "a long enough password")

    assert not AuditTally.objects.exists()


def test_an_open_minute_is_not_written_yet(operator: User) -> None:
    sign_in.is_proved_by(operator, "wrong")

    assert audit_tallies.write_due(timezone.now() - timedelta(seconds=60)) == 0
    assert audit_tallies.write_due(timezone.now() + timedelta(seconds=120)) == 1


FORGERIES = {
    "audit_tallies_not_ours": {"action": "key.revoked"},
    "audit_tally_not_written": {"actor": "stranger"},
}


@pytest.mark.parametrize(("warning", "forgery"), FORGERIES.items())
def test_a_row_that_is_no_count_of_ours_is_not_signed_and_stops_no_other(
    operator: User, warning: str, forgery: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    counted = {"action": "sign_in.refused", "actor": "system", "subject": "x"}
    AuditTally.objects.create(minute=timezone.now(), **{**counted, **forgery})
    sign_in.is_proved_by(operator, "wrong")
    pass_a_minute()

    tasks.write_audit_tallies()

    assert [row.chain for row in AuditEntry.objects.all()] == [f"user:{operator.pk}"]
    assert caplog.text.count(f"'{warning}'") == 1


def test_reading_the_log_at_the_desk_is_a_row_of_the_operator(acme: ApiClient) -> None:
    at = Desk()
    at.get("desk_audit")
    at.get("desk_audit")
    at.send("desk_audit_verify")

    rows = [row for row in written() if row.action.startswith("audit_log.")]

    assert {row.action for row in rows} == {"audit_log.read", "audit_log.verified"}
    assert {(row.chain, row.actor, row.actor_id) for row in rows} == {
        ("installation", "operator", str(at.person.pk))
    }


def test_an_owner_who_reads_the_log_is_a_row_of_the_merchant(acme: ApiClient, client: Any) -> None:
    owner = acme.merchant.members.get().user
    let_in(client, owner)

    assert client.get(f"/panel/{acme.merchant.id}/audit_log").status_code == 200

    [row] = [row for row in written() if row.action == "audit_log.read"]
    assert (row.chain, row.actor_id) == (f"merchant:{acme.merchant.id}", str(owner.pk))
