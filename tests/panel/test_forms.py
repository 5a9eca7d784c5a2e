"""All forms of the panel: one effect, one row in the audit log, and for nobody but their sender."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client

from events.models import Event
from merchants.models import AuditEntry
from panel.permissions import PAGES, Rights
from tests.stage import panel_forms
from tests.stage.books import every_row
from tests.stage.client import ApiClient
from tests.stage.panel_forms import EXTRA, FORMS, Sender
from tests.stage.teams import join, person, signed_in
from tests.stage.threads import together

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("bank"),
]
# Rows that say that a request was made, and no more.
OF_REQUESTS = (
    "django_session", "merchants_session", "merchants_requestlog", "merchants_member ",
    "sign_in_cache",
)  # fmt: skip


def test_every_form_is_listed() -> None:
    assert panel_forms.unlisted() == set()


def test_a_form_that_is_not_listed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAGES, "planted", Rights(PAGES["keys"].see, PAGES["keys"].see))

    assert panel_forms.unlisted() == {"planted"}


@pytest.fixture
def sender(acme: ApiClient, name: str) -> Sender:
    return Sender(acme, name, person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture
def browser(sender: Sender) -> Client:
    return signed_in(sender.person)


def kept() -> list[str]:
    """Return all rows but those that each request leaves."""
    rows = (row for alias in ("default", "bank") for row in every_row(alias))
    return sorted(row for row in rows if not row.startswith(OF_REQUESTS))


def actions(sender: Sender) -> list[str]:
    """Return what the person did, without their sign-in."""
    rows = AuditEntry.objects.filter(actor="user", actor_id=str(sender.person.pk))
    of_merchants = rows.exclude(merchant=None).order_by("sequence")
    return list(of_merchants.values_list("action", flat=True))


def updates() -> int:
    return Event.objects.filter(type="merchant.updated").count()


@pytest.mark.every_case("one key has one effect")
@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_is_sent_twice_has_one_effect_and_one_row(
    acme: ApiClient, sender: Sender, browser: Client
) -> None:
    before, fields = kept(), sender.filled(browser)

    first = browser.post(sender.url, fields)
    once = kept()
    second = browser.post(sender.url, fields)

    assert first.status_code in (200, 303), first.content.decode()
    assert second.status_code == (404 if sender.page == "leave_team" else first.status_code)
    assert second.headers.get("Location", "") in ("", first.headers.get("Location"))
    assert before != once
    assert kept() == once
    assert actions(sender) == [sender.form.action]
    assert updates() == sender.form.changes_merchant


@pytest.mark.every_case("a form acts once, and for its own person")
@pytest.mark.parametrize("name", FORMS)
def test_a_used_token_with_other_values_does_nothing(
    acme: ApiClient, sender: Sender, browser: Client
) -> None:
    fields = sender.filled(browser)
    browser.post(sender.url, fields)
    once = kept()

    back = browser.post(sender.url, {**fields, "changed": "after Back"})

    # A person who has left is no member any more, and a customer is deleted once.
    others = {"leave_team": 404, "delete_customer": 303}
    assert back.status_code == others.get(sender.page, 409)
    assert kept() == once


@pytest.mark.every_case("a form acts once, and for its own person")
@pytest.mark.parametrize("name", FORMS)
def test_a_form_without_its_own_csrf_token_does_nothing(
    acme: ApiClient, sender: Sender, browser: Client
) -> None:
    fields = sender.filled(browser)
    others = signed_in(sender.person).get(sender.url).context["csrf_token"]
    browser.handler.enforce_csrf_checks = True
    before = kept()

    for token in ({}, {"csrfmiddlewaretoken": "x" * 64}, {"csrfmiddlewaretoken": str(others)}):
        assert browser.post(sender.url, {**fields, **token}).status_code == 403
    asked = browser.get(sender.url, fields)

    assert asked.status_code in (200, 302)
    assert kept() == before


@pytest.mark.parametrize("name", FORMS)
def test_fields_that_a_form_does_not_have_are_ignored(
    acme: ApiClient, globex: ApiClient, sender: Sender, browser: Client
) -> None:
    theirs = [row for row in kept() if globex.merchant.id in row]
    more = {name: value.replace("MERCHANT", globex.merchant.id) for name, value in EXTRA.items()}

    answer = browser.post(sender.url, {**more, **sender.filled(browser)})

    assert answer.status_code in (200, 303)
    assert actions(sender) == [sender.form.action]
    claims = [row for row in kept() if "merchants_idempotencykey" not in row]
    assert [row for row in claims if globex.merchant.id in row] == theirs


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.thing])
def test_a_form_at_another_merchant_does_nothing(
    acme: ApiClient, globex: ApiClient, sender: Sender, browser: Client
) -> None:
    join(sender.person, globex.merchant, "owner")
    browser = signed_in(sender.person)
    fields = sender.filled(browser)
    before = kept()

    moved = sender.url.replace(acme.merchant.id, globex.merchant.id)
    answers = [browser.post(moved, fields), browser.get(moved)]

    assert [one.status_code for one in answers] == [404, 404]
    assert kept() == before


@pytest.mark.every_case("a form acts once, and for its own person")
@pytest.mark.slow
@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_is_sent_four_times_at_once_has_one_effect(
    acme: ApiClient, sender: Sender, browser: Client
) -> None:
    fields = sender.filled(browser)
    tabs = list(_tabs(browser, 4))

    answers = together([lambda tab=tab: tab.post(sender.url, fields) for tab in tabs])

    statuses = {one.status_code for one in answers}
    # In flight, the others wait for it; a person who has left the team is no member any more.
    assert statuses <= {200, 303, *([404, 302] if sender.page == "leave_team" else [])}
    assert actions(sender) == [sender.form.action]
    assert updates() == sender.form.changes_merchant
    # Each that came while the first one was under way shows its secret: the browser shows one.
    showing = {*SECRET.findall("".join(one.content.decode() for one in answers))}
    assert len(showing) == (sender.page in WITH_A_SECRET)


SECRET = re.compile(r"sk_sandbox_\w{40}|whsec_[\w+/=]{20}")
WITH_A_SECRET = {"create_key", "roll_key", "add_endpoint", "roll_endpoint_secret"}


def _tabs(browser: Client, number: int) -> Iterator[Client]:
    for _ in range(number):
        tab = Client(headers={"Accept": "text/html"})
        tab.cookies.update(browser.cookies)
        yield tab
