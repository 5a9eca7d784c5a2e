"""A secret is on its one page, and nowhere else: in no page, store, log or mail."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client

from core.redis import client as redis
from merchants.models import ApiKey
from tests.stage.client import ApiClient
from tests.stage.database_role import past_guards
from tests.stage.hooks import URL, tell
from tests.stage.panel_pages import addresses
from tests.stage.stores import everything_kept, opened_answers
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


def made_by(client: Client, page: str, /, **fields: Any) -> str:
    """Send the page's form, and return the secret that the answer shows."""
    answer = client.post(page, {"token": client.get(page).context["token"], **fields})
    secret: str = answer.context["secret"]
    assert secret in answer.content.decode()
    return secret


def test_the_secret_of_a_key_is_kept_nowhere(
    acme: ApiClient, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = signed_in(person("ada@acme.example", (acme.merchant, "owner")))
    pages = addresses(acme.merchant)
    secrets = [
        made_by(client, pages["create_key"], name="Shop server"),
        made_by(client, pages["roll_key"], expires_in="3600"),
    ]
    for secret in secrets:
        assert acme.twin(secret).get("/v1/balance").status == 200

    kept = everywhere(client, acme)
    written = kept + caplog.text + "".join(capsys.readouterr())

    assert "Shop server" in kept
    assert any("Shop server" in str(one.message()) for one in mail.outbox)
    assert pages["keys"] in "".join(opened_answers())
    for secret in secrets:
        # Nor the part without its prefix, nor without its checksum.
        assert secret.removeprefix("sk_sandbox_")[:40] not in written


def test_the_secret_of_an_endpoint_is_kept_nowhere(
    acme: ApiClient, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = signed_in(person("ada@acme.example", (acme.merchant, "owner")))
    pages = addresses(acme.merchant)
    secrets = [
        made_by(client, pages["add_endpoint"], url=URL, enabled_events=["*"]),
        made_by(client, pages["roll_endpoint_secret"], expires_in="3600"),
    ]
    event = tell(acme.merchant, "cus_2")
    client.post(*resent(client, acme, event.id))

    written = everywhere(client, acme) + caplog.text + "".join(capsys.readouterr())

    assert event.id in written
    assert "secret_rolled" in written
    for secret in secrets:
        assert secret.startswith("whsec_")
        for part in (secret[6:], secret[6:].encode().hex()):
            assert part[:40] not in written


def resent(client: Client, acme: ApiClient, event_id: str) -> tuple[str, dict[str, str]]:
    url = f"/panel/{acme.merchant.id}/events/{event_id}/resend"
    return url, {"token": client.get(url).context["token"]}


def everywhere(client: Client, acme: ApiClient) -> str:
    """Return all pages, and everything that is kept, as text."""
    shown = "".join(client.get(url).content.decode() for url in addresses(acme.merchant).values())
    account = "".join(client.get(url).content.decode() for url in ACCOUNT)
    return shown + account + str(client.cookies) + everything_kept()


ACCOUNT = ("/account/security", "/account/sessions", "/account/activity", "/account/passkeys")


def in_a_session(client: Client, secret: str) -> None:
    session = client.session
    session["planted"] = secret
    session.save()


def in_a_row(_client: Client, secret: str) -> None:
    ApiKey.objects.update(name=secret)


def in_the_audit_log(_client: Client, secret: str) -> None:
    with past_guards() as cursor:
        cursor.execute("UPDATE merchants_auditentry SET after = %s", [f'{{"secret": "{secret}"}}'])


def in_a_mail(_client: Client, secret: str) -> None:
    mail.send_mail("Your key", secret, None, ["ada@acme.example"])


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "keep",
    [
        in_a_session,
        in_a_row,
        in_the_audit_log,
        in_a_mail,
        lambda _client, secret: cache.set("planted", {"secret": secret}),
        lambda _client, secret: redis().set("planted", secret),
    ],
    ids=["session", "row", "audit log", "mail", "cache", "redis"],
)
def test_a_secret_that_is_kept_is_found(
    acme: ApiClient, keep: Callable[[Client, str], object]
) -> None:
    client = signed_in(person("ada@acme.example", (acme.merchant, "owner")))
    secret = made_by(client, addresses(acme.merchant)["add_endpoint"], url=URL, enabled_events="*")
    assert secret[6:] not in everything_kept()

    keep(client, secret[6:])

    assert secret[6:] in everything_kept()
    redis().delete("planted")
