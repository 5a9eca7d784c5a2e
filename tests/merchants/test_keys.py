"""Keys: made, rolled and revoked, each with one row in the audit log."""

from datetime import timedelta

import pytest
from django.utils import timezone

from merchants import keys
from merchants.keys import KeyRefused
from merchants.models import ApiKey, AuditEntry, User
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DAY = 86_400


def first_key(client: ApiClient) -> ApiKey:
    return ApiKey.objects.get(merchant=client.merchant, name="First key")


def last_row() -> AuditEntry:
    return AuditEntry.objects.latest("created_at", "sequence")


def test_a_rolled_key_goes_on_for_a_day_beside_the_new_one(acme: ApiClient) -> None:
    ApiKey.objects.update(scopes={"customers": "read"})
    person = User.objects.create_user("ada@acme.example")

    new, secret = keys.roll(first_key(acme), created_by=person)

    old = ApiKey.objects.exclude(id=new.id).get()
    assert abs(old.expires_at - timezone.now() - timedelta(days=1)) < timedelta(minutes=1)
    assert (new.name, new.scopes, new.created_by) == (old.name, {"customers": "read"}, person)
    assert new.expires_at is None
    assert acme.get("/v1/balance").status == acme.twin(secret).get("/v1/balance").status == 200


def test_rolling_leaves_one_row_about_both(acme: ApiClient) -> None:
    old = first_key(acme)
    count = AuditEntry.objects.count()

    new, _secret = keys.roll(old, 3600)

    assert AuditEntry.objects.count() == count + 1
    row = last_row()
    assert (row.action, row.subject) == ("key.rolled", old.id)
    assert row.before == {"expires_at": None}
    assert row.after["new_key"]["id"] == new.id


def test_a_key_that_is_rolled_at_once_ends_at_once(acme: ApiClient) -> None:
    keys.roll(first_key(acme), 0)

    assert acme.get("/v1/balance").refusal == (401, "api_key_expired", None)


def test_rolling_prolongs_no_key(acme: ApiClient) -> None:
    ends_at = timezone.now() + timedelta(minutes=5)
    ApiKey.objects.update(expires_at=ends_at)
    old = first_key(acme)

    keys.roll(old, 7 * DAY)

    old.refresh_from_db()
    assert old.expires_at == ends_at


@pytest.mark.parametrize("gone", ["revoked_at", "expires_at"])
def test_a_key_that_works_no_more_is_not_rolled(acme: ApiClient, gone: str) -> None:
    key = first_key(acme)
    ApiKey.objects.update(**{gone: timezone.now()})

    with pytest.raises(KeyRefused, match="revoked or has expired"):
        keys.roll(key)
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("seconds", [-1, 1, 3599, 7 * DAY + 1])
def test_a_key_is_rolled_within_one_of_four_times(acme: ApiClient, seconds: int) -> None:
    with pytest.raises(KeyRefused, match="one of"):
        keys.roll(first_key(acme), seconds)


def test_revoking_twice_leaves_one_row(acme: ApiClient) -> None:
    key = first_key(acme)
    count = AuditEntry.objects.count()

    keys.revoke(key, reason="lost")
    keys.revoke(key, reason="again")

    assert AuditEntry.objects.count() == count + 1
    assert (last_row().action, last_row().subject, last_row().reason) == (
        "key.revoked", key.id, "lost",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["", " ", "a" * 101, f"Card {GOOD_CARD}"])
def test_a_name_that_is_none_is_refused(acme: ApiClient, name: str) -> None:
    with pytest.raises(KeyRefused, match="name"):
        keys.create(acme.merchant, name=name)


def test_a_key_ends_within_two_years(acme: ApiClient) -> None:
    keys.create(acme.merchant, name="a", expires_at=timezone.now() + timedelta(days=730))

    with pytest.raises(KeyRefused, match="two years"):
        keys.create(acme.merchant, name="b", expires_at=timezone.now() + timedelta(days=733))


def live(client: ApiClient) -> list[ApiKey]:
    return [key for key in client.merchant.api_keys.all() if keys.is_live(key, timezone.now())]


def as_many_as_work(client: ApiClient) -> list[ApiKey]:
    """Make keys until the merchant has a hundred."""
    now = timezone.now()
    drafts = [
        ApiKey(id=f"key_{n}", merchant=client.merchant, name="x", hash=b"%d" % n, created_at=now)
        for n in range(keys.LIVE_KEYS_MAX - 1)
    ]
    return ApiKey.objects.bulk_create(drafts)


def test_of_a_hundred_keys_one_is_rolled_if_it_ends_at_once(acme: ApiClient) -> None:
    as_many_as_work(acme)
    old = first_key(acme)

    new, _secret = keys.roll(old, 0)

    found = live(acme)
    assert (len(found), new in found, old in found) == (keys.LIVE_KEYS_MAX, True, False)
    for seconds in (1, 2):
        with pytest.raises(KeyRefused, match="up to 100"):
            keys.roll(new, keys.ROLL_SECONDS[seconds])


def test_a_merchant_has_a_hundred_keys_that_work(acme: ApiClient) -> None:
    drafts = as_many_as_work(acme)

    for make in (lambda: keys.create(acme.merchant, name="x"), lambda: keys.roll(first_key(acme))):
        with pytest.raises(KeyRefused, match="up to 100"):
            make()

    keys.revoke(drafts[0])
    keys.create(acme.merchant, name="in its place")
