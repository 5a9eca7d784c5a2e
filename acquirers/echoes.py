"""The parts of a bank's answer that echo the card: left out before they are kept, shown or logged.

The general detection takes digits next to a letter for an id's. Here the card that the bank was
asked about is known by its first six and last four digits, so that its number is found whatever is
glued to it. The number itself is not needed, and may have been destroyed.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import structlog

from acquirers.noticed import Notice
from acquirers.outcomes import BankOperation, Exchange, Outcome, Standing
from acquirers.three_d_secure import Authenticated, FormPost, NotAuthenticated, Redirect, Return
from core.cards import LONGEST_NUMBER, SHORTEST_NUMBER, is_luhn_part, luhn_sums
from core.secrets_in_text import REDACTED

OF_A_NOTICE = ("refund_reference", "dispute", "reason", "network_reason_code")
TEXTS = ("response_code", "authorization_code", "network_reference")

Reply = TypeVar("Reply", Outcome, Standing)
log = structlog.get_logger(__name__)


class Ends(NamedTuple):
    """The digits of a card that may be shown, and by which its number is known.

    :param payer_ip: of the payer, which no answer may hold either.
    """

    first6: str
    last4: str
    payer_ip: str | None = None


def ends_of(card: Mapping[str, Any]) -> Ends:
    """Return the ends of an attempt's card, as its column has them."""
    return Ends(card["bin"], card["last4"])


def holds_number(text: str, ends: Ends) -> bool:
    """Return whether a text holds the card's number, whatever stands before, behind or between."""
    plain = [text, unquote(text)] if "%" in text else [text]
    return any(_in_digits(_digits(one), ends) for one in plain)


def _digits(text: str) -> str:
    if text.isascii():
        return "".join(filter(str.isdigit, text))
    found = (unicodedata.digit(char, None) for char in text)
    return "".join(str(digit) for digit in found if digit is not None)


def _in_digits(digits: str, ends: Ends) -> bool:
    start = digits.find(ends.first6) if len(digits) >= SHORTEST_NUMBER else -1
    if start < 0:
        return False
    sums = luhn_sums(digits)
    while start >= 0:
        stops = range(start + SHORTEST_NUMBER, min(start + LONGEST_NUMBER, len(digits)) + 1)
        if any(
            digits.endswith(ends.last4, start, stop) and is_luhn_part(sums, start, stop)
            for stop in stops
        ):
            return True
        start = digits.find(ends.first6, start + 1)
    return False


def left_out(told: Reply, ends: Ends) -> Reply:
    """Return the bank's answer without what echoes the card."""
    echoed = _echoed(((name, getattr(told, name)) for name in TEXTS), ends)
    exchange = _of_exchange(told.exchange, ends)
    changes: dict[str, Any] = dict.fromkeys(echoed)
    if exchange is not told.exchange:
        changes["exchange"] = exchange
    if isinstance(told, Standing):
        operations = tuple(_of_operation(one, ends) for one in told.operations)
        if operations != told.operations:
            changes["operations"] = operations
    elif told.after and (after := left_out(told.after, ends)) is not told.after:
        changes["after"] = after  # It is kept too, as an exchange of its own.
    return replace(told, **changes) if changes else told


def _of_operation(operation: BankOperation, ends: Ends) -> BankOperation:
    numbers = _numbers(operation.numbers, ends)
    return operation if numbers == operation.numbers else replace(operation, numbers=numbers)


def _of_exchange(exchange: Exchange, ends: Ends) -> Exchange:
    echoed = _echoed((("code", exchange.code), ("text", exchange.text)), ends)
    numbers = _numbers(exchange.numbers, ends)
    if not echoed and len(numbers) == len(exchange.numbers):
        return exchange
    shown: dict[str, Any] = dict.fromkeys(echoed, REDACTED)
    return replace(exchange, **shown, numbers=numbers)


def _numbers(numbers: Mapping[str, str], ends: Ends) -> dict[str, str]:
    return {
        name: value
        for name, value in numbers.items()
        if not _echoed((("numbers", name), ("numbers", value)), ends)
    }


def of_beginning(begun: Redirect | FormPost, ends: Ends) -> Redirect | FormPost | None:
    """Return a beginning of 3-D Secure, or None if it echoes the card: it cannot begin so."""
    texts = [("url", begun.url), ("version", begun.version)]
    if isinstance(begun, Redirect):
        texts.append(("transaction_id", begun.transaction_id or ""))
    else:
        texts += [("origins", origin) for origin in begun.origins]
    return None if _echoed(texts, ends) else begun


def of_return(answer: Return, ends: Ends) -> Return:
    """Return the answer that a browser brought, without what echoes the card."""
    if isinstance(answer, NotAuthenticated):
        is_echo = _echoed([("md_status", answer.md_status)], ends)
        return NotAuthenticated() if is_echo else answer
    if not isinstance(answer, Authenticated):
        return answer
    names = ("md_status", "eci", "transaction_id")
    echoed = _echoed(((name, getattr(answer, name)) for name in names), ends)
    emptied: dict[str, Any] = dict.fromkeys(echoed, "")  # It does not suffice then.
    return replace(answer, **emptied) if echoed else answer


def of_notice(told: Notice, ends: Ends) -> Notice:
    """Return a notice without the parts that echo its attempt's card.

    A dispute without a name is left to a person by the handlers.
    """
    echoed = _echoed(((name, getattr(told, name)) for name in OF_A_NOTICE), ends)
    emptied: dict[str, Any] = dict.fromkeys(echoed)
    return replace(told, **emptied) if echoed else told


def _echoed(texts: Iterable[tuple[str, str | None]], ends: Ends) -> list[str]:
    told = [(name, text) for name, text in texts if text is not None]
    echoed = [name for name, text in told if holds_number(text, ends)]
    if echoed:
        log.error("bank_echoed_card", fields=sorted(echoed))
    # Banks may repeat where a customer is: no fault of theirs, and kept nowhere.
    return echoed + [name for name, text in told if ends.payer_ip and ends.payer_ip in text]
