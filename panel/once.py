"""Forms that act once: a double click, a reload and a second tab have one effect.

Each form carries a random token; the change claims it in its own transaction, as a request of the
API claims its `Idempotency-Key` (panel contract: Once).
"""

import secrets
from collections.abc import Callable

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from merchants import idempotency
from merchants.idempotency import (
    IdempotencyKeyInUse,
    IdempotencyKeyInvalid,
    IdempotencyKeyReused,
    Replayed,
)
from merchants.models import Member

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
    try:
        _begin(request, member)
        if not idempotency.earlier():
            _commit(request, member, change, subject)
        idempotency.save_answer(303, done.encode())
    except Replayed:
        pass  # It was made and answered before.
    except (IdempotencyKeyReused, IdempotencyKeyInUse, IdempotencyKeyInvalid):
        return render(request, "panel/sent_already.html", status=409)
    response = HttpResponseRedirect(done)
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


def _commit(
    request: HttpRequest, member: Member, change: Callable[[], object], subject: str
) -> None:
    try:
        with transaction.atomic(durable=True):
            idempotency.take(subject)
            change()
    except IdempotencyKeyInUse:
        # Another click was faster and has committed. The same form is answered as that one is.
        _begin(request, member)
