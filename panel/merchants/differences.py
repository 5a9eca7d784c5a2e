"""An event's changes, field by field: `previous_attributes` compared with the object."""

import json
from typing import Any, NamedTuple

from core.secrets_in_text import hide_hand_offs


class Difference(NamedTuple):
    """One field that changed.

    :param name: with the names around it: `metadata.order`.
    """

    name: str
    before: str
    after: str


def differences(previous: dict[str, Any], now: dict[str, Any], above: str = "") -> list[Difference]:
    """Return the fields that changed, in the order of the object.

    A field that has nothing to show before and after did not change for its readers: null that
    became an empty list, or the same text.

    :param previous: the earlier values; nested objects carry their changed keys alone.
    """
    found = []
    for name, old in previous.items():
        new = now.get(name)
        whole = f"{above}{name}"
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{whole}.")
        elif _text(old) != _text(new) and not (_is_nothing(old) and _is_nothing(new)):
            found.append(Difference(whole, _text(old), _text(new)))
    return found


def _is_nothing(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _text(value: Any) -> str:
    if value is None:
        return "–"
    is_plain = isinstance(value, str)
    return hide_hand_offs(value if is_plain else json.dumps(value, ensure_ascii=False, indent=1))
