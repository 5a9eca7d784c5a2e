"""kill -9 of the sweeper's worker around the sending of a payout: the bank has it once (I7, I8)."""

from datetime import timedelta

import pytest

from events.models import Event
from payouts.models import Payout
from tests.stage.booked import movements
from tests.stage.client import ApiClient
from tests.stage.kills import (
    PROOF_OF_KILLS,
    SWEEPERS_BOUNDARIES,
    Installation,
    until,
    until_swept,
)
from tests.stage.lengths import length
from tests.stage.transfers import at_the_bank, hear_after, pay_out, rich

pytestmark = PROOF_OF_KILLS


@pytest.mark.parametrize(
    "boundary", length(short=SWEEPERS_BOUNDARIES[2:3], full=SWEEPERS_BOUNDARIES)
)
def test_after_a_kill_of_the_sweeper_another_one_finishes_it(
    boundary: str, installation: Installation, acme: ApiClient
) -> None:
    made = pay_out(rich(acme), 5000, destination="test_silent")
    Payout.objects.update(due_at=Payout.objects.get().created_at)
    installation.start(boundary)

    installation.start_sweeper(is_deadly=True)

    until(lambda: not installation.once.exists())
    # Three times the bank has no record, and then it gets the payout and falls silent.
    until_swept(lambda: Payout.objects.get().status == "paid", waits=timedelta(days=1))
    hear_after(5)
    assert at_the_bank() == [(5000, "paid", 5000)]
    assert movements(made["id"]) == ["payout", "payout_paid"]
    told = Event.objects.filter(aggregate_id=made["id"]).order_by("sequence")
    assert list(told.values_list("type", flat=True)) == ["payout.created", "payout.paid"]
