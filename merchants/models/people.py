from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower

from core.querysets import MerchantManager
from merchants.models.merchant import Merchant

# So many lock a name. The statement that counts is in merchants.sign_in.
WRONG_IN_A_ROW_MAX = 10


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

    # Django's documented way to do without the field; its stubs know none.
    username = None  # type: ignore[assignment]
    email = models.EmailField(unique=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = []

    # Ours has no username to look for, so it cannot descend from the manager it replaces.
    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]

    class Meta(AbstractUser.Meta):
        permissions = [
            ("manage_people", "Can revoke keys, let people sign in again, and end their sessions")
        ]
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

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["merchant", "user"], name="a_user_is_in_a_team_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class WrongPasswords(models.Model):
    """Wrong passwords in a row for a typed name, whether or not it is a user's.

    The name is kept as a keyed hash: it may be a password, typed into the wrong field.
    """

    name_hash = models.BinaryField(primary_key=True, max_length=32)
    # One above the limit: it was tried while it was locked.
    in_a_row = models.SmallIntegerField()
    last_at = models.DateTimeField(db_index=True)
    locked_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(in_a_row__range=(1, WRONG_IN_A_ROW_MAX - 1), locked_until=None)
                | models.Q(
                    in_a_row__range=(WRONG_IN_A_ROW_MAX, WRONG_IN_A_ROW_MAX + 1),
                    locked_until__isnull=False,
                ),
                name="ten_wrong_passwords_lock_a_name",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.in_a_row} in a row"
