"""An endpoint in trouble, seen and mailed before its fifth attempt; its delivery sent again."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail

from core import clock
from merchants.models import Merchant
from tests.browser.page import Page
from tests.browser.test_panel import EMAIL, signed_in
from tests.stage import receivers
from tests.stage.draining import endpoint_at, received, run_until, tell
from tests.stage.factories import open_merchant
from tests.stage.panel_pages import address
from tests.stage.receivers import receiver
from tests.stage.teams import person
from webhooks.delivery.outcomes import DELAYS_SECONDS, TROUBLE_FROM
from webhooks.models import Delivery

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

ROWS = "document.querySelectorAll('.delivery-list li').length"
REFUSES = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\ndown"
WORDS = {
    "en": {
        "webhooks": "Webhooks", "trouble": "This endpoint does not answer", "filter": "Filter",
        "status": "Failed", "again": "Send again", "sent": "The event is being sent again.",
        "delivered": "Delivered", "waits": "An endpoint does not answer",
    },
    "tr": {
        "webhooks": "Webhook'lar", "trouble": "Bu uç nokta yanıt vermiyor", "filter": "Filtrele",
        "status": "Başarısız", "again": "Yeniden gönder", "sent": "Olay yeniden gönderiliyor.",
        "delivered": "Teslim edildi", "waits": "Bir uç nokta yanıt vermiyor",
    },
}  # fmt: skip


@pytest.fixture
def acme(settings: Any) -> Merchant:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    person(EMAIL, (merchant, "owner"))
    return merchant


def attempts() -> list[str]:
    rows = Delivery.objects.filter(trigger=Delivery.Trigger.AUTOMATIC).order_by("attempt")
    return list(rows.values_list("status", flat=True))


def fail_until_trouble() -> None:
    """Let the first attempts fail, each when it is due, and the mail about them go out."""
    for number in range(1, TROUBLE_FROM + 1):
        if number > 1:
            clock.advance(timedelta(seconds=DELAYS_SECONDS[number - 2] + 1))
        run_until(lambda wanted=number: attempts() == ["failed"] * wanted + ["pending"])
    run_until(lambda: mail.outbox)


@pytest.mark.parametrize(
    ("language", "look"),
    [
        ("en", {"width": 390, "theme": "dark"}),
        ("tr", {"width": 1280, "theme": "light"}),
    ],
)
def test_trouble_is_seen_and_mailed_and_its_delivery_found_and_sent_again(
    acme: Merchant, open_page: Callable[..., Page], settings: Any, language: str,
    look: dict[str, Any],
) -> None:  # fmt: skip
    words = WORDS[language]
    with receiver(REFUSES) as theirs:
        endpoint = endpoint_at(theirs, settings, merchant=acme)
        event = tell(acme)
        fail_until_trouble()
        assert Delivery.objects.latest("id").attempt == TROUBLE_FROM + 1
        [letter] = mail.outbox
        assert endpoint.url in letter.body

        page = signed_in(open_page, language, **look)
        page.keep_picture(f"trouble-overview-{language}-{look['theme']}-{look['width']}")
        page.click(words["waits"])
        page.see(words["trouble"])
        page.keep_picture(f"trouble-endpoint-{language}-{look['theme']}-{look['width']}")
        page.unfold(words["filter"])
        page.check_value("failed")
        page.click(words["filter"])
        page.wait_for_address("**failed**")
        page.see(words["trouble"])
        assert page.evaluate(ROWS) == TROUBLE_FROM
        theirs.answer = lambda wire: wire.sendall(receivers.OK)
        page.click(words["again"])
        page.see(words["sent"])
        run_until(lambda: received(theirs)[TROUBLE_FROM:] == [event])
        page.visit(address("endpoint", acme.id, endpoint.id))
        page.see(words["delivered"])

        assert words["trouble"] not in page.text
