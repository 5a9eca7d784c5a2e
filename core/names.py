"""Names: those that give away a secret value, e-mail addresses, and names that people read.

A secret value's name is known in any spelling: `securityCode`, `Security-Code`, `ｃｖｃ`.

No Django here: the log formatter uses it.
"""

import re
import string
import unicodedata
from collections.abc import Callable
from typing import TypeVar

import idna

T = TypeVar("T")

# Longer names are cut: taking a name apart must not cost what a body may.
LONGEST = 200
MOST_REMEMBERED = 1000

# Compared as `plain` makes them, without the http of request.META, and each part of
# `payment_method_data[card][cvc]` for itself. A bare `token` may be anything, so it is hidden; a
# name such as `vault_token` says that it is an id, so it is shown. `idempotency_key` is shown:
# people look requests up by it.
SECRET_NAMES = frozenset({
    "number", "card_number", "pan", "cvc", "cvv", "cvc2", "cvv2", "csc",
    "secret", "client_secret", "signing_secret", "secret_key", "private_key", "api_key",
    "password", "passphrase", "new_password", "old_password", "password1", "password2",
    "token", "access_token", "refresh_token", "id_token", "csrf_token", "csrftoken",
    "payer_ip", "csrfmiddlewaretoken", "x_csrftoken", "authorization", "proxy_authorization",
    "cookie", "cookies", "set_cookie", "sessionid", "pf_signature",
})  # fmt: skip

_HARMLESS = re.compile(r"(?=.{1,40}\Z)(?!(?:.*_)?(?:sk|whsec)_)[^\W\d]*\d?[^\W\d]*")
_ODD = re.compile(r"[\W_]+")
_BETWEEN_PARTS = re.compile(r"[\[\].]+")
_WHOSE = r"(?:x|cc|(?:credit|debit|payment|bank)?cards?|kredi|kart[ıi]?)*"
_WHAT = (
    r"cvc2?|cvv2?|cvn2?|cv2|ccv2?|cvd|cid|csc|securitycode|cardcode|cardverification"
    r"|verification(?:code|value|number)|g[uü]venlikkodu"
)
_AS = r"(?:code|value|number|num|no|nr|kodu)?"
# Whole names only: `acid`, `incident`, `cvc_check` and `gift_card_code` are something else.
_SECURITY_CODE = re.compile(rf"{_WHOSE}(?:{_WHAT})+{_AS}")
# With any owner before it: `customer_cvc`, `billingCvv2`. No digits there: random ids would match.
_OWNED_CODE = re.compile(r"[^\d\W]*(?:_|[a-z](?=C))(?i:cvc|cvv)2?(?i:_?(?:code|value|number))?")


def remembered(read: Callable[[str], T]) -> Callable[[str], T]:
    """Cache a function of names, of which the same few come again and again.

    Only short names of letters and at most one digit (`last4`) are remembered: the API's own
    are, and no secret is. When there are too many, all are forgotten: the frequent ones are soon
    known again, so a client that sends many names gains nothing.
    """

    class Known(dict[str, T]):
        def __missing__(self, name: str) -> T:
            found = read(name)
            if _HARMLESS.fullmatch(name):
                if len(self) >= MOST_REMEMBERED:
                    self.clear()
                self[name] = found
            return found

    # A dict's own look-up: for a name that is known no function of ours is called.
    return Known().__getitem__


def plain(name: str) -> str:
    """Return the name's letters and digits in lower case: what spellings have in common."""
    if name.isascii():
        name = name[:LONGEST].lower().replace("_", "")
    else:
        name = unicodedata.normalize("NFKC", name[:LONGEST]).casefold()
    return name if name.isalnum() else _ODD.sub("", name)


_SECRETS = frozenset(map(plain, SECRET_NAMES))


def parts(name: str) -> list[str]:
    """Return the names that a form's or a path's name is made of: `a[b].c` is three."""
    return _BETWEEN_PARTS.split(name) if "[" in name or "." in name else [name]


@remembered
def is_secret(name: str) -> bool:
    """Return whether a value of any kind is hidden under this name."""
    return is_security_code(name) or any(
        plain(part).removeprefix("http") in _SECRETS for part in parts(name)
    )


@remembered
def is_security_code(name: str) -> bool:
    """Return whether what is called so can only be a card's security code."""
    return any(
        _SECURITY_CODE.fullmatch(plain(part)) or _OWNED_CODE.fullmatch(part) for part in parts(name)
    )


@remembered
def may_be_security_code(name: str) -> bool:
    """Return whether what is called so had better not be shown: `cvc_old` and `mycvv`, too."""
    spelled = name[:LONGEST].lower()
    return "cvc" in spelled or "cvv" in spelled or is_security_code(name)


# --- E-mail addresses -------------------------------------------------------------------------

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def email_key(address: str) -> str:
    """Return the form in which e-mail addresses are compared, wherever they are.

    Without the white space around it, the letters A to Z in lower case, its domain as an A-label
    (`xn--…`). No other letter is folded: the dotless `ı` is not `i`, and the Kelvin sign is no `k`,
    though Python's lower case takes it for one. The key of a key is itself.
    """
    local, at, domain = address.strip().rpartition("@")
    return f"{ascii_lower(local)}{at}{_a_label(domain)}"


def reachable(address: str) -> str:
    """Return an address with its domain as an A-label, as mails are sent to it.

    Python's own `idna` is the one of 2003, by which `straße.example` is another domain.
    """
    local, at, domain = address.strip().rpartition("@")
    return f"{local}{at}{_a_label(domain)}"


def ascii_lower(text: str) -> str:
    """Return a text with the letters A to Z in lower case, and all others as they are."""
    return text.translate(_ASCII_LOWER)


def _a_label(domain: str) -> str:
    if not domain.isascii():
        try:
            return idna.encode(domain, uts46=True).decode("ascii")
        except idna.IDNAError:
            pass  # No such domain can be registered: it is compared as it is.
    return ascii_lower(domain)


# --- Names that people read -------------------------------------------------------------------

# Control characters, separators of lines and paragraphs, and those that turn the direction of the
# text after them. Marks of direction that turn nothing stand in Arabic and Hebrew names.
ILLEGIBLE = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_ILLEGIBLE = re.compile(f"[{ILLEGIBLE}]")
# Kinds of characters of which nothing is seen unless there are others, and blank letters.
_UNSEEN = {"Cc", "Cf", "Cs", "Mn", "Me", "Zl", "Zp", "Zs"}
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"


def is_legible(name: str) -> bool:
    """Return whether a name is one line of text, in one direction, with something to see in it."""
    return not _ILLEGIBLE.search(name) and any(
        unicodedata.category(one) not in _UNSEEN and one not in _BLANK for one in name
    )
