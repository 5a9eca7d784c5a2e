"""One mail per time that an endpoint begins to fail."""

from datetime import timedelta
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone

from core.mail import is_mail_address
from tests.stage.factories import EndpointFactory
from tests.stage.processes import run
from tests.stage.webhook_world import enable, fail_until_given_up, tell, tell_many, tidy_up
from webhooks import endpoints, notices
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
