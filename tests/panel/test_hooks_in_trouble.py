"""An endpoint in trouble: how many events wait, and when the first is given up."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils.dateformat import format as written_date

from core import clock, local_days
from merchants import accounts
from panel.merchants import figures
from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.teams import person, signed_in
from tests.stage.webhook_world import deliver, ok, refused, tell_many
from webhooks import health, notices
from webhooks.delivery.outcomes import DELAYS_SECONDS
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    figures.forget()
    yield
    figures.forget()


@pytest.fixture
def endpoint(acme: ApiClient) -> Endpoint:
    """An endpoint with three events that wait: the first failed four times, the others wait too."""
    made: Endpoint = EndpointFactory(merchant=acme.merchant, url="https://acme.example/slow")
    tell_many(acme.merchant, 3)
    fail(range(1, 5))
    made.refresh_from_db()
    return made


def fail(attempts: range) -> None:
    for number in attempts:
        if number > 1:
            clock.advance(timedelta(seconds=DELAYS_SECONDS[number - 2] + 1))
        deliver(refused)


def pages(acme: ApiClient, endpoint: Endpoint, language: str = "en") -> list[str]:
    """Return the overview, the list and the endpoint's page, as a developer sees them."""
    figures.forget()
    client = signed_in(person(f"{language}@acme.example", (acme.merchant, "developer")))
    place = f"/panel/{acme.merchant.id}"
    headers = {"accept-language": language}
    return [
        client.get(f"{place}{path}", headers=headers).content.decode()
        for path in ("", "/webhooks", f"/webhooks/{endpoint.id}")
    ]


def end_of(endpoint: Endpoint) -> Any:
    return health.waiting([endpoint])[endpoint.id].ends_at


def test_overview_list_and_page_say_how_many_wait_and_when_the_first_is_given_up(
    acme: ApiClient, endpoint: Endpoint
) -> None:
    day = written_date(local_days.shown(end_of(endpoint), acme.merchant.timezone), "l j F")

    for page in pages(acme, endpoint):
        assert f"3 events wait, the first is given up on {day}" in page
        assert "oes not answer" in page


def test_in_turkish_too(acme: ApiClient, endpoint: Endpoint) -> None:
    for page in pages(acme, endpoint, "tr"):
        assert "3 olay bekliyor; ilkinden" in page
        assert "anıt vermiyor" in page


def test_the_mail_comes_before_the_fifth_attempt_and_says_both(
    acme: ApiClient, endpoint: Endpoint
) -> None:
    attempts = Delivery.objects.filter(endpoint=endpoint, status="failed")
    accounts.change(acme.merchant, {"notice_language": "tr"})

    assert notices.send_due() == 1

    assert attempts.order_by("-attempt").values_list("attempt", flat=True)[0] == 4
    assert "Bekleyen olaylar: 3" in mail.outbox[0].body
    assert "İlkinden vazgeçilecek an: " in mail.outbox[0].body


def test_the_first_is_given_up_when_its_tenth_attempt_fails(endpoint: Endpoint) -> None:
    expected = end_of(endpoint)

    fail(range(5, 11))

    endpoint.refresh_from_db()
    assert endpoint.status == "failing"
    # Each attempt begins a second late here, and takes its time.
    assert timedelta() <= clock.now() - expected < timedelta(minutes=1)


def test_an_event_that_comes_later_does_not_end_earlier(
    acme: ApiClient, endpoint: Endpoint
) -> None:
    before = end_of(endpoint)

    tell_many(acme.merchant, 2)

    found = health.waiting([endpoint])[endpoint.id]
    assert (found.number, found.ends_at) == (5, before)


def test_an_endpoint_that_answers_has_no_mark(acme: ApiClient, endpoint: Endpoint) -> None:
    clock.advance(timedelta(seconds=DELAYS_SECONDS[3] + 1))
    deliver(ok)

    for page in pages(acme, endpoint):
        assert "oes not answer" not in page
        assert "given up" not in page


def test_more_than_are_counted_have_no_end(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "WAITING_MAX", 2)
    for number in range(2):
        tell_many(endpoint.merchant, 1, f"cus_{number + 2}")

    found = health.waiting([endpoint])[endpoint.id]

    assert (found.is_capped, found.ends_at) == (True, None)


def test_nothing_waits_for_an_endpoint_of_another(acme: ApiClient, endpoint: Endpoint) -> None:
    other = EndpointFactory(merchant=acme.merchant)

    found = health.waiting([endpoint, other])

    assert found[other.id] == health.Waiting(0, False, None)
    assert found[endpoint.id].number == 3
