"""When each key was made, began to be used, was retired and purged, by whom, and what is due."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from core import context
from core.keyring.purposes import keys_of_purposes, primary_of, purpose_of

DAY = timedelta(days=1)
# For so long a key is used, in days, before another one has to follow it.
CRYPTOPERIOD_DAYS = {"encryption": 365, "kek": 2 * 365, "mac": 3 * 365}
# A retired key opens what is restored from a backup; after that time none is kept any more.
RETIRED_DAYS = 2 * 365
# Its retired keys prove the rows of before, as long as the log is kept.
KEPT_PURPOSE = "audit_log"
DATES = ("made_at", "active_since", "superseded_at", "retired_at", "purged_at")


class KeyRecord(NamedTuple):
    """One key by the dates that the ring keeps.

    :param about: instants and names by step; empty for a key of before dates were kept.
    """

    name: str
    purpose: str
    state: str
    about: Mapping[str, Any]
    due_at: datetime | None


def made(*, is_active: bool = False) -> dict[str, str]:
    """Return what is written down about a key that is made now."""
    about = stamped({}, "made")
    return {**about, "active_since": about["made_at"]} if is_active else about


def stamped(about: Mapping[str, Any], step: str) -> dict[str, Any]:
    """Return what is written down about a key, with a step that is done now, and by whom."""
    return {**about, f"{step}_at": now().isoformat(), f"{step}_by": by()}


def in_the_future(about: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the name of a key with a date of tomorrow; clocks may be an hour apart."""
    latest = now() + DAY
    for name, one in about.items():
        if any(_instant(one.get(date)) > latest for date in DATES if one.get(date)):
            return name
    return None


def records(content: Mapping[str, Any]) -> list[KeyRecord]:
    """Return what the content of a file says of each of its keys, and of those purged from it."""
    about = content.get("about", {})
    names = {"kek": "kek", **dict.fromkeys(keys_of_purposes(content), "mac")}
    names |= dict.fromkeys(content["encryption"], "encryption")
    gone = [name for name in about if name not in names]
    names |= {name: "mac" if purpose_of(name) else "encryption" for name in gone}
    return [_record(content, name, kind, about.get(name, {})) for name, kind in names.items()]


def retired_at(content: Mapping[str, Any]) -> dict[str, datetime]:
    """Return by name when each retired key was retired."""
    about = content.get("about", {})
    dated = {name: about.get(name, {}).get("retired_at") for name in content.get("retired", [])}
    return {name: _instant(text) for name, text in dated.items() if text}


def superseded(content: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys in whose place another one is primary, retired ones included."""
    ended = ("superseded", "retired")
    return frozenset(one.name for one in records(content) if one.state in ended)


def due(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each key that has been used, or kept, for too long."""
    for one in records(content):
        if one.due_at and one.due_at <= now():
            yield f"key ring: {_advice(one)}"


def _record(
    content: Mapping[str, Any], name: str, kind: str, about: Mapping[str, Any]
) -> KeyRecord:
    state = _state(content, name, kind, about)
    since, days = about.get("active_since"), CRYPTOPERIOD_DAYS[kind]
    if state == "retired":
        since, days = about.get("retired_at"), RETIRED_DAYS
    purpose = purpose_of(name) or kind
    ends = state == "primary" or (state == "retired" and purpose != KEPT_PURPOSE)
    due_at = _instant(since) + days * DAY if since and ends else None
    return KeyRecord(name, purpose, state, about, due_at)


def _state(content: Mapping[str, Any], name: str, kind: str, about: Mapping[str, Any]) -> str:
    if kind == "kek":
        return "primary"
    if name not in content["encryption"] and name not in keys_of_purposes(content):
        return "purged"
    if name in content.get("retired", []):
        return "retired"
    purpose = purpose_of(name)
    if name == (primary_of(content, purpose) if purpose else content["primary"]):
        return "primary"
    return "superseded" if "superseded_at" in about else "added"


def _advice(one: KeyRecord) -> str:
    if one.state == "retired":
        return f"{one.name} was retired at {one.about['retired_at'][:10]}: purge it"
    return f"{one.name} is used since {one.about['active_since'][:10]}: change it"


def _instant(text: Any) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError("A date without its zone.")
    return instant


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def by() -> str:
    """Return the name of the one who does this: a command's operator, else the machine's user."""
    actor = context.actor()
    return actor.name or actor.id or context.login_name() or "somebody without a name"
