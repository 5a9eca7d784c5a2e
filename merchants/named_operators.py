"""The operators in whose name a command changes something (docs/operate/commands.md).

In live they prove it by a one-time code of their authenticator app, which is used up by it. An
installation without an operator who has a second factor is still the machine's administrators'.
"""

import re

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.utils import timezone

from core.names import email_key
from merchants import audit_tallies
from merchants.models import User
from merchants.operator_rights import OperatorRefused

CODE = re.compile(r"[0-9]{6}")


def find(email: str, *, permission: str | None) -> User:
    """Return the operator of an address, who may do what the command does.

    :param permission: the desk's for the same act; None if any operator may.
    :raises OperatorRefused: they are no operator who can sign in, or may not do it.
    """
    rows = User.objects.filter(email=email_key(email), is_active=True, is_staff=True)
    person = rows.first()
    if person is None:
        raise OperatorRefused(f"--as names no operator: {email}.")
    if person.locked_unused_at is not None:
        raise OperatorRefused(
            f"The account of {person.email} is locked, for it was unused: ask for a new password "
            "at the sign-in first."
        )
    if permission and not person.has_perm(permission):
        raise OperatorRefused(f"{person.email} may not do this: it takes {permission}.")
    return person


def require_proof(person: User, code: str) -> None:
    """Use up the code that an operator's app shows; it is a use of their account.

    Wrong ones leave a row, and are no lock: a stranger who locks a sign-in by wrong passwords must
    not lock the commands that answer an attack. Who runs a command has the key ring anyway.

    :raises OperatorRefused: it is no code, is wrong, was used, or they have no app.
    """
    if CODE.fullmatch(code) is None:
        raise OperatorRefused(f"Type the six digits that the app of {person.email} shows.")
    app = Authenticator.objects.filter(user=person, type=Authenticator.Type.TOTP).first()
    if app is None:
        raise OperatorRefused(f"{person.email} has no authenticator app, which makes the code.")
    if not app.wrap().validate_code(code):
        audit_tallies.note_of_person("mfa.refused", person)
        raise OperatorRefused(f"The code of {person.email} is wrong, or was used before.")
    User.objects.filter(pk=person.pk).update(last_login=timezone.now())


def are_needed() -> bool:
    """Return whether a command has to name an operator: in live, once one has a second factor.

    Also a passkey, and that of an account which is locked as unused: taking apps off does not
    end the rule.
    """
    with_one = Authenticator.objects.values("user_id")
    operators = User.objects.filter(is_active=True, is_staff=True, pk__in=with_one)
    return settings.LIVEMODE and operators.exists()
