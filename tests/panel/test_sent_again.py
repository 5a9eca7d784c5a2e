"""A form that is sent again while its first sending is under way leads to what that one does."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from acquirers.conversation import settling
from api import idempotency
from core import context
from core.errors import InternalError
from merchants.models import AuditEntry, IdempotencyKey
from panel import once
from payments.bank import inquiries
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.held_bank import HeldBank
from tests.stage.panel_forms import Sender
from tests.stage.sent_twice import PATIENCE_SECONDS, held_after, sent, tab_of, while_it_waits
from tests.stage.stores import everything_kept
from tests.stage.teams import join, person, signed_in

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"], transaction=True),
    pytest.mark.usefixtures("bank"),
]
SECRET = re.compile(r"sk_sandbox_\w{40}|whsec_[\w+/=]{20,}")
Send = Callable[..., Any]


@pytest.fixture
def sender(acme: ApiClient, name: str) -> Sender:
    return Sender(acme, name, person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture
def browser(sender: Sender) -> Client:
    return signed_in(sender.person)


@pytest.fixture
def send(browser: Client, sender: Sender) -> Send:
    fields = sender.filled(browser)

    def send(tab: Client | None = None, **other: str) -> Any:
        return (tab or tab_of(browser)).post(sender.url, {**fields, **other})

    return send


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "WAIT_SECONDS", 0)


def actions(sender: Sender) -> list[str]:
    rows = AuditEntry.objects.filter(actor="user", actor_id=str(sender.person.pk))
    return list(rows.exclude(merchant=None).values_list("action", flat=True))


# --- A slow bank --------------------------------------------------------------------------------

AT_THE_BANK = ["capture_payment", "cancel_payment", "refund_payment", "try_endpoint"]


@pytest.mark.parametrize("name", AT_THE_BANK)
def test_it_waits_for_a_slow_bank_and_leads_to_the_same_page(
    sender: Sender, send: Send, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(sent, send)
        held.await_asked()
        waits = while_it_waits(
            monkeypatch, lambda: (held.answer(9), first.result(PATIENCE_SECONDS))
        )

        second = send()

    assert waits
    assert (second.status_code, second.url) == (303, first.result().url)
    assert actions(sender) == [sender.form.action]


@pytest.mark.parametrize("name", ["refund_payment"])
@pytest.mark.usefixtures("impatient")
def test_it_waits_at_a_page_that_looks_again_by_itself(
    sender: Sender, send: Send, browser: Client, bank: BankTransport
) -> None:
    held = HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(sent, send)
        held.await_asked()

        second = send()
        looking = browser.get(second.url)
        held.answer(9)
        first.result(PATIENCE_SECONDS)
        done = browser.get(second.url)

    assert second.status_code == 303
    assert (looking.status_code, looking["Refresh"]) == (202, f"3; url={second.url}")
    assert "It is being done" in looking.content.decode()
    for wrong in ("changed", "fresh form", "<form method"):
        assert wrong not in looking.content.decode().partition("<main")[2]
    assert looking.wsgi_request.is_poll
    assert (done.status_code, done.url) == (302, first.result().url)
    assert actions(sender) == [sender.form.action]


# --- Each way in which a form acts --------------------------------------------------------------


@pytest.mark.every_case("one key has one effect")
@pytest.mark.parametrize(
    ("name", "is_made"),
    [
        ("websites", False),
        ("create_customer", True),
        ("create_payout", False),
        ("leave_team", False),
    ],
)
def test_it_is_answered_as_the_first_one(
    sender: Sender, send: Send, monkeypatch: pytest.MonkeyPatch, is_made: bool
) -> None:
    with held_after(monkeypatch, send, is_made=is_made) as held:
        waits = while_it_waits(monkeypatch, held.end)

        second = send()

    first = held.end()
    assert waits
    assert (second.status_code, second.get("Location")) == (
        first.status_code,
        first.get("Location"),
    )
    assert actions(sender) == [sender.form.action]


@pytest.mark.parametrize("name", ["websites"])
def test_it_acts_if_the_first_one_was_refused(
    sender: Sender, send: Send, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = [f"{number}.example" for number in range(50)]
    with held_after(monkeypatch, send, is_made=False) as held:
        for host in sites:
            acme.merchant.websites.create(host=host, created_at=timezone.now())

        def refused() -> None:
            assert held.end().status_code == 400
            acme.merchant.websites.filter(host__in=sites).delete()

        while_it_waits(monkeypatch, refused)
        second = send()

    assert second.status_code == 303
    assert actions(sender) == ["website.added"]


@pytest.mark.parametrize("name", ["create_payout"])
@pytest.mark.usefixtures("impatient")
def test_a_waiting_page_says_that_the_first_one_was_refused(
    sender: Sender, send: Send, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    much = {"amount": "900000.00"}
    with held_after(monkeypatch, lambda: send(**much), is_made=False) as held:
        second = send(**much)
        assert held.end().status_code == 400

    page = browser.get(second.url, follow=True)

    assert page.redirect_chain == [(sender.url, 302)]
    assert "The form was refused" in page.content.decode()
    assert actions(sender) == []


@pytest.mark.parametrize("name", ["websites"])
def test_other_values_are_told_at_once_that_the_form_was_sent(
    sender: Sender, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_after(monkeypatch, send, is_made=False):
        waits = while_it_waits(monkeypatch, lambda: None)

        other = send(website="https://other.example")

    assert other.status_code == 409
    assert "sent already" in other.content.decode()
    assert not waits


@pytest.mark.parametrize("name", ["websites"])
def test_few_of_a_process_wait(
    sender: Sender, send: Send, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_after(monkeypatch, send, is_made=False):
        waits = while_it_waits(monkeypatch, lambda: None)
        monkeypatch.setattr(once._places, "_value", 0)

        assert browser.get(send().url).status_code == 202

    assert not waits


# --- Secrets ------------------------------------------------------------------------------------


def secrets_in(*answers: Any) -> list[str]:
    """Return the secret of each answer, empty without one."""
    found = [SECRET.findall(one.content.decode()) for one in answers]
    return [one[0] if one else "" for one in found]


@pytest.mark.parametrize(
    ("name", "is_made"),
    [
        ("create_key", False), ("roll_key", True), ("add_endpoint", True),
        ("roll_endpoint_secret", False),
    ],
)  # fmt: skip
def test_a_secret_is_shown_to_the_sending_that_the_browser_shows(
    send: Send, monkeypatch: pytest.MonkeyPatch, is_made: bool
) -> None:
    with held_after(monkeypatch, send, is_made=is_made) as held:
        while_it_waits(monkeypatch, held.end)
        second = send()
    reloaded = send(second.client)

    first = held.end()
    [secret, handed, again] = secrets_in(first, second, reloaded)
    assert secret == handed != ""
    assert second["Cache-Control"] == "private, no-store"
    assert again == ""
    assert "shown" in reloaded.content.decode()


@pytest.mark.parametrize("name", ["create_key", "roll_endpoint_secret"])
def test_a_secret_is_shown_after_an_answer_that_the_browser_dropped(
    sender: Sender, send: Send, browser: Client
) -> None:
    [secret, second, third] = secrets_in(send(), shown := send(), send(shown.client))

    assert (second, third) == (secret, "")
    assert actions(sender) == [sender.form.action]
    # Only the browser has the key to what is kept.
    assert secret.partition("_")[2] not in everything_kept()
    assert str(browser.cookies["sessionid"].value) not in everything_kept()


@pytest.mark.parametrize("name", ["create_key"])
def test_a_secret_is_shown_in_no_other_session_and_not_after_a_while(
    sender: Sender, send: Send, browser: Client
) -> None:
    send()
    kept = IdempotencyKey.objects.get()
    assert timezone.now() < kept.answer_until <= timezone.now() + timedelta(minutes=15)

    elsewhere = send(signed_in(sender.person))
    IdempotencyKey.objects.update(answer_until=timezone.now())
    late = send()
    idempotency.forget_old()
    later = send()

    assert IdempotencyKey.objects.get().sealed_response is None
    for again in (elsewhere, late, later):
        assert again.status_code == 200
        assert "The secret was shown" in again.content.decode()


@pytest.mark.parametrize("name", ["create_key"])
@pytest.mark.usefixtures("impatient")
def test_a_waiting_page_shows_the_secret_one_time(
    send: Send, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_after(monkeypatch, send, is_made=True) as held:
        second = send()
        assert browser.get(second.url).status_code == 202
        first = held.end()

    shown, reloaded = browser.get(second.url), browser.get(second.url)

    [secret, handed, again] = secrets_in(first, shown, reloaded)
    assert secret == handed != ""
    assert shown["Cache-Control"] == "private, no-store"
    assert (reloaded.status_code, again) == (302, "")


# --- A sender that dies -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["websites"])
def test_it_acts_after_a_sender_that_died_before_it_did_anything(
    sender: Sender, send: Send, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_at(monkeypatch, "_made")
    with pytest.raises(SystemExit):
        send()
    monkeypatch.undo()
    monkeypatch.setattr(once, "WAIT_SECONDS", 0)
    early = send()
    IdempotencyKey.objects.update(lease_until=timezone.now())

    looked, late = browser.get(early.url), send()

    assert (looked.status_code, looked.url) == (302, sender.url)
    assert (late.status_code, late.url) == (303, sender.url)
    assert actions(sender) == ["website.added"]


@pytest.mark.parametrize("name", ["refund_payment"])
def test_it_leads_to_what_a_sender_has_done_that_died_before_it_could_answer(
    sender: Sender, send: Send, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_at(monkeypatch, "_keep")
    with pytest.raises(SystemExit):
        send()
    IdempotencyKey.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
    IdempotencyKey.objects.update(is_finished=False)
    monkeypatch.setattr(once, "WAIT_SECONDS", 0)
    early = send()
    assert browser.get(early.url).status_code == 202
    IdempotencyKey.objects.update(lease_until=timezone.now())

    looked, late = browser.get(early.url), send()

    payment = sender.url.removesuffix("/refund")
    assert (looked.status_code, looked.url) == (302, payment)
    assert (late.status_code, late.url) == (303, payment)
    assert actions(sender) == ["refund.created"]


@pytest.mark.parametrize("name", ["refund_payment"])
def test_it_leads_to_what_a_sender_has_done_that_could_not_write_the_banks_answer_down(
    sender: Sender, send: Send, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as failing:
        fail_when_the_time_is_over(failing)
        first = send()

    claim = IdempotencyKey.objects.get()
    looked, late = browser.get(first.url), send()

    payment = sender.url.removesuffix("/refund")
    assert (first.status_code, claim.object_id[:3]) == (303, "re_")
    assert (looked.status_code, looked.url) == (302, payment)
    assert (late.status_code, late.url) == (303, payment)
    assert actions(sender) == ["refund.created"]


@pytest.mark.parametrize("name", ["refund_payment"])
def test_it_may_be_sent_again_if_an_earlier_answer_could_not_be_written_down(
    sender: Sender, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as failing:
        failing.setattr(inquiries, "ask_first", refuse_as_ours)
        first = send()

    second = send()

    assert (first.status_code, second.status_code) == (400, 303)
    assert actions(sender) == ["refund.created"]


def fail_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the database fail once the bank has answered, with no time left for a second try."""

    def fail(*_arguments: Any, **_options: Any) -> None:
        monkeypatch.setattr(context, "remaining_seconds", lambda: 0.0)
        raise OperationalError

    monkeypatch.setattr(settling, "settle", fail)


def refuse_as_ours(*_arguments: Any) -> None:
    raise InternalError


def die_at(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """Let the sender's process die where it calls the function."""

    def die(*_arguments: Any) -> None:
        raise SystemExit

    monkeypatch.setattr(once, function, die)


# --- The address of the waiting page ------------------------------------------------------------


@pytest.mark.parametrize("name", ["create_key"])
@pytest.mark.usefixtures("impatient")
def test_the_address_is_of_one_form_and_one_person(
    acme: ApiClient, globex: ApiClient, sender: Sender, send: Send, browser: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    colleague = person("bob@acme.example", (acme.merchant, "owner"))
    support = person("eve@acme.example", (acme.merchant, "support"))
    join(sender.person, globex.merchant, "owner")
    with held_after(monkeypatch, send, is_made=True) as held:
        address = send().url
        [secret] = secrets_in(held.end())

    theirs = signed_in(sender.person).get(address.replace(acme.merchant.id, globex.merchant.id))
    others = signed_in(colleague).get(address)
    pages = [theirs, others, signed_in(sender.person).get(f"{address}x")]

    assert [page.status_code for page in pages] == [200, 200, 200]
    assert all("token" in page.context and secrets_in(page) == [""] for page in pages)
    assert signed_in(support).get(address).status_code == 403
    # In another session of theirs it leads to the key; in the one that sent the form it is shown.
    assert signed_in(sender.person).get(address).status_code == 302
    assert secrets_in(browser.get(address)) == [secret]
