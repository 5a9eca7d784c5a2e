"""Each change of keys, sites, endpoints and terms leaves one audit row, by whichever door it comes.

All doors are walked: those of the API, the commands and the admin. One that is in no list fails.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.contrib import admin
from django.core.management import call_command, get_commands, load_command_class
from django.db import connections, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse

from acquirers.models import Route, Terminal
from cases.models import Case
from config.urls import v1
from core.admin import ReadOnly
from events.models import Event
from merchants import audit_log, keys, operators, sign_in
from merchants.audit_log import LoggedChange, record_all
from merchants.models import AuditEntry, Merchant, OperatorInvitation, RequestLog, User
from panel.operators import desk
from panel.operators.sections import SECTIONS
from payments.installments import bin_imports
from payments.installments.bin_files import COLUMNS
from payments.intents.models import PaymentIntent
from payments.risk import lists
from payments.risk.lists import BlockEntry
from payments.risk.models import ListEntry
from tests.stage.acts import owe, sent_once, written_off
from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import Till
from tests.stage.client import Answer, ApiClient
from tests.stage.complaints import dispute_past_the_bank
from tests.stage.desk import Desk
from tests.stage.hooks import created, tell
from tests.stage.second_factors import add_app
from tests.stage.settlement_days import a_difference
from tests.stage.teams import let_in
from tests.stage.topups import awaited, case, sent
from tests.stage.transfers import account, enrich, pay_out, rich
from tests.stage.undecided import a_case_of
from tests.stage.write_journal import write_journal

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

HOOKS, HOOK = "webhook_endpoints", "webhook_endpoints/<str:endpoint_id>"
# An API key's acts on money and customers are in the request logs (contract: Audit log).
REQUEST_LOGS_HAVE_IT = (
    "payment_intents", "refunds", "customers", "disputes", "payouts", "topups",
    "checkout",
)  # fmt: skip
# By method and path, the action of the row. `play` below makes the change.
API = {
    ("post", HOOKS): "endpoint.created",
    ("post", HOOK): "endpoint.updated",
    ("delete", HOOK): "endpoint.deleted",
    ("post", f"{HOOK}/roll_secret"): "endpoint.secret_rolled",
    ("post", f"{HOOK}/replay"): "endpoint.replayed",
    ("post", "events/<str:event_id>/resend"): "event.resent",
}
BODIES = {
    HOOKS: {"url": "https://acme.example/b", "enabled_events": ["*"]},
    HOOK: {"description": "new"},
}
WEBSITE = ("website", "add", "MERCHANT", "https://new.example", "--reason", "asked")
CALLBACK = ("callback", "add", "MERCHANT", "https://pay.example/back", "--reason", "asked")
WHO = ("--as", "OPERATOR", "--reason", "asked")
PLANS = '[{"program": "bonus", "installments": 3, "surcharge_rate_bps": 275}]'
PRICES = '[{"currency": "try", "bps": 250, "fixed": 25}]'
RULES = '[{"rule": "card_velocity", "deed": "review", "threshold": 5}]'
ACCOUNT = ("--holder", "Acme Ltd", "--iban", "TR330006100519786457841326", "--reason", "x")
LIMITS = ("limits", "MERCHANT", "--currency", "try", "--reason", "asked")
# The command line, and the actions of its rows.
COMMANDS: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("create_key", "MERCHANT"), ("key.created",)),
    (("revoke_key", "KEY", "--reason", "lost"), ("key.revoked",)),
    (("merchant", *WEBSITE), ("website.added",)),
    (("merchant", "website", "remove", "MERCHANT", "acme.example", "--reason", "x"),
     ("website.removed",)),
    (("merchant", *CALLBACK), ("callback.added",)),
    (("merchant", *LIMITS, "--per-day", "5000"), ("limit.changed",)),
    (("merchant", *LIMITS, "--negative", "7"), ("limit.changed",)),
    (("merchant", *LIMITS, "--remove"), ("limit.changed",)),
    (("merchant", "owner", "MERCHANT", "new@acme.example", "--reason", "x"), ("member.added",)),
    (("merchant", "status", "MERCHANT", "restricted", "--charges", "off", "--reason", "x"),
     ("merchant.updated",)),
    (("merchant", "account", "add", "MERCHANT", "kasa", *ACCOUNT), ("payout_account.added",)),
    (("merchant", "account", "default", "MERCHANT", "other", "--reason", "x"),
     ("payout_account.made_default",)),
    (("merchant", "account", "remove", "MERCHANT", "other", "--reason", "x"),
     ("payout_account.removed",)),
    (("merchant", "plans", "MERCHANT", PLANS, "--reason", "x"), ("plan.changed",)),
    (("merchant", "prices", "MERCHANT", PRICES, "--reason", "x"), ("price.changed",)),
    (("merchant", "schedule", "MERCHANT", "--delay-days", "3", "--reason", "x"),
     ("merchant.updated",)),
    (("holidays", "add", "TR", "2027-03-12", "--reason", "x"), ("holiday.added",)),
    (("holidays", "remove", "TR", "2027-03-12", "--reason", "x"), ("holiday.removed",)),
    (("merchant", "risk", "MERCHANT", RULES, "--reason", "x"), ("risk_rule.changed",)),
    (("risk_list", "add", "block", "bin", "424242", *WHO), ("list_entry.added",)),
    (("risk_list", "remove", "ENTRY", *WHO), ("list_entry.removed",)),
    (("import_bins", "FILE"), ("bins.imported",)),
    (("import_bins", "--undo"), ("bins.undone",)),
    (("create_merchant", "--name", "N", "--email", "n@n.example", "--website", "n.example",
      "--callback", "https://n.example/back"),
     ("merchant.opened", "member.added", "website.added", "callback.added", "key.created")),
    (("unlock_sign_in", "LOCKED", "--reason", "x"), ("sign_in.unlocked",)),
    (("createsuperuser", "--noinput", "--email", "s@pay.example"), ("operator.made",)),
    (("acquirer", "set", "new"), ("terminal.added",)),
    (("acquirer", "set", "sandbox"), ("terminal.replaced",)),
    (("acquirer", "route", "sandbox", "--brand", "visa"), ("route.added",)),
    (("acquirer", "drain", "sandbox"), ("terminal.drained",)),
    (("changepassword", "OPERATOR", "--reason", "x"), ("password.changed",)),
]  # fmt: skip
# Commands that change nothing that the log is about.
OTHER_COMMANDS = {
    # It leaves one where it opens a copy: tests/audit/test_after_restore.py.
    "after_restore",
    # Its steps leave rows: tests/core/test_keyring_people.py.
    "keyring",
    # Its row is written by the first start: tests/vault/test_ring_steps.py.
    "create_keyring",
    "audit", "backup_made", "bank", "bank_settlement_file", "check", "check_money",
    "check_payment_page", "clock",
    "deliver_webhooks", "migrate", "reconcile", "status",
    "vault_rotate", "verify_audit_log", "version", "write_schema", "write_states",
}  # fmt: skip
ADMIN = {
    "disputes_dispute_open": "dispute.opened",
    "disputes_dispute_decide": "dispute.decided",
    "ledger_account_write_off": "balance.written_off",
    "reconciliation_difference_close": "case.decided",
    "ledger_holidaychange_set": "holiday.added",
    "payouts_payout_make": "payout.created",
    "payouts_payout_cancel": "payout.canceled",
    "topups_topup_make": "topup.created",
    "topups_topup_cancel": "topup.canceled",
    "topups_incomingtransfer_assign": "topup.assigned",
    "topups_incomingtransfer_send_back": "topup.sent_back",
}


class Doors:
    """Merchant, operator and terminal, with what they change."""

    def __init__(self, acme: ApiClient, http: Client, directory: Path) -> None:
        self.acme, self.http = acme, http
        self.event = tell(acme.merchant, "cus_1")
        self.endpoint = created(acme)["id"]
        self.key, _secret = keys.create(acme.merchant, name="Second")
        self.listing = User.objects.create_superuser("lists@example.com", "a long enough password")
        self.bins = directory / "bins.csv"
        self.bins.write_text(
            ",".join(COLUMNS) + "\n460346,visa,credit,TR,Test Bank,bonus,false,false\n"
        )

    def call(self, method: str, pattern: str) -> Answer:
        """Make the change of an operation of the API."""
        arguments = (BODIES.get(pattern, {}),) if method == "post" else ()
        answer: Answer = getattr(self.acme, method)(self.path(pattern), *arguments)
        return answer

    def type(self, line: Sequence[str]) -> None:
        """Run a command."""
        entry = ListEntry.objects.first()
        names = {
            "MERCHANT": self.acme.merchant.id, "KEY": self.key.id, "FILE": str(self.bins),
            "OPERATOR": self.listing.email, "LOCKED": self.listing.email,
            "ENTRY": str(entry.pk) if entry else "",
        }  # fmt: skip
        # `changepassword` asks for it; a terminal's values come by standard input.
        given = patch("sys.stdin", StringIO('{"kind": "sandbox"}'))
        with patch("getpass.getpass", return_value="another long password"), given:
            call_command(*[names.get(word, word) for word in line], stdout=StringIO())

    def prepare(self, line: Sequence[str]) -> None:
        """Make what a command takes away."""
        if "ENTRY" in line:
            lists.add(self.listing, None, BlockEntry("block", "bin", "555555", "Because."))
        if "LOCKED" in line:
            sign_in.count(self.listing.email)
        if "account" in line:
            self.acme.merchant.payout_accounts.all().delete()
            for reference in ("main", "other"):
                account(self.acme.merchant, reference, is_default=reference == "main")
        if "--undo" in line:
            for _ in range(2):
                with self.bins.open("rb") as file:
                    bin_imports.import_file(file)

    def path(self, pattern: str) -> str:
        filled = pattern.replace("<str:endpoint_id>", self.endpoint)
        return "/v1/" + filled.replace("<str:event_id>", self.event.id)


@pytest.fixture
def doors(acme: ApiClient, client: Client, bank: BankTransport, tmp_path: Path) -> Doors:
    return Doors(acme, client, tmp_path)


def rows_of(act: Callable[[], Any]) -> tuple[Any, list[AuditEntry]]:
    """Return the audit rows that an act left, in their order, with its result."""
    known = set(AuditEntry.objects.values_list("id", flat=True))
    result = act()
    left = AuditEntry.objects.exclude(id__in=known)
    return result, list(left.order_by("created_at", "chain", "sequence"))


# --- The API ----------------------------------------------------------------------------------


def changing_operations() -> Iterator[tuple[str, str]]:
    """Yield method and path of each operation of the API that is no GET."""
    for group in v1:
        for pattern in group.url_patterns:
            for method in pattern.callback.actions:
                if method in ("post", "delete"):
                    yield method, str(pattern.pattern)


def unlisted_operations() -> list[tuple[str, str]]:
    others = (one for one in changing_operations() if one not in API)
    return [one for one in others if not one[1].startswith(REQUEST_LOGS_HAVE_IT)]


def test_every_operation_of_the_api_is_listed() -> None:
    assert unlisted_operations() == []
    assert set(changing_operations()) >= API.keys()


def test_an_operation_that_is_not_listed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(API, ("delete", HOOK))

    assert unlisted_operations() == [("delete", HOOK)]


@pytest.mark.parametrize(("method", "path"), API, ids=map(" ".join, API))
def test_a_change_by_the_api_leaves_one_row(doors: Doors, method: str, path: str) -> None:
    answer, rows = rows_of(lambda: doors.call(method, path))

    assert answer.status == 200, answer.body
    [row] = rows
    assert row.action == API[method, path]
    assert (row.merchant, row.actor) == (doors.acme.merchant, "api_key")
    assert row.actor_id == keys.ApiKey.objects.get(name="First key").id
    assert (row.address, row.request_id) == ("127.0.0.1", answer.headers["Request-Id"])


def test_a_change_to_what_was_already_leaves_none(doors: Doors) -> None:
    same = {"url": "https://acme.example/hooks", "disabled": False}

    answer, rows = rows_of(lambda: doors.acme.post(doors.path(HOOK), same))

    assert (answer.status, rows) == (200, [])


def test_a_payment_leaves_none(doors: Doors) -> None:
    answer, rows = rows_of(doors.acme.pay)

    assert (answer["status"], rows) == ("succeeded", [])


def test_a_request_that_is_repeated_leaves_one_row(doors: Doors) -> None:
    body = {"url": "https://acme.example/b", "enabled_events": ["*"]}

    def twice() -> None:
        for _ in range(2):
            doors.acme.post("/v1/webhook_endpoints", body, idempotency_key="k")

    assert len(rows_of(twice)[1]) == 1


# --- Commands ---------------------------------------------------------------------------------


def our_commands() -> set[str]:
    """Return the names of the commands that lie in the service's own rooms."""
    places = {name: load_command_class(app, name) for name, app in get_commands().items()}
    rooms = {path.name for path in settings.BASE_DIR.iterdir() if path.is_dir()}
    return {name for name, place in places.items() if type(place).__module__.split(".")[0] in rooms}


def test_every_command_is_listed() -> None:
    listed = {line[0] for line, _actions in COMMANDS} | OTHER_COMMANDS

    assert our_commands() == listed


def test_the_page_of_commands_has_each_of_ours() -> None:
    page = (settings.BASE_DIR / "docs/operate/commands.md").read_text()
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    apart = set(re.findall(r"`(\w+)`", page.partition("These are for a sandbox")[2]))

    assert our_commands() == rows | apart
    assert apart == {"bank", "bank_settlement_file", "clock", "write_schema", "write_states"}
    assert len(rows) >= 20


@pytest.mark.parametrize(("line", "actions"), COMMANDS, ids=[" ".join(c[0][:3]) for c in COMMANDS])
def test_a_change_by_a_command_leaves_one_row(
    doors: Doors, line: tuple[str, ...], actions: tuple[str, ...]
) -> None:
    doors.prepare(line)

    _, rows = rows_of(lambda: doors.type(line))

    assert tuple(row.action for row in rows) == actions
    for row in rows:
        if "--as" in line:
            assert (row.actor, row.actor_id) == ("operator", str(doors.listing.pk))
            assert f"{doors.listing.email} by manage.py {line[0]} as " in str(row.actor_name)
        else:
            assert (row.actor, row.actor_id) == ("command", line[0])
        assert row.actor_name
        assert row.address is None
        assert row.reason == (line[line.index("--reason") + 1] if "--reason" in line else None)
    assert len({row.request_id for row in rows}) == 1


# --- The admin --------------------------------------------------------------------------------


def admin_pages() -> Iterator[str]:
    """Yield the names of the admin's pages that a read-only table does not have."""
    for pattern in _flat(admin.site.get_urls()):
        name = str(pattern.name)
        if name.startswith(tuple(_tables())) and not name.endswith(STOCK_PAGES):
            yield name


STOCK_PAGES = ("_changelist", "_add", "_history", "_delete", "_change")


def _tables() -> Iterator[str]:
    for model in admin.site._registry:
        # The sandbox's bank is no part of the service: its book has a desk of its own.
        if model._meta.app_label != "testbank":
            yield f"{model._meta.app_label}_{model._meta.model_name}_"


def _flat(patterns: list[Any]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _flat(pattern.url_patterns)
        else:
            yield pattern


def test_every_page_of_the_admin_that_changes_something_is_listed() -> None:
    editable = {
        model._meta.label
        for model, page in admin.site._registry.items()
        if not isinstance(page, ReadOnly)
    }

    assert editable == set()
    assert {*admin_pages()} == ADMIN.keys()


@pytest.fixture
def operator(doors: Doors) -> User:
    operator = User.objects.create_superuser("operator@example.com", "a long enough password")
    let_in(doors.http, operator)
    return operator


def test_a_dispute_that_an_operator_opens_leaves_one_row(doors: Doors, operator: User) -> None:
    paid = doors.acme.pay()["id"]
    form = {
        "payment": paid, "beginning": "needs_response", "amount": 100, "why": "the bank called",
        "reason": "duplicate",
    }  # fmt: skip

    answer, rows = rows_of(lambda: sent_once(doors.http, "disputes_dispute_open", form))

    assert_of_the_operator(operator, answer, rows, "dispute.opened", "the bank called")


def test_a_dispute_that_an_operator_decides_leaves_one_row(doors: Doors, operator: User) -> None:
    dispute_past_the_bank(doors.acme.pay()["id"])
    dispute = doors.acme.get("/v1/disputes")["data"][0]["id"]
    seen = "warning_needs_response"
    form = {"decision": "warning_closed", "seen": seen, "why": "the bank called"}
    page = reverse("admin:disputes_dispute_decide", args=[dispute])

    answer, rows = rows_of(lambda: doors.http.post(page, form))

    assert_of_the_operator(operator, answer, rows, "dispute.decided", "the bank called")


def test_a_debt_that_an_operator_writes_off_leaves_one_row(doors: Doors, operator: User) -> None:
    till = Till(doors.acme.merchant)
    owe(till, 3000)

    answer, rows = rows_of(lambda: written_off(doors.http, till, 2000, why="they are bankrupt"))

    assert_of_the_operator(operator, answer, rows, "balance.written_off", "they are bankrupt")


def test_a_difference_that_an_operator_closes_leaves_one_row(doors: Doors, operator: User) -> None:
    difference = a_difference(doors.acme.merchant)
    page = reverse("admin:reconciliation_difference_close", args=[difference.pk])

    answer, rows = rows_of(lambda: doors.http.post(page, {"why": "the bank has said so"}))

    assert answer.status_code == 302, answer.content
    [row] = rows
    assert (row.action, row.subject) == ("case.decided", difference.pk)
    assert (row.merchant, row.reason) == (doors.acme.merchant, "the bank has said so")
    assert (row.actor, row.actor_id) == ("operator", str(operator.pk))


def test_a_holiday_that_an_operator_sets_leaves_one_row(doors: Doors, operator: User) -> None:
    page = reverse("admin:ledger_holidaychange_set")
    form = {"country": "TR", "date": "2027-03-12", "is_holiday": "yes", "why": "a decree"}

    answer, rows = rows_of(lambda: doors.http.post(page, form))

    assert_of_the_operator(operator, answer, rows, "holiday.added", "a decree")


def test_a_payout_that_an_operator_makes_leaves_one_row(doors: Doors, operator: User) -> None:
    enrich(doors.acme.merchant)
    form = {"merchant": doors.acme.merchant.id, "amount": 500, "currency": "try", "why": "asked"}

    answer, rows = rows_of(lambda: sent_once(doors.http, "payouts_payout_make", form))

    assert_of_the_operator(operator, answer, rows, "payout.created", "asked")


def test_a_payout_that_an_operator_cancels_leaves_one_row(doors: Doors, operator: User) -> None:
    made = pay_out(rich(doors.acme))["id"]
    page = reverse("admin:payouts_payout_cancel", args=[made])

    answer, rows = rows_of(lambda: doors.http.post(page, {"why": "asked"}))

    assert_of_the_operator(operator, answer, rows, "payout.canceled", "asked")


def test_a_topup_that_an_operator_cancels_leaves_one_row(doors: Doors, operator: User) -> None:
    page = reverse("admin:topups_topup_cancel", args=[awaited(doors.acme)["id"]])

    answer, rows = rows_of(lambda: doors.http.post(page, {"why": "asked"}))

    assert_of_the_operator(operator, answer, rows, "topup.canceled", "asked")


def test_a_topup_that_an_operator_makes_leaves_one_row(doors: Doors, operator: User) -> None:
    form = {"merchant": doors.acme.merchant.id, "amount": 500, "currency": "try", "why": "asked"}

    answer, rows = rows_of(lambda: sent_once(doors.http, "topups_topup_make", form))

    assert_of_the_operator(operator, answer, rows, "topup.created", "asked")


def test_a_transfer_that_an_operator_assigns_leaves_one_row(doors: Doors, operator: User) -> None:
    page = reverse("admin:topups_incomingtransfer_assign", args=[case(sent("?")).pk])
    form = {"goes_to": doors.acme.merchant.id, "why": "their name"}

    answer, rows = rows_of(lambda: doors.http.post(page, form))

    assert_of_the_operator(operator, answer, rows, "topup.assigned", "their name")


def test_a_transfer_that_an_operator_sends_back_leaves_one_row(
    doors: Doors, operator: User
) -> None:
    page = reverse("admin:topups_incomingtransfer_send_back", args=[case(sent("?")).pk])

    answer, rows = rows_of(lambda: doors.http.post(page, {"why": "nobody knows them"}))

    assert_of_the_operator(operator, answer, rows, "topup.sent_back", "nobody knows them")


# The pages of the desk that take a form, by name and, of changes of a merchant, by kind; and the
# actions of the rows that they leave. `fill_in` below says what is typed.
DESK = {
    "desk_merchant_open": ("merchant.opened", "member.added", "website.added"),
    "desk_merchant_change": ("limit.changed",),
    "desk_bins_import": ("bins.imported",),
    "desk_bins_undo": ("bins.undone",),
    "desk_terminal_add": ("terminal.added",),
    "desk_terminal_replace": ("terminal.replaced",),
    "desk_terminal_move": ("terminal.drained",),
    "desk_route_add": ("route.added",),
    "desk_route_remove": ("route.removed",),
    "desk_list_add": ("list_entry.added",),
    "desk_list_remove": ("list_entry.removed",),
    "desk_review_judge": ("payment.judged",),
    "desk_merchant_owner": ("member.added",),
    "desk_person_unlock": ("sign_in.unlocked",),
    "desk_person_end_sessions": ("session.ended",),
    "desk_person_take_off": ("mfa.removed",),
    "desk_operator_invite": ("operator.invited",),
    "desk_operator_withdraw": ("operator.withdrawn",),
    "desk_person_groups": ("operator.changed",),
    "desk_person_switch_off": ("person.switched_off",),
    "desk_person_switch_on": ("person.switched_on",),
    "desk_key_revoke": ("key.revoked",),
    "desk_case_decide": ("case.decided",),
    "desk_case_note": ("case.noted",),
    "desk_case_owner": ("case.assigned",),
    "desk_work_take": ("case.assigned",),
    "desk_work_give_back": ("case.assigned",),
}
# Forms that only read.
DESK_READS = {"desk_audit_verify", "desk_terminal_check"}


# Of notes and owners nobody asks why.
REASONS = {
    "desk_case_decide": "asked and answered", "desk_case_note": None, "desk_case_owner": None,
    "desk_work_take": None, "desk_work_give_back": None,
}  # fmt: skip
OF_CASES = {
    "desk_case_decide": {"decision": "acknowledged", "reason": "asked and answered", "seen": "1"},
    "desk_case_note": {"text": "asked"},
    "desk_case_owner": {},
}
OF_WORK = {"desk_work_take", "desk_work_give_back"}


def desk_forms() -> set[str]:
    named = {one.name: desk.door_of(one.callback) for section in SECTIONS for one in section.pages}
    return {str(name) for name, door in named.items() if door and door.is_act}


def test_every_form_of_the_desk_is_listed() -> None:
    assert desk_forms() == DESK.keys() | DESK_READS


def test_a_form_of_the_desk_that_is_not_listed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(DESK, "desk_key_revoke")

    assert desk_forms() - DESK.keys() - DESK_READS == {"desk_key_revoke"}


def fill_in(doors: Doors, at: Desk, name: str) -> Any:
    """Do by one form of the desk what it is there for."""
    why = {"why": "asked"}
    owner = doors.acme.merchant.members.get().user
    if name == "desk_merchant_open":
        typed = {"name": "N", "email": "n@n.example", "country": "TR", "websites": "n.example"}
        return at.send(name, form={**typed, **why})
    if name == "desk_merchant_owner":
        return at.send(name, doors.acme.merchant.id, form={"email": "new@acme.example", **why})
    if name == "desk_merchant_change":
        typed = {"currency": "try", "non_secure": "on", "per_payment": "7"}
        return at.change(doors.acme.merchant.id, "limits", why["why"], **typed)
    if name == "desk_bins_import":
        with doors.bins.open("rb") as file:
            return at.send(name, form={"file": file, **why})
    if name == "desk_list_add":
        return at.send(name, form={"list": "block", "kind": "bin", "value": "424242", **why})
    if name == "desk_review_judge":
        return at.send(name, PaymentIntent.objects.get().id, form={"verdict": "fraud", **why})
    if name in OF_CASES or name in OF_WORK:
        return at_a_case(at, name)
    if name == "desk_operator_invite":
        return at.send(name, form={"email": "new@pay.example", "groups": ["auditors"], **why})
    if name == "desk_person_groups":
        return at.send(name, doors.listing.pk, form={"groups": ["risk"], **why})
    invitation = OperatorInvitation.objects.first()
    arguments: dict[str, Any] = {
        "desk_operator_withdraw": (invitation and invitation.pk,),
        "desk_person_switch_off": (doors.listing.pk,),
        "desk_person_switch_on": (doors.listing.pk,),
        "desk_bins_undo": (),
        "desk_list_remove": (ListEntry.objects.values_list("pk", flat=True).first(),),
        "desk_person_unlock": (owner.pk,),
        "desk_person_end_sessions": (owner.pk,),
        "desk_person_take_off": (owner.pk,),
        "desk_key_revoke": (doors.key.id,),
    }
    return at.send(name, *arguments[name], form=why)


def at_a_case(at: Desk, name: str) -> Any:
    """Do by one form about cases, or work, what it is there for."""
    case = Case.objects.get()
    if name in OF_WORK:
        return at.post(name, "case", case.id, form={})
    return at.post(name, case.id, form={**OF_CASES[name], "owner": at.person.pk})


OF_BANKS = {
    "desk_terminal_add", "desk_terminal_replace", "desk_terminal_move", "desk_route_add",
    "desk_route_remove",
}  # fmt: skip


def at_banks(at: Desk, name: str) -> Any:
    """Do by one form about terminals and routes what it is there for."""
    why = {"why": "asked"}
    terminal, route = Terminal.objects.get(name="sandbox"), Route.objects.first()
    if name == "desk_terminal_add":
        page = f"{reverse('admin:desk_terminal_add')}?kind=sandbox"
        return at.http.post(page, {"name": "isbank", **why})
    if name == "desk_route_add":
        rule = {"terminal": terminal.pk, "installments_from": 1, "priority": 7}
        return at.send(name, form={**rule, **why})
    arguments = {
        "desk_terminal_replace": (terminal.pk,),
        "desk_terminal_move": (terminal.pk, "drain"),
        "desk_route_remove": (route and route.pk,),
    }
    return at.send(name, *arguments[name], form=why)


def set_the_desk(doors: Doors, at: Desk, name: str) -> None:
    """Make what a form of the desk takes away, or judges."""
    owner = doors.acme.merchant.members.get().user
    if name == "desk_bins_undo":
        doors.prepare(["--undo"])
    elif name == "desk_list_remove":
        doors.prepare(["ENTRY"])
    elif name == "desk_review_judge":
        doors.acme.pay()
    elif name in OF_CASES or name in OF_WORK:
        made = a_case_of(doors.acme.pay()["id"])
        if name == "desk_work_give_back":
            Case.objects.filter(id=made.id).update(owner=at.person)
    elif name == "desk_person_unlock":
        sign_in.is_proved_by(owner, "wrong")
    elif name == "desk_person_end_sessions":
        Client().force_login(owner)
    elif name == "desk_person_take_off":
        add_app(owner)
    else:
        set_the_operators(doors.listing, name)


def set_the_operators(one: User, name: str) -> None:
    """Make an operator what a form of the desk is about."""
    if name == "desk_operator_withdraw":
        operators.invite(one, "new@pay.example", ["risk"], invitation_id="opi_1", reason="asked")
    elif name == "desk_person_groups":
        User.objects.filter(pk=one.pk).update(is_superuser=False)
    elif name == "desk_person_switch_on":
        User.objects.filter(pk=one.pk).update(is_active=False)


@pytest.mark.parametrize("name", DESK)
def test_a_change_at_the_desk_leaves_one_row(doors: Doors, name: str) -> None:
    at = Desk()
    set_the_desk(doors, at, name)

    at_terminals = name in OF_BANKS
    answer, rows = rows_of(lambda: at_banks(at, name) if at_terminals else fill_in(doors, at, name))

    assert answer.status_code == 303, answer.content
    assert tuple(row.action for row in rows) == DESK[name]
    for row in rows:
        assert (row.actor, row.actor_id) == ("operator", str(at.person.pk))
        assert (row.actor_name, row.address) == (at.person.email, "127.0.0.1")
        assert row.reason == REASONS.get(name, "asked")
    [request_id] = {row.request_id for row in rows}
    # Of the answer, or of the job that the row in the request logs tells of.
    jobs = RequestLog.objects.filter(id=request_id, kind="job", path__startswith="operators.")
    assert request_id == answer["Request-Id"] or jobs.exists()


WITHOUT_AN_EVENT = {
    "balance.written_off", "holiday.added", "payout.canceled", "topup.created", "topup.sent_back",
}  # fmt: skip


def assert_of_the_operator(
    operator: User, answer: Any, rows: list[AuditEntry], action: str, reason: str
) -> None:
    assert answer.status_code == 302, answer.content
    [row] = rows
    assert (row.action, row.reason) == (action, reason)
    assert (row.actor, row.actor_id) == ("operator", str(operator.pk))
    assert (row.actor_name, row.address) == ("operator@example.com", "127.0.0.1")
    # The event names the same request, which is in the request logs as a job's.
    events = Event.objects.filter(aggregate_id=row.subject).order_by("sequence")
    told = list(events.values_list("request_id", flat=True))
    assert (row.request_id in told[-1:]) == (action not in WITHOUT_AN_EVENT)
    logs = RequestLog.objects.filter(id=row.request_id, path__startswith="operators.")
    assert logs.count() == (0 if row.merchant is None else 1)


# --- Row and change are of one transaction ------------------------------------------------------

committed = pytest.mark.django_db(databases=["default", "bank"], transaction=True)


@committed
def test_row_and_change_are_of_one_transaction(doors: Doors) -> None:
    with write_journal() as journal:
        for method, path in sorted(API, key=lambda operation: operation[0] == "delete"):
            journal.clear()
            assert doors.call(method, path).status == 200
            journal.assert_one_transaction()
        for line, _actions in COMMANDS:
            doors.prepare(line)
            journal.clear()
            doors.type(line)
            journal.assert_one_transaction()


def late(merchant: Merchant, changes: Iterable[LoggedChange], reason: str | None = None) -> None:
    """The planted fault: the row is written after its change is committed."""
    kept = list(changes)

    def write() -> None:
        with transaction.atomic():
            record_all(merchant, kept, reason)

    transaction.on_commit(write)


def early(merchant: Merchant, changes: Iterable[LoggedChange], reason: str | None = None) -> None:
    """The planted fault: the row is another connection's, and stays if the change fails."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_record_elsewhere, merchant, list(changes), reason).result()


def _record_elsewhere(merchant: Merchant, changes: list[LoggedChange], reason: str | None) -> None:
    try:
        with transaction.atomic():
            record_all(merchant, changes, reason)
    finally:
        connections.close_all()


@committed
@pytest.mark.parametrize("planted", [late, early])
def test_a_row_outside_of_its_transaction_is_found(
    doors: Doors, monkeypatch: pytest.MonkeyPatch, planted: Any
) -> None:
    monkeypatch.setattr(audit_log, "record_all", planted)

    with write_journal() as journal:
        assert doors.call("post", HOOK).status == 200
        with pytest.raises(AssertionError):
            journal.assert_one_transaction()
