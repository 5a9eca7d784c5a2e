"""The tags that draw one thing alike on every page."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from django import forms
from django.template import engines
from django.test import RequestFactory
from django.utils import translation

from core.rest.lists import Page
from panel import statuses
from payments.disputes.states import DisputeStatus
from payments.intents.states import PaymentStatus
from payments.refunds.states import RefundStatus
from webhooks.models import Delivery, Endpoint

HOSTILE = '"><img src=x onerror=alert(1)>'


def drawn(tag: str, query: str = "", **context: Any) -> str:
    template = engines["django"].from_string("{% load panel %}" + tag)
    return template.render(context, request=RequestFactory().get(f"/panel/x{query}"))


class Form(forms.Form):
    name = forms.CharField(label="Name", help_text="Yours alone.")
    agreed = forms.BooleanField(label="Agreed")


@pytest.mark.parametrize(
    "kind", [PaymentStatus, DisputeStatus, RefundStatus, Endpoint.Status, Delivery.Status]
)
def test_every_status_of_ours_has_a_glyph_a_word_and_a_colour(kind: Any) -> None:
    assert {*kind.values} <= {*statuses.BADGES}


def test_a_status_has_a_word_and_no_colour_alone() -> None:
    badge = drawn("{% status 'succeeded' %}")

    assert badge == (
        '<span class="badge bg-green-lt"><span aria-hidden="true">✓</span> Succeeded</span>'
    )


def test_an_unknown_status_is_grey_and_no_crash() -> None:
    assert "bg-secondary-lt" in drawn("{% status 'brand_new' %}")
    assert "brand new" in drawn("{% status 'brand_new' %}")


def test_money_follows_the_language() -> None:
    with translation.override("tr"):
        assert drawn("{% money 653961 'try' %}") == '<span class="amt">₺6.539,61</span>'


def test_a_card_has_its_logo_and_its_last_digits() -> None:
    shown = drawn("{% card 'troy' '3539' %}")

    assert "vendor/tabler/payments/troy" in shown
    assert "Troy •••• 3539" in shown
    assert "img" not in drawn("{% card 'unknown' '3539' %}")


def test_an_id_can_be_copied_and_leads_to_its_page() -> None:
    shown = drawn("{% object_id 'pi_1' '/panel/x/pi_1' %}")

    assert 'data-copy="pi_1"' in shown
    assert 'href="/panel/x/pi_1"' in shown
    assert "href" not in drawn("{% object_id 'pi_1' %}")


def test_an_instant_is_in_the_merchants_zone_with_utc_beside_it() -> None:
    at = datetime(2026, 11, 21, 6, 10, tzinfo=UTC)
    frame = SimpleNamespace(zone="Europe/Istanbul")

    with translation.override("tr"):
        shown = drawn("{% moment at %}", at=at, frame=frame)

    assert "21 Kas 2026 09:10" in shown
    assert 'title="2026-11-21 06:10:00 UTC"' in shown
    assert drawn("{% moment at %}", at=None) == "–"  # noqa: RUF001


@pytest.mark.parametrize("value", [{"a": HOSTILE}, HOSTILE, f'{{"a": "{HOSTILE[2:]}"}}'])
def test_json_is_text_in_lines(value: Any) -> None:
    shown = drawn("{% json value 'Answer' %}", value=value)

    assert "<img" not in shown
    assert 'aria-label="Answer"' in shown
    assert "&quot;a&quot;: " in drawn("{% json value 'Answer' %}", value='{"a":1}')


def test_an_empty_place_says_what_would_be_there() -> None:
    assert "Make one" in drawn("{% empty 'No key yet' 'Make one' %}")


@pytest.mark.parametrize(
    ("query", "has_more", "ways"),
    [
        ("", False, ""), ("", True, "older"), ("?starting_after=x", False, "newer"),
        ("?starting_after=x", True, "newer older"), ("?ending_before=x", False, "older"),
        ("?ending_before=x", True, "newer older"),
    ],
)  # fmt: skip
def test_the_pager_leads_where_there_is_more(query: str, has_more: bool, ways: str) -> None:
    rows = [SimpleNamespace(id="pi_1"), SimpleNamespace(id="pi_2")]

    shown = drawn("{% pager page %}", query, page=Page("", rows, has_more))

    assert ("ending_before=pi_1" in shown) == ("newer" in ways)
    assert ("starting_after=pi_2" in shown) == ("older" in ways)


def test_the_pager_keeps_the_filters() -> None:
    rows = [SimpleNamespace(id="pi_1")]

    shown = drawn(
        "{% pager page %}", "?status[]=a&status[]=b&ending_before=x", page=Page("", rows, False)
    )

    assert "?status%5B%5D=a&amp;status%5B%5D=b&amp;starting_after=pi_1" in shown


def test_a_field_has_its_label_help_and_refusal() -> None:
    form = Form({"name": "", "agreed": "on"})

    shown = drawn("{% field form.name %}", form=form)

    assert '<label class="form-label" for="id_name">Name</label>' in shown
    assert 'aria-invalid="true"' in shown
    assert 'aria-describedby="id_name-help id_name-error"' in shown
    assert 'id="id_name-error"' in shown
    assert "form-check-input" in drawn("{% field form.agreed %}", form=form)


def test_a_confirmation_names_the_consequence_and_the_way_back() -> None:
    shown = drawn("{% confirm 'Revoke' '/back' 'It stops working.' %}")

    assert "It stops working." in shown
    assert 'href="/back"' in shown
    assert ">Revoke</button>" in shown
