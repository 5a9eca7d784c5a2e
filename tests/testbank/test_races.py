"""The bank asked the same, or opposite things, at the same moment: one of them wins."""

from functools import partial
from urllib.parse import urlencode

import pytest

from core import clock
from testbank import behaviours
from testbank.models import Authentication, Authorization, Capture, Reversal
from testbank.states import AuthenticationState, State
from tests.stage import payer
from tests.stage.bank_orders import (
    ask,
    authenticate,
    authentication_order,
    authorize,
    booked,
    capture,
    captured,
    statement,
    void,
)
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(databases=["default", "bank"], transaction=True)


def test_captures_that_race_take_one_amount() -> None:
    authorize()

    answers = together([partial(capture, amount) for amount in [5000, 7000] * 6])

    [row] = Authorization.objects.all()
    won = [told for told in answers if told["result"] == "captured"]
    print(f"{len(answers)} captures at once: {len(won)} told captured, of {row.captured_amount}")  # noqa: T201
    assert won == [captured(row.captured_amount)] * 6
    assert booked() == (State.AUTHORIZED, row.captured_amount, row.captured_amount, 0)


def test_a_void_that_races_with_a_capture_gives_back_what_was_taken() -> None:
    ends: list[tuple[str, int]] = []
    for reference in ("a", "b", "c", "d", "e", "f"):
        authorize(reference=reference)

        tries = [partial(capture, 12500, reference), partial(void, reference)] * 2
        told = [answer["result"] for answer in together(tries)]

        row = Authorization.objects.get(reference=reference)
        taken = sum(row.captures.values_list("amount", flat=True))
        returned = sum(Reversal.objects.filter(authorization=row).values_list("amount", flat=True))
        assert (row.state, taken) == (State.VOIDED, returned)
        assert told[1] == told[3] == "voided"
        ends.append((row.state, taken))
    print(f"{len(ends)} races of two captures and two voids: {ends}")  # noqa: T201


def test_statements_that_race_with_captures_of_what_lapses_agree_with_the_book() -> None:
    for number in range(20):
        authorize(reference=f"ref_{number}")
    clock.advance(behaviours.LAPSES_AFTER)

    captures = [partial(capture, 12500, f"ref_{number}") for number in range(6)]
    told = together([*captures, *[statement] * 6])

    print(f"{len(captures)} captures and 6 statements at once: {told[0]}, {told[-1][0]}")  # noqa: T201
    assert {answer["result"] for answer in told[:6]} == {"refused"}
    assert {line[1] for lines in told[6:] for line in lines} == {"lapsed"}
    assert not Capture.objects.exists()


def test_one_reference_asked_at_once_opens_one_authentication() -> None:
    asked = [partial(ask, authentication_order(), "/authentications")] * 12

    answers = together(asked)

    print(f"{len(answers)} authentications at once: {answers[0]}")  # noqa: T201
    assert answers == [answers[0]] * 12
    assert Authentication.objects.count() == 1


def decide(path: str, decision: str) -> payer.Page:
    sent = urlencode({"decision": decision}).encode()
    return payer.get(payer.request("POST", f"{path}/decision", sent).headers["Location"])


def test_decisions_that_race_give_one_answer() -> None:
    ends: list[str] = []
    for reference in ("a", "b", "c"):
        path = f"/acs/{authenticate(reference=reference)['transaction_id']}"

        pages = together([partial(decide, path, name) for name in ("approve", "reject")] * 3)

        assert [page.form.fields for page in pages] == [pages[0].form.fields] * 6
        row = Authentication.objects.get(reference=reference)
        is_authenticated = row.state == AuthenticationState.AUTHENTICATED
        assert row.decision == ("approve" if is_authenticated else "reject")
        assert pages[0].form.fields["md_status"] == str(int(is_authenticated))
        ends.append(row.decision)
    print(f"{len(ends)} races of three approvals and three rejections: {ends}")  # noqa: T201
