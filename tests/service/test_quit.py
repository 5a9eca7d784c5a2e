"""SIGQUIT ends one of each process while merchants pay and refund: nothing is lost or doubled."""

import signal
from typing import Any

import psutil
import pytest
import requests
from requests.exceptions import ChunkedEncodingError

from devstack.state import ROOT
from tests.stage.kills import until
from tests.stage.lengths import length, tried
from tests.stage.receivers import Receiver
from tests.stage.shop_traffic import Traffic, assert_all_is_there
from tests.stage.two_of_each import PATIENCE_SECONDS, Shop, TwoOfEach

pytestmark = [pytest.mark.proof(part="chaos"), pytest.mark.timeout(900)]

BETWEEN = length(short=2, full=40)
ROUNDS = length(short=1, full=3)
KEY_IN_USE = "idempotency_key_in_use"
# The sentence of each process at its end.
SENTENCES = {
    "webs": "Shutting down: Master",
    "workers": "worker: Cold shutdown",
    "senders": "webhooks_stopped",
    "beats": "beat_stopped",
}


class PatientShop(Shop):
    """A merchant whose client sends a request again whose answer was cut off, with the same key."""

    def _answer(self, method: str, path: str, **sent: Any) -> requests.Response:
        answers: list[requests.Response] = []

        def is_answered() -> bool:
            try:
                answers.append(super(PatientShop, self)._answer(method, path, **sent))
            except ChunkedEncodingError:
                return False
            # The process that has the first request is still at its end.
            return KEY_IN_USE not in answers[-1].text

        until(is_answered, PATIENCE_SECONDS)
        return answers[-1]


def quit_a_web_worker(house: TwoOfEach) -> None:
    """Wait until gunicorn has started another one in its place."""
    web = house.webs[0]
    [worker] = web.workers()
    worker.send_signal(signal.SIGQUIT)
    until(lambda: serving(web.workers()) not in ([], [worker.pid]), PATIENCE_SECONDS)


def serving(workers: list[psutil.Process]) -> list[int]:
    return [one.pid for one in workers if one.status() != psutil.STATUS_ZOMBIE]


def test_one_of_each_quits_while_merchants_pay(house: TwoOfEach, receiver: Receiver) -> None:
    shop = PatientShop(house)
    shop.ask("POST", "/webhook_endpoints", {"url": receiver.url, "enabled_events": ["*"]})
    traffic = Traffic(shop, more=BETWEEN)

    for _round in range(ROUNDS):
        traffic.await_more()
        quit_a_web_worker(house)
        for kind, sentence in SENTENCES.items():
            traffic.await_more()
            status, said = house.quit_the_first(kind)
            assert (kind, status) == (kind, 0)
            assert sentence in said
            house.start_another(kind, ROOT)
    traffic.await_more()
    traffic.stop()

    assert "Traceback" not in house.logs()
    assert_all_is_there(house, shop, receiver, traffic.paid)
    tried(len(traffic.paid), "payments while processes quit")
