"""Mails about disputes, payouts and statements: each once, about the thing as it is then."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.utils import timezone
from structlog.testing import capture_logs

from core import clock, local_days
from merchants import accounts, owed_mails
from merchants.models import Merchant, OwedMail
from merchants.notices import SEEN_BY, MailKind
from panel import letters
from payouts.statements.closing import close_due
from payouts.statements.drafting import following
from payouts.statements.models import Statement
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.complaints import DATABASES, Complaint
from tests.stage.notifier import Notifier
from tests.stage.sweeper import sweep_after
from tests.stage.teams import person
from tests.stage.threads import team
from tests.stage.transfers import DELAY, hear_after, pay_out, rich

pytestmark = pytest.mark.django_db(databases=DATABASES)

OWN, IT = "boss@acme.example", "it@acme.example"


class Killed(BaseException):
    """The end of a process as by `kill -9`: what was not committed is undone."""


@pytest.fixture
def complaint(acme: ApiClient, bank: BankTransport, notifier: Notifier) -> Complaint:
    to = {"notice_emails": [OWN, IT]}
    acme.merchant = accounts.change(acme.merchant, to)
    return Complaint(acme, notifier)


def sent() -> list[str]:
    """Let the job run, and return the subjects of the mails to the first address since."""
    owed_mails.send_due()
    box = [one.subject for one in mail.outbox if one.to == [OWN]]
    mail.outbox.clear()
    return box


def leases_end() -> None:
    OwedMail.objects.update(leased_until=timezone.now() - timedelta(seconds=1))


# --- Disputes ---------------------------------------------------------------------------------


def test_a_dispute_is_mailed_when_it_opens_three_days_before_its_end_and_on_the_last(
    complaint: Complaint,
) -> None:
    complaint.opened()

    opened, again = sent(), sent()
    early = complaint.days_pass(6.9) and sent()
    soon, soon_again = complaint.days_pass(0.2) and sent(), sent()
    last, last_again = complaint.days_pass(2) and sent(), sent()

    assert opened == ["A payment of ₺125.00 is disputed"]
    assert soon == ["Less than 3 days to answer the dispute of ₺125.00"]
    assert last == ["Less than 1 day to answer the dispute of ₺125.00"]
    assert (early, again, soon_again, last_again) == ([], [], [], [])
    assert OwedMail.objects.count() == 0


@pytest.mark.parametrize("is_silenced", [True, False])
def test_a_mail_of_three_days_that_is_late_is_sent_if_that_of_the_last_day_is_silenced(
    complaint: Complaint, is_silenced: bool
) -> None:
    complaint.opened()
    sent()
    silenced = ["dispute_due_tomorrow"] if is_silenced else []
    complaint.shop.merchant = accounts.change(
        complaint.shop.merchant, {"silenced_notices": silenced}
    )

    complaint.days_pass(9.1)

    days = "3 days" if is_silenced else "1 day"
    assert sent() == [f"Less than {days} to answer the dispute of ₺125.00"]


def test_the_mail_says_until_when_what_happens_otherwise_and_where_to_answer(
    complaint: Complaint,
) -> None:
    complaint.opened().evidence()

    owed_mails.send_due()

    assert [one.to for one in mail.outbox] == [[OWN], [IT]]
    text = str(mail.outbox[0].body)
    for said in (
        "₺125.00", "Answer by: ", "the dispute is lost", "A draft of your answer is kept",
        f"/panel/{complaint.shop.merchant.id}/disputes/{complaint.id}",
    ):  # fmt: skip
        assert said in text, said
    assert "It was delivered." not in text


def test_an_inquirys_mail_says_that_no_money_is_held_and_its_chargeback_is_mailed_too(
    complaint: Complaint,
) -> None:
    complaint.inquired()
    owed_mails.send_due()
    asked = str(mail.outbox[0].body)
    mail.outbox.clear()

    complaint.escalated()

    assert "no money is held yet" in asked
    assert sent() == ["A payment of ₺125.00 is disputed"]
    complaint.days_pass(7.1)
    assert len(sent()) == 1


@pytest.mark.parametrize("answer", [Complaint.submit, Complaint.close, Complaint.won])
@pytest.mark.parametrize("days", [0, 7.1, 9.1])
def test_a_dispute_that_was_answered_meanwhile_mails_nothing(
    complaint: Complaint, days: float, answer: Callable[[Complaint], Any]
) -> None:
    complaint.opened()
    if days:
        sent()
        complaint.days_pass(days)

    answer(complaint)

    assert (sent(), complaint.days_pass(9.5) and sent()) == ([], [])
    assert OwedMail.objects.filter(due_at__lte=clock.now()).count() == 0


def test_a_dispute_answered_between_the_look_and_the_letter_mails_nothing(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint.opened()
    take = owed_mails._take

    def take_and_answer() -> OwedMail | None:
        owed = take()
        if owed and complaint.status == "needs_response":
            complaint.submit()
        return owed

    monkeypatch.setattr(owed_mails, "_take", take_and_answer)

    assert sent() == []
    assert complaint.status == "under_review"


def test_a_worker_that_was_away_for_days_sends_the_last_reminder_alone(
    complaint: Complaint,
) -> None:
    complaint.opened()
    sent()

    complaint.days_pass(9.5)

    assert sent() == ["Less than 1 day to answer the dispute of ₺125.00"]
    complaint.days_pass()
    assert sent() == []


@pytest.mark.parametrize(
    ("silenced", "subjects"),
    [
        ([], ["A payment of ₺125.00 is disputed"]),
        (["dispute_opened"], ["Less than 1 day to answer the dispute of ₺125.00"]),
        (["dispute_due_tomorrow"], ["A payment of ₺125.00 is disputed"]),
        (
            ["dispute_opened", "dispute_due_tomorrow"],
            ["Less than 3 days to answer the dispute of ₺125.00"],
        ),
    ],
)
def test_a_dispute_that_opens_on_its_last_day_is_mailed_once(
    complaint: Complaint, silenced: list[str], subjects: list[str]
) -> None:
    complaint.shop.merchant = accounts.change(
        complaint.shop.merchant, {"silenced_notices": silenced}
    )

    complaint.opened(due_by=clock.now() + timedelta(hours=20))

    assert sent() == subjects
    assert sent() == []


# --- Payouts and statements -------------------------------------------------------------------


@pytest.fixture
def unpaid(acme: ApiClient, bank: BankTransport) -> str:
    rich(acme)
    made = pay_out(acme, 5000, destination="test_account_closed")["id"]
    sweep_after(DELAY)
    hear_after(5)
    return str(made)


def test_a_failed_payout_is_mailed_with_its_account_and_reason(
    acme: ApiClient, unpaid: str
) -> None:
    assert (owed_mails.send_due(), owed_mails.send_due()) == (1, 0)

    [one] = mail.outbox
    assert (one.to, one.subject) == ([acme.merchant.email], "A payout of ₺50.00 failed")
    for said in ("The account has been closed.", f"/payouts/{unpaid}", "available again"):
        assert said in one.body, said


def statement(merchant: Merchant, month: date, net: int = 2500, opening: int = 0) -> Statement:
    closing = opening + net
    made: Statement = Statement.objects.create(
        id=f"stm_{month:%Y%m}", merchant=merchant, currency="try", month=month,
        begins_at=datetime(month.year, month.month, 1, tzinfo=UTC), timezone="Europe/Istanbul",
        ends_at=datetime.combine(following(month), time.min, UTC), boundary=1,
        opening=opening, net=net, closing=closing, available=closing,
        pending=0, reserved=0, surcharge=0,
        lines=[["charge", int(net > 0), net, 0, net]], payouts=[],
        created_at=clock.now(),
    )  # fmt: skip
    now = clock.now()
    owed_mails.owe(merchant, MailKind.STATEMENT_READY, made.id, due_at=now)
    return made


def last_month() -> date:
    """Return the merchant's last month, which may be this one in UTC."""
    today = local_days.of(clock.now(), "Europe/Istanbul")
    return (today.replace(day=1) - timedelta(days=1)).replace(day=1)


def test_a_statement_is_mailed_once_and_none_that_is_empty_or_of_months_ago(
    acme: ApiClient,
) -> None:
    month = last_month()
    statement(acme.merchant, (month - timedelta(days=1)).replace(day=1))
    statement(acme.merchant, month, opening=2500)

    assert (owed_mails.send_due(), owed_mails.send_due()) == (1, 0)

    [one] = mail.outbox
    assert one.subject == f"The statement of {month:%B %Y} in TRY is ready"
    for said in ("₺25.00", "₺50.00", f"/statements/{month:%Y-%m}-try"):
        assert said in one.body, said
    assert OwedMail.objects.count() == 0


def test_an_empty_statement_is_not_mailed(acme: ApiClient) -> None:
    statement(acme.merchant, last_month(), net=0)

    assert (owed_mails.send_due(), OwedMail.objects.count()) == (0, 0)


# --- To whom, and in which language -----------------------------------------------------------


def test_each_kind_can_be_silenced(acme: ApiClient, complaint: Complaint, unpaid: str) -> None:
    complaint.opened()
    statement(acme.merchant, last_month())

    accounts.change(acme.merchant, {"silenced_notices": [*MailKind]})

    assert (owed_mails.send_due(), mail.outbox) == (0, [])
    complaint.days_pass(9.9)
    assert owed_mails.send_due() == 0
    assert OwedMail.objects.count() == 0


def test_an_address_of_a_member_who_may_not_see_the_balance_gets_no_mail_of_it(
    acme: ApiClient, complaint: Complaint, unpaid: str
) -> None:
    for role in ("support", "accountant"):
        person(f"{role}@acme.example", (acme.merchant, role))
    accounts.change(
        acme.merchant,
        {"notice_emails": ["Support@acme.example", "accountant@acme.example", OWN]},
    )
    complaint.opened()
    statement(acme.merchant, last_month())

    owed_mails.send_due()

    got = {subject: set() for subject in {one.subject for one in mail.outbox}}
    for one in mail.outbox:
        got[one.subject].add(one.to[0].lower())
    all_three = {"support@acme.example", "accountant@acme.example", OWN}
    assert {subject.split()[1]: to for subject, to in got.items()} == {
        "payment": all_three,
        "payout": all_three - {"support@acme.example"},
        "statement": all_three - {"support@acme.example"},
    }


def test_every_kind_that_is_owed_has_its_roles() -> None:
    assert {*SEEN_BY} == {*owed_mails._writing} == {
        *letters.DISPUTES, MailKind.PAYOUT_FAILED, MailKind.STATEMENT_READY,
    }  # fmt: skip


def test_the_mails_are_in_the_merchants_language(
    acme: ApiClient, complaint: Complaint, unpaid: str
) -> None:
    accounts.change(acme.merchant, {"notice_language": "tr", "notice_emails": [OWN]})
    complaint.opened()
    statement(acme.merchant, last_month())

    owed_mails.send_due()

    said = " ".join(one.subject for one in mail.outbox)
    text = " ".join(str(one.body) for one in mail.outbox)
    for word in ("₺125,00", "itiraz", "₺50,00", "aktarım", "ekstresi"):
        assert word in said, word
    for word in ("Son yanıt:", "Yanıt verilmezse", "Hesap kapatılmış", "Kapanış bakiyesi:"):
        assert word in text, word
    assert "The " not in said + text


# --- Once -------------------------------------------------------------------------------------


def post(message: EmailMessage, **_options: Any) -> int:
    mail.outbox.append(message)
    return 1


@pytest.mark.parametrize("at", ["before the first", "between the two"])
def test_a_killed_job_leaves_the_mails_to_the_next_one(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    complaint.opened()
    survives = at == "between the two"

    def dies(message: EmailMessage, **_options: Any) -> int:
        if survives and not mail.outbox:
            return post(message)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(EmailMessage, "send", dies)
        with pytest.raises(Killed):
            owed_mails.send_due()
    leased = owed_mails.send_due()
    leases_end()
    taken, again = owed_mails.send_due(), owed_mails.send_due()

    assert (leased, taken, again) == (0, 2, 0)
    names = {(one.to[0], one.extra_headers["Message-ID"]) for one in mail.outbox}
    # A mailbox that got a mail twice knows the second by its name.
    assert len(names) == 2
    assert len(mail.outbox) == 2 + survives


def test_an_address_that_has_gone_holds_no_other_back(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint.opened()

    def refuses(message: EmailMessage, **_options: Any) -> int:
        if message.to == [IT]:
            raise SMTPRecipientsRefused({IT: (550, b"no such mailbox")})
        return post(message)

    monkeypatch.setattr(EmailMessage, "send", refuses)
    owed_mails.send_due()
    leases_end()

    assert owed_mails.send_due() == 0
    assert [one.to for one in mail.outbox] == [[OWN]]


def test_a_server_that_goes_away_gets_the_mails_later_that_it_has_not_taken(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint.opened()

    def goes(message: EmailMessage, **_options: Any) -> int:
        if message.to == [IT]:
            raise SMTPServerDisconnected("gone")
        return post(message)

    with monkeypatch.context() as patched:
        patched.setattr(EmailMessage, "send", goes)
        owed_mails.send_due()
    at_once = owed_mails.send_due()
    leases_end()

    assert (at_once, owed_mails.send_due()) == (0, 1)
    assert [one.to for one in mail.outbox] == [[OWN], [IT]]


def test_a_letter_that_cannot_be_written_holds_no_other_back(
    complaint: Complaint, unpaid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint.opened()
    OwedMail.objects.filter(kind=MailKind.DISPUTE_OPENED).update(
        due_at=datetime(2026, 1, 1, tzinfo=UTC)
    )

    def fails(*_about: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(owed_mails._writing, MailKind.DISPUTE_OPENED, fails)
    with capture_logs() as logs:
        assert owed_mails.send_due() == 2

    assert {one.subject for one in mail.outbox} == {"A payout of ₺50.00 failed"}
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["letter_failed"]
    assert OwedMail.objects.filter(kind=MailKind.DISPUTE_OPENED).exists()


@pytest.mark.parametrize(("days", "is_kept"), [(2.9, True), (3.1, False)])
def test_a_mail_that_its_server_refuses_for_three_days_is_given_up(
    unpaid: str, monkeypatch: pytest.MonkeyPatch, days: float, is_kept: bool
) -> None:
    def is_full(*_message: Any, **_options: Any) -> int:
        raise SMTPRecipientsRefused({OWN: (452, b"mailbox full")})

    monkeypatch.setattr(EmailMessage, "send", is_full)
    clock.advance(timedelta(days=days))

    with capture_logs() as logs:
        owed_mails.send_due()

    assert OwedMail.objects.exists() == is_kept
    assert ("mail_given_up" in [line["event"] for line in logs]) != is_kept


def test_a_held_copy_sends_nothing(complaint: Complaint, monkeypatch: pytest.MonkeyPatch) -> None:
    complaint.opened()
    monkeypatch.setattr("core.installation.is_held", lambda: True)

    assert (owed_mails.send_due(), mail.outbox) == (0, [])


@pytest.mark.django_db(transaction=True, databases=DATABASES)
def test_four_jobs_at_once_send_each_mail_once(complaint: Complaint) -> None:
    complaint.opened()

    with team(4) as meet:
        taken = meet([owed_mails.send_due] * 4)

    assert (sum(taken), len(mail.outbox)) == (2, 2)


def test_a_chargeback_while_the_inquirys_mail_is_sent_is_owed_still(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint.inquired()

    def escalates(message: EmailMessage, **_options: Any) -> int:
        if complaint.status == "warning_needs_response":
            complaint.escalated()
        return post(message)

    monkeypatch.setattr(EmailMessage, "send", escalates)

    assert sent() == ["A payment of ₺125.00 is disputed"] * 2


def test_a_month_that_is_closed_owes_its_mail(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payouts.statements.closing._is_written", lambda: True)
    rich(acme)
    clock.advance(timedelta(days=32))

    made = close_due()

    kinds = OwedMail.objects.filter(kind=MailKind.STATEMENT_READY)
    assert made == kinds.count() == Statement.objects.count() > 0
