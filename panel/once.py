"""Forms that act once: a double click, a reload and a second tab have one effect.

Each form carries a random token, claimed as a request of the API claims its `Idempotency-Key`, but
before the work begins (panel contract: Once). So the same form sent again finds the first sending
under way: it waits shortly, then leads to the page that looks again by itself (`panel.sent_again`).
"""

import secrets
from collections.abc import Callable
from threading import BoundedSemaphore
from time import monotonic, sleep
from typing import NamedTuple, TypeVar
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.core.signing import Signer
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from api import idempotency
from api.idempotency import (
    IdempotencyKeyInUse,
    IdempotencyKeyInvalid,
    IdempotencyKeyReused,
    NoLongerKept,
    Replayed,
    handover,
)
from core import connections
from core.errors import DomainError, InternalError
from merchants.models import Member
from panel import shown_once

T = TypeVar("T")
# An answer, and the text that is kept in its place.
Made = tuple[HttpResponse, str]
FIELD = "token"
# Beside a form's own fields.
_NOT_COUNTED = (FIELD, "csrfmiddlewaretoken")
# In the address of the page that looks again: the form's token and the address to lead to, signed.
WAITING = "sent"
WAIT_SECONDS, STEP_SECONDS = 3.0, 0.1
# More sendings do not wait in a process: its threads are for others too.
_places = BoundedSemaphore(8)


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

    If the service fails after the change has claimed the token, it leads on like a form sent again.

    :raises DomainError: as `change` does; the token stays free.
    """

    def answer() -> Made:
        change()
        return see_other(done), done

    sending = _Sending(request, member, done=done)
    return sending.answer(answer, _keep, lambda _kept: see_other(done))


def make(
    request: HttpRequest,
    member: Member,
    change: Callable[[], Made],
    *,
    again: Callable[[str], HttpResponse],
) -> HttpResponse:
    """Like `run`, for a change that makes the thing that its answer leads to.

    :param change: opens its own transactions, claims the token in the first, and returns the answer
        with the text to keep: the id of the thing, or an address.
    :param again: makes the answer to the same form sent again, from that text; from the id that the
        token was claimed with, if nothing could be kept.
    :raises DomainError: as `change` does; the token stays free.
    """
    return _Sending(request, member).answer(change, _keep, again)


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

    The same form sent again gets a page that says that it was shown, and leads to the thing; the
    secret too, if the browser has dropped the first answer.

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
    """Like `make`, where the answer shows a secret: once in a browser (`panel.shown_once`).

    :raises DomainError: as `change` does; the token stays free.
    """

    def keep(answer: HttpResponse, text: str) -> None:
        page = shown_once.sealed(request, request.POST[FIELD], answer)
        body = handover.with_page(text, page)
        idempotency.save_answer(answer.status_code, body, holds_secret=True)

    return _Sending(request, member).answer(change, keep, again)


def signer(request: HttpRequest, member: Member) -> Signer:
    """Return the signer of what a sending waits for: of this form and this person alone."""
    return Signer(salt=f"panel.once {member.user_id} {request.path}")


def key_of(token: str) -> str:
    """Return the key that a form's token claims; none that is valid, without a token."""
    # It could act twice.
    return f"panel_{token}" if token else ""


class _Sending:
    """A form that was sent.

    :param done: the address to lead to, if that is known before.
    """

    def __init__(self, request: HttpRequest, member: Member, *, done: str = "") -> None:
        self._request, self._member, self._done = request, member, done

    def answer(
        self,
        change: Callable[[], Made],
        keep: Callable[[HttpResponse, str], None],
        again: Callable[[str], HttpResponse],
    ) -> HttpResponse:
        """Make the change, or find what the first sending of the form has made."""
        try:
            self._claim()
            if earlier := idempotency.earlier():
                return again(earlier.object_id)  # Its sender died before it could answer.
            answer, text = _made(change)
            keep(answer, text)
        except Replayed as first:
            text, page = handover.opened(first.body)
            token = self._request.POST[FIELD]
            return (page and shown_once.again(self._request, token, page)) or again(text)
        except NoLongerKept as first:
            return again(first.object_id)
        except IdempotencyKeyInUse:
            return self._look_again()
        except InternalError:
            # Committed work goes on without its form, whose claim stays and names it.
            if not idempotency.let_go():
                raise
            return self._look_again()
        except IdempotencyKeyReused:
            return render(self._request, "panel/sent_already.html", status=409)
        except IdempotencyKeyInvalid:
            # No page of ours sends a form without its token.
            raise BadRequest from None
        return answer

    def _claim(self) -> None:
        """Claim the form's token; wait if another sending has, until it is answered or refused."""
        try:
            self._try_to_claim()
        except IdempotencyKeyInUse:
            if not _places.acquire(blocking=False):
                raise
            try:
                self._wait()
            finally:
                _places.release()

    def _wait(self) -> None:
        ends_at = monotonic() + WAIT_SECONDS
        while True:
            connections.give_back()
            sleep(STEP_SECONDS)
            try:
                return self._try_to_claim()
            except IdempotencyKeyInUse:
                if monotonic() >= ends_at:
                    raise

    def _try_to_claim(self) -> None:
        _begin(self._request, self._member)
        if not idempotency.earlier():
            idempotency.announce()

    def _look_again(self) -> HttpResponse:
        waits_for = [self._request.POST[FIELD], self._done]
        signed = signer(self._request, self._member).sign_object(waits_for)
        return see_other(f"{self._request.path}?{urlencode({WAITING: signed})}")


def _keep(answer: HttpResponse, text: str) -> None:
    idempotency.save_answer(answer.status_code, text.encode())


def _made(change: Callable[[], Made]) -> Made:
    try:
        return change()
    except BaseException as problem:
        if isinstance(problem, DomainError) and not isinstance(problem, InternalError):
            # It may have claimed the token in a transaction before the one that refused.
            idempotency.forget()
        # If all of it was rolled back.
        idempotency.withdraw()
        raise


def _in_one_transaction(change: Callable[[], T], subject: str) -> T:
    with transaction.atomic(durable=True):
        idempotency.take(subject)
        return change()


def see_other(address: str) -> HttpResponse:
    """Lead on to an address by GET: 303."""
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response


def _begin(request: HttpRequest, member: Member) -> None:
    fields = {name: values for name, values in request.POST.lists() if name not in _NOT_COUNTED}
    idempotency.begin(
        member.merchant,
        key=key_of(request.POST.get(FIELD, "")),
        method_and_path=f"POST {request.path} {member.user_id}",
        body=fields,
    )
