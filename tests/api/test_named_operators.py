"""A command that changes something is an operator's, who proves it in live by a code."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core import mail
from django.core.management import CommandError, call_command
from django.utils import timezone

from api import commands
from core import context
from merchants import accounts, sign_in
from merchants.accounts import Opened
from merchants.models import AuditEntry, AuditTally, User
from merchants.models.people import WRONG_IN_A_ROW_MAX
from tests.stage.second_factors import add_app, code, wrong_code

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ADA, BEN = "ada@pay.example", "ben@pay.example"


@pytest.fixture
def shop() -> Opened:
    return accounts.open_account(name="Shop", email="o@shop.example")


@pytest.fixture
def ada(settings: Any, shop: Opened) -> User:
    """An operator of a live installation, who has an authenticator app."""
    settings.LIVEMODE = True
    return operator(ADA)


def operator(email: str, **rights: Any) -> User:
    person = User.objects.create_user(email, "a long enough password", is_staff=True, **rights)
    person.is_superuser = not rights
    person.save()
    add_app(person)
    return person


def run(monkeypatch: pytest.MonkeyPatch, *words: str, typed: str = "") -> AuditEntry:
    """Run a command with codes on its standard input; return its last row."""
    monkeypatch.setattr("sys.stdin", StringIO(typed))
    call_command(*words, stdout=StringIO())
    return AuditEntry.objects.order_by("-created_at", "-sequence")[0]


def prices(shop: Opened) -> tuple[str, ...]:
    rows = '[{"currency": "try", "bps": 250, "fixed": 25}]'
    return ("merchant", "prices", shop.merchant.id, rows, "--reason", "asked")


def test_in_live_the_row_names_the_operator_who_proved_it(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User
) -> None:
    row = run(monkeypatch, *prices(shop), "--as", ADA, typed=f"{code()}\n")

    assert (row.action, row.actor, row.actor_id) == ("price.changed", "operator", str(ada.pk))
    assert str(row.actor_name).startswith(f"{ADA} by manage.py merchant as ")


def test_a_code_that_comes_before_a_file_is_asked_for_at_the_terminal_of_the_errors(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User
) -> None:
    errors = StringIO()
    monkeypatch.setattr(errors, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", errors)

    run(monkeypatch, *prices(shop), "--as", ADA, typed=f"{code()}\n")

    assert errors.getvalue() == f"Code of the app of {ADA}: "


def test_nothing_is_changed_without_an_operator_in_live(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User
) -> None:
    rows = AuditEntry.objects.count()

    with pytest.raises(CommandError, match="Say which operator"):
        run(monkeypatch, *prices(shop))

    assert AuditEntry.objects.count() == rows


@pytest.mark.parametrize(
    ("typed", "said", "count"),
    [
        ("", "Type the six digits", 0),
        ("1234567", "Type the six digits", 0),
        ('{"kind": "sandbox"}', "Type the six digits", 0),
        (wrong_code(), "is wrong, or was used", 1),
    ],
)
def test_a_wrong_code_changes_nothing_and_leaves_a_row(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User, typed: str, said: str, count: int
) -> None:
    with pytest.raises(CommandError, match=said):
        run(monkeypatch, *prices(shop), "--as", ADA, typed=typed)

    ada.refresh_from_db()
    assert ada.wrong_in_a_row == 0
    assert AuditTally.objects.filter(action="mfa.refused").count() == count


def test_a_locked_sign_in_locks_no_command(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User
) -> None:
    for _ in range(WRONG_IN_A_ROW_MAX):
        sign_in.count(ADA)

    row = run(monkeypatch, *prices(shop), "--as", ADA, typed=code())

    assert row.action == "price.changed"
    ada.refresh_from_db()
    assert ada.last_login is not None  # The account is in use.


def test_taking_the_apps_off_does_not_end_the_rule(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User
) -> None:
    Authenticator.objects.update(type=Authenticator.Type.WEBAUTHN)

    with pytest.raises(CommandError, match="Say which operator"):
        run(monkeypatch, *prices(shop))
    with pytest.raises(CommandError, match="has no authenticator app"):
        run(monkeypatch, *prices(shop), "--as", ADA, typed=code())


def test_an_account_that_is_locked_as_unused_is_told_so(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User
) -> None:
    User.objects.filter(pk=ada.pk).update(locked_unused_at=timezone.now())

    with pytest.raises(CommandError, match="is locked, for it was unused"):
        run(monkeypatch, *prices(shop), "--as", ADA, typed=code())


def test_a_code_is_used_up(monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User) -> None:
    typed = code()
    run(monkeypatch, *prices(shop), "--as", ADA, typed=typed)

    with pytest.raises(CommandError, match="was used"):
        run(monkeypatch, *prices(shop), "--as", ADA, typed=typed)


def test_an_operator_needs_the_right_that_the_desk_asks_for(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User
) -> None:
    operator(BEN, first_name="Ben")

    with pytest.raises(CommandError, match=r"merchants\.change_merchant_terms"):
        run(monkeypatch, *prices(shop), "--as", BEN, typed=code())


@pytest.mark.parametrize("name", ["nobody@pay.example", "o@shop.example"])
def test_only_operators_are_named(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User, name: str
) -> None:
    with pytest.raises(CommandError, match="names no operator"):
        run(monkeypatch, *prices(shop), "--as", name, typed=code())


def test_two_people_are_two_different_ones(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User
) -> None:
    operator(BEN)
    monkeypatch.setattr(commands.AuditedCommand, "people", 2)

    with pytest.raises(CommandError, match="2 different operators"):
        run(monkeypatch, *prices(shop), "--as", ADA, "--as", ADA, typed=code())
    row = run(monkeypatch, *prices(shop), "--as", ADA, "--as", BEN, typed=f"{code()}\n{code()}\n")

    assert str(row.actor_name).startswith(f"{ADA} and {BEN} by manage.py merchant as ")


def test_reading_needs_no_operator(
    monkeypatch: pytest.MonkeyPatch, shop: Opened, ada: User
) -> None:
    rows = AuditEntry.objects.count()

    run(monkeypatch, "merchant", "show", shop.merchant.id)

    assert AuditEntry.objects.count() == rows


def test_a_new_installation_has_no_operator_yet(
    monkeypatch: pytest.MonkeyPatch, settings: Any, shop: Opened
) -> None:
    settings.LIVEMODE = True

    made = run(monkeypatch, "createsuperuser", "--noinput", "--email", ADA)

    assert (made.action, made.actor, made.actor_id) == ("operator.made", "command", made.actor_id)
    assert made.chain == f"user:{User.objects.get(email=ADA).pk}"


def test_an_emergency_is_told_to_every_operator_who_may_do_everything(
    monkeypatch: pytest.MonkeyPatch,
    ada: User,
    django_capture_on_commit_callbacks: Any,
) -> None:
    words = ("createsuperuser", "--noinput", "--email", BEN)
    with pytest.raises(CommandError, match="Say which operator"):
        run(monkeypatch, *words)

    with django_capture_on_commit_callbacks(execute=True):
        row = run(monkeypatch, *words, "--emergency", "Her phone is lost.")

    assert (row.action, row.reason) == ("operator.made", "Her phone is lost.")
    assert [(one.to, BEN in one.body) for one in mail.outbox] == [([ADA], True)]


def test_a_job_acts_as_the_service_in_the_name_of_its_unit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cgroup = tmp_path / "cgroup"
    cgroup.write_text("0::/system.slice/pay-rotate.service\n")
    monkeypatch.setattr(commands, "CGROUP", cgroup)

    seen: list[context.Actor] = []

    class Command(commands.JobCommand):
        def handle(self, *_args: Any, **_options: Any) -> None:
            seen.append(context.actor())

    call_command(Command())
    cgroup.write_text("0::/\n")

    assert [(one.kind, one.name) for one in seen] == [("system", "pay-rotate.service")]
    assert commands.unit() is None
