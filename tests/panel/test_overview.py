"""The overview: its steps are done when the data say so."""

import pytest
from django.test import Client
from django.utils import timezone

from merchants import invitations
from tests.stage.client import ApiClient
from tests.stage.factories import AttemptFactory, PaymentFactory
from tests.stage.hooks import created, tell
from tests.stage.teams import join, person, signed_in
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def done(owner: Client, acme: ApiClient) -> list[bool]:
    page = owner.get(f"/panel/{acme.merchant.id}")
    assert page.status_code == 200
    return [step.is_done for step in page.context["steps"]]


def test_a_step_is_done_when_the_data_say_so(owner: Client, acme: ApiClient) -> None:
    merchant = acme.merchant
    merchant.websites.all().delete()
    merchant.members.exclude(user__email="ada@acme.example").delete()
    nothing = done(owner, acme)

    merchant.api_keys.update(last_used_at=timezone.now())
    merchant.websites.create(host="acme.example", created_at=timezone.now())
    paid = PaymentFactory(merchant=merchant)
    three = done(owner, acme)
    endpoint = Endpoint.objects.get(pk=created(acme)["id"])
    told = done(owner, acme)
    tell(merchant, "cus_1")
    Delivery.objects.filter(endpoint=endpoint).update(
        status="succeeded", attempted_at=timezone.now(), duration_ms=1, response_status=200
    )
    four = done(owner, acme)
    AttemptFactory(intent=paid, authenticated_at=timezone.now())
    five = done(owner, acme)
    join(person("eve@acme.example"), merchant, "support")

    assert nothing == [False] * 6
    assert three == told == [True, True, True, False, False, False]
    assert four == [True, True, True, True, False, False]
    assert five == [True, True, True, True, True, False]
    assert done(owner, acme) == [True] * 6
    assert "Set up payments" not in owner.get(f"/panel/{merchant.id}").content.decode()


def test_an_invitation_brings_the_team_in(owner: Client, acme: ApiClient) -> None:
    acme.merchant.members.exclude(user__email="ada@acme.example").delete()
    invitations.invite(acme.merchant.members.get(), email="eve@acme.example", role="support")

    assert done(owner, acme)[5]


def test_another_merchants_doings_are_nothing_of_ours(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    acme.merchant.websites.all().delete()
    AttemptFactory(intent=PaymentFactory(merchant=globex.merchant), authenticated_at=timezone.now())
    created(globex, url="https://globex.example/hooks")

    assert not any(done(owner, acme)[1:5])


@pytest.mark.parametrize(("role", "leads_on"), [("developer", True), ("support", False)])
def test_a_step_leads_to_its_page_whoever_may_open_it(
    acme: ApiClient, role: str, leads_on: bool
) -> None:
    acme.merchant.websites.all().delete()
    client = signed_in(person("ada@acme.example", (acme.merchant, role)))

    text = client.get(f"/panel/{acme.merchant.id}").content.decode()

    assert (f'btn-sm" href="/panel/{acme.merchant.id}/websites"' in text) == leads_on


def test_the_next_step_shows_its_call(owner: Client, acme: ApiClient) -> None:
    text = owner.get(f"/panel/{acme.merchant.id}").content.decode()

    assert "/v1/balance" in text
    assert "/v1/payment_intents" not in text
    assert acme.key not in text
