"""Webhooks in the panel, as a person walks through them in both ways."""

from collections.abc import Callable
from typing import Any

import pytest

from merchants.models import Merchant
from tests.browser.page import Page
from tests.browser.test_panel import EMAIL, prove, signed_in
from tests.stage.draining import received, run_until, tell
from tests.stage.factories import EndpointFactory, open_merchant
from tests.stage.receivers import receiver
from tests.stage.teams import person
from webhooks.models import Delivery, Endpoint

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

WORDS = {
    "en": {
        "address": "Address", "add": "Add endpoint", "refused": "must begin with https://",
        "once": "Copy it now", "shown": "was shown already", "to": "To the endpoint",
        "nothing": "Nothing was delivered yet", "test": "Send a test event", "way": "on its way",
        "delivered": "Delivered", "failing": "This endpoint is failing",
        "missed": "3 events missed", "mend": "Re-enable and send them", "enable": "Enable",
        "enabled": "The endpoint was enabled.", "again": "Send again",
        "resent": "The event is being sent again.",
    },
    "tr": {
        "address": "Adres", "add": "Uç nokta ekle", "refused": "https:// ile başlamalı",
        "once": "Şimdi kopyalayın", "shown": "daha önce gösterildi", "to": "Uç noktaya git",
        "nothing": "Henüz bir şey gönderilmedi", "test": "Deneme olayı gönder", "way": "yolda",
        "delivered": "Teslim edildi", "failing": "Bu uç nokta başarısız durumda",
        "missed": "3 olay kaçırıldı", "mend": "Yeniden etkinleştir ve gönder",
        "enable": "Etkinleştir", "enabled": "Uç nokta etkinleştirildi.",
        "again": "Yeniden gönder", "resent": "Olay yeniden gönderiliyor.",
    },
}  # fmt: skip


@pytest.fixture
def acme(settings: Any) -> Merchant:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    person(EMAIL, (merchant, "owner"))
    return merchant


@pytest.mark.parametrize(
    ("language", "look"),
    [
        ("en", {"width": 1280, "theme": "light"}),
        ("tr", {"width": 390, "theme": "dark", "scripts": False}),
    ],
)
def test_an_endpoint_is_added_tested_and_gets_what_it_missed(
    acme: Merchant, open_page: Callable[..., Page], settings: Any, language: str,
    look: dict[str, Any],
) -> None:  # fmt: skip
    words = WORDS[language]
    page = signed_in(open_page, language, **look)
    prove(page, language)

    _add(page, acme, words)
    row = Endpoint.objects.get()
    with receiver() as theirs:
        _move(row, theirs, settings)
        page.click(words["test"])
        page.see(words["way"])
        run_until(lambda: len(received(theirs)) == 1)
        page.reload()
        page.see(words["delivered"])

        Endpoint.objects.update(status="failing")
        # Of one object: objects have lanes of their own, and no order holds between them.
        missed = [tell(acme, "cus_1") for _ in range(3)]
        page.reload()
        page.see(words["failing"])
        assert words["missed"] in page.text
        page.click(words["mend"])
        page.see(words["missed"])
        page.click(words["enable"])
        page.see(words["enabled"])
        run_until(lambda: len(received(theirs)) == 4)
        assert received(theirs)[1:] == missed

        page.visit(f"/panel/{acme.id}/events/{missed[0]}")
        page.click(words["again"])
        page.click(words["again"])
        page.see(words["resent"])
        run_until(lambda: len(received(theirs)) == 5)
        assert received(theirs)[4] == missed[0]


def _add(page: Page, acme: Merchant, words: dict[str, str]) -> None:
    """Add an endpoint after a refusal, look at its secret once, and go to its page."""
    page.visit(f"/panel/{acme.id}/webhooks")
    page.click(words["add"])
    page.fill(words["address"], "http://acme.example/hooks")
    page.check_value("customer.created")
    page.check_value("customer.updated")
    page.click(words["add"])
    page.see(words["refused"], status=400)
    page.fill(words["address"], "https://acme.example/hooks")
    page.click(words["add"])
    page.see(words["once"])
    assert page.text.count("whsec_") == 1
    page.reload()
    page.see(words["shown"])
    assert "whsec_" not in page.text
    page.click(words["to"])
    page.see(words["nothing"])


def _move(row: Endpoint, theirs: Any, settings: Any) -> None:
    """Let the endpoint listen on this machine, where no registered address may lead."""
    settings.WEBHOOK_DEV_HOSTS = [*settings.WEBHOOK_DEV_HOSTS, theirs.host]
    Endpoint.objects.filter(pk=row.pk).update(url=theirs.url)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_with_much_on_them_are_whole(
    acme: Merchant, open_page: Callable[..., Page], theme: str, width: int
) -> None:
    EndpointFactory(merchant=acme, description="<script>alert(1)</script>", status="failing")
    row = EndpointFactory(merchant=acme, url=f"https://acme.example/{'long-' * 20}")
    events = [tell(acme, f"cus_{number}") for number in range(30)]
    _fail(row)
    language = "tr" if width == 390 else "en"
    page = signed_in(open_page, language, width=width, theme=theme)
    prove(page, language)
    pages = {
        "webhooks": "webhooks", "endpoint": f"webhooks/{row.id}", "events": "events",
        "event": f"events/{events[0]}", "enable": f"webhooks/{row.id}/enable",
        "test": f"webhooks/{row.id}/test", "resend": f"events/{events[0]}/resend",
        "add": "webhooks/add",
    }  # fmt: skip

    for name, path in pages.items():
        page.visit(f"/panel/{acme.id}/{path}")
        page.keep_picture(f"hooks-{name}-{theme}-{width}")


def _fail(row: Endpoint) -> None:
    failed = Delivery.objects.filter(endpoint=row).order_by("id")[:20].values("pk")
    Delivery.objects.filter(pk__in=list(failed.values_list("pk", flat=True))).update(
        status="failed", error="http_status", response_status=504, duration_ms=10_000,
        response_excerpt='"><img src=x onerror=alert(1)> upstream timeout',
    )  # fmt: skip
