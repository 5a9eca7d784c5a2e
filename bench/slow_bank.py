"""The measurement of a bank that takes seconds: payments, others' reads meanwhile, overload.

What was refused must have stored nothing, and what was stored must have been answered.
"""

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from bench import stored
from bench.bars import Figures
from bench.client import ClientCall, Line, percentile
from bench.cpu import taken_ms
from bench.crowd import Crowd, Heard, ask
from bench.load import LoadTerms, Scale
from bench.payments import PATH
from bench.stage import Stage
from devstack import demo
from devstack.console import say
from devstack.state import CannotContinue

BANK = "bench.slow_bank_process"
STEADY_SECONDS, OVERLOAD_SECONDS, REST_SECONDS = 15, 60, 60
# All begin at once; two rounds later they no longer do.
WARM_SECONDS = 5
READERS, WRITERS, CHECKERS = 4, 2, 1
# Times the clients of the steady pace.
OVERLOAD = 2.5
# Of a payment that cannot be begun now: another request holds it, or no thread is free.
REFUSALS = (409, 503)
PARTS = ["steady", "overload"]


class Shops(NamedTuple):
    """A merchant that many pay at, another one that asks no bank, and a load balancer."""

    merchant_id: str
    pay: ClientCall
    read: ClientCall
    write: ClientCall
    check: ClientCall


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = PARTS) -> Figures:
    """Pay at a steady pace, then with too many clients, and at the steady pace again.

    :param parts: names of parts, all by default; `overload` takes what follows it along.
    :raises CannotContinue: a process failed.
    """
    scale = terms.scale
    shops = open_shops(stage)
    figures: Figures = {}
    with stage.service(bank=BANK):
        shops = shops._replace(read=_something_to_read(shops.read))
        steady = _steady(stage, shops, terms.clients, scale)
        figures |= {f"steady_{name}": value for name, value in steady.items()}
        if "overload" in parts:
            figures |= _overload(stage, shops, terms.clients, scale)
            say("bench", "everybody rests")
            time.sleep(scale.of(REST_SECONDS))
            after = _steady(stage, shops, terms.clients, scale)
            figures |= {f"after_{name}": value for name, value in after.items()}
            figures["after_to_before"] = after["per_second"] / max(steady["per_second"], 0.01)
    return figures


def open_shops(stage: Stage) -> Shops:
    """Open two merchants; the second one's reads are of its payments."""
    many, other = stage.open_merchant(), stage.open_another("--email", "owner@globex.example")
    port = stage.ports.web
    return Shops(
        merchant_id=many["merchant_id"],
        pay=ClientCall(port, PATH, {}, many["secret_key"], demo.first_payment()),
        read=ClientCall(port, PATH, {}, other["secret_key"]),
        write=ClientCall(port, "/v1/customers", {}, other["secret_key"], {"name": "Ada"}),
        check=ClientCall(port, "/healthz", {}),
    )


def _something_to_read(call: ClientCall) -> ClientCall:
    """Return the call of one new payment."""
    draft = ClientCall(call.port, PATH, {}, call.secret_key, {"amount": 12500, "currency": "try"})
    line = Line(call.port)
    try:
        status, content = line.ask(draft.request())
    finally:
        line.close()
    if status != 200:
        raise CannotContinue(f"A payment without a card was answered {status}.")
    return ClientCall(call.port, f"{PATH}/{json.loads(content)['id']}", {}, call.secret_key)


# --- Steady, and too much ---------------------------------------------------------------------


class Phase(NamedTuple):
    """The answers of one phase, by crowd: `whole` with the warm-up, `warm` without it.

    :param cpu_ms: CPU time of each process, of which there may be several under one name.
    """

    whole: dict[str, list[Heard]]
    warm: dict[str, list[Heard]]
    seconds: float
    cpu_ms: Counter[str]


def _phase(stage: Stage, crowds: list[Crowd], seconds: float) -> Phase:
    before = taken_ms(stage.pids)
    whole = ask(stage, crowds, seconds=WARM_SECONDS + seconds)
    begin = min(one.sent_at for heard in whole.values() for one in heard) + WARM_SECONDS
    warm = {
        name: [one for one in heard if begin <= one.heard_at < begin + seconds]
        for name, heard in whole.items()
    }
    return Phase(whole, warm, seconds, taken_ms(stage.pids) - before)


def _steady(stage: Stage, shops: Shops, clients: int, scale: Scale) -> Figures:
    crowds = [Crowd("payers", shops.pay, clients), Crowd("readers", shops.read, READERS)]
    phase = _phase(stage, crowds, scale.of(STEADY_SECONDS))
    return {
        **_paid(phase),
        **_read("reads", phase.warm["readers"]),
        "reads_per_second": len(phase.warm["readers"]) / phase.seconds,
    }


def _overload(stage: Stage, shops: Shops, clients: int, scale: Scale) -> Figures:
    crowds = [
        Crowd("payers", shops.pay, round(clients * OVERLOAD)),
        Crowd("readers", shops.read, READERS),
        Crowd("writers", shops.write, WRITERS),
        Crowd("checkers", shops.check, CHECKERS),
    ]
    phase = _phase(stage, crowds, scale.of(OVERLOAD_SECONDS))
    found = {
        **_paid(phase),
        **_read("reads", phase.warm["readers"]),
        **_read("writes", phase.warm["writers"]),
        **_read("health", phase.warm["checkers"]),
        **_stored(stage, shops, phase.whole["payers"]),
    }
    return {f"overload_{name}": value for name, value in found.items()}


def _paid(phase: Phase) -> Figures:
    whole, warm = phase.whole["payers"], phase.warm["payers"]
    paid = [one.seconds for one in warm if one.status == 200]
    return {
        "per_second": len(paid) / phase.seconds,
        "pay_p50_ms": percentile(paid, 50) * 1000,
        "unsettled": sum(one.status == 200 and one.state != "succeeded" for one in whole),
        "refused_percent": 100 * sum(one.status in REFUSALS for one in whole) / len(whole),
        "late_percent": 100 * sum(one.code == "overloaded" for one in whole) / len(whole),
        "other_answers": sum(one.status not in (200, *REFUSALS) for one in whole),
        "web_cores": phase.cpu_ms["web"] / 1000 / (WARM_SECONDS + phase.seconds),
    }


def _read(what: str, heard: list[Heard]) -> Figures:
    took = [one.seconds for one in heard]
    return {
        f"{what}_ok_percent": 100 * sum(one.status == 200 for one in heard) / max(1, len(heard)),
        f"{what}_p50_ms": percentile(took, 50) * 1000,
        f"{what}_p99_ms": percentile(took, 99) * 1000,
    }


def _stored(stage: Stage, shops: Shops, heard: list[Heard]) -> Figures:
    """Return how many refused requests left a row, and payments whose client got no answer."""
    url = stage.databases["web"]
    refused = [one.key for one in heard if one.status in REFUSALS]
    told = {one.id for one in heard if one.status == 200}
    since = min(one.sent_at for one in heard)
    return {
        "refused_but_stored": stored.count_keys(url, refused),
        "stored_but_not_told": len(stored.begun_since(url, shops.merchant_id, since) - told),
    }
