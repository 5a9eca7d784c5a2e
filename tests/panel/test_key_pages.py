"""API keys in the panel: listed, created, rolled and revoked; each secret is shown once."""

import re
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from core import clock, ids
from merchants import keys
from merchants.models import ApiKey, AuditEntry, IdempotencyKey, RequestLog
from panel.merchants import key_words
from panel.merchants import keys as key_page
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.teams import join, person, prove, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SECRET = re.compile(r"sk_sandbox_\w{49}")
DAY = 86_400
DONE = [("key.created", "ada@acme.example")]


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def at(acme: ApiClient, *parts: str) -> str:
    return "/".join([f"/panel/{acme.merchant.id}/keys", *parts])


def first_key(acme: ApiClient) -> ApiKey:
    return acme.merchant.api_keys.get(name="First key")


def token_of(owner: Client, url: str) -> str:
    return owner.get(url).context["token"]


def send(owner: Client, url: str, **fields: Any) -> Any:
    """Open the page, and send its form."""
    return owner.post(url, {"token": token_of(owner, url), **fields})


def secret_in(answer: Any) -> str:
    [secret] = set(SECRET.findall(answer.content.decode()))
    return secret


def actions(acme: ApiClient) -> list[tuple[str, str | None]]:
    rows = AuditEntry.objects.filter(merchant=acme.merchant, actor="user").order_by("sequence")
    return [(row.action, row.actor_name) for row in rows]


def mails() -> list[Any]:
    """Return the mails to the one owner who is at the browser."""
    return [one for one in mail.outbox if one.to == ["ada@acme.example"]]


def request_with(acme: ApiClient, path: str = "/v1/balance", **changes: Any) -> RequestLog:
    """Write a request that came with the merchant's first key."""
    row: dict[str, Any] = {
        "id": ids.new("req"), "merchant": acme.merchant, "kind": "api", "method": "GET",
        "path": path, "status": 200, "duration_ms": 7, "api_key": first_key(acme).id,
        "created_at": clock.now(),
    }  # fmt: skip
    return RequestLog.objects.create(**{**row, **changes})


# --- The list, and a key's page -----------------------------------------------------------------


def test_keys_that_work_stand_apart_from_those_that_ended(owner: Client, acme: ApiClient) -> None:
    revoked, _secret = keys.create(acme.merchant, name="Revoked")
    expired, _secret = keys.create(acme.merchant, name="Expired")
    keys.revoke(revoked)
    ApiKey.objects.filter(id=expired.id).update(expires_at=timezone.now())

    page = owner.get(at(acme))

    assert [row["key"].name for row in page.context["live"]] == ["First key"]
    assert [(row["key"].name, row["status"]) for row in page.context["ended"]] == [
        ("Expired", "expired"), ("Revoked", "revoked"),
    ]  # fmt: skip


def test_ended_keys_are_walked_in_pages(owner: Client, acme: ApiClient) -> None:
    for number in range(30):
        keys.revoke(keys.create(acme.merchant, name=f"Old {number}")[0])

    first = owner.get(at(acme))
    last = first.context["ended"][-1]["key"].id
    second = owner.get(at(acme), {"starting_after": last})
    lost = owner.get(at(acme), {"starting_after": "key_unknown"})

    assert (len(first.context["ended"]), len(second.context["ended"])) == (25, 5)
    assert (lost.status_code, len(lost.context["live"])) == (400, 1)
    assert "This place of the list is gone" in lost.content.decode()


@pytest.mark.parametrize(
    ("days", "last_used", "is_unused"), [(91, None, True), (89, None, False), (400, 89, False)]
)
def test_a_key_that_nobody_uses_is_warned_of(
    owner: Client, acme: ApiClient, days: int, last_used: int | None, is_unused: bool
) -> None:
    now = timezone.now()
    used_at = now - timedelta(days=last_used) if last_used else None
    ApiKey.objects.update(created_at=now - timedelta(days=days), last_used_at=used_at)

    text = owner.get(at(acme)).content.decode()
    page = owner.get(at(acme, first_key(acme).id)).content.decode()

    assert ("Unused for 90 days" in text) == is_unused
    assert ("has used this key for 90 days" in page) == is_unused


def test_a_keys_page_shows_its_own_requests(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    mine = [request_with(acme, created_at=clock.now() - timedelta(hours=n)).id for n in range(12)]
    other, _secret = keys.create(acme.merchant, name="Other")
    request_with(acme, api_key=other.id)
    request_with(acme, merchant=globex.merchant)

    page = owner.get(at(acme, first_key(acme).id))
    older = owner.get(at(acme, first_key(acme).id), {"starting_after": mine[9]})

    assert [row.id for row in page.context["page"].rows] == mine[:10]
    assert [row.id for row in older.context["page"].rows] == mine[10:]


def test_a_key_is_found_by_its_id_and_linked(owner: Client, acme: ApiClient) -> None:
    key = first_key(acme)

    found = owner.get(f"/panel/{acme.merchant.id}/search", {"q": key.id})

    assert found["Location"] == at(acme, key.id)


@pytest.mark.parametrize(
    ("scopes", "words"),
    [
        ({}, "Everything"),
        (dict.fromkeys(key_words.RESOURCES, "read"), "Read only"),
        (dict.fromkeys(key_words.RESOURCES, "none"), "Nothing but the balance"),
        ({**dict.fromkeys(key_words.RESOURCES, "none"), "refunds": "write", "events": "read"},
         "Read and write: Refunds; Read: Events"),
    ],
)  # fmt: skip
def test_scopes_are_said_in_words(
    owner: Client, acme: ApiClient, scopes: dict[str, str], words: str
) -> None:
    ApiKey.objects.update(scopes=scopes)

    assert owner.get(at(acme)).context["live"][0]["scopes"] == words


def test_every_scope_has_its_words() -> None:
    assert {*key_words.levels({})} <= {*key_words.RESOURCES}


# --- Creating -----------------------------------------------------------------------------------


def test_a_key_is_created_and_works_as_pasted(owner: Client, acme: ApiClient) -> None:
    answer = send(owner, at(acme, "create"), name="Shop server", scope_refunds="none",
                  scope_customers="read")  # fmt: skip

    key = acme.merchant.api_keys.get(name="Shop server")
    secret = secret_in(answer)
    assert (answer.status_code, answer["Cache-Control"]) == (200, "private, no-store")
    assert acme.twin(secret).get("/v1/balance").status == 200
    assert f"Bearer {secret}&quot;" in answer.content.decode()
    assert (key.scopes["refunds"], key.scopes["customers"]) == ("none", "read")
    assert key.scopes["payment_intents"] == "write"
    assert (key.created_by.email, key.expires_at) == ("ada@acme.example", None)
    assert actions(acme) == DONE


def test_a_key_that_may_do_all_names_no_scope(owner: Client, acme: ApiClient) -> None:
    send(owner, at(acme, "create"), name="all")

    assert acme.merchant.api_keys.get(name="all").scopes == {}


@pytest.mark.parametrize(
    ("preset", "level"), [("read_only", "read"), ("everything", "write"), ("x", "write")]
)
def test_a_preset_fills_the_form_in_and_does_nothing_else(
    owner: Client, acme: ApiClient, preset: str, level: str
) -> None:
    page = owner.get(at(acme, "create"), {"preset": preset})

    [chosen] = re.findall(r'name="scope_refunds" value="(\w+)"[^>]*checked', page.content.decode())
    assert chosen == level
    assert acme.merchant.api_keys.count() == 1


def test_a_key_ends_with_its_day_in_the_merchants_zone(owner: Client, acme: ApiClient) -> None:
    zone = ZoneInfo(acme.merchant.timezone)
    today = timezone.now().astimezone(zone).date()

    send(owner, at(acme, "create"), name="today", expires=today.isoformat())

    ends_at = acme.merchant.api_keys.get(name="today").expires_at
    assert ends_at.astimezone(zone).date() == today
    assert ends_at + timedelta(microseconds=1) == datetime.combine(
        today + timedelta(days=1), datetime.min.time(), zone
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""), ("name", " "), ("name", "a" * 101), ("name", "\u200b"), ("name", "a\u202eb"),
        ("name", "a\x00b"), ("name", "a\u2066b"), ("expires", "x"), ("expires", "2020-01-01"),
        ("expires", "0001-01-01"), ("expires", "9999-12-31"), ("expires", "2040-13-01"),
        ("scope_refunds", "admin"), ("scope_refunds", "\x00"),
    ],
)  # fmt: skip
def test_a_refusal_stands_at_its_input_and_keeps_the_token(
    owner: Client, acme: ApiClient, field: str, value: str
) -> None:
    token = token_of(owner, at(acme, "create"))

    answer = owner.post(at(acme, "create"), {"token": token, "name": "fine", field: value})

    assert answer.status_code == 400
    assert [*answer.context["form"].errors] == [field]
    assert answer.context["token"] == token
    assert "field-error" in answer.content.decode()
    assert (actions(acme), len(mail.outbox)) == ([], 0)


@pytest.mark.parametrize("kind", ["card", "key"])
def test_a_name_that_is_a_secret_is_refused(owner: Client, acme: ApiClient, kind: str) -> None:
    typed = GOOD_CARD if kind == "card" else acme.key

    answer = send(owner, at(acme, "create"), name=typed)

    assert answer.status_code == 400
    assert typed not in answer.content.decode()
    assert "field-error" in answer.content.decode()
    assert acme.merchant.api_keys.count() == 1


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "מפתח ראשי", "{{ x }}"]
)
def test_a_name_is_shown_as_it_is(owner: Client, acme: ApiClient, name: str) -> None:
    made = send(owner, at(acme, "create"), name=name)
    key = acme.merchant.api_keys.get(name=name)
    urls = [at(acme), *(at(acme, key.id, page) for page in ("roll", "revoke"))]

    for page in (made, *map(owner.get, urls), owner.get(at(acme, key.id))):
        text = page.content.decode()
        assert page.status_code == 200
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert f"<bdi>{key.name}</bdi>" in text.replace("&lt;", "<").replace("&gt;", ">").replace(
            "&quot;", '"'
        )


def test_one_key_too_many_is_refused_in_words(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "LIVE_KEYS_MAX", 1)

    answer = send(owner, at(acme, "create"), name="one more")

    assert answer.status_code == 400
    assert "keys that work" in answer.context["form"].non_field_errors()[0]


# --- Once ---------------------------------------------------------------------------------------


def test_the_same_form_again_makes_no_second_key_and_shows_no_secret(
    owner: Client, acme: ApiClient
) -> None:
    form = {"token": token_of(owner, at(acme, "create")), "name": "once"}
    first = owner.post(at(acme, "create"), form)

    again = owner.post(at(acme, "create"), form)

    key = acme.merchant.api_keys.get(name="once")
    assert "The secret was shown" in again.content.decode()
    assert f'href="{at(acme, key.id)}"' in again.content.decode()
    assert SECRET.findall(first.content.decode())
    assert not SECRET.findall(again.content.decode())
    assert (actions(acme), len(mails())) == (DONE, 1)


def test_the_same_form_after_its_sender_died_shows_no_secret(
    owner: Client, acme: ApiClient
) -> None:
    form = {"token": token_of(owner, at(acme, "create")), "name": "once"}
    owner.post(at(acme, "create"), form)
    IdempotencyKey.objects.update(response_status=None, sealed_response=None)

    again = owner.post(at(acme, "create"), form)

    assert f'href="{at(acme)}"' in again.content.decode()
    assert (actions(acme), len(mails())) == (DONE, 1)


def test_a_used_token_with_other_values_does_nothing(owner: Client, acme: ApiClient) -> None:
    form = {"token": token_of(owner, at(acme, "create")), "name": "once"}
    owner.post(at(acme, "create"), form)

    changed = owner.post(at(acme, "create"), {**form, "name": "twice"})

    assert changed.status_code == 409
    assert "sent already" in changed.content.decode()
    assert actions(acme) == DONE


@pytest.mark.parametrize("token", ["", "é", "a" * 300])
def test_a_form_without_a_good_token_makes_nothing(
    owner: Client, acme: ApiClient, token: str
) -> None:
    answer = owner.post(at(acme, "create"), {"token": token, "name": "x"})

    assert answer.status_code == 400
    assert actions(acme) == []


def test_fields_that_the_form_does_not_have_are_ignored(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    someone = person("eve@x.example")
    send(owner, at(acme, "create"), name="x", merchant=globex.merchant.id,
         created_by=someone.pk, scope_everything="write", last4="0000", revoked_at="")  # fmt: skip

    key = acme.merchant.api_keys.get(name="x")
    assert (key.created_by.email, key.scopes) == ("ada@acme.example", {})
    assert globex.merchant.api_keys.count() == 1


# --- Rolling ------------------------------------------------------------------------------------


def test_a_key_is_rolled_with_a_grace_period(owner: Client, acme: ApiClient) -> None:
    old = first_key(acme)

    answer = send(owner, at(acme, old.id, "roll"), expires_in="3600")

    old.refresh_from_db()
    assert abs(old.expires_at - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
    assert acme.twin(secret_in(answer)).get("/v1/balance").status == 200
    assert acme.get("/v1/balance").status == 200
    assert actions(acme) == [("key.rolled", "ada@acme.example")]


def test_a_key_that_was_rolled_at_once_shows_no_secret_again(
    owner: Client, acme: ApiClient
) -> None:
    url = at(acme, first_key(acme).id, "roll")
    form = {"token": token_of(owner, url), "expires_in": "0"}
    first = owner.post(url, form)

    again = owner.post(url, form)

    new = acme.merchant.api_keys.exclude(last4=acme.key[-4:]).get()
    assert secret_in(first)[-4:] == new.last4
    assert f'href="{at(acme, new.id)}"' in again.content.decode()
    assert not SECRET.findall(again.content.decode())
    assert acme.get("/v1/balance").refusal[1] == "api_key_expired"
    assert (len(actions(acme)), len(mails())) == (1, 1)


@pytest.mark.parametrize("seconds", ["", "1", "-1", "1e9", "x", "604801"])
def test_another_grace_period_is_refused(owner: Client, acme: ApiClient, seconds: str) -> None:
    answer = send(owner, at(acme, first_key(acme).id, "roll"), expires_in=seconds)

    assert answer.status_code == 400
    assert [*answer.context["form"].errors] == ["expires_in"]
    assert actions(acme) == []


@pytest.mark.parametrize("page", ["roll", "revoke"])
def test_the_form_about_a_key_that_ended_leads_back(
    owner: Client, acme: ApiClient, page: str
) -> None:
    key, _secret = keys.create(acme.merchant, name="ended")
    url = at(acme, key.id, page)
    token = token_of(owner, url)
    keys.revoke(key)
    count = AuditEntry.objects.count()

    shown, sent = owner.get(url), owner.post(url, {"token": token, "expires_in": "0"})

    assert (shown.status_code, shown.url) == (302, at(acme, key.id))
    assert sent.status_code == (400 if page == "roll" else 303)
    assert AuditEntry.objects.count() == count
    assert mail.outbox == []


# --- Revoking -----------------------------------------------------------------------------------


def test_a_key_is_revoked_after_its_page_says_what_stops(owner: Client, acme: ApiClient) -> None:
    payment = ids.new("pi")
    for path in ("/v1/payment_intents", f"/v1/payment_intents/{payment}/capture", "/v1/balance"):
        request_with(acme, path)
    request_with(acme, "/v1/balance")
    request_with(acme, "/v1/customers", created_at=clock.now() - timedelta(days=2))
    url = at(acme, first_key(acme).id, "revoke")

    asked = owner.get(url)
    done = owner.post(url, {"token": asked.context["token"]})

    assert asked.context["use"].operations == [
        ("GET /v1/balance", 2), ("GET /v1/payment_intents/{id}/capture", 1),
        ("GET /v1/payment_intents", 1),
    ]  # fmt: skip
    assert (done.status_code, done.url) == (303, at(acme, first_key(acme).id))
    assert acme.get("/v1/balance").refusal[1] == "api_key_revoked"
    assert actions(acme) == [("key.revoked", "ada@acme.example")]
    assert "The key was revoked." in owner.get(done.url).content.decode()


def test_revoking_twice_is_one_change_and_one_mail(owner: Client, acme: ApiClient) -> None:
    url = at(acme, first_key(acme).id, "revoke")
    form = {"token": token_of(owner, url)}

    first, again = owner.post(url, form), owner.post(url, form)

    assert (first.status_code, again.status_code, first.url) == (303, 303, again.url)
    assert (len(actions(acme)), len(mails())) == (1, 1)


def test_no_more_requests_are_counted_than_an_index_gives_at_once(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_page, "REQUESTS_MOST", 2)
    for _ in range(3):
        request_with(acme)

    use = key_page.use_of_last_day(first_key(acme))

    assert (use.requests, use.is_capped) == (2, True)


# --- Mails --------------------------------------------------------------------------------------


def test_all_owners_get_a_mail_each_in_their_language(owner: Client, acme: ApiClient) -> None:
    turk = person("can@acme.example", (acme.merchant, "owner"))
    signed_in(turk).post("/panel/look", {"language": "tr"})
    person("dev@acme.example", (acme.merchant, "developer"))
    gone = person("gone@acme.example", (acme.merchant, "owner"))
    gone.is_active = False
    gone.save()

    send(owner, at(acme, "create"), name="Shop server")

    by_address = {one.to[0]: one for one in mail.outbox}
    key = acme.merchant.api_keys.get(name="Shop server")
    assert {*by_address} == {"ada@acme.example", "can@acme.example", "owner@acme.example"}
    english, turkish = by_address["ada@acme.example"], by_address["can@acme.example"]
    assert english.subject == "An API key was created"
    assert turkish.subject == "Bir API anahtarı oluşturuldu"
    for part in ("Shop server", f"sk_sandbox_…{key.last4}", "ada@acme.example", at(acme, key.id)):
        assert part in english.body, part
    assert "ada@acme.example, Acme Store için" in turkish.body


def test_the_mail_about_a_rolled_key_says_when_the_old_one_ends(
    owner: Client, acme: ApiClient
) -> None:
    send(owner, at(acme, first_key(acme).id, "roll"), expires_in=str(DAY))

    [sent] = mails()
    assert "The old key ends:" in sent.body
    assert acme.merchant.timezone in sent.body


# --- Doors --------------------------------------------------------------------------------------

FORMS = ("create", "roll", "revoke")


def form_at(acme: ApiClient, form: str) -> str:
    return at(acme, "create") if form == "create" else at(acme, first_key(acme).id, form)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_asks_for_the_password_again(acme: ApiClient, form: str) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"))
    client, url = signed_in(user), form_at(acme, form)
    token = token_of(client, url)
    prove(client, user, at=timezone.now().timestamp() - 301)

    asked = client.get(url)
    late = client.post(url, {"token": token, "name": "x", "expires_in": "0"})

    for answer in (asked, late):
        assert (answer.status_code, answer.url.split("?")) == (
            303, ["/account/reauthenticate", f"next={url.replace('/', '%2F')}"],
        )  # fmt: skip
    assert actions(acme) == []
    assert "token" not in str(client.session.items())


@pytest.mark.parametrize("form", FORMS)
def test_a_form_without_its_csrf_token_does_nothing(acme: ApiClient, form: str) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"))
    strict = Client(enforce_csrf_checks=True, headers={"Accept": "text/html"})
    strict.force_login(user)

    answer = strict.post(form_at(acme, form), {"token": "x", "name": "x", "expires_in": "0"})

    assert answer.status_code == 403
    assert actions(acme) == []


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("page", ["", "roll", "revoke"])
@pytest.mark.parametrize("kind", ["foreign", "unknown", "malformed", "null", "long"])
def test_a_key_that_is_not_mine_is_as_unknown_as_any(
    owner: Client, acme: ApiClient, globex: ApiClient, page: str, kind: str
) -> None:
    key = {
        "foreign": first_key(globex).id, "unknown": ids.new("key"), "malformed": "%C4%9F'\"<b>",
        "null": "key_%00", "long": "key_" + "a" * 3000,
    }[kind]  # fmt: skip
    parts = [key, page] if page else [key]

    shown = owner.get(at(acme, *parts))
    sent = owner.post(at(acme, *parts), {"token": "x", "expires_in": "0"})

    assert shown.status_code == 404
    assert sent.status_code == (404 if page or kind == "null" else 405)
    assert acme.get("/v1/balance").status == globex.get("/v1/balance").status == 200


def test_a_tab_of_another_merchant_acts_on_its_own_or_on_nothing(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    join(acme.merchant.members.get(user__email="ada@acme.example").user, globex.merchant, "owner")
    url = at(globex, first_key(acme).id, "revoke")

    answer = owner.post(url, {"token": token_of(owner, at(acme, "create"))})

    assert answer.status_code == 404
    assert acme.get("/v1/balance").status == 200


# --- Pages of many, and their size --------------------------------------------------------------


def test_a_hundred_keys_cost_no_more_statements_and_few_bytes(
    owner: Client, acme: ApiClient, django_assert_max_num_queries: Any
) -> None:
    creator = acme.merchant.members.get(user__email="ada@acme.example").user
    now = timezone.now()
    mixed = {**dict.fromkeys(key_words.RESOURCES, "read"), "refunds": "write"}
    ApiKey.objects.bulk_create(
        ApiKey(
            id=ids.new("key"), merchant=acme.merchant, name=f"Key {n} " + "x" * 80, last4="abcd",
            hash=b"%d" % n, created_at=now, created_by=creator, scopes=mixed,
            revoked_at=now if n % 2 else None,
        )
        for n in range(198)
    )  # fmt: skip

    with django_assert_max_num_queries(15):
        page = owner.get(at(acme))

    assert (len(page.context["live"]), len(page.context["ended"])) == (100, 25)
    assert len(page.content) <= 200_000
