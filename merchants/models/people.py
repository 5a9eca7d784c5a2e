from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils.module_loading import import_string

from core.fields import AddressField, JSONField, id_field
from core.folding import AsciiLower
from core.keyring.purposes import MARKED_BYTES
from core.names import email_key
from core.querysets import MerchantManager
from merchants.models.merchant import Merchant

# So many lock a user. The statement that counts is in merchants.sign_in.
WRONG_IN_A_ROW_MAX = 10
# A domain of ASCII in lower case is its own A-label, so of these no two have one key.
IS_ITS_KEY = models.Q(email=AsciiLower("email"), email__regex="@[!-~]+$")


class UserManager(BaseUserManager["User"]):
    """Make users, who sign in by the key of their e-mail address."""

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        return email_key(email or "")

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
    # The key of the address: a second person with the same key cannot be made.
    email = AddressField(unique=True)
    # Passwords and codes in a row that were wrong. One above the limit: one came while it was
    # locked. Written by merchants.sign_in alone.
    wrong_in_a_row = models.SmallIntegerField(default=0, editable=False)
    locked_until = models.DateTimeField(null=True, editable=False)
    # Hashes of an operator's last passwords, the newest first, without the present one.
    former_passwords = JSONField(default=list, editable=False)
    # A first password that a command printed: the person chooses another one at the first sign-in.
    is_password_printed = models.BooleanField(default=False, editable=False)
    # When a letter told that the account will be locked, and since when it is: nobody used it
    # (merchants.unused_accounts). Real time.
    warned_unused_at = models.DateTimeField(null=True, editable=False)
    locked_unused_at = models.DateTimeField(null=True, editable=False)
    # One of `settings.LANGUAGES`, as chosen in the panel; empty until then.
    language = models.CharField(max_length=7, blank=True, editable=False)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = []

    # Ours has no username to look for, so it cannot descend from the manager it replaces.
    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]

    class Meta(AbstractUser.Meta):
        permissions = [
            (
                "manage_people",
                "Can revoke keys, let people sign in again, end their sessions, switch them off",
            ),
            ("manage_operators", "Can invite operators, and choose their groups"),
        ]
        constraints = [
            models.CheckConstraint(condition=IS_ITS_KEY, name="a_users_email_is_its_key"),
            models.CheckConstraint(
                condition=models.Q(
                    wrong_in_a_row__range=(0, WRONG_IN_A_ROW_MAX - 1), locked_until=None
                )
                | models.Q(
                    wrong_in_a_row__range=(WRONG_IN_A_ROW_MAX, WRONG_IN_A_ROW_MAX + 1),
                    locked_until__isnull=False,
                ),
                name="ten_wrong_in_a_row_lock_a_user",
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
        ACCOUNTANT = "accountant"
        SUPPORT = "support"

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="members")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    created_at = models.DateTimeField()
    # When they last opened a page of this merchant's, to the minute, real time.
    seen_at = models.DateTimeField(null=True)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["merchant", "user"], name="a_user_is_in_a_team_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class Offer(models.Model):
    """An offer to one e-mail address, once, for seven days.

    The token is in the mail alone; the row has its keyed hash. Moments are in real time.
    """

    id = id_field()
    email = AddressField()
    token_hash = models.BinaryField(max_length=MARKED_BYTES, unique=True)
    invited_by = models.ForeignKey(User, models.CASCADE, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    # By a person, by a newer one to the same address, or with its sender's leaving.
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class Invitation(Offer):
    """An offer of a place in a merchant's team."""

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Member.Role)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "email"],
                condition=models.Q(accepted_at=None, withdrawn_at=None),
                name="one_open_invitation_per_merchant_and_address",
            ),
            models.CheckConstraint(condition=IS_ITS_KEY, name="an_invitations_email_is_its_key"),
            models.CheckConstraint(
                condition=models.Q(accepted_at=None) | models.Q(withdrawn_at=None),
                name="an_accepted_invitation_is_not_withdrawn",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} ({self.role})"


class OperatorInvitation(Offer):
    """An offer to become an operator.

    :ivar groups: the names of the groups that the person will be in.
    """

    groups = JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["email"],
                condition=models.Q(accepted_at=None, withdrawn_at=None),
                name="one_open_invitation_of_an_operator_per_address",
            ),
            models.CheckConstraint(
                condition=IS_ITS_KEY, name="an_operators_invitations_email_is_its_key"
            ),
            models.CheckConstraint(
                condition=models.Q(accepted_at=None) | models.Q(withdrawn_at=None),
                name="an_operators_accepted_invitation_is_not_withdrawn",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} ({', '.join(self.groups)})"


class Session(AbstractBaseSession):
    """A browser's session; its key is kept as a hash, and what it holds is sealed.

    A sign-in that still waits for its second factor has its user here too, so that it ends with
    the others of that user.
    """

    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="sessions")
    seen_at = models.DateTimeField()

    @classmethod
    def get_session_store_class(cls) -> Any:
        return import_string(f"{settings.SESSION_ENGINE}.SessionStore")
