"""A person with a second factor, and the codes that their app would show."""

import time

from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth
from allauth.mfa.totp.internal.auth import TOTP

from merchants.models import User
from tests.stage.visitors import HTML, PASSWORD, Visitor

SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
# A code of before its last moment is refused, however soon after it was read.
PERIOD_SECONDS, TYPED_WITHIN_SECONDS = 30, 2
CODE, CODE_AGAIN, AGAIN = "/account/code", "/account/code/again", "/account/reauthenticate"


def add_app(user: User) -> None:
    TOTP.activate(user, SEED)


def add_recovery_codes(user: User) -> list[str]:
    return RecoveryCodes.activate(user).generate_codes()


def code(seed: str = SEED) -> str:
    """Return the code that the app shows now; who sees it change soon waits for the next one."""
    left = PERIOD_SECONDS - time.time() % PERIOD_SECONDS
    if left < TYPED_WITHIN_SECONDS:
        time.sleep(left)
    counter = int(time.time()) // PERIOD_SECONDS
    return auth.format_hotp_value(auth.hotp_value(seed, counter))


def wrong_code() -> str:
    return f"{(int(code()) + 1) % 1_000_000:06}"


def half_signed_in(email: str, address: str = "203.0.113.7") -> Visitor:
    """Return a browser that has sent the right password, and is asked for a code."""
    visitor = Visitor(address)
    answer = visitor.sign_in(PASSWORD, email)
    assert answer.headers["Location"] == CODE
    return visitor


def send_code(visitor: Visitor, typed: str) -> int:
    return visitor.http.post(CODE, {"code": typed}, headers=HTML).status_code
