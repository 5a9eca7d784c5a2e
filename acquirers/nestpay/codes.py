"""The bank's codes, and what they mean here: the one table of this adapter.

A code that is not in it proves nothing: the bank has to be asked.
"""

import re

from acquirers.issuer_codes import UNKNOWN, Meaning
from acquirers.outcomes import Answer, Reason

# In the place of a network's code: the gateway itself refused.
OF_THE_GATEWAY = "99"
# No refusal: the bank's host gave no answer, and the bank is reversing.
HOST_WAS_SILENT = "92"
# The gateway refused before it asked its host, so that nothing was done: by these numbers, but for
# those of `BY_ERROR` and the first five, which may come later.
BEFORE_THE_HOST = re.compile(r"CORE-(?!100[1-5])(?:1[0-9]{3}|2[01256][0-9]{2})")
# Told apart by the order's history: it was voided before, or settled.
NOTHING_TO_VOID = frozenset({"CORE-2008", "CORE-2120"})
# The order has several transactions that could be voided, and the request named none.
NAME_THE_TRANSACTION = "CORE-2133"


def _refused(reason: Reason, *numbers: int) -> dict[str, Meaning]:
    return {f"CORE-{number}": Meaning(Answer.NOT_CHARGED, reason) for number in numbers}


def _each(answer: Answer, *numbers: int) -> dict[str, Meaning]:
    return {f"CORE-{number}": Meaning(answer) for number in numbers}


BY_ERROR = {
    # The payment itself is the cause.
    **_refused(Reason.INCORRECT_NUMBER, 2012, 2015, 2316),
    **_refused(Reason.EXPIRED_CARD, 2010, 2011, 2502),
    **_refused(Reason.INCORRECT_CVC, 2208, 2515),
    **_refused(Reason.TRANSACTION_NOT_ALLOWED, 2124, 2204, 2601, 2603),
    **_refused(Reason.FRAUDULENT, 2250, 2251, 2253),
    # The contract demands a full authentication.
    **_refused(Reason.AUTHENTICATION_REQUIRED, 2206),
    # Our terminal: credentials, rights, our address, closed or locked.
    **_each(Answer.NOT_CHARGED, 2126, 2201, 2202, 2254, 2311, 2312, 2313, 2314),
    # An earlier try with this order or this proof may have succeeded, or is in the air.
    **_each(Answer.UNKNOWN, 2127, 2302, 2304, 2507),
    # A void: see `NOTHING_TO_VOID`.
    **_each(Answer.UNKNOWN, 2008, 2120),
    # A capture: nothing to capture (it may have been captured) is asked about; above the amount,
    # and after 15 days, are refusals.
    **_each(Answer.UNKNOWN, 2506, 2509),
    **_each(Answer.DECLINED, 2505, 2512, 2513),
    # A refund: nothing or not so much is left (it may have gone back before), which is asked about;
    # too old, and a debit card, are refusals; the bank's day is open.
    **_each(Answer.UNKNOWN, 2503, 2504),
    **_each(Answer.DECLINED, 2514, 2517),
    **_each(Answer.DAY_OPEN, 2508),
}


def of_error(code: str) -> Meaning:
    """Return the meaning of a refusal by the gateway itself.

    :param code: as `CORE-2012`.
    """
    if code in BY_ERROR:
        return BY_ERROR[code]
    return Meaning(Answer.NOT_CHARGED) if BEFORE_THE_HOST.fullmatch(code) else UNKNOWN
