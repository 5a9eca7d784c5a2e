"""Messages of refusals: an SDK's exception prints nothing else, so each names its parameter.

A refusal's own text has no subject: a page shows it at the input. Here it gets one.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from core.errors import (
    DomainError,
    ParameterInvalid,
    ParameterMissing,
    ParameterUnknown,
    QueryParameterUnknown,
)
from core.names import plain
from core.rest.stripe_names import PARAMETERS
from core.secrets_in_text import hide_secrets

NAME_MAX = 100  # Characters; more is none of ours.
LIKENESS = 0.75  # How much of two names must be the same for a suggestion.
LISTED_MAX = 40
LACKING_MAX = 20  # More come from a list whose items all lack the same.
ABOUT_PARAMETERS = (ParameterInvalid, ParameterMissing, ParameterUnknown)
UNKNOWN = (ParameterUnknown, QueryParameterUnknown)
RIGHT_TO_LEFT = ("R", "AL", "AN")


def message_of(refusal: DomainError) -> str:
    """Return the message of an answer; no value that the client sent is in it."""
    return " ".join(filter(None, (_sentence(refusal), refusal.advice or _remedy(refusal))))


def _sentence(refusal: DomainError) -> str:
    name = legible(refusal.param)
    is_general = refusal.text == refusal.message
    if isinstance(refusal, ParameterMissing) and is_general:
        return _required(refusal)
    if name is None:
        return refusal.text
    if isinstance(refusal, UNKNOWN) and is_general:
        return f"{name} is not a parameter of this endpoint."
    if refusal.text.startswith("Must "):
        return f"{name} m{refusal.text[1:]}"
    return refusal.text if _is_named(name, refusal.text) else f"{name}: {refusal.text}"


def _remedy(refusal: DomainError) -> str:
    """Return the way out that the reference gives for the code; none for a parameter's refusal."""
    if isinstance(refusal, ABOUT_PARAMETERS) or refusal.explained is None:
        return ""
    return refusal.explained.remedy.replace("`", "")


def _required(refusal: ParameterMissing) -> str:
    names = [str(name) for name in refusal.lacking or (refusal.param,) if legible(name)]
    if not names:
        return refusal.text
    if len(names) > LACKING_MAX:
        names[LACKING_MAX:] = [f"{len(names) - LACKING_MAX} more"]
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} required."


def _is_named(name: str, text: str) -> bool:
    return bool(re.search(rf"(?i)(?<![\w\]]){re.escape(name)}(?![\w\[])", text))


def legible(name: str | None) -> str | None:
    """Return a parameter's name if a message may repeat it, else None.

    A client may write anything in the place of a name: a secret, a page of text, characters that
    turn the direction of the text around them.
    """
    if not name or len(name) > NAME_MAX or not name.isprintable() or hide_secrets(name) != name:
        return None
    is_turned = any(unicodedata.bidirectional(one) in RIGHT_TO_LEFT for one in name)
    return None if is_turned else name


# --- Advice -----------------------------------------------------------------------------------


def listed(names: Iterable[str], *, last: str = "and") -> str:
    """Return names as a sentence has them: `a, b and c`."""
    *others, end = names
    return f"{', '.join(others)} {last} {end}" if others else end


def instead_of(name: str, known: Collection[str]) -> str:
    """Return advice for a name that is not known: the one that may be meant, or all of them.

    For a name of Stripe's it is what to use instead.


    :param known: as the client would write them.
    """
    if stripe := PARAMETERS.get(name):
        return stripe
    meant = nearest(name, known)
    return f"Did you mean {meant}?" if meant else taken(known)


def taken(known: Collection[str], *, by: str = "It") -> str:
    """Return the names that something takes as a sentence; nothing if they are too many to read.

    :param by: the subject of the sentence.
    """
    if not known:
        return f"{by} takes no parameters."
    return f"{by} takes {listed(known)}." if len(known) <= LISTED_MAX else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a client's, None if none is like it."""
    if len(name) > NAME_MAX:
        return None
    spelled: dict[str, str] = {}
    for one in known:
        spelled.setdefault(plain(one), one)
    found = get_close_matches(plain(name), spelled, n=1, cutoff=LIKENESS)
    return spelled[found[0]] if found else None
