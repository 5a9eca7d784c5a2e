"""Declines from one network: from the tenth within an hour on, its payers must authenticate."""

from datetime import timedelta
from typing import Any

import pytest

from core import clock
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, RETURN_URL
from tests.stage.risky import APPROVED, PAID, ended, paid_by, set_rule, typed

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

OF_GLOBEX = "https://globex.example/return"
NETWORK, ANOTHER = "203.0.113.7", "2001:db8:1:2::/64"


def test_after_ten_declines_of_its_network_a_payer_must_authenticate(
    acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    settings.RISK_RULES = {"address_declines": "authenticate"}
    before = [typed(acme, DECLINED_CARD, network=NETWORK).status for _ in range(10)]

    stopped = typed(acme, network=NETWORK)
    elsewhere = typed(acme, network=ANOTHER)

    assert before == ["requires_payment_method"] * 10
    assert stopped.status == "requires_action"
    assert stopped.fraud is None or stopped.fraud["rule"] == "address_declines"
    assert elsewhere.status == "succeeded"


def test_declines_are_counted_for_an_hour(acme: ApiClient, bank: BankTransport) -> None:
    set_rule(acme.merchant, "address_declines", "authenticate", 1)
    typed(acme, DECLINED_CARD, network=NETWORK)
    clock.advance(timedelta(minutes=59))
    still = typed(acme, network=NETWORK).status

    clock.advance(timedelta(minutes=2))

    assert (still, typed(acme, network=NETWORK).status) == ("requires_action", "succeeded")


def test_what_succeeds_or_happens_at_another_merchant_counts_nothing(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "address_declines", "authenticate", 1)
    typed(globex, DECLINED_CARD, network=NETWORK, return_url=OF_GLOBEX)

    told = [typed(acme, number, network=NETWORK).status for number in APPROVED[:3]]

    assert told == ["succeeded"] * 3


def test_payments_of_the_api_have_no_network_and_are_not_counted(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "address_declines", "authenticate", 1)
    paid_by(acme, DECLINED_CARD)
    typed(acme, DECLINED_CARD, network=NETWORK)

    assert ended(paid_by(acme)) == PAID
    assert Attempt.objects.filter(network_fingerprint=None).count() == 2


def test_the_attempt_after_a_soft_decline_keeps_the_network(
    acme: ApiClient, bank: BankTransport
) -> None:
    intent = typed(acme, "4000002760003184", network=NETWORK)

    kept = set(intent.attempts.values_list("network_fingerprint", flat=True))

    assert (intent.attempts.count(), len(kept)) == (2, 1)
    assert None not in kept


def test_only_a_keyed_fingerprint_of_the_network_is_kept(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    kept = [
        typed(client, network=NETWORK, return_url=address).attempts.get().network_fingerprint
        for client, address in ((acme, RETURN_URL), (acme, RETURN_URL), (globex, OF_GLOBEX))
    ]

    assert kept[0] == kept[1] != kept[2]
    assert all(one and len(one) == 64 for one in kept)
    assert NETWORK not in str([vars(attempt) for attempt in Attempt.objects.all()])
