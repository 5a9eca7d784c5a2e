"""Signing secrets of webhooks: rolled, overlapping for a time, then destroyed."""

import time
from datetime import timedelta

import pytest

from core import clock
from tests.stage.factories import EndpointFactory
from webhooks import retention, signing_secrets
from webhooks.models import Endpoint, SigningSecret

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def signing(endpoint: Endpoint) -> tuple[str, ...]:
    return signing_secrets.open_for([endpoint.id], clock.now())[endpoint.id]


def roll(endpoint: Endpoint, overlap: timedelta = DAY) -> str:
    seconds = int(overlap.total_seconds())
    return signing_secrets.roll(endpoint, previous_expires_in_seconds=seconds)


def test_a_rolled_secret_signs_on_until_it_expires() -> None:
    endpoint = EndpointFactory(secret="whsec_first")

    second = roll(endpoint)

    assert signing(endpoint) == (second, "whsec_first")
    clock.advance(DAY)
    assert signing(endpoint) == (second,)


def test_at_most_two_sign_however_often_it_is_rolled() -> None:
    endpoint = EndpointFactory(secret="whsec_first")

    second, third = roll(endpoint), roll(endpoint)

    assert signing(endpoint) == (third, second)


def test_without_an_overlap_the_old_one_ends_at_once() -> None:
    endpoint = EndpointFactory()

    assert signing(endpoint) != (roll(endpoint, timedelta(0)),)
    assert len(signing(endpoint)) == 1


def test_a_secret_is_long_and_lies_sealed() -> None:
    endpoint = EndpointFactory()

    plain = roll(endpoint)

    assert plain.startswith("whsec_")
    assert len(plain) == len("whsec_") + 32
    sealed = SigningSecret.objects.filter(endpoint=endpoint).values_list("sealed", flat=True)
    assert not any(plain.encode() in bytes(blob) for blob in sealed)


def test_a_secret_that_does_not_open_keeps_nobody_else_waiting() -> None:
    broken, fine = EndpointFactory(), EndpointFactory(secret="whsec_fine")
    SigningSecret.objects.filter(endpoint=broken).update(sealed=b"garbage")

    opened = signing_secrets.open_for([broken.id, fine.id], clock.now())

    assert opened.get(broken.id, ()) == ()
    assert opened[fine.id] == ("whsec_fine",)


def test_what_has_ended_is_destroyed() -> None:
    endpoint, rolled_once = EndpointFactory(), EndpointFactory()
    roll(rolled_once)
    for overlap in (DAY, DAY, timedelta(0)):
        roll(endpoint, overlap)
    assert endpoint.secrets.count() == 1

    clock.advance(DAY)
    forgotten = retention.forget_old()

    assert forgotten["secrets"] == 1
    assert rolled_once.secrets.count() == 1


def test_a_process_lets_go_of_what_it_has_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        signing(EndpointFactory())
    later = time.monotonic() + signing_secrets.KEEP_SECONDS
    monkeypatch.setattr("webhooks.signing_secrets.time.monotonic", lambda: later)

    signing(EndpointFactory())

    assert signing_secrets._open.cache_info().currsize == 1
