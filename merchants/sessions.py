"""Sessions in the database that end when they are idle, and 12 hours after they began.

The server says when: `expire_date` of the row moves with every use, up to the end of the whole
time, and a row that is over is not found any more. The cookie's own end decides nothing. Real time.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends import db
from django.utils import timezone

BEGUN_AT = "_begun_at"


class SessionStore(db.SessionStore):
    """Django's, with an end that no use moves."""

    def load(self) -> dict[str, Any]:
        """Return what the session holds, nothing if it has ended; this is a use of it."""
        held = super().load()
        if BEGUN_AT not in held:
            self._session_key = None
            return {}
        # Not save(): the end moves although nothing was changed, and must not come back to a
        # session that another request has ended.
        ours = self.model.objects.filter(session_key=self.session_key)
        ours.update(expire_date=_end_of(held))
        return held

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        data.setdefault(BEGUN_AT, timezone.now().timestamp())
        return super().create_model_instance(data)

    def get_expiry_date(self, **_kwargs: Any) -> datetime:
        return _end_of(self._session)  # type: ignore[attr-defined]  # Its stubs leave it out.

    def cycle_key(self) -> None:
        """Begin anew under another key: the password was just given."""
        self.pop(BEGUN_AT, None)
        super().cycle_key()


def _end_of(held: dict[str, Any]) -> datetime:
    begun_at = datetime.fromtimestamp(held[BEGUN_AT], UTC)
    whole = begun_at + timedelta(seconds=settings.SESSION_SECONDS)
    return min(whole, timezone.now() + timedelta(seconds=settings.SESSION_IDLE_SECONDS))
