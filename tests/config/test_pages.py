import re

import pytest
from django.conf import settings
from django.test import Client

from core.rest.envelope import error_body
from core.rest.error_codes import catalogue
from core.rest.forms import Refused
from devstack.state import ROOT
from merchants.models import User
from tests.stage import described
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db


CODES = described.document()["components"]["schemas"]["ErrorCode"]["enum"]


def doc_url_of(code: str) -> str:
    return error_body(Refused(code, "", param=None))["error"]["doc_url"]


def opened_at(client: Client, url: str) -> str | None:
    """Return the code that a browser shows first when it opens the address."""
    path, _, anchor = url.removeprefix(settings.BASE_URL).partition("#")
    page = client.get(path)
    assert page.status_code == 200
    found = re.findall(rf'<dt id="{anchor}"><code>(\w+)</code>', page.content.decode())
    return found[0] if len(found) == 1 else None


def test_an_errors_doc_url_leads_to_its_explanation(acme: ApiClient, client: Client) -> None:
    doc_url = acme.get("/v1/payment_intents/pi_unknown").error["doc_url"]

    assert opened_at(client, doc_url) == "resource_missing"


def test_the_doc_url_of_every_code_opens_at_its_explanation(client: Client) -> None:
    told = {code: opened_at(client, doc_url_of(code)) for code in CODES}

    assert {code: place for code, place in told.items() if place != code} == {}
    print(f"{len(told)} codes")  # noqa: T201


def test_a_code_that_is_not_explained_is_found(client: Client) -> None:
    assert opened_at(client, doc_url_of("card_declined")) is None


def test_the_written_list_of_errors_is_the_services_own() -> None:
    text = (ROOT / "docs" / "errors.md").read_text()
    written = set(re.findall(r"^\| .*`(\w+)` \| (\d+)", text, re.MULTILINE))

    assert written == {(code, str(status)) for code, status, _text in catalogue()}


def test_the_operators_admin_answers_with_its_own_name(client: Client) -> None:
    client.force_login(User.objects.create_superuser("o@example.com", "a long enough password"))

    page = client.get("/admin/")

    assert page.status_code == 200
    assert "operators" in page.content.decode()
