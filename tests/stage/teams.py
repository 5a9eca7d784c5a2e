"""People in merchants' teams, signed in."""

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
    client = Client(headers={"Accept": "text/html"})
    client.force_login(user)
    return client
