"""Misbehaviour of the Garanti API: answers that are not true."""

from dataclasses import replace

from testbank.garanti import answers, codes
from testbank.garanti.answers import Told
from testbank.misbehaviours import KINDS
from testbank.protocols.bad_answers import Spelling

SPELLING = Spelling(root="GVPSResponse", code="Code", message="ErrorMsg")


def refusal(wrong: str) -> Told | None:
    """Return the answer of a bank that refuses by a code and does nothing; None for other kinds."""
    if not wrong or wrong in KINDS:
        return None
    return answers.refusal(wrong) if wrong.isdecimal() and len(wrong) == 4 else _of_host(wrong)


def untrue(wrong: str, told: Told) -> Told:
    """Return the answer as the bank gives it after it has done its work."""
    match wrong:
        case "contradiction":
            return replace(told, code="51", reason="51", message="Approved")
        case "duplicate":
            return answers.refusal(codes.REPEATED)
        case "under_way":
            return answers.in_doubt(codes.IN_PROGRESS)
        case "host_timeout" | "timeout_reversed":
            return answers.in_doubt(codes.TIMED_OUT)
    return told


def signing_key(wrong: str) -> str:
    """Return what an answer is signed with in the place of the password's hash; empty: nothing."""
    return "another key" if wrong == "wrong_answer_hash" else ""


def _of_host(code: str) -> Told:
    return answers.of_host(code, host_ref="")
