"""The merchant's own keys and values on an object (contract 1)."""

from core.errors import ParameterInvalid

MAX_KEYS = 50


def merge(current: dict[str, str], changes: dict[str, str] | str | None) -> dict[str, str]:
    """Return the metadata after a change: empty values delete, `""` and null clear all.

    Its keys are in the order in which PostgreSQL gives them back, so that every answer is alike.

    :raises ParameterInvalid: more than 50 keys would remain.
    """
    if not changes or isinstance(changes, str):
        return {}
    merged = {key: value for key, value in {**current, **changes}.items() if value}
    if len(merged) > MAX_KEYS:
        raise ParameterInvalid(f"Metadata has up to {MAX_KEYS} keys.", param="metadata")
    return dict(sorted(merged.items(), key=_place))


def _place(entry: tuple[str, str]) -> tuple[int, bytes]:
    key = entry[0].encode()
    return len(key), key
