"""The signature that receivers verify (spec: Signature)."""

import hashlib
import hmac
import time

import pytest
import stripe

from webhooks.delivery.http import signature

BODY = '{"id":"evt_1","object":"event","data":{"name":"Ayşe"}}'.encode()
SECRET = "whsec_0123456789abcdefghijABCDEFGHIJ01"
OLDER = "whsec_abcdefghijABCDEFGHIJ0123456789ab"
# Computed with `openssl dgst -sha256 -hmac`, not with the code under test.
VECTORS = [
    (b"{}", SECRET, 1, "47245a75459ddc09fc675e31859c4c95e042d833c22b5ec3793d88a5e779a0c0"),
    (BODY, SECRET, 1793000000, "e356410abec9b1501726248f928e065ccf2502c391aa252f46c888b0780fa4e6"),
    (BODY, OLDER, 1793000000, "691b34226e0858ffb3628bb62415bb4175db40d91ba9209ccc1ffd5ac160d271"),
]


@pytest.mark.parametrize(("body", "secret", "at", "digest"), VECTORS)
def test_a_fixed_vector(body: bytes, secret: str, at: int, digest: str) -> None:
    assert signature.header(body, [secret], at=at) == f"t={at},v1={digest}"


def test_during_a_roll_each_secret_signs_the_newest_first() -> None:
    both = signature.header(BODY, [SECRET, OLDER], at=1793000000)

    assert both == f"t=1793000000,v1={VECTORS[1][3]},v1={VECTORS[2][3]}"


def test_the_key_is_the_whole_secret_and_the_time_is_signed() -> None:
    _time, digest = signature.header(BODY, [SECRET], at=7).split(",v1=")

    key, other_key = SECRET.encode(), SECRET.removeprefix("whsec_").encode()
    assert digest == hmac.digest(key, b"7." + BODY, hashlib.sha256).hex()
    assert digest != hmac.digest(other_key, b"7." + BODY, hashlib.sha256).hex()
    assert digest != hmac.digest(key, b"8." + BODY, hashlib.sha256).hex()


@pytest.mark.parametrize("known", [SECRET, OLDER])
def test_the_official_package_verifies_it(known: str) -> None:
    header = signature.header(BODY, [SECRET, OLDER], at=int(time.time()))

    event = stripe.Webhook.construct_event(BODY, header, known)

    assert event.id == "evt_1"


@pytest.mark.parametrize(
    ("body", "secret", "age_seconds"),
    [(BODY + b" ", SECRET, 0), (BODY, OLDER, 0), (BODY, SECRET, 301)],
    ids=["another body", "another secret", "too old"],
)
def test_the_official_package_refuses_it(body: bytes, secret: str, age_seconds: int) -> None:
    header = signature.header(BODY, [SECRET], at=int(time.time()) - age_seconds)

    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(body, header, secret)
