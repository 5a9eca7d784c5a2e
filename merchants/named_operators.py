"""The operators in whose name a command changes something (docs/operate/commands.md).

In live they prove it by a one-time code of their authenticator app, which is used up by it. An
installation without an operator who has such an app is still the machine's administrators'.
"""

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db.models import QuerySet

from core.names import email_key
from merchants import sign_in
from merchants.models import User
from merchants.operator_rights import OperatorRefused


def find(email: str, *, permission: str | None) -> User:
    """Return the operator of an address, who may do what the command does.

    :param permission: the desk's for the same act; None if any operator may.
    :raises OperatorRefused: they are no operator who can sign in, or may not do it.
    """
    rows = User.objects.filter(
        email=email_key(email), is_active=True, is_staff=True, locked_unused_at=None
    )
    person = rows.first()
    if person is None:
        raise OperatorRefused(f"--as names no operator: {email}.")
    if permission and not person.has_perm(permission):
        raise OperatorRefused(f"{person.email} may not do this: it takes {permission}.")
    return person


def require_proof(person: User, code: str) -> None:
    """Use up the code that an operator's app shows; wrong ones count as at a sign-in.

    :raises OperatorRefused: it is wrong, was used, they are locked, or they have no app.
    """
    app = Authenticator.objects.filter(user=person, type=Authenticator.Type.TOTP).first()
    if app is None:
        raise OperatorRefused(f"{person.email} has no authenticator app, which makes the code.")
    if not sign_in.is_code_right(person, lambda: bool(app.wrap().validate_code(code))):
        raise OperatorRefused(f"The code of {person.email} is wrong, or was used before.")


def are_needed() -> bool:
    """Return whether a command has to name an operator: in live, once one can prove it."""
    return settings.LIVEMODE and with_an_app().exists()


def with_an_app() -> QuerySet[User]:
    """Return the operators who can sign in and have an authenticator app."""
    apps = Authenticator.objects.filter(type=Authenticator.Type.TOTP)
    return User.objects.filter(
        is_active=True, is_staff=True, locked_unused_at=None, pk__in=apps.values("user_id")
    )
