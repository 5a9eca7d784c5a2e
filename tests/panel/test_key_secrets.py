"""A secret is on its one page, and nowhere else: in no page, store, log or mail."""

import logging
from typing import Any

import pytest
from django.core import mail
from django.db import connections
from django.test import Client

from core.keyring import ring
from merchants.models import IdempotencyKey
from tests.stage.client import ApiClient
from tests.stage.hooks import URL, tell
from tests.stage.panel_pages import addresses
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


def rows_of(database: str) -> str:
    """Return all rows of a database as text, those of caches and sessions among them."""
    kept = []
    with connections[database].cursor() as cursor:
        for table in connections[database].introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')  # noqa: S608
            kept.append(str(cursor.fetchall()))
    return "\n".join(kept)


def opened_answers() -> str:
    """Return the sealed answers that are kept for forms sent again."""
    rows = IdempotencyKey.objects.exclude(sealed_response=None)
    return str([ring().open(bytes(row.sealed_response), context=row.seal_context) for row in rows])


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
    assert pages["keys"] in opened_answers()
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
    """Return all pages, mails, stores and answers, and the person's session, as text."""
    shown = "".join(client.get(url).content.decode() for url in addresses(acme.merchant).values())
    mails = "\n".join(str(one.message()) for one in mail.outbox)
    session = str(dict(client.session.items())) + str(client.cookies)
    return shown + mails + session + rows_of("default") + rows_of("bank") + opened_answers()


def test_a_secret_that_a_session_keeps_is_found(acme: ApiClient) -> None:
    client = signed_in(person("ada@acme.example", (acme.merchant, "owner")))
    secret = made_by(client, addresses(acme.merchant)["add_endpoint"], url=URL, enabled_events="*")
    session = client.session
    session["planted"] = secret
    session.save()

    assert secret[6:] in everywhere(client, acme)
