"""Secrets in free text, card numbers among them: found, however escaped, and hidden.

No Django here: the log formatter uses it.
"""

import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from core.cards import SHORTEST_NUMBER
from core.detection import contains_card_number, mask_card_numbers
from core.names import SECRET_NAMES

REDACTED = "[redacted]"
MAX_CHARACTERS = 64 * 1024
# How often a text may have been escaped: in an address, in another one, in a log of it.
MAX_ESCAPES = 4


def hide_secrets(text: str) -> str:
    """Return the text as it may be shown, cut at `MAX_CHARACTERS`."""
    text = _cut(text)
    if _is_a_plain_word(text):
        return text
    shown = plain = _without_secrets(text)
    # Escapes put letters and digits beside a secret: `\n4242…`, `%204242…`, `cvc%253D123`.
    for _ in range(MAX_ESCAPES):
        escaped, plain = plain, _unescaped(plain)
        if plain == escaped:
            break
        hidden = _without_secrets(plain)
        if hidden != plain:
            shown = plain = hidden
    return shown


def hide_hand_offs(text: str) -> str:
    """Return the text without the secrets of hand-offs, and whole otherwise.

    A hand-off's link may be worth a card until its payer presses (docs/adr/0061).
    """
    return _HAND_OFF.sub(rf"\1{REDACTED}", text)


def holds_secret_key(text: str) -> bool:
    """Return whether a text holds an API key or a signing secret."""
    return bool(_API_KEY.search(text) or _SIGNING_SECRET.search(text))


# --- What gives them away ----------------------------------------------------------------------

_NAMED = "|".join(sorted(SECRET_NAMES))
_QUOTE = r"""\\?["']"""

# A whole key wherever it stands, `Bearersk_live_…`; less of one only as a word, not `task_live_on`.
_API_KEY = re.compile(
    r"((?<![A-Za-z0-9])sk_(?:sandbox|live|test)_|sk_(?:sandbox|live|test)_(?=[A-Za-z0-9]{49}))(\w+)"
)
_SIGNING_SECRET = re.compile(r"whsec_[\w+/=-]+")
# The end of a payer's link is enough to open its page. Wrong ends are hidden too: most are right
# ones that somebody copied badly.
_END = r"_[a-z0-9]{8,}\.)[^\s\"'\\/?#&<>]+"
_PAYER_LINK = re.compile(rf"(?i)((?:att|cs){_END}")
_HAND_OFF = re.compile(rf"(?i)(att{_END}")

# A mail's link lets its reader in: to a team, or to a new password.
_MAIL_LINK = re.compile(r"(?i)(/invitation/|/password/reset/(?=[0-9a-z]+-))[^\s\"'\\/?#&<>]+")


def _key_with_last4(key: re.Match[str]) -> str:
    prefix, rest = key.groups()
    return f"{prefix}…{rest[-4:]}" if len(rest) >= 12 else f"{prefix}{REDACTED}"


_REPLACEMENTS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (
        re.compile(r"-----BEGIN [^-\n]{1,60}-----.*?(?:-----END [^-\n]{1,60}-----|\Z)", re.DOTALL),
        "[redacted PEM block]",
    ),
    (
        # PostgreSQL's DETAIL quotes whole rows: names, addresses, e-mails. The end may be cut off.
        re.compile(r"(Failing row contains \().*?(?:\)(?=\.(?:\s|\Z))|\Z)", re.DOTALL),
        rf"\1{REDACTED})",
    ),
    (
        re.compile(r"(\bKey \([^()\n]{1,300}\)=\().*?(?:\)(?= [a-z]{2,12} )|\Z)", re.DOTALL),
        rf"\1{REDACTED})",
    ),
    (
        # authorization: Basic …, "Authorization": "Bearer …", authorization=…
        re.compile(
            rf"(?i)\b(authorization(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?:{_QUOTE})?)"
            r"(?:(?:basic|bearer|digest|token)\s{1,3})?[^\s\"',;\\]+"
        ),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"(?i)\b(bearer)\s{1,3}[\w.~+/=-]+"), rf"\1 {REDACTED}"),
    (_API_KEY, _key_with_last4),
    (_SIGNING_SECRET, f"whsec_{REDACTED}"),
    (_PAYER_LINK, rf"\1{REDACTED}"),
    (_MAIL_LINK, rf"\1{REDACTED}"),
    (
        # card[cvc]=123, "cvc": "123", cvc%5D=123, <cvc>123</cvc>, the security code is 123
        re.compile(
            r"(?i)((?:cvc2?|cvv2?|(?:card|security)[\s_.[-]?code|verification[\s_-]?(?:code|value)"
            r"|g[uü]venlik[\s_-]?kodu|(?<![a-z])(?:ccv2?|cid|csc|cvn|cv2|cvd))"
            r"(?:[\s_-]?(?:code|number|value|is|no)(?![a-z]))?"
            r"(?:[^\w%]|_|%(?:25)*[0-9a-f]{2}|%(?![0-9a-f])){1,20})\d{3,4}(?!\d)"
        ),
        rf"\1{REDACTED}",
    ),
    # A code in the place of a name, in the parameter that a refusal names: card[123].
    (re.compile(r"(?i)(card\]?\[)[^\w\]]{0,3}\d{3,4}[^\w\]]{0,3}(?=\])"), rf"\1{REDACTED}"),
    (
        # The repr or the JSON of a mapping: 'password': '…'.
        re.compile(
            rf"(?i)({_QUOTE}(?:{_NAMED}){_QUOTE}\s{{0,3}}:\s{{0,3}}{_QUOTE})"
            r"[^\"'\\]+"
        ),
        rf"\1{REDACTED}",
    ),
]


# One of these is in every text that a pattern above matches. Most texts have none of them, and one
# search is cheaper than one for each pattern.
_SUSPICIOUS = re.compile(
    r"""-----b|failing row|key \(|authorization|bearer|sk_|whsec_|c[sv][cv]|["']"""
    r"""|code|kodu|verification|card\]?\[|(?<![a-z])(?:ccv|cid|cvn|cv2|cvd)|(?:att|cs)_[a-z0-9]+\."""
    r"""|/invitation/|/password/reset/"""
)


# --- Looking for them ---------------------------------------------------------------------------


def _without_secrets(text: str) -> str:
    if _SUSPICIOUS.search(_without_case(text)):
        for pattern, replacement in _REPLACEMENTS:
            text = pattern.sub(replacement, text)
    return mask_card_numbers(text)


def _is_a_plain_word(text: str) -> bool:
    """Return whether a text is an id, a status or the like, which cannot hide a secret."""
    return (
        text.isidentifier()
        and text.isascii()
        and "sk_" not in text
        and "whsec_" not in text
        and (len(text) < SHORTEST_NUMBER or not contains_card_number(text))
    )


def _without_case(text: str) -> str:
    """Return the text as patterns that ignore case compare it: they take ı for an i, too."""
    return text.lower() if text.isascii() else text.casefold().replace("ı", "i")


_TAIL = 128


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    # Half a card number at the cut would not be recognised: go back to the last letter.
    tail = text[MAX_CHARACTERS - _TAIL : MAX_CHARACTERS]
    kept = re.sub(r"[^A-Za-z]*\Z", "", tail)
    return f"{text[: MAX_CHARACTERS - _TAIL]}{kept}…"


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[abfnrtv])")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")


def _unescaped(text: str) -> str:
    if "%" in text:
        text = _PERCENT.sub(_percent_characters, text)
    if "\\" in text:
        text = _ESCAPE.sub(_escaped_character, text)
    return text


def _escaped_character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else " "


def _percent_characters(escape: re.Match[str]) -> str:
    return unquote_to_bytes(escape[0]).decode("utf-8", "replace")
