"""An authorisation is written by statements that are kept: few of them, once per reference."""

from functools import partial

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from testbank.models import Authorization, Capture
from testbank.router import BANK
from tests.stage.bank_orders import ask, authorize, order
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(databases=["default", "bank"], transaction=True)


def test_an_authorisation_takes_few_statements() -> None:
    authorize(reference="first")

    with CaptureQueriesContext(connections[BANK]) as statements:
        authorize(capture=True)

    texts = [query["sql"].split()[0] for query in statements.captured_queries]
    assert texts == ["BEGIN", "INSERT", "INSERT", "COMMIT"]


def test_one_reference_asked_at_once_is_one_authorisation() -> None:
    answers = together([partial(ask, order())] * 16)

    print(f"{len(answers)} of one reference at once")  # noqa: T201
    assert answers == [answers[0]] * 16
    assert answers[0][1]["result"] == "approved"
    assert Authorization.objects.count() == Capture.objects.count() == 1


def test_a_reference_asked_with_another_amount_gets_the_first_ones_outcome() -> None:
    authorize(capture=True)

    authorize(amount=1)

    assert list(Authorization.objects.values_list("amount", flat=True)) == [12500]
    assert Capture.objects.get().amount == 12500


def test_a_bank_whose_connection_has_lost_what_it_prepared_authorises_once() -> None:
    authorize(reference="first")
    with connections[BANK].cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")

    answers = [authorize(reference="second") for _ in range(2)]

    assert [told["result"] for told in answers] == ["approved"] * 2
    assert Authorization.objects.filter(reference="second").count() == 1
