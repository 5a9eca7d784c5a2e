"""Sessions in the database: sealed, found by the hash of their key, with two ends that are ours.

A session ends when it was not used for `SESSION_IDLE_SECONDS`, and `SESSION_SECONDS` after its
sign-in. The server says when, in real time; the cookie's own end decides nothing. A use is written
down once a minute at most, and a page that asks again by itself is none (`is_poll`).
"""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from hashlib import blake2b
from typing import Any, TypeVar

import orjson
import structlog
from allauth.account.internal.stagekit import LOGIN_SESSION_KEY
from allauth.account.utils import url_str_to_user_pk
from django.conf import settings
from django.contrib.auth import SESSION_KEY as USER_ID
from django.contrib.sessions.backends import db
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from core.keyring import SealBroken, ring
from merchants.models import Session, User

log = structlog.get_logger(__name__)

View = TypeVar("View", bound=Callable[..., Any])
PURPOSE = "session"
BEGUN_AT = "_begun_at"
ADDRESS, BROWSER = "_address", "_browser"
BROWSER_LENGTH_MAX = 200
# A use within a minute of the last one that was written down is not written down.
NOTED_SECONDS = 60


class SessionStore(db.SessionStore):
    """Django's, sealed, with an end that no use moves."""

    _seen_at: datetime | None = None

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def load(self) -> dict[str, Any]:
        """Return what the session holds, nothing if it has ended."""
        name = row_name(self.session_key or "")
        row = Session.objects.filter(session_key=name, expire_date__gt=timezone.now()).first()
        held = _opened(row) if row else {}
        if row is None or BEGUN_AT not in held:
            self._session_key = None
            return {}
        self._seen_at = row.seen_at
        return held

    def note_use(self) -> None:
        """Move the idle end, if the last use that was written down is a minute ago."""
        now = timezone.now()
        if not self._seen_at or now - self._seen_at < timedelta(seconds=NOTED_SECONDS):
            return
        # Not save(): the session may have been ended by another request, and stays ended.
        Session.objects.filter(session_key=row_name(self.session_key or "")).update(
            seen_at=now, expire_date=self.get_expiry_date()
        )
        self._seen_at = now

    def exists(self, session_key: str) -> bool:
        return Session.objects.filter(session_key=row_name(session_key)).exists()

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key:
            Session.objects.filter(session_key=row_name(key)).delete()

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        data.setdefault(BEGUN_AT, timezone.now().timestamp())
        key: str = self._get_or_create_session_key()  # type: ignore[attr-defined]  # Likewise.
        name = row_name(key)
        self._seen_at = timezone.now()
        return Session(
            session_key=name,
            session_data=_sealed(data, name),
            expire_date=_end_of(data),
            user_id=_user_of(data),
            seen_at=self._seen_at,
        )

    def get_expiry_date(self, **_kwargs: Any) -> datetime:
        return _end_of(self._session)  # type: ignore[attr-defined]  # Its stubs leave it out.

    def cycle_key(self) -> None:
        """Begin again under another key: the password was just given."""
        self.pop(BEGUN_AT, None)
        super().cycle_key()


class NotedSessions(SessionMiddleware):
    """Django's, which also writes down that a session was used."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response = super().process_response(request, response)
        session = getattr(request, "session", None)
        if session is not None and session.accessed and not getattr(request, "is_poll", False):
            session.note_use()
        return response


def is_poll(view: View) -> View:
    """Mark a view that pages ask by themselves: asking it keeps no session alive."""

    @wraps(view)
    def polled(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        request.is_poll = True  # type: ignore[attr-defined]
        return view(request, *args, **kwargs)

    return polled  # type: ignore[return-value]


# --- A person's -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """A session as its owner sees it; `name` is the row's, from which no key can be made."""

    name: str
    begun_at: datetime
    seen_at: datetime
    address: str
    browser: str
    is_current: bool


def note_origin(session: Any, *, address: str, browser: str) -> None:
    """Remember where a sign-in came from, for the person's list of sessions."""
    session[ADDRESS], session[BROWSER] = address, browser[:BROWSER_LENGTH_MAX]


def of(user: User, current: str | None) -> list[Shown]:
    """Return the sessions in which a person is signed in, the one used last first.

    :param current: the key of the session that asks.
    """
    rows = Session.objects.filter(user=user, expire_date__gt=timezone.now())
    shown = [_shown(row, _opened(row), current) for row in rows.order_by("-seen_at")]
    return [one for one in shown if one]


def end(user: User, name: str) -> bool:
    """End one session of a person; return whether there was one."""
    deleted, _ = Session.objects.filter(user=user, session_key=name).delete()
    return bool(deleted)


def end_all_of(user: User, *, but: str | None = None) -> int:
    """End a person's sessions, half-finished sign-ins too, and return how many there were.

    :param but: the key of a session that goes on.
    """
    ended, _ = Session.objects.filter(user=user).exclude(session_key=row_name(but or "")).delete()
    return ended


def end_all() -> int:
    """End every session of this installation, and return how many there were."""
    ended, _ = Session.objects.all().delete()
    return ended


def readable() -> Iterator[tuple[str, bool]]:
    """Yield the name of each session that has not ended, and whether the key ring opens it."""
    for row in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        yield row.session_key, bool(_opened(row))


def row_name(session_key: str) -> str:
    """Return the name of a session's row: who reads the table gets no key that opens a session."""
    return blake2b(session_key.encode(), digest_size=20).hexdigest()


def _shown(row: Session, held: dict[str, Any], current: str | None) -> Shown | None:
    if USER_ID not in held:
        return None  # A sign-in that waits for its second factor.
    return Shown(
        name=row.session_key,
        begun_at=_begun_at(held),
        seen_at=row.seen_at,
        address=held.get(ADDRESS, ""),
        browser=held.get(BROWSER, ""),
        is_current=bool(current) and row.session_key == row_name(current or ""),
    )


# --- What a row holds -------------------------------------------------------------------------


def _sealed(held: dict[str, Any], name: str) -> str:
    blob = ring().seal_for(PURPOSE, orjson.dumps(held), context=name)
    return base64.b64encode(blob).decode("ascii")


def _opened(row: Session) -> dict[str, Any]:
    try:
        blob = base64.b64decode(row.session_data, validate=True)
        held = orjson.loads(ring().open_for(PURPOSE, blob, context=row.session_key))
    except (ValueError, SealBroken):
        # Of another key ring, or tampered with: its owner signs in again.
        log.warning("session_unreadable")
        return {}
    return held


def _user_of(held: dict[str, Any]) -> int | None:
    waiting = held.get(LOGIN_SESSION_KEY) or {}
    if USER_ID in held:
        return int(held[USER_ID])
    user_pk = waiting.get("user_pk")
    return url_str_to_user_pk(user_pk) if user_pk else None


def _begun_at(held: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(held[BEGUN_AT], UTC)


def _end_of(held: dict[str, Any]) -> datetime:
    whole = _begun_at(held) + timedelta(seconds=settings.SESSION_SECONDS)
    return min(whole, timezone.now() + timedelta(seconds=settings.SESSION_IDLE_SECONDS))
