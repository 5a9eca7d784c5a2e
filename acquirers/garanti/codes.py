"""The bank's codes, and what they mean here: the one table of this adapter.

A code that is not in it proves nothing: the bank has to be asked.
"""

from acquirers import issuer_codes
from acquirers.issuer_codes import UNKNOWN, Meaning
from acquirers.outcomes import Answer, Reason

# Sources of an answer: the issuer's host, or the gateway before it.
HOST, GATEWAY = "HOST", "GVPS"
# The gateway's own "invalid", with a reason of four digits: nothing was done. It is no time-out.
INVALID = "92"
# Our message could not be checked by the bank's key, so that no hash of ours fits its answer.
UNSIGNED = frozenset({"0651", "0752"})
NO_RECORD = frozenset({"0108", "0110"})
# It cannot be voided or refunded in this way: perhaps in the other one.
WRONG_WAY = "0208"
# Seen where the way was wrong, too: it says too little to choose the other one.
DO_NOT_HONOR = "05"
# A mandatory field, password or hash, terminal, 3-D Secure: our terminal's set-up, or our mistake.
OURS = frozenset({"0002", "0122", *UNSIGNED})
TRANSACTION_NOT_ALLOWED = "12"
# The host's own text is all that tells a wrong security code from other transactions.
SECURITY_CODE = "CVC"


def of_gateway(reason: str) -> Meaning:
    """Return the meaning of a refusal by the gateway.

    An order that came before is refused by a reason that is not known: so none means a decline.

    :param reason: as `0651`.
    """
    return Meaning(Answer.NOT_CHARGED) if reason in OURS else UNKNOWN


def of_host(code: str, text: str) -> Meaning:
    """Return the meaning of the issuer's no.

    :param text: the host's own.
    """
    if code == TRANSACTION_NOT_ALLOWED and SECURITY_CODE in text.upper():
        return Meaning(Answer.DECLINED, Reason.INCORRECT_CVC)
    return issuer_codes.of_decline(code)
