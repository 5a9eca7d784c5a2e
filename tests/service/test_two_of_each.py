"""One of each process is killed in the normal set-up, and nothing is lost or doubled."""

import pytest

from tests.stage.factories import RETURN_URL, three_d_secure
from tests.stage.kills import until
from tests.stage.lengths import length, tried
from tests.stage.own_servers import manage
from tests.stage.receivers import Receiver
from tests.stage.two_of_each import PATIENCE_SECONDS, Shop, TwoOfEach, delivered, numbers_of

pytestmark = [pytest.mark.proof(part="chaos"), pytest.mark.timeout(900)]

PAYMENTS = length(short=6, full=60)


def test_one_of_each_may_die(house: TwoOfEach, receiver: Receiver) -> None:
    shop = Shop(house)
    shop.ask("POST", "/webhook_endpoints", {"url": receiver.url, "enabled_events": ["*"]})
    paid = [shop.pay() for _ in range(PAYMENTS)]
    away = shop.pay(return_url=RETURN_URL, **three_d_secure("required"))

    house.kill_the_first_of_each()

    paid += [shop.pay() for _ in range(PAYMENTS)]
    manage(house.settings, "clock", "advance", "2h")
    # Only a beat that has taken over gives this work, and only a worker does it.
    until(
        lambda: shop.ask("GET", f"/payment_intents/{away}")["status"] == "requires_payment_method",
        PATIENCE_SECONDS,
    )
    expected = {one: numbers_of(shop, one) for one in [*paid, away]}
    until(
        lambda: {one: delivered(receiver).get(one) for one in expected} == expected,
        PATIENCE_SECONDS,
    )
    statuses = {shop.ask("GET", f"/payment_intents/{one}")["status"] for one in paid}
    assert statuses == {"succeeded"}
    said = manage(house.settings, "audit")
    tried(len(paid), "payments")
    print(f"{len(receiver.requests)} deliveries of {sum(map(len, expected.values()))} events")  # noqa: T201
    assert f"the bank's book is ours: {len(expected)} looked at, ok" in said, said
