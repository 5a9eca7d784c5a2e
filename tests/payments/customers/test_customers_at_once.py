"""Changes of one customer that meet: each holds, each is told once, in order (I5)."""

from typing import Any

import pytest

from payments.customers import customers
from tests.stage.client import Answer, ApiClient
from tests.stage.threads import at_once, wait_for_the_others

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

TIMES = 6


def keys_at_once(acme: ApiClient, path: str) -> list[Answer]:
    """Each sets a metadata key of its own."""
    twins = [acme.twin() for _ in range(TIMES)]
    return at_once(
        [lambda c=c, n=n: c.post(path, {"metadata": {f"k{n}": "v"}}) for n, c in enumerate(twins)]
    )


@pytest.fixture
def path(acme: ApiClient) -> str:
    return f"/v1/customers/{acme.post('/v1/customers')['id']}"


def test_changes_that_meet_all_hold_and_are_told_in_order(acme: ApiClient, path: str) -> None:
    answers = keys_at_once(acme, path)

    told = [event["data"] for event in acme.events_of(acme.get(path)["id"])]
    assert {answer.status for answer in answers} == {200}
    assert len(acme.get(path)["metadata"]) == TIMES
    assert [len(data["object"]["metadata"]) for data in told] == [*range(TIMES + 1)]
    assert [len(data["previous_attributes"]) for data in told] == [0] + [1] * TIMES


def test_without_the_lock_a_change_is_lost(
    acme: ApiClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlocked(merchant: Any, customer_id: str, rows: Any) -> Any:
        customer = rows.for_merchant(merchant).find(customer_id)
        wait_for_the_others()
        return customer

    monkeypatch.setattr(customers, "_locked", unlocked)

    keys_at_once(acme, path)

    assert len(acme.get(path)["metadata"]) < TIMES


def test_deletions_that_meet_are_told_once(acme: ApiClient, path: str) -> None:
    twins = [acme.twin() for _ in range(TIMES)]

    answers = at_once([lambda c=c: c.delete(path) for c in twins])

    assert [answer["deleted"] for answer in answers] == [True] * TIMES
    assert len(acme.events_of(answers[0]["id"])) == 2
