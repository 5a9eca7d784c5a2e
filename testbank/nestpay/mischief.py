"""Misbehaviour of the NestPay API: what is wrong with an answer, and what is wrong in it."""

from dataclasses import replace

from testbank.misbehaviours import KINDS
from testbank.nestpay import answers, codes
from testbank.nestpay.answers import Told
from testbank.protocols.bad_answers import Spelling

SPELLING = Spelling(root="CC5Request", code="ProcReturnCode", message="ErrMsg")


def refusal(wrong: str) -> Told | None:
    """Return the answer of a bank that refuses by a code and does nothing; None for other kinds."""
    if not wrong or wrong in KINDS:
        return None
    if "-" in wrong:
        return answers.refusal(wrong)
    return answers.declined(wrong, host_ref="", trans_id="")


def untrue(wrong: str, told: Told) -> Told:
    """Return the answer as the bank gives it after it has done its work."""
    match wrong:
        case "contradiction":
            return replace(told, response=answers.APPROVED, code="51", error="ISO8583-51")
        case "duplicate":
            return answers.refusal(codes.HAS_SUCCEEDED)
        case "under_way":
            return answers.refusal(codes.IS_UNDER_WAY)
        case "host_timeout" | "timeout_reversed":
            return answers.declined(codes.TIMED_OUT, host_ref="", trans_id=told.trans_id)
    return told
