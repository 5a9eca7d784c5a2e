"""Websites and callback URLs in the panel: added, tested, removed; each form acts once."""

from contextvars import copy_context
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from events.models import Event
from merchants import accounts, sites
from merchants.models import AuditEntry, IdempotencyKey
from panel import once
from panel.refusals import SENTENCES
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.hooks import created
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def page_of(acme: ApiClient) -> str:
    return f"/panel/{acme.merchant.id}/websites"


def token_of(owner: Client, url: str) -> str:
    return owner.get(url).context["token"]


def send(owner: Client, url: str, **fields: str) -> Any:
    """Open the page, and send its form."""
    return owner.post(url, {"token": token_of(owner, url), **fields})


def actions(acme: ApiClient) -> list[tuple[str, str | None]]:
    """Return actions and actors of what was done about addresses since the account was opened."""
    rows = AuditEntry.objects.filter(merchant=acme.merchant, actor="user").order_by("sequence")
    return [(row.action, row.actor_name) for row in rows]


def hosts(acme: ApiClient) -> list[str]:
    return list(acme.merchant.websites.order_by("id").values_list("host", flat=True))


def callbacks(acme: ApiClient) -> list[str]:
    return list(acme.merchant.callback_urls.order_by("id").values_list("url", flat=True))


def test_a_website_is_added_with_an_audit_row_and_an_event(owner: Client, acme: ApiClient) -> None:
    answer = send(owner, page_of(acme), website="https://shop.example/here")

    assert (answer.status_code, answer.url) == (303, page_of(acme))
    assert hosts(acme) == ["acme.example", "shop.example"]
    assert actions(acme) == [("website.added", "ada@acme.example")]
    assert Event.objects.filter(type="merchant.updated").count() == 1
    assert "The address was added." in owner.get(page_of(acme)).content.decode()


def test_a_callback_is_added(owner: Client, acme: ApiClient) -> None:
    send(owner, page_of(acme), callback_url="http://localhost:3000/return")

    assert callbacks(acme) == ["http://localhost:3000/return"]
    assert actions(acme) == [("callback.added", "ada@acme.example")]


@pytest.mark.parametrize(
    ("field", "address"),
    [
        ("website", "ftp://x"), ("website", "http://shop.example"), ("website", "co.uk"),
        ("website", "https://127.0.0.1"), ("website", "https://a b"), ("website", "//"),
        ("callback_url", "x"), ("callback_url", "https://x.example/?a=b"),
    ],
)  # fmt: skip
def test_a_refusal_stands_at_its_input_in_the_language_of_the_page(
    owner: Client, acme: ApiClient, field: str, address: str
) -> None:
    url = page_of(acme)
    token = token_of(owner, url)

    english = owner.post(url, {"token": token, field: address})
    turkish = owner.post(url, {"token": token, field: address}, headers={"Accept-Language": "tr"})

    [[reason]] = english.context[_form(field)].errors.values()
    [[gerekce]] = turkish.context[_form(field)].errors.values()
    assert english.status_code == turkish.status_code == 400
    assert 'aria-invalid="true"' in english.content.decode()
    assert reason in SENTENCES
    assert gerekce not in SENTENCES
    assert english.context["token"] == token
    assert actions(acme) == []


def test_a_form_that_was_refused_may_be_sent_again_with_its_token(
    owner: Client, acme: ApiClient
) -> None:
    token = token_of(owner, page_of(acme))

    refused = owner.post(page_of(acme), {"token": token, "website": "x"})
    added = owner.post(page_of(acme), {"token": token, "website": "https://shop.example"})

    assert (refused.status_code, added.status_code) == (400, 303)
    assert "shop.example" in hosts(acme)


def test_the_same_form_twice_has_one_effect_and_leads_to_the_same_page(
    owner: Client, acme: ApiClient
) -> None:
    form = {"token": token_of(owner, page_of(acme)), "website": "https://shop.example"}

    first, again = owner.post(page_of(acme), form), owner.post(page_of(acme), form)

    assert (again.status_code, again.url) == (first.status_code, first.url) == (303, page_of(acme))
    assert len(actions(acme)) == 1


def test_a_token_with_other_values_does_nothing(owner: Client, acme: ApiClient) -> None:
    token = token_of(owner, page_of(acme))
    owner.post(page_of(acme), {"token": token, "website": "https://shop.example"})

    changed = owner.post(page_of(acme), {"token": token, "website": "https://other.example"})

    assert changed.status_code == 409
    assert "sent already" in changed.content.decode()
    assert f'href="{page_of(acme)}"' in changed.content.decode()
    assert "other.example" not in hosts(acme)


@pytest.mark.parametrize("token", ["", "é", "a" * 300, GOOD_CARD])
def test_a_form_without_a_good_token_does_nothing(
    owner: Client, acme: ApiClient, token: str
) -> None:
    answer = owner.post(page_of(acme), {"token": token, "website": "https://shop.example"})

    assert answer.status_code in (400, 409)
    assert actions(acme) == []


def test_a_click_that_another_one_overtook_leads_to_the_same_page(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"token": token_of(owner, page_of(acme)), "website": "https://shop.example"}
    begin, faster = once._begin, []

    def overtaken(*arguments: Any) -> None:
        begin(*arguments)
        if not faster:
            faster.append(owner)
            other = signed_in(acme.merchant.members.get(user__email="ada@acme.example").user)
            faster.append(copy_context().run(other.post, page_of(acme), form))

    monkeypatch.setattr(once, "_begin", overtaken)
    slower = owner.post(page_of(acme), form)

    assert (slower.status_code, slower.url) == (303, page_of(acme))
    assert hosts(acme).count("shop.example") == 1
    assert len(actions(acme)) == 1


def test_fields_that_the_form_does_not_have_are_ignored(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    send(
        owner, page_of(acme), website="https://shop.example", merchant=globex.merchant.id,
        status="closed", role="owner",
    )  # fmt: skip

    acme.merchant.refresh_from_db()
    assert acme.merchant.status == "active"
    assert hosts(globex) == ["globex.example"]


def test_a_post_of_nothing_changes_nothing(owner: Client, acme: ApiClient) -> None:
    assert send(owner, page_of(acme)).status_code == 400
    assert IdempotencyKey.objects.count() == 0


@pytest.mark.parametrize("field", ["website", "callback_url"])
def test_a_card_number_is_not_repeated(owner: Client, acme: ApiClient, field: str) -> None:
    answer = send(owner, page_of(acme), **{field: f"https://{GOOD_CARD}.example"})

    assert answer.status_code == 400
    assert GOOD_CARD not in answer.content.decode()
    assert "There is a card number" in answer.content.decode()
    assert actions(acme) == []


@pytest.mark.parametrize(
    ("url", "as_return", "as_webhook"),
    [
        ("https://www.acme.example/back", "", ""),
        ("https://acme.example:8443/back", "", "The url's port must be one of: 443."),
        ("http://acme.example/", "An http address must be", "The url must begin with https://."),
        ("https://evil.example/", "The address is not on", "The url is neither on"),
        ("x", "The address must be", "The url must be"),
        ("https://acme.example@evil.example/", "The address must be", "The url must be"),
    ],
)
def test_the_tester_says_what_the_api_would(
    owner: Client, acme: ApiClient, url: str, as_return: str, as_webhook: str
) -> None:
    page = owner.get(page_of(acme), {"url": url})

    problems = [verdict.problem for verdict in page.context["verdicts"]]
    for problem, expected in zip(problems, (as_return, as_webhook), strict=True):
        assert problem.startswith(expected), problems
        assert bool(problem) == bool(expected), problems


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:3000", "http://localhost:3000/", "https://pay.example/return",
        "https://pay.example/a/b/",
    ],
)  # fmt: skip
def test_a_callback_says_by_example_what_it_covers(
    owner: Client, acme: ApiClient, url: str
) -> None:
    accounts.change(acme.merchant, {"add_callback": url})

    page = owner.get(page_of(acme))

    [(_site, covered, beside)] = page.context["callbacks"]
    assert str(sites.why_not(acme.merchant, covered).covered_by) == url
    assert sites.why_not(acme.merchant, beside).covered_by is None
    assert f"Covers {covered}; not {beside}" in page.content.decode()


def test_a_website_is_removed_and_the_endpoints_it_leaves_are_named(
    owner: Client, acme: ApiClient
) -> None:
    created(acme, url="https://acme.example/hooks")
    site = acme.merchant.websites.get()
    url = f"{page_of(acme)}/{site.pk}/remove"

    asked = owner.get(url).content.decode()
    removed = owner.post(url, {"token": token_of(owner, url)})

    assert "https://acme.example/hooks" in asked
    assert (removed.status_code, removed.url) == (303, page_of(acme))
    assert hosts(acme) == []
    assert [action for action, _ in actions(acme)] == ["website.removed"]


def test_the_same_form_of_a_removal_reads_as_done_and_another_one_as_gone(
    owner: Client, acme: ApiClient
) -> None:
    site = acme.merchant.websites.get()
    url = f"{page_of(acme)}/{site.pk}/remove"
    form, later = {"token": token_of(owner, url)}, {"token": token_of(owner, url)}

    first, again, gone = [owner.post(url, typed) for typed in (form, form, later)]

    assert (first.status_code, again.status_code, gone.status_code) == (303, 303, 404)
    assert again.url == first.url
    assert owner.get(url).status_code == 404
    assert [action for action, _ in actions(acme)] == ["website.removed"]


def test_a_callback_is_removed_once(owner: Client, acme: ApiClient) -> None:
    send(owner, page_of(acme), callback_url="http://localhost:3000")
    row = acme.merchant.callback_urls.get()
    url = f"/panel/{acme.merchant.id}/callbacks/{row.pk}/remove"
    form = {"token": token_of(owner, url)}

    first, again = owner.post(url, form), owner.post(url, form)

    assert (first.status_code, again.status_code) == (303, 303)
    assert [action for action, _ in actions(acme)] == ["callback.added", "callback.removed"]


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("kind", ["websites", "callbacks"])
@pytest.mark.parametrize("number", ["x", "0", "-1", "9" * 40, "%D9%A1", "1.0"])
def test_a_row_that_is_not_there_is_404(
    owner: Client, acme: ApiClient, kind: str, number: str
) -> None:
    assert owner.get(f"/panel/{acme.merchant.id}/{kind}/{number}/remove").status_code == 404


def test_another_merchants_row_is_404(owner: Client, acme: ApiClient, globex: ApiClient) -> None:
    theirs = globex.merchant.websites.get()
    url = f"{page_of(acme)}/{theirs.pk}/remove"

    assert owner.get(url).status_code == 404
    assert owner.post(url, {"token": "x"}).status_code == 404
    assert hosts(globex) == ["globex.example"]


def test_many_endpoints_cost_no_more_statements(
    owner: Client, acme: ApiClient, django_assert_max_num_queries: Any
) -> None:
    for number in range(8):
        created(acme, url=f"https://acme.example/hooks/{number}")
    url = f"{page_of(acme)}/{acme.merchant.websites.get().pk}/remove"
    # The first page of a session also writes down which merchant was seen.
    owner.get(url)

    with django_assert_max_num_queries(15):
        page = owner.get(url)

    assert len(page.context["endpoints"]) == 8


def test_a_form_without_its_csrf_token_does_nothing(acme: ApiClient) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"))
    strict = Client(enforce_csrf_checks=True, headers={"Accept": "text/html"})
    strict.force_login(user)

    answer = strict.post(page_of(acme), {"token": "x", "website": "https://shop.example"})

    assert answer.status_code == 403
    assert "form has expired" in answer.content.decode()
    assert actions(acme) == []


def test_every_sentence_of_a_refusal_has_its_turkish() -> None:
    with translation.override("tr"):
        english = [text for text in SENTENCES if translation.gettext(text) == text]

    assert english == []


def _form(field: str) -> str:
    return "website_form" if field == "website" else "callback_form"
