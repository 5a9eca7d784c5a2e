import re

import pytest
from django.test import Client

from config.pages import catalogue
from devstack.state import ROOT
from tests.client import ApiClient

pytestmark = pytest.mark.django_db


def test_an_errors_doc_url_leads_to_its_explanation(acme: ApiClient, client: Client) -> None:
    doc_url = acme.get("/v1/payment_intents/pi_unknown").error["doc_url"]
    path, _, anchor = doc_url.removeprefix("http://127.0.0.1:8000").partition("#")

    page = client.get(path)

    assert page.status_code == 200
    assert f'id="{anchor}"' in page.content.decode()


def test_the_written_list_of_errors_is_the_services_own() -> None:
    text = (ROOT / "docs" / "errors.md").read_text()
    written = set(re.findall(r"^\| .*`(\w+)` \| (\d+)", text, re.MULTILINE))

    assert written == {(code, str(status)) for code, status, _text in catalogue()}


def test_the_operators_admin_answers_with_its_own_name(client: Client) -> None:
    page = client.get("/admin/login/")

    assert page.status_code == 200
    assert "operators" in page.content.decode()
