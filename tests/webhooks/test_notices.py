"""One mail per time that an endpoint begins to fail."""

from datetime import timedelta
from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone

from core import clock
from core.mail import is_mail_address
from merchants import accounts
from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.hooks import created
from tests.stage.processes import run
from tests.stage.webhook_world import (
    deliver,
    enable,
    fail_until_given_up,
    ok,
    refused,
    tell,
    tell_many,
    tidy_up,
)  # fmt: skip
from webhooks import endpoints, notices
from webhooks.delivery.outcomes import DELAYS_SECONDS
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


class BrokenServer(EmailBackend):
    def send_messages(self, *_: Any) -> int:
        raise SMTPServerDisconnected("gone")


def failing_endpoint() -> Endpoint:
    endpoint = EndpointFactory(secret="whsec_neverInAMail")
    tell_many(endpoint.merchant, 3)
    fail_until_given_up(endpoint)
    return endpoint


def test_the_merchant_is_told_once_that_an_endpoint_fails() -> None:
    endpoint = failing_endpoint()

    assert notices.send_due() == 1
    assert notices.send_due() == 0

    [sent] = mail.outbox
    assert sent.to == [endpoint.merchant.email]
    for told in (endpoint.url, endpoint.id, "http_status, status 500", "stopped: 3"):
        assert told in sent.body
    assert '{"disabled": false, "replay_missed": true}' in sent.body


def failed(endpoint: Endpoint, attempts: range) -> Endpoint:
    """Let these attempts of the first event fail, each when it is due."""
    for number in attempts:
        if number > 1:
            clock.advance(timedelta(seconds=DELAYS_SECONDS[number - 2] + 1))
        deliver(refused)
    endpoint.refresh_from_db()
    return endpoint


def test_a_fourth_failed_attempt_is_trouble_and_mailed_before_the_fifth() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 3)

    third = failed(endpoint, range(1, 4)).troubled_at
    nothing = notices.send_due()
    since = failed(endpoint, range(4, 5)).troubled_at
    sent, again = notices.send_due(), notices.send_due()

    assert (third, nothing, sent, again) == (None, 0, 1, 0)
    assert (endpoint.status, since is None) == ("enabled", False)
    for said in ("Four attempts", endpoint.url, "http_status, status 500", "wait: 3"):
        assert said in mail.outbox[0].body, said
    assert failed(endpoint, range(5, 6)).troubled_at == since
    assert notices.send_due() == 0


@pytest.mark.parametrize(("hours", "mails"), [(0, 0), (24, 1)])
def test_a_success_ends_the_trouble_and_the_next_one_is_mailed_once_a_day(
    hours: int, mails: int
) -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    failed(endpoint, range(1, 5))
    notices.send_due()
    clock.advance(timedelta(seconds=DELAYS_SECONDS[3] + 1))

    deliver(ok)
    endpoint.refresh_from_db()
    well = endpoint.troubled_at
    clock.advance(timedelta(hours=hours))
    tell(endpoint.merchant)
    failed(endpoint, range(1, 5))

    assert well is None
    assert endpoint.troubled_at is not None
    assert notices.send_due() == mails


def test_an_endpoint_that_was_disabled_meanwhile_is_not_in_trouble_and_gets_no_mail(
    acme: ApiClient,
) -> None:
    made = created(acme)["id"]
    endpoint = Endpoint.objects.get(id=made)
    tell(acme.merchant)
    failed(endpoint, range(1, 5))

    acme.post(f"/v1/webhook_endpoints/{made}", {"disabled": True})

    endpoint.refresh_from_db()
    assert (endpoint.troubled_at, notices.send_due()) == (None, 0)


def test_an_attempt_under_way_while_the_endpoint_is_disabled_is_no_trouble(
    acme: ApiClient,
) -> None:
    made = created(acme)["id"]
    endpoint = Endpoint.objects.get(id=made)
    tell(acme.merchant)
    failed(endpoint, range(1, 4))
    clock.advance(timedelta(seconds=DELAYS_SECONDS[2] + 1))

    def disables_and_refuses(claimed: Any) -> Any:
        acme.post(f"/v1/webhook_endpoints/{made}", {"disabled": True})
        return refused(claimed)

    assert deliver(disables_and_refuses)

    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.troubled_at, notices.send_due()) == ("disabled", None, 0)


def test_the_mail_holds_no_secret_and_nothing_of_what_the_endpoint_answered() -> None:
    failing_endpoint()

    notices.send_due()

    assert "whsec" not in mail.outbox[0].body
    assert "sorry" not in mail.outbox[0].body


def test_an_endpoint_that_fails_a_second_time_is_told_a_second_time() -> None:
    endpoint = failing_endpoint()
    notices.send_due()
    tidy_up()
    enable(endpoint)
    tell(endpoint.merchant)
    fail_until_given_up(endpoint)

    assert notices.send_due() == 1


def test_a_mail_that_the_server_refuses_is_tried_again_later(settings: Any) -> None:
    failing_endpoint()
    settings.EMAIL_BACKEND = "tests.webhooks.test_notices.BrokenServer"
    assert notices.send_due() == 0
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

    assert notices.send_due() == 0  # Not before ten minutes are over.
    Endpoint.objects.update(mail_due_at=timezone.now() - timedelta(seconds=1))
    assert notices.send_due() == 1


class WithoutOneMailbox(EmailBackend):
    def send_messages(self, messages: Any) -> int:
        if "gone@acme.example" in messages[0].to:
            raise SMTPRecipientsRefused({"gone@acme.example": (550, b"no such mailbox")})
        return super().send_messages(messages)


def test_an_address_that_has_gone_brings_the_others_no_mail_twice(settings: Any) -> None:
    endpoint = failing_endpoint()
    to = ["gone@acme.example", "it@acme.example"]
    accounts.change(endpoint.merchant, {"notice_emails": to})
    settings.EMAIL_BACKEND = "tests.webhooks.test_notices.WithoutOneMailbox"

    notices.send_due()

    endpoint.refresh_from_db()
    assert ([one.to for one in mail.outbox], endpoint.mail_due_at) == ([to[1:]], None)


def test_no_endpoint_that_works_is_told_of() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)

    assert notices.send_due() == 0
    assert mail.outbox == []


@pytest.mark.parametrize("change", [{"disabled": False}, {"disabled": True}])
def test_who_has_turned_to_it_already_is_not_told(change: dict[str, bool]) -> None:
    endpoint = failing_endpoint()

    endpoints.update(endpoint.merchant, endpoint.id, change)

    assert notices.send_due() == 0
    assert mail.outbox == []


@pytest.mark.parametrize(
    "text",
    [
        "pay@acme.example",
        "payments@127.0.0.1",
        "payments@[::1]",
        '"Acme, Inc" <pay@acme.example>',
        "Ödeme <pay@acme.example>",
    ],
)
def test_what_mails_may_come_from(text: str) -> None:
    assert is_mail_address(text)


@pytest.mark.parametrize(
    "text",
    ["", "Payments", "pay@", "@acme.example", "Acme, Inc <pay@acme.example>", "a@b.example, c"],
)
def test_what_no_mail_can_come_from(text: str) -> None:
    assert not is_mail_address(text)


@pytest.mark.slow
def test_a_wrong_sender_of_mails_stops_the_start() -> None:
    status, printed = run("-c", "import config.wsgi", DEFAULT_FROM_EMAIL="Acme, Inc <a@b.example>")

    assert status != 0
    assert "Set DEFAULT_FROM_EMAIL to one address" in printed
