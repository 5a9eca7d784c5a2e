"""Webhook endpoints in the panel: added, changed, tested, replayed; each form acts once."""

import re
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest
from django.conf import settings as installation
from django.test import Client

from api.idempotency import handover
from core import ids
from core.keyring import ring
from events.models import Event
from merchants import accounts
from merchants.models import AuditEntry, IdempotencyKey
from panel import once
from panel.merchants import event_words
from panel.merchants.endpoints import receivers
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, EndpointFactory
from tests.stage.guide_receiver import snippets
from tests.stage.hooks import URL, created, status_of, tell
from tests.stage.teams import person, signed_in
from webhooks.models import Delivery, Endpoint, SigningSecret

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'
REASON = re.compile('<p class="field-error".*?</span> (.*?)</p>')
GUIDE = (installation.BASE_DIR / "docs" / "how-to" / "webhooks.md").read_text()


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def at(acme: ApiClient, *parts: str) -> str:
    return "/".join([f"/panel/{acme.merchant.id}", *parts])


def form(owner: Client, page: str, /, **fields: Any) -> dict[str, Any]:
    """Open a page, and fill in its form."""
    return {"token": owner.get(page).context["token"], **fields}


def send(owner: Client, page: str, /, **fields: Any) -> Any:
    return owner.post(page, form(owner, page, **fields))


def actions(acme: ApiClient) -> list[str]:
    rows = AuditEntry.objects.filter(merchant=acme.merchant, actor="user").order_by("sequence")
    return [row.action for row in rows]


def endpoint(acme: ApiClient, **facts: Any) -> Endpoint:
    return EndpointFactory(merchant=acme.merchant, **facts)


def only(acme: ApiClient) -> Endpoint:
    return Endpoint.objects.get(merchant=acme.merchant, deleted_at=None)


# --- Adding, and the secret ---------------------------------------------------------------------


def test_an_endpoint_is_added_and_its_secret_shown_to_the_post_alone(
    owner: Client, acme: ApiClient
) -> None:
    url = at(acme, "webhooks", "add")
    fields = form(owner, url, url=URL, enabled_events=["payment_intent.succeeded"], description="x")

    answer = owner.post(url, fields)
    secret = answer.context["secret"]
    again = owner.post(url, fields)
    page = owner.get(at(acme, "webhooks", only(acme).id))

    assert answer.status_code == again.status_code == 200
    assert answer["Cache-Control"] == "private, no-store"
    assert secret.startswith("whsec_")
    assert secret in answer.content.decode()
    assert "was shown already" in again.content.decode()
    assert secret not in again.content.decode() + page.content.decode()
    assert only(acme).enabled_events == ["payment_intent.succeeded"]
    assert actions(acme) == ["endpoint.created"]


def test_the_secret_is_kept_in_no_store_of_the_panel(owner: Client, acme: ApiClient) -> None:
    url = at(acme, "webhooks", "add")

    secret = send(owner, url, url=URL, enabled_events=["*"]).context["secret"]

    row = IdempotencyKey.objects.get(key__startswith="panel_")
    kept = ring().open(bytes(row.sealed_response), context=row.seal_context)
    assert secret not in str(dict(owner.session))
    assert secret not in "".join(map(str, AuditEntry.objects.values_list("before", "after")))
    assert handover.opened(kept)[0] == only(acme).id
    assert secret[6:].encode() not in kept


def test_all_guides_receivers_stand_beside_the_secret(owner: Client, acme: ApiClient) -> None:
    page = send(owner, at(acme, "webhooks", "add"), url=URL, enabled_events=["*"])

    assert [one.name for one in receivers()] == ["Python", "Node", "PHP", "C#", "Java"]
    assert {one.name: one.code for one in receivers()} == {
        name: one.code for name, one in snippets(GUIDE).items()
    }
    assert page.content.decode().count('class="receiver"') == 5


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("url", {"url": "http://acme.example/x", "enabled_events": ["*"]}),
        ("url", {"url": "", "enabled_events": ["*"]}),
        ("url", {"url": "https://elsewhere.example/x", "enabled_events": ["*"]}),
        ("url", {"url": "https://acme.example/" + "x" * 3000, "enabled_events": ["*"]}),
        ("enabled_events", {"url": URL}),
        ("enabled_events", {"url": URL, "enabled_events": ["*", "refund.created"]}),
        ("enabled_events", {"url": URL, "enabled_events": ["no.such"]}),
        ("enabled_events", {"url": URL, "enabled_events": ["refund.created"] * 2}),
        ("description", {"url": URL, "enabled_events": ["*"], "description": "x" * 1001}),
    ],
)
def test_a_refusal_stands_at_its_input_and_keeps_the_token(
    owner: Client, acme: ApiClient, field: str, fields: dict[str, Any]
) -> None:
    url = at(acme, "webhooks", "add")
    sent = form(owner, url, **fields)

    refused = owner.post(url, sent)
    turkish = owner.post(url, sent, headers={"Accept-Language": "tr"})

    [reason] = REASON.findall(refused.content.decode())
    [gerekce] = REASON.findall(turkish.content.decode())
    assert refused.status_code == 400
    assert list(refused.context["form"].errors) == [field]
    assert reason != gerekce
    assert refused.context["token"] == sent["token"]
    assert not Endpoint.objects.exists()
    assert actions(acme) == []


def test_a_card_number_is_repeated_nowhere(owner: Client, acme: ApiClient) -> None:
    url = at(acme, "webhooks", "add")

    refused = send(owner, url, url=URL, enabled_events=["*"], description=f"card {GOOD_CARD}")

    assert refused.status_code == 400
    assert GOOD_CARD not in refused.content.decode()
    assert not Endpoint.objects.exists()


def test_the_seventeenth_endpoint_is_refused_in_words(owner: Client, acme: ApiClient) -> None:
    for _ in range(16):
        endpoint(acme)

    refused = send(owner, at(acme, "webhooks", "add"), url=URL, enabled_events=["*"])

    assert refused.status_code == 400
    assert "up to 16 webhook endpoints" in refused.content.decode()


def test_a_rolled_secret_is_shown_once_and_the_overlap_until_it_ends(
    owner: Client, acme: ApiClient
) -> None:
    row = endpoint(acme)
    url = at(acme, "webhooks", row.id, "secret")
    fields = form(owner, url, expires_in="3600")

    answer, again = owner.post(url, fields), owner.post(url, fields)

    page = owner.get(at(acme, "webhooks", row.id)).content.decode()
    assert answer.context["secret"] not in again.content.decode() + page
    assert "The old secret signs until" in page
    assert SigningSecret.objects.filter(endpoint=row).count() == 2
    assert actions(acme) == ["endpoint.secret_rolled"]


@pytest.mark.parametrize("expires_in", ["", "x", "-1", "99999999"])
def test_an_overlap_that_is_not_offered_is_refused(
    owner: Client, acme: ApiClient, expires_in: str
) -> None:
    row = endpoint(acme)

    refused = send(owner, at(acme, "webhooks", row.id, "secret"), expires_in=expires_in)

    assert refused.status_code == 400
    assert SigningSecret.objects.filter(endpoint=row).count() == 1


@pytest.mark.parametrize("page", ["add", "secret"])
def test_secrets_ask_for_the_password_again(acme: ApiClient, page: str) -> None:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(person("ada@acme.example", (acme.merchant, "owner")))
    row = endpoint(acme)
    url = at(acme, "webhooks", "add") if page == "add" else at(acme, "webhooks", row.id, page)

    asked, sent = client.get(url), client.post(url, {"token": "x", "url": URL, "expires_in": "0"})

    assert asked.status_code == sent.status_code == 303
    assert asked.url.startswith("/account/reauthenticate?next=")
    assert Endpoint.objects.count() == 1


# --- Changes ------------------------------------------------------------------------------------


def test_an_endpoint_is_edited_once(owner: Client, acme: ApiClient) -> None:
    row = endpoint(acme, description="old", metadata={"a": "b"})
    url = at(acme, "webhooks", row.id, "edit")
    fields = form(owner, url, url=URL, enabled_events=["refund.created"], description="")

    first, again = owner.post(url, fields), owner.post(url, fields)

    row.refresh_from_db()
    assert (first.status_code, first.url) == (303, at(acme, "webhooks", row.id))
    assert (again.status_code, again.url) == (303, first.url)
    assert (row.enabled_events, row.description) == (["refund.created"], None)
    assert row.metadata == {"a": "b"}
    assert actions(acme) == ["endpoint.updated"]


@pytest.mark.parametrize("page", ["edit", "secret"])
def test_a_click_that_another_one_overtook_is_answered_as_the_same_form_again(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    row = endpoint(acme)
    url = at(acme, "webhooks", row.id, page)
    fields = form(owner, url, url=URL, enabled_events=["*"], description="new", expires_in="0")
    overtaken_by(monkeypatch, lambda: owner.post(url, fields))

    slower, again = owner.post(url, fields), owner.post(url, fields)

    assert (slower.status_code, slower.get("Location")) == (
        again.status_code,
        again.get("Location"),
    )
    assert again.status_code in (200, 303)
    assert "was shown already" in slower.content.decode() or slower.status_code == 303
    assert len(actions(acme)) == 1


def overtaken_by(monkeypatch: pytest.MonkeyPatch, click: Callable[[], Any]) -> None:
    """Let another click commit its change, and be cut off, once this one has found the token free.

    Then its answer is not kept yet.
    """
    begin, clicks = once._begin, []

    def begun(*arguments: Any) -> None:
        begin(*arguments)
        if not clicks:
            clicks.append(click)
            copy_context().run(click)
            IdempotencyKey.objects.update(response_status=None, sealed_response=None)

    monkeypatch.setattr(once, "_begin", begun)


def test_a_token_with_other_values_does_nothing(owner: Client, acme: ApiClient) -> None:
    row = endpoint(acme)
    url = at(acme, "webhooks", row.id, "edit")
    fields = form(owner, url, url=URL, enabled_events=["*"], description="one")
    owner.post(url, fields)

    changed = owner.post(url, {**fields, "description": "two"})

    row.refresh_from_db()
    assert changed.status_code == 409
    assert row.description == "one"


@pytest.mark.parametrize(
    ("page", "before", "fields", "after", "action"),
    [
        ("disable", "enabled", {}, "disabled", "endpoint.updated"),
        ("enable", "disabled", {}, "enabled", "endpoint.updated"),
        ("enable", "failing", {"replay_missed": "on"}, "enabled", "endpoint.replayed"),
        ("replay", "enabled", {}, "enabled", "endpoint.replayed"),
        ("replay", "enabled", {"since": "2026-01-31"}, "enabled", "endpoint.replayed"),
        ("delete", "enabled", {}, "disabled", "endpoint.deleted"),
    ],
)
def test_an_action_has_one_effect_and_one_row_of_the_audit_log(
    owner: Client, acme: ApiClient, page: str, before: str, fields: dict[str, str], after: str,
    action: str,
) -> None:  # fmt: skip
    row = endpoint(acme, status=before)
    url = at(acme, "webhooks", row.id, page)
    sent = form(owner, url, **fields, merchant="mer_x", role="owner", created_by="x")

    first, again = owner.post(url, sent), owner.post(url, sent)

    row.refresh_from_db()
    assert (first.status_code, first.url) == (again.status_code, again.url)
    assert first.status_code == 303
    assert row.status == after
    assert actions(acme) == [action]
    assert (row.replay_xid is not None) == (page == "replay" or "replay_missed" in fields)


def test_a_replay_begins_with_a_day_of_the_merchant(owner: Client, acme: ApiClient) -> None:
    row = endpoint(acme)

    send(owner, at(acme, "webhooks", row.id, "replay"), since="2026-01-31")

    row.refresh_from_db()
    assert row.replay_since.isoformat() == "2026-01-30T21:00:00+00:00"


@pytest.mark.parametrize("since", ["x", "2026-02-30", "0000-00-00", "1960-01-01"])
def test_a_day_that_is_none_is_refused(owner: Client, acme: ApiClient, since: str) -> None:
    row = endpoint(acme)

    refused = send(owner, at(acme, "webhooks", row.id, "replay"), since=since)

    assert refused.status_code == 400
    assert actions(acme) == []


def test_a_replay_of_a_disabled_endpoint_is_refused_in_words(
    owner: Client, acme: ApiClient
) -> None:
    row = endpoint(acme, status="disabled")

    refused = send(owner, at(acme, "webhooks", row.id, "replay"))

    assert refused.status_code == 400
    assert "does not allow this" in refused.content.decode()


def test_a_failing_endpoint_says_how_much_it_missed_and_since_when(
    owner: Client, acme: ApiClient
) -> None:
    row = endpoint(acme, status="failing")
    for number in range(3):
        tell(acme.merchant, f"cus_{number}")

    listed = owner.get(at(acme, "webhooks")).content.decode()
    page = owner.get(at(acme, "webhooks", row.id)).content.decode()

    assert "3 events missed" in listed
    assert "3 events missed" in page
    assert "Re-enable and send them" in page


# --- Test events --------------------------------------------------------------------------------


def test_no_blank_stands_before_a_comma(owner: Client, acme: ApiClient) -> None:
    row = EndpointFactory(merchant=acme.merchant, status="failing")
    tell(acme.merchant, "cus_1")

    page = owner.get(f"/panel/{acme.merchant.id}/webhooks/{row.id}").content.decode()

    assert "1 event missed, since" in " ".join(page.split())


@pytest.mark.parametrize(
    ("listens_for", "told", "noted"),
    [
        (["*"], "payment_intent.succeeded", []),
        (["payment_intent.created"], "payment_intent.created", []),
        (["customer.created"], "customer.created", ["customer.created"]),
    ],
)
@pytest.mark.usefixtures("bank")
def test_a_test_event_is_of_a_real_thing(
    owner: Client, acme: ApiClient, listens_for: list[str], told: str, noted: list[str]
) -> None:
    row = endpoint(acme, enabled_events=listens_for)
    url = at(acme, "webhooks", row.id, "test")
    fields = form(owner, url)

    first, again = owner.post(url, fields), owner.post(url, fields)

    assert (first.status_code, again.status_code) == (303, 303), first.context["form"].errors
    assert Event.objects.filter(type=told).count() == 1
    assert Delivery.objects.filter(endpoint=row, event_type=told).count() == 1
    assert actions(acme) == [*noted, "endpoint.tested"]
    if told.startswith("payment"):
        assert acme.get("/v1/payment_intents")["data"][0]["amount"] == 100


def test_a_test_in_live_sends_the_newest_subscribed_event_again(
    owner: Client, acme: ApiClient, settings: Any
) -> None:
    row = endpoint(acme, enabled_events=["customer.updated"])
    tell(acme.merchant, "cus_1")
    event = tell(acme.merchant, "cus_2")
    settings.LIVEMODE, settings.PANEL_AT = True, settings.API_AT
    Delivery.objects.filter(endpoint=row).delete()

    answer = send(owner, at(acme, "webhooks", row.id, "test"))

    assert answer.status_code == 303
    assert Delivery.objects.get(trigger="resend").event_id == event.id
    assert actions(acme) == ["event.resent"]


def test_a_refused_test_may_be_tried_again_by_the_same_form(
    owner: Client, acme: ApiClient, bank: BankTransport
) -> None:
    row = endpoint(acme, enabled_events=["payment_intent.succeeded"])
    url = at(acme, "webhooks", row.id, "test")
    fields = form(owner, url)
    accounts.change(acme.merchant, {"status": "restricted"})
    refused = [owner.post(url, fields).status_code for _ in range(2)]
    accounts.change(acme.merchant, {"status": "active"})

    answer = owner.post(url, fields)

    assert refused == [409, 409]
    assert (answer.status_code, answer.url) == (303, at(acme, "webhooks", row.id))
    assert actions(acme) == ["endpoint.tested"]
    assert Event.objects.filter(type="payment_intent.succeeded").count() == 1


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"status": "disabled"}, "Enable it first"),
        ({"enabled_events": ["payout.paid"]}, "has happened yet"),
    ],
)
def test_the_page_says_why_nothing_can_be_sent(
    owner: Client, acme: ApiClient, facts: dict[str, Any], words: str
) -> None:
    row = endpoint(acme, **facts)
    url = at(acme, "webhooks", row.id, "test")

    page, sent = owner.get(url), owner.post(url, {"token": "t"})

    assert words in page.content.decode()
    assert (page.status_code, sent.status_code) == (200, 409)
    assert actions(acme) == []


# --- What is not mine ---------------------------------------------------------------------------

OF_AN_ENDPOINT = ["", "edit", "secret", "disable", "enable", "delete", "replay", "test"]


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("page", OF_AN_ENDPOINT)
def test_foreign_unknown_deleted_and_malformed_endpoints_are_alike(
    owner: Client, acme: ApiClient, globex: ApiClient, page: str
) -> None:
    gone = created(acme)["id"]
    acme.delete(f"/v1/webhook_endpoints/{gone}")
    foreign = EndpointFactory(merchant=globex.merchant).id

    for thing in (foreign, gone, ids.new("we"), "x", "%00", "%ff", "a" * 5000):
        url = at(acme, "webhooks", thing, *([page] if page else []))
        sent = owner.post(url, {"token": "t", "expires_in": "0"}) if page else None
        assert owner.get(url).status_code == 404, thing
        assert sent is None or sent.status_code == 404, thing

    assert status_of(globex, foreign) == "enabled"
    assert actions(acme) == []


@pytest.mark.parametrize("page", ["add", *(f"we/{name}" for name in OF_AN_ENDPOINT if name)])
def test_a_form_without_its_csrf_token_does_nothing(
    acme: ApiClient, owner: Client, page: str
) -> None:
    row = endpoint(acme)
    strict = Client(enforce_csrf_checks=True, headers={"Accept": "text/html"})
    strict.cookies = owner.cookies
    url = at(acme, "webhooks", page.replace("we/", f"{row.id}/"))
    fields = form(owner, url, url=URL, enabled_events=["*"], expires_in="0")

    answer = strict.post(url, fields)

    assert answer.status_code == 403
    assert Endpoint.objects.count() == 1
    assert actions(acme) == []


def test_texts_of_others_stay_texts(owner: Client, acme: ApiClient) -> None:
    row = endpoint(acme, description=HOSTILE)
    event = tell(acme.merchant, "cus_1")
    delivery = Delivery.objects.get(event=event)
    Delivery.objects.filter(pk=delivery.pk).update(
        status="failed", response_excerpt=HOSTILE, response_status=500, error="http_status"
    )

    for url in (
        at(acme, "webhooks"), at(acme, "webhooks", row.id), at(acme, "deliveries", delivery.id),
        at(acme, "webhooks", row.id, "edit"),
    ):  # fmt: skip
        text = owner.get(url).content.decode()
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "&lt;script&gt;alert" in text, url


def test_every_event_type_has_a_sentence() -> None:
    shown = [one for _label, group in event_words.groups(()) for one in group]

    # Their rooms are still to come, and may name others.
    assert [
        one.name for one in shown if not one.text and not one.name.startswith(("payout", "topup"))
    ] == []
