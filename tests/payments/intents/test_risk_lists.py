"""Lists of payers who are blocked, or whom rules leave alone."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from core import clock
from core.errors import PermissionDenied, ResourceMissing
from merchants.models import AuditEntry, User
from payments.risk import fingerprints, lists
from payments.risk.lists import BlockEntry, EntryUnusable
from payments.risk.models import ListEntry
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, RETURN_URL
from tests.stage.risky import APPROVED, BLOCKED, PAID, attempt_of, ended, paid_by, set_rule

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

EMAIL = "Ilker@Example.com"


@pytest.fixture
def operator() -> User:
    user = User.objects.create_user("operator@pay.example", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="manage_lists"))
    return User.objects.get(pk=user.pk)


def put(operator: User, client: ApiClient | None, list_: str, kind: str, value: str) -> ListEntry:
    """Write an entry down; a card is given as one of the client's payments."""
    shown = ""
    if kind == "card":
        attempt = attempt_of(paid_by(client, value)) if client else None
        assert attempt
        value, shown = attempt.card_fingerprint or "", attempt.card["masked"]
    merchant = client.merchant if client else None
    return lists.add(operator, merchant, BlockEntry(list_, kind, value, "Because.", shown=shown))


@pytest.mark.parametrize(
    ("kind", "value"), [("card", GOOD_CARD), ("email", EMAIL), ("bin", "424242")]
)
def test_who_is_listed_is_blocked_and_nobody_else(
    kind: str, value: str, acme: ApiClient, globex: ApiClient, bank: BankTransport, operator: User
) -> None:
    put(operator, acme, "block", kind, value)
    asked = len(bank.seen)

    answer = paid_by(acme, GOOD_CARD, "ILKER@example.com")

    assert ended(answer) == BLOCKED
    assert answer["fraud"]["rule"] == "block_list"
    assert answer["fraud"]["risk_score"] == 100
    assert "list" not in answer["last_payment_error"]["message"]
    assert len(bank.seen) == asked
    assert ended(paid_by(acme, APPROVED[1], "i.lker@example.com")) == PAID
    assert ended(paid_by(globex, GOOD_CARD, "ilker@example.com")) == PAID


@pytest.mark.parametrize(("kind", "value"), [("email", EMAIL), ("bin", "424242")])
def test_the_installations_entry_holds_for_every_merchant(
    kind: str, value: str, acme: ApiClient, globex: ApiClient, bank: BankTransport, operator: User
) -> None:
    put(operator, None, "block", kind, value)

    answers = [paid_by(one, GOOD_CARD, "ILKER@example.com") for one in (acme, globex)]

    assert [ended(one) for one in answers] == [BLOCKED, BLOCKED]


def test_an_entry_that_has_expired_blocks_no_more(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    until = clock.now() + timedelta(hours=1)
    lists.add(operator, acme.merchant, BlockEntry("block", "bin", "424242", "For an hour.", until))
    blocked = ended(paid_by(acme))

    clock.advance(timedelta(minutes=61))

    assert (blocked, ended(paid_by(acme))) == (BLOCKED, PAID)


def test_block_beats_allow_and_allow_beats_the_rules(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    set_rule(acme.merchant, "card_velocity", "block", 1)
    set_rule(acme.merchant, "country_mismatch", "authenticate")
    entry = put(operator, acme, "allow", "email", EMAIL)
    told = [ended(paid_by(acme, email=EMAIL)) for _ in range(3)]

    put(operator, acme, "block", "bin", "424242")
    beaten = ended(paid_by(acme, email=EMAIL))
    lists.remove(operator, entry.pk, reason="No longer.")

    assert (told, beaten) == ([PAID] * 3, BLOCKED)
    assert not ListEntry.objects.filter(list="allow").exists()


def test_the_allow_list_skips_neither_the_banks_word_nor_the_limits(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    put(operator, acme, "allow", "email", EMAIL)

    bad = paid_by(acme, "4100000000000019", EMAIL)
    large = paid_by(acme, email=EMAIL, amount=500_001, return_url=RETURN_URL)

    assert (bad["fraud"]["status"], bad["fraud"]["rule"]) == ("fraud", "block_highest_risk")
    assert large["status"] == "requires_action"


def test_blocked_tries_of_a_listed_payer_are_not_counted(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    set_rule(acme.merchant, "card_velocity", "block", 1)
    entry = put(operator, acme, "block", "email", EMAIL)
    for _ in range(3):
        assert ended(paid_by(acme, email=EMAIL)) == BLOCKED
    lists.remove(operator, entry.pk, reason="Enough.")

    assert ended(paid_by(acme, email=EMAIL)) == PAID


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bin", "42424"), ("bin", "42424242"), ("bin", "4242٤2"), ("bin", GOOD_CARD),
        ("email", "nobody"), ("email", ""), ("card", "f" * 64),
        ("email", "Thief <thief@x.example>"),  # No payer's address is its key.
    ],
)  # fmt: skip
def test_a_value_of_another_form_is_refused(
    kind: str, value: str, acme: ApiClient, operator: User
) -> None:
    with pytest.raises(EntryUnusable):
        lists.add(operator, acme.merchant, BlockEntry("block", kind, value, "Because."))


def test_a_card_is_listed_for_its_merchant_only(operator: User) -> None:
    with pytest.raises(EntryUnusable):
        lists.add(operator, None, BlockEntry("block", "card", "f" * 64, "Why", shown="4242…4242"))
    with pytest.raises(IntegrityError, match="a_listed_card_is_a_merchants"):
        ListEntry.objects.create(list="block", kind="card", value="f" * 64, created_at=clock.now())


def test_who_may_not_manage_lists_is_refused(acme: ApiClient, operator: User) -> None:
    stranger = User.objects.create_user("stranger@pay.example", is_staff=True)
    entry = put(operator, acme, "block", "bin", "424242")

    with pytest.raises(PermissionDenied):
        put(stranger, acme, "block", "bin", "424243")
    with pytest.raises(PermissionDenied):
        lists.remove(stranger, entry.pk, reason="No.")
    with pytest.raises(ResourceMissing):
        lists.remove(operator, 0, reason="No.")
    with pytest.raises(EntryUnusable):
        lists.add(operator, acme.merchant, BlockEntry("block", "bin", "424242", " "))


def test_each_change_is_logged_and_no_address_is_kept(acme: ApiClient, operator: User) -> None:
    entry = put(operator, acme, "block", "email", EMAIL)
    put(operator, acme, "block", "email", EMAIL.upper())  # The same entry anew.
    lists.remove(operator, entry.pk, reason="Enough.")

    logged = AuditEntry.objects.filter(subject=str(entry.pk)).order_by("sequence")
    assert [(row.action, row.reason) for row in logged] == [
        ("list_entry.added", "Because."), ("list_entry.added", "Because."),
        ("list_entry.removed", "Enough."),
    ]  # fmt: skip
    assert fingerprints.of_email(acme.merchant.id, EMAIL) not in str(logged.values())
    assert entry.value == fingerprints.of_email(acme.merchant.id, EMAIL)
    assert entry.shown == "I…@Example.com"


# --- The command ------------------------------------------------------------------------------


def risk_list(*words: str, **options: Any) -> str:
    said = StringIO()
    call_command("risk_list", *words, stdout=said, **options)
    return said.getvalue()


def test_the_command_adds_shows_and_removes(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    paid = paid_by(acme)
    who = ("--as", operator.email, "--reason", "Chargebacks.")

    risk_list("add", "block", "card", paid["id"], "--days", "30", *who)
    shown = risk_list("show", "--merchant", acme.merchant.id)
    blocked = ended(paid_by(acme))
    risk_list("remove", shown.split()[0], *who)

    assert "424242******4242 until" in shown
    assert "Chargebacks. (operator@pay.example)" in shown
    assert (blocked, ended(paid_by(acme)), risk_list("show")) == (BLOCKED, PAID, "")


@pytest.mark.parametrize(
    "words",
    [
        ("add", "block", "card", "pi_unknown"), ("add", "block", "bin", "1"), ("remove", "0"),
        ("add", "block", "bin", "424242", "--merchant", "mer_unknown"),
    ],
)  # fmt: skip
def test_the_command_refuses_what_cannot_be(words: tuple[str, ...], operator: User) -> None:
    with pytest.raises(CommandError):
        risk_list(*words, "--as", operator.email, "--reason", "Because.")


def test_the_command_takes_operators_and_no_card_number(acme: ApiClient, operator: User) -> None:
    words = ("add", "block", "bin", "424242", "--reason")

    with pytest.raises(CommandError):
        risk_list(*words, "Because.", "--as", "owner@acme.example")
    with pytest.raises(CommandError):
        risk_list(*words, f"He used {GOOD_CARD}.", "--as", operator.email)
    assert not ListEntry.objects.exists()
