"""API keys and their scopes open what they should and no more; commands make and revoke them."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from config.urls import v1
from core import ids
from core.rest import resources
from ledger import sale_terms
from ledger.book import Sale
from ledger.views import BalanceViewSet
from merchants import keys
from merchants.models import ApiKey, Member, Merchant, User
from tests.stage.book_keeping import CAPTURED_ON
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import payment
from tests.stage.refusals import assert_envelope, assert_nothing_stored, raw
from tests.stage.tampering import tamper

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def with_key(
    secret: str, method: str = "GET", path: str = "/v1/balance", body: Any = b""
) -> Answer:
    headers = {"authorization": f"Bearer {secret}"}
    return raw(method, path, body, content_type="application/json", headers=headers)


def newest_key(client: ApiClient) -> ApiKey:
    return ApiKey.objects.get(hash=keys.secret_hash(client.key))


def restricted_to(client: ApiClient, **scopes: str) -> ApiClient:
    """Give the client another key, with scopes."""
    _key, client.key = keys.create(client.merchant, name="scoped", scopes=scopes)
    return client


# --- The key --------------------------------------------------------------------------------


def test_a_key_is_prefix_random_part_and_checksum(acme: ApiClient) -> None:
    prefix, random_part, checksum = acme.key[:11], acme.key[11:54], acme.key[54:]

    assert prefix == "sk_sandbox_"
    assert len(random_part) == 43
    assert set(random_part) <= set(ids.ALPHABET)
    assert checksum == keys.checksum(prefix + random_part)
    assert len(checksum) == 6


def test_the_database_holds_a_keyed_hash_and_not_the_secret(acme: ApiClient) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(k)::text FROM merchants_apikey k")
        rows = "".join(row for (row,) in cursor.fetchall())

    assert acme.key[11:54] not in rows
    assert newest_key(acme).last4 == acme.key[-4:]
    assert bytes(newest_key(acme).hash) == keys.secret_hash(acme.key)


def test_a_key_shows_when_it_was_last_used(acme: ApiClient) -> None:
    assert newest_key(acme).last_used_at is None

    acme.get("/v1/balance")

    assert timezone.now() - newest_key(acme).last_used_at < timedelta(seconds=10)


# --- No way in ------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, {"authorization": ""}, {"authorization": "  "}])
def test_without_a_key_the_answer_says_how_to_send_one(headers: dict[str, str]) -> None:
    answer = raw("GET", "/v1/balance", headers=headers)

    assert answer.refusal == (401, "api_key_missing", None)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert_envelope(answer)


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(
    "forge",
    [
        lambda key: key[:-1],
        lambda key: key + "x",
        lambda key: key[:20] + ("a" if key[20] != "a" else "b") + key[21:],
        lambda key: key.swapcase(),
        lambda key: key.replace("sk_sandbox_", "pk_sandbox_"),
        lambda key: key[:-6] + "000000",
        lambda key: f"{key} {key}",
        lambda key: key.replace("k", "ķ", 1),
        lambda key: "ş" * 60,
        lambda _key: "sk_test_" + "a" * 49,
        lambda _key: "x",
        lambda _key: keys.new_secret(),
    ],
)
def test_a_key_that_is_not_ours_is_invalid(acme: ApiClient, forge: Any) -> None:
    answer = with_key(forge(acme.key).encode().decode("latin-1"))

    assert answer.refusal == (401, "api_key_invalid", None)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert_envelope(answer)


@pytest.mark.parametrize("header", ["Basic {}", "{}", "Token {}", "Bearer", "Bearer: {}"])
def test_only_bearer_keys_are_read(acme: ApiClient, header: str) -> None:
    answer = raw("GET", "/v1/balance", headers={"authorization": header.format(acme.key)})

    assert answer.refusal == (401, "api_key_invalid", None)
    message = answer.error["message"]
    says_how = message.startswith("Send your secret key as Authorization: Bearer sk_…")
    assert says_how == (header != "Bearer")


@pytest.mark.parametrize(
    "header", ["Bearer {}\xa0", "Bearer \xa0{}", "\x85Bearer {}", "Bearer\xa0{}"]
)
def test_a_blank_that_is_none_of_http_makes_a_key_invalid(acme: ApiClient, header: str) -> None:
    answer = raw("GET", "/v1/balance", headers={"authorization": header.format(acme.key)})

    assert answer.refusal == (401, "api_key_invalid", None)


def test_the_scheme_is_read_in_any_case(acme: ApiClient) -> None:
    header = {"authorization": f"  bearer   {acme.key} "}

    assert raw("GET", "/v1/balance", headers=header).status == 200


@pytest.mark.parametrize(
    ("is_live", "told"),
    [
        (False, ("a live installation's API key", "this is a sandbox", "sk_sandbox_")),
        (True, ("a sandbox's API key", "this installation is live", "sk_live_")),
    ],
    ids=["live key in a sandbox", "sandbox key in live"],
)
def test_a_key_of_the_other_installation_hears_where_it_belongs(
    is_live: bool, told: tuple[str, ...], acme: ApiClient
) -> None:
    with override_settings(LIVEMODE=not is_live):
        secret = keys.new_secret()

    with override_settings(LIVEMODE=is_live):
        answers = [with_key(secret), with_key(secret[:-1])]

    for answer in answers:
        assert answer.refusal == (401, "api_key_invalid", None)
        assert [words for words in told if words not in answer.error["message"]] == []
        assert secret[12:-1] not in str(answer.body)
        assert_envelope(answer)


def test_a_revoked_key_stops_with_the_next_request(acme: ApiClient) -> None:
    assert acme.get("/v1/balance").status == 200

    keys.revoke(newest_key(acme))

    assert acme.get("/v1/balance").refusal == (401, "api_key_revoked", None)
    assert "WWW-Authenticate" in acme.get("/v1/balance").headers


def test_an_expired_key_says_so(acme: ApiClient) -> None:
    moment_ago = timezone.now() - timedelta(seconds=1)
    key, secret = keys.create(acme.merchant, name="old")
    ApiKey.objects.filter(id=key.id).update(expires_at=moment_ago)

    assert with_key(secret).refusal == (401, "api_key_expired", None)


def test_a_key_that_expires_later_works(acme: ApiClient) -> None:
    soon = timezone.now() + timedelta(minutes=1)
    _key, secret = keys.create(acme.merchant, name="new", expires_at=soon)

    assert with_key(secret).status == 200


def test_only_the_whole_key_learns_that_it_was_revoked(acme: ApiClient) -> None:
    keys.revoke(newest_key(acme))

    assert with_key(acme.key[:-1]).refusal == (401, "api_key_invalid", None)


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"a": 1, "a": 2}', b"x" * 300_000])
def test_the_key_is_checked_before_the_body_is_read(acme: ApiClient, body: bytes) -> None:
    answer = with_key(keys.new_secret(), "POST", "/v1/payment_intents", body)

    assert answer.refusal == (401, "api_key_invalid", None)
    assert_envelope(answer)


def test_a_request_without_a_key_stores_nothing(db: None) -> None:
    body = json.dumps(payment()).encode()

    answer = raw("POST", "/v1/payment_intents", body, content_type="application/json")

    assert answer.refusal == (401, "api_key_missing", None)
    assert_nothing_stored()


def test_a_merchant_reaches_only_what_is_theirs(acme: ApiClient, globex: ApiClient) -> None:
    intent = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try"})
    path = f"/v1/payment_intents/{intent['id']}"

    assert globex.get(path).refusal == (404, "resource_missing", None)
    assert globex.post(path, {"description": "x"}).refusal == (404, "resource_missing", None)
    assert globex.get("/v1/merchant")["id"] == globex.merchant.id


# --- Scopes ---------------------------------------------------------------------------------

REACHES = [
    ("payment_intents", "GET", "/v1/payment_intents/pi_x", "read"),
    ("payment_intents", "POST", "/v1/payment_intents", "write"),
    ("payment_intents", "POST", "/v1/payment_intents/pi_x", "write"),
    ("payment_intents", "POST", "/v1/payment_intents/pi_x/confirm", "write"),
    ("customers", "GET", "/v1/customers/cus_x", "read"),
    ("customers", "POST", "/v1/customers", "write"),
    ("customers", "GET", "/v1/customers", "read"),
    ("payment_intents", "GET", "/v1/payment_intents", "read"),
    ("payment_intents", "GET", "/v1/search?q=tea", "read"),
    ("events", "GET", "/v1/events", "read"),
    ("events", "GET", "/v1/events/evt_x", "read"),
    ("merchant", "GET", "/v1/merchant", "read"),
]


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize("level", ["none", "read", "write"])
@pytest.mark.parametrize(("resource", "method", "path", "needed"), REACHES)
def test_a_scope_allows_its_level_and_no_more(
    acme: ApiClient, resource: str, method: str, path: str, needed: str, level: str
) -> None:
    client = restricted_to(acme, **{resource: level})

    answer = client._call(method, path, b"", {})

    if keys.SCOPE_LEVELS.index(level) < keys.SCOPE_LEVELS.index(needed):
        assert answer.refusal == (403, "permission_denied", None)
        assert_envelope(answer)
    else:
        assert answer.status in (200, 400, 404)


def test_every_address_of_the_api_has_a_scope_that_a_key_can_name() -> None:
    views = {pattern.callback.cls for app in v1 for pattern in app.url_patterns}

    assert {view.scope for view in views} == {None, *resources.scopes()}
    assert [view for view in views if view.scope is None] == [BalanceViewSet]


@pytest.mark.parametrize("body", [b"{", b'{"amount": "x"}'])
def test_the_scope_is_checked_before_the_body_is_read(acme: ApiClient, body: bytes) -> None:
    client = restricted_to(acme, payment_intents="read")

    assert client.post("/v1/payment_intents", body).status == 403


def test_the_balance_answers_every_valid_key(acme: ApiClient) -> None:
    everything = dict.fromkeys(resources.scopes(), "none")

    assert restricted_to(acme, **everything).get("/v1/balance").status == 200


def test_a_scope_of_one_resource_does_not_limit_another(acme: ApiClient) -> None:
    client = restricted_to(acme, customers="none")

    assert client.post("/v1/payment_intents", {"amount": 1, "currency": "try"}).status == 200


# --- The account ----------------------------------------------------------------------------


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(
    "change", [{"status": "restricted"}, {"status": "closed"}, {"charges_enabled": False}]
)
def test_a_restricted_merchant_takes_no_payment_but_reads(
    acme: ApiClient, change: dict[str, Any]
) -> None:
    created = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try"})
    Merchant.objects.update(**change)

    create = acme.post("/v1/payment_intents", payment())
    confirm = acme.post(f"/v1/payment_intents/{created['id']}/confirm", {})

    assert create.refusal == confirm.refusal == (403, "merchant_restricted", None)
    assert acme.get(f"/v1/payment_intents/{created['id']}").status == 200
    assert acme.get("/v1/balance").status == 200


def test_a_merchant_who_is_not_approved_yet_takes_no_payment(acme: ApiClient) -> None:
    # Past the guard: no account becomes pending again.
    tamper("UPDATE merchants_merchant SET status = 'pending'")

    answer = acme.post("/v1/payment_intents", payment())

    assert answer.refusal == (403, "merchant_restricted", None)
    assert acme.get("/v1/balance").status == 200


# --- Commands -------------------------------------------------------------------------------


def run(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output)
    return output.getvalue()


def test_create_merchant_opens_a_whole_account() -> None:
    told = json.loads(
        run("create_merchant", "--name", "Initech", "--email", "Owner@Initech.example",
            "--website", "https://initech.example", "--website", "shop.initech.example",
            "--callback", "http://localhost:3000/return", "--json")
    )  # fmt: skip

    merchant = with_key(told["secret_key"], path="/v1/merchant")
    assert merchant["id"] == told["merchant_id"]
    assert merchant["websites"] == ["https://initech.example", "https://shop.initech.example"]
    assert merchant["callback_urls"] == ["http://localhost:3000/return"]
    owner = User.objects.get(email=told["panel_email"])
    assert owner.check_password(told["panel_password"])
    assert Member.objects.get(user=owner).role == "owner"


@pytest.mark.parametrize(("is_live", "limits"), [(False, [("try", 100_000)]), (True, [])])
def test_a_merchant_of_a_sandbox_has_a_price_and_a_limit(
    is_live: bool, limits: list[tuple[str, int]], settings: Any
) -> None:
    settings.LIVEMODE = is_live

    told = json.loads(
        run("create_merchant", "--name", "Initech", "--email", "o@initech.example", "--json")
    )

    merchant = Merchant.objects.get(id=told["merchant_id"])
    assert list(merchant.negative_limits.values_list("currency", "amount")) == limits
    fee = sale_terms.of(merchant.id, Sale(10_000, "try"), captured_on=CAPTURED_ON).fee
    assert fee == (0 if is_live else 275, False)


def test_create_merchant_prints_for_people_too() -> None:
    printed = run("create_merchant", "--name", "Initech", "--email", "o@initech.example")

    assert "secret_key: sk_sandbox_" in printed
    assert "panel_email: o@initech.example" in printed


def test_a_second_merchant_of_the_same_owner_keeps_their_password() -> None:
    words = ("create_merchant", "--name", "Initech", "--email", "o@initech.example", "--json")
    first, second = json.loads(run(*words)), json.loads(run(*words))

    assert second["panel_password"] is None
    assert User.objects.get().check_password(first["panel_password"])
    assert Member.objects.count() == 2


@pytest.mark.parametrize(
    "wrong",
    [
        ("--website", "https://com.tr"),
        ("--website", "http://initech.example"),
        ("--callback", "ftp://initech.example"),
        ("--country", "TUR"),
        ("--country", "T1"),
        ("--email", "no address"),
        ("--name", ""),
    ],
)
def test_create_merchant_refuses_in_a_sentence_and_leaves_nothing(wrong: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match=r"\.$"):
        run("create_merchant", "--name", "Initech", "--email", "o@initech.example", *wrong)

    assert not Merchant.objects.exists()
    assert not User.objects.exists()


def test_create_key_makes_a_key_with_scopes_and_an_end(acme: ApiClient) -> None:
    next_year = timezone.now().year + 1
    told = json.loads(
        run("create_key", acme.merchant.id, "--name", "Reports", "--scope", "events=read",
            "--scope", "customers=none", "--expires", f"{next_year}-01-01T00:00:00Z", "--json")
    )  # fmt: skip

    key = ApiKey.objects.get(id=told["id"])
    assert (key.name, key.scopes) == ("Reports", {"events": "read", "customers": "none"})
    assert key.expires_at.year == next_year
    assert with_key(told["secret_key"], path="/v1/events").status == 200
    assert with_key(told["secret_key"], path="/v1/customers/cus_x").status == 403


@pytest.mark.parametrize(
    "wrong",
    [
        ("mer_nobody",),
        ("--scope", "events=admin"),
        ("--scope", "events"),
        ("--scope", "evnts=none"),
        ("--expires", "tomorrow"),
        ("--expires", "2040-01-01T00:00:00"),
        ("--expires", "2040-13-45T00:00:00Z"),
    ],
)
def test_create_key_refuses_in_a_sentence(acme: ApiClient, wrong: tuple[str, ...]) -> None:
    merchant = () if wrong[0].startswith("mer_") else (acme.merchant.id,)

    with pytest.raises(CommandError, match=r"\.$"):
        run("create_key", *merchant, *wrong)

    assert ApiKey.objects.count() == 1
