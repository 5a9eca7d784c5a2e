"""People in merchants' teams, signed in."""

import time

from django.test import Client

from core import clock
from merchants.models import Member, Merchant, User

PASSWORD = "a long enough password"


def person(email: str, *places: tuple[Merchant, str]) -> User:
    """Make a person with these roles in these merchants' teams."""
    user = User.objects.create_user(email, PASSWORD)
    for merchant, role in places:
        join(user, merchant, role)
    return user


def join(user: User, merchant: Merchant, role: str) -> Member:
    now = clock.now()
    return Member.objects.create(merchant=merchant, user=user, role=role, created_at=now)


def signed_in(user: User) -> Client:
    """Return the browser of somebody who has just typed their password again."""
    return let_in(Client(headers={"Accept": "text/html"}), user)


def let_in(client: Client, user: User) -> Client:
    """Sign somebody in who has just typed their password again."""
    client.force_login(user)
    prove(client, user, at=time.time())
    return client


def prove(client: Client, user: User, *, at: float) -> None:
    """Let the person have typed their password again at an instant, in seconds, real time."""
    session = client.session
    session["account_authentication_methods"] = [
        {"method": "password", "at": at, "reauthenticated": True}
    ]
    session["account_authentication_methods_user"] = str(user.pk)
    session.save()
