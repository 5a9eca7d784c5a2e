"""Small promises of pages: home from a bare address, tokens, addresses, times and bodies."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from merchants.models import Merchant, RequestLog
from panel.merchants import team_addresses
from tests.stage.client import ApiClient
from tests.stage.factories import RequestLogFactory
from tests.stage.teams import join, person, signed_in

MOMENT = re.compile(r'<time datetime="([^"]+)"[^>]*>([^<]+)</time>')
pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def test_the_address_of_the_look_leads_home(owner: Client) -> None:
    for method in (owner.get, owner.head):
        answer = method("/panel/look")

        assert (answer.status_code, answer["Location"]) == (302, "/panel/")


@pytest.mark.parametrize("token", [{}, {"token": ""}])
def test_a_form_without_its_token_is_not_right(
    owner: Client, acme: ApiClient, token: dict[str, str]
) -> None:
    at = f"/panel/{acme.merchant.id}/team/invite"

    answer = owner.post(at, {"email": "new@x.example", "role": "support", **token})

    assert answer.status_code == 400
    assert "This request is not right" in answer.content.decode()
    assert not acme.merchant.invitations.exists()


def test_no_address_of_a_team_has_a_running_number(owner: Client, acme: ApiClient) -> None:
    eve = join(person("eve@acme.example"), acme.merchant, "support")
    team = f"/panel/{acme.merchant.id}/team"

    page = owner.get(team).content.decode()

    found = re.findall(rf"{team}/(\w+)/(?:role|remove)", page)
    assert team_addresses.of(eve) in found
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in found)
    assert owner.get(f"{team}/{eve.pk}/role").status_code == 404
    assert owner.get(f"{team}/{team_addresses.of(eve)}/role").status_code == 200


def test_pages_of_an_account_have_the_time_of_the_merchant_seen_last(
    owner: Client, acme: ApiClient
) -> None:
    Merchant.objects.filter(pk=acme.merchant.pk).update(timezone="Asia/Tokyo")

    before = owner.get("/account/sessions").content.decode()
    owner.get(f"/panel/{acme.merchant.id}")
    after = owner.get("/account/sessions").content.decode()

    for page, zone in ((before, "UTC"), (after, "Asia/Tokyo")):
        moment, shown = MOMENT.findall(page)[0]
        local = datetime.fromisoformat(moment).astimezone(ZoneInfo(zone))
        assert shown == f"{local.day} {local:%b %Y %H:%M}"


def test_the_bodies_of_a_request_are_open_and_readable(owner: Client, acme: ApiClient) -> None:
    row = RequestLogFactory(merchant=acme.merchant, kind=RequestLog.Kind.API)
    row.request_body = '{"description":"\\u0130\\u011fne"}'
    row.response_body = '{"description":"İğne"}'
    row.save()

    page = owner.get(f"/panel/{acme.merchant.id}/request_logs/{row.pk}").content.decode()

    assert page.count('<details class="log-fold" open>') == 2
    assert page.count("&quot;description&quot;: &quot;İğne&quot;") == 2
