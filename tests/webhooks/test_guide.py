"""The receivers of the webhooks guide take what is genuine, once, and nothing else."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import stripe
from django.conf import settings as installation

from events.models import Event
from tests.stage import signature_vectors
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.deliveries import delivery, real_now
from tests.stage.factories import payment
from tests.stage.guide_receiver import GuideReceiver, Snippet, running, snippets
from tests.stage.signature_vectors import Vectors
from webhooks.delivery.http import signature
from webhooks.delivery.http.sender import Sender
from webhooks.delivery.messages import Answer

PAGE = (Path(installation.BASE_DIR) / "docs" / "how-to" / "webhooks.md").read_text()
SNIPPETS = snippets(PAGE)
RUN = [snippet for snippet in SNIPPETS.values() if snippet.is_run]
UNTRIED = "No test runs this one"
SECRET = "whsec_0123456789abcdefghijABCDEFGHIJ01"

of_each_receiver = pytest.mark.parametrize("snippet", RUN, ids=lambda snippet: snippet.name)


@pytest.fixture
def vectors() -> Vectors:
    return signature_vectors.read()


def expected(vectors: Vectors) -> dict[str, int]:
    return {what: 200 if right else 400 for what, right in vectors.verdicts.items()}


def send(events: Iterable[Event], to: GuideReceiver, settings: Any) -> list[Answer]:
    settings.WEBHOOK_DEV_HOSTS = [to.host]

    async def each() -> list[Answer]:
        async with Sender(now=real_now) as sender:
            return [await sender.post(order) for order in orders]

    url = f"http://{to.host}/hooks"
    orders = [
        delivery(url, event_id=event.id, body=bytes(event.body), secrets=(SECRET,))
        for event in events
    ]
    return asyncio.run(each())


# --- The receivers ------------------------------------------------------------------------------


@of_each_receiver
@pytest.mark.django_db(databases=["default", "bank"])
def test_a_receiver_takes_a_payments_events_and_prints_a_repeat_once(
    snippet: Snippet, acme: ApiClient, bank: BankTransport, tmp_path: Path, settings: Any
) -> None:
    paid = acme.post("/v1/payment_intents", payment())
    events = list(Event.objects.filter(aggregate_id=paid["id"]).order_by("sequence"))

    with running(snippet, tmp_path, secret=SECRET) as receiver:
        answers = send([*events, *events], receiver, settings)

    assert [answer.status for answer in answers] == [200] * 4
    assert receiver.lines == [
        f"payment_intent.created {paid['id']} 1",
        f"payment_intent.succeeded {paid['id']} 2",
    ]


@of_each_receiver
def test_a_receiver_tells_right_headers_from_wrong_ones(
    snippet: Snippet, vectors: Vectors, tmp_path: Path
) -> None:
    with running(snippet, tmp_path, secret=vectors.secret) as receiver:
        statuses = receiver.statuses(vectors)

    print(f"{snippet.name}: {len(statuses)} headers")  # noqa: T201
    assert statuses == expected(vectors)


@pytest.mark.parametrize(
    ("right", "wrong", "taken"),
    [
        ("abs(int(time.time()) - int(times[0]))", "int(time.time()) - int(times[0])", "301 sec"),
        ("[0-9]{1,15}", "[+0-9]{1,15}", "a sign before t"),
        ("len(times) != 1", "not times", "two t"),
    ],
)
def test_a_receiver_with_a_hole_is_found(
    right: str, wrong: str, taken: str, vectors: Vectors, tmp_path: Path
) -> None:
    sound = SNIPPETS["Python"]
    assert sound.code.count(right) == 1

    with running(
        replace(sound, code=sound.code.replace(right, wrong)), tmp_path, secret=vectors.secret
    ) as receiver:
        differences = receiver.statuses(vectors).items() - expected(vectors).items()

    assert any(what.startswith(taken) and status == 200 for what, status in differences)


def test_what_no_test_runs_says_so() -> None:
    assert {name for name, snippet in SNIPPETS.items() if snippet.is_run} == {"Python", "Node"}
    assert len(SNIPPETS) == 5
    for snippet in SNIPPETS.values():
        assert (UNTRIED in snippet.before) is not snippet.is_run, snippet.name


# --- The list of headers --------------------------------------------------------------------------


@pytest.mark.parametrize("what", [w for w, r in signature_vectors.read().verdicts.items() if r])
def test_what_we_send_is_what_the_list_says(what: str, vectors: Vectors) -> None:
    new, old = vectors.secret, vectors.previous_secret
    time_text, *_ = vectors.headers[what].removeprefix("t=").split(",")

    ours = [
        signature.header(vectors.body, secrets, at=int(time_text))
        for secrets in ([new], [new, old], [old, new])
    ]

    assert vectors.headers[what] in ours


def test_moved_to_its_own_time_the_list_stays_as_it_is(vectors: Vectors) -> None:
    moved = {what: vectors.header_at(vectors.now, what) for what in vectors.headers}

    assert moved == vectors.headers


@pytest.fixture
def at_the_vectors_time(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = SimpleNamespace(time=lambda: float(vectors.now))
    monkeypatch.setattr("stripe._webhook.time", frozen)


@pytest.mark.usefixtures("at_the_vectors_time")
def test_the_official_package_agrees_but_for_times_of_the_future_and_a_second_t(
    vectors: Vectors,
) -> None:
    verdicts = {what: official(vectors, header) for what, header in vectors.headers.items()}

    # It never looks whether a time lies ahead, and takes the first `t` of several.
    ahead_or_twice = {"301 seconds ahead": True, "two t": True}
    assert verdicts == vectors.verdicts | ahead_or_twice


def official(vectors: Vectors, header: str) -> bool:
    """Tell whether the official package takes what stands in our header for its own."""
    try:
        stripe.Webhook.construct_event(vectors.body, header, vectors.secret)
    except stripe.SignatureVerificationError:
        return False
    return True
