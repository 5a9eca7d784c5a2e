"""Forms that act once: a double click, a reload and a second tab have one effect.

Each form carries a random token; the change claims it in its own transaction, as a request of the
API claims its `Idempotency-Key` (panel contract: Once).
"""

import secrets
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from core.errors import DomainError
from merchants import idempotency
from merchants.idempotency import (
    IdempotencyKeyInUse,
    IdempotencyKeyInvalid,
    IdempotencyKeyReused,
    Replayed,
)
from merchants.models import Member

T = TypeVar("T")
# An answer, and the text that is kept in its place.
Made = tuple[HttpResponse, str]
FIELD = "token"
# Beside a form's own fields.
_NOT_COUNTED = (FIELD, "csrfmiddlewaretoken")


def token(request: HttpRequest) -> str:
    """Return the token of the form that is shown: the one it was sent with, or a fresh one.

    A form that was refused at a field keeps its token.
    """
    return request.POST.get(FIELD) or secrets.token_urlsafe(16)


def act(
    request: HttpRequest, member: Member, change: Callable[[], object], *, subject: str, done: str
) -> HttpResponse:
    """Make the change that a form asks for, and lead on; once for the form's token.

    The same form sent again changes nothing and leads to the same page. Its token with other values
    changes nothing either, and a page says that the form was sent already.

    :param change: makes it, in a transaction that is open.
    :param subject: the id of the thing that is changed.
    :param done: the address to lead to.
    :raises ChangeRefused: as `change` does; the token stays free.
    """
    return run(request, member, lambda: _in_one_transaction(change, subject), done=done)


def run(
    request: HttpRequest, member: Member, change: Callable[[], object], *, done: str
) -> HttpResponse:
    """Like `act`, for a change that opens its own transactions and claims the token in the first.

    :raises DomainError: as `change` does; the token stays free.
    """

    def answer() -> Made:
        change()
        return _see_other(done), done

    return show_once(request, member, answer, again=lambda _kept: _see_other(done))


class Secret(NamedTuple):
    """A secret that a change has made.

    :param address: of the page of the thing that it is the secret of.
    :param answer: writes the one page that shows it, once the change is committed.
    """

    address: str
    answer: Callable[[], HttpResponse]


def act_with_secret(
    request: HttpRequest,
    member: Member,
    change: Callable[[], Secret],
    *,
    subject: str,
    otherwise: str,
) -> HttpResponse:
    """Make a change as `act` does, and answer with its secret: this one time.

    The secret is kept nowhere, so the same form sent again gets a page that says that it was shown,
    and leads to the thing.

    :param otherwise: the address to lead to if the first sender's process died before it kept the
        thing's address.
    :raises ChangeRefused: as `change` does; the token stays free.
    """

    def answer() -> Made:
        made = _in_one_transaction(change, subject)
        return made.answer(), made.address

    def again(kept: str) -> HttpResponse:
        address = otherwise if kept == subject else kept
        return render(request, "panel/shown_already.html", {"address": address})

    return show_once(request, member, answer, again=again)


def show_once(
    request: HttpRequest,
    member: Member,
    change: Callable[[], Made],
    *,
    again: Callable[[str], HttpResponse],
) -> HttpResponse:
    """Make a change, the answer of which shows a secret, and show it to the first sender alone.

    :param change: opens its own transactions, claims the token in the first, and returns the answer
        with the text to keep: the id of the thing. The secret is kept nowhere.
    :param again: makes the answer to the same form sent again, from that text; from the id that the
        token was claimed with, if nothing could be kept.
    :raises DomainError: as `change` does; the token stays free.
    """
    try:
        _begin(request, member)
        made = None if idempotency.earlier() else _made(request, member, change)
        if made is None:
            # Its sender was cut off before the answer was kept, or is about to keep it.
            earlier = idempotency.earlier()
            return again(earlier.object_id if earlier else "")
        answer, kept = made
        idempotency.save_answer(answer.status_code, kept.encode())
    except Replayed as first:
        return again(first.body.decode())
    except (IdempotencyKeyReused, IdempotencyKeyInUse, IdempotencyKeyInvalid):
        return render(request, "panel/sent_already.html", status=409)
    return answer


def _made(request: HttpRequest, member: Member, change: Callable[[], Made]) -> Made | None:
    """Return what the change made; None if another click was faster and has made it.

    :raises Replayed: that click is answered already.
    """
    try:
        return change()
    except IdempotencyKeyInUse:
        _begin(request, member)
        if idempotency.earlier() is None:
            raise  # The faster one was refused since, and has freed the token.
        return None
    except DomainError:
        # It may have claimed the token in a transaction before the one that refused.
        idempotency.forget()
        raise


def _in_one_transaction(change: Callable[[], T], subject: str) -> T:
    with transaction.atomic(durable=True):
        idempotency.take(subject)
        return change()


def _see_other(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response


def _begin(request: HttpRequest, member: Member) -> None:
    fields = {name: values for name, values in request.POST.lists() if name not in _NOT_COUNTED}
    idempotency.begin(
        member.merchant,
        # A form without one is refused: it could act twice.
        key=f"panel_{request.POST[FIELD]}" if request.POST.get(FIELD) else "",
        method_and_path=f"POST {request.path} {member.user_id}",
        body=fields,
    )
