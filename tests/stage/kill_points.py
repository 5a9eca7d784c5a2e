"""The web process and the bank in which a process dies: for tests.stage.kills alone."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from tests.stage.unseen import application as web

# isort: split
# Django is set up from here on.
from acquirers.conversation import settling
from api import idempotency
from core.rest import expansion
from payments.bank import authorization, modifications
from payments.checkout import following, held_cards
from payments.checkout.visits import Visit
from payments.disputes import deliveries
from payments.payer import pages
from testbank.wsgi import application as honest_bank
from tests.stage.deadly import BANK_WORKS_SECONDS, deadly
from tests.stage.kills import AS_A_CARD_IS_HELD, AS_THE_SESSION_ENDS, AS_THE_TRY_IS_COUNTED, INSIDE
from vault import cvc as vault_cvc

ASKS_THE_BANK = ((authorization, "authorize"), (modifications, "run"), (settling, "pursue"))
# At each of them a payment, a press, a payer's return, a capture, a cancellation and a refund can
# die.
BOUNDARIES = {
    "after_the_first_transaction": ASKS_THE_BANK,
    "while_the_bank_works": ASKS_THE_BANK,
    "after_the_bank_answered": ((settling, "apply_with_retry"),),
    "before_the_answer": (
        (idempotency, "kept_answer"),
        (expansion, "expand"),
        (pages, "back_to_shop"),
        (Visit, "see"),
    ),  # fmt: skip
    AS_THE_TRY_IS_COUNTED: ((held_cards, "use"),),
    AS_THE_SESSION_ENDS: ((following, "_end"),),
    AS_A_CARD_IS_HELD: ((vault_cvc, "hold"),),
    INSIDE: ((deliveries, "owe_evidence"), (deliveries, "owe_acceptance")),
}


def _prepared() -> Callable[..., Any]:
    for boundary, places in BOUNDARIES.items():
        for module, name in places:
            setattr(module, name, deadly(getattr(module, name), boundary))
    return web


def slow_bank(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Take the order, think about it, and only then write it down."""
    if environ["REQUEST_METHOD"] == "POST":
        time.sleep(BANK_WORKS_SECONDS)
    return honest_bank(environ, start_response)


application = _prepared()
