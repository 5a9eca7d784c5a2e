"""Misbehaviour of the bank on demand: each kind waits for the next request that it fits.

The bank has done its work by then, apart from `silent_before` and the codes: a bank that answers
badly has charged nonetheless.
"""

import re
from collections.abc import Mapping

from django.db import transaction

from core import clock
from testbank.models import Misbehaviour
from testbank.router import BANK

RETURN, GARANTI_RETURN = "return", "gt3dreturn"
NESTPAY_CHANGES = ("Auth", "PreAuth", "PostAuth", "Void", "Credit")
GARANTI_CHANGES = ("sales", "preauth", "postauth", "void", "refund")
CHANGES = (*NESTPAY_CHANGES, *GARANTI_CHANGES)
INQUIRIES = ("ORDERSTATUS", "ORDERHISTORY", "orderinq", "orderhistoryinq", "orderlistinq")
# Kind: what goes wrong.
ANSWERS: dict[str, str] = {
    "late": "answers after the acquirer has stopped waiting",
    "silent": "does its work, and never answers",
    "silent_before": "does nothing, and never answers",
    "cut": "closes the connection in the middle of its answer",
    "empty": "answers with nothing",
    "html": "answers with a page of HTML and status 200",
    "error_500": "answers with status 500",
    "redirect": "answers with a redirect",
    "too_long": "answers with 50 MB",
    "doctype": "answers with a DOCTYPE",
    "entities": "answers with entities that grow",
    "wrong_encoding": "declares another encoding than that of its answer",
    "wrong_type": "answers with another content type",
    "doubled_element": "answers with the response code twice",
    "missing_element": "answers without the response code",
    "other_order": "answers about another order",
    "contradiction": "answers Approved with the code of a decline",
    "duplicate": "answers that the order has succeeded before",
    "under_way": "answers that the order has not ended",
    "host_timeout": "answers that its host timed out, and has done it",
}
PAYING: dict[str, str] = {
    "timeout_reversed": "answers that its host timed out, and reverses it when its day ends",
    "recorded_late": "falls silent, and leaves the success out of its inquiries for a minute",
}
OF_SIGNED_ANSWERS: dict[str, str] = {"wrong_answer_hash": "signs its answer with another key"}
OF_A_VOID_OR_REFUND: dict[str, str] = {
    "settled": "refuses a void and takes a refund, as on the day after"
}
OF_A_REFUND: dict[str, str] = {"not_settled": "refuses a refund, as on the day of the sale"}
RETURNS: dict[str, str] = {
    "wrong_hash": "signs the return with another key",
    "empty_hashparams": "sends hashparams and hash empty",
    "old_hash": "signs the return as the protocol's oldest version did",
    "changed_amount": "returns another amount",
    "turkish_letters": "sends the return in ISO-8859-9",
    "national_id": "adds NATIONALIDNO, which is not signed",
    "no_md_status": "leaves mdStatus out",
    "doubled_name": "adds a name that differs in case only",
    "many_fields": "sends 65 fields",
    "attempted": "authenticates by half: mdStatus 4",
    "md_used": "sends an md that was used",
    "md_too_old": "sends an md that is too old",
}
# Returns by which the browser brings the list of the signed fields.
LISTED_RETURNS: dict[str, str] = {
    "short_hashparams": "signs the return over two fields",
    "other_order_of_hashparams": "signs the fields in another order",
    "moved_digit": "moves a digit into the next field, under the same hash",
    "system_error": "returns mdstatus 7, unsigned",
}
# Kinds, by the requests that they wait for.
FITTING: tuple[tuple[Mapping[str, str], tuple[str, ...]], ...] = (
    (ANSWERS, CHANGES),
    (OF_SIGNED_ANSWERS, GARANTI_CHANGES),
    (PAYING, ("Auth", "PreAuth", "sales", "preauth")),
    (OF_A_VOID_OR_REFUND, ("Void", "Credit", "void", "refund")),
    (OF_A_REFUND, ("Credit", "refund")),
    (RETURNS, (RETURN, GARANTI_RETURN)),
    (LISTED_RETURNS, (GARANTI_RETURN,)),
)
KINDS = {kind: requests for kinds, requests in FITTING for kind in kinds}
# Besides: any code of the bank's, with which it refuses without doing anything.
CODES: dict[str, tuple[str, ...]] = {
    "[A-Z]{2,4}-[0-9]{3,4}": NESTPAY_CHANGES,
    "[0-9]{4}": GARANTI_CHANGES,
    "[0-9A-Z]{2}": CHANGES,
}
TIMES_MAX = 1000


class UnknownMisbehaviour(Exception):
    """The bank cannot misbehave so. The text says how it can."""


@transaction.atomic(using=BANK, durable=True)
def plan(kind: str, *, times: int = 1, on: str = "") -> None:
    """Misbehave with the next requests that a kind fits; `on` names another type of request.

    :raises UnknownMisbehaviour: there is no such kind, or it does not fit the request.
    """
    if not _fits(kind):
        raise UnknownMisbehaviour(f"The kinds are {', '.join(KINDS)}, or a code to refuse with")
    if on and on not in _possible(kind):
        raise UnknownMisbehaviour(f"{kind} is for {', '.join(_possible(kind))}")
    if not 1 <= times <= TIMES_MAX:
        raise UnknownMisbehaviour(f"It may happen 1 to {TIMES_MAX} times")
    Misbehaviour.objects.create(kind=kind, on=on, times_left=times, created_at=clock.now())


def take(request: str) -> str:
    """Return what goes wrong with a request of a type, and count it; empty if nothing does."""
    if not Misbehaviour.objects.filter(times_left__gte=1).exists():
        return ""
    with transaction.atomic(using=BANK, durable=True):
        planned = Misbehaviour.objects.select_for_update().filter(times_left__gte=1)
        for one in planned.order_by("pk"):
            if request in ([one.on] if one.on else _fits(one.kind)):
                one.times_left -= 1
                one.save()
                return one.kind
    return ""


def kinds_for(request: str) -> tuple[str, ...]:
    """Return the kinds that may be planned for a type of request."""
    return tuple(kind for kind in KINDS if request in _possible(kind))


def behave() -> None:
    """Forget all misbehaviour that has not happened yet."""
    Misbehaviour.objects.filter(times_left__gte=1).update(times_left=0)


def _fits(kind: str) -> tuple[str, ...]:
    """Return the requests that a kind or a code waits for; none if there is no such kind."""
    of_code = [requests for form, requests in CODES.items() if re.fullmatch(form, kind)]
    return KINDS.get(kind) or next(iter(of_code), ())


def _possible(kind: str) -> tuple[str, ...]:
    """Return the requests that a kind may be planned for; inquiries too, if asked for by name."""
    is_an_answer = kind in ANSWERS or kind in OF_SIGNED_ANSWERS or kind not in KINDS
    return (*_fits(kind), *INQUIRIES) if is_an_answer else KINDS[kind]
