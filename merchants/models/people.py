from typing import Any

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower

from merchants.models.merchant import Merchant


class UserManager(BaseUserManager["User"]):
    """Make users, who sign in by e-mail, in any case."""

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        return (email or "").strip().lower()

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=self.normalize_email(username))


class User(AbstractUser):
    """A person: staff of merchants, or an operator (`is_staff`)."""

    username = None
    email = models.EmailField(unique=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = []

    objects = UserManager()

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(
                condition=models.Q(email=Lower("email")), name="a_users_email_is_lowercase"
            ),
        ]

    def __str__(self) -> str:
        return self.email


class Member(models.Model):
    """A user's place in a merchant's team."""

    class Role(models.TextChoices):
        OWNER = "owner"
        DEVELOPER = "developer"
        FINANCE = "finance"
        SUPPORT = "support"

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="members")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["merchant", "user"], name="a_user_is_in_a_team_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"
