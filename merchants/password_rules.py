"""Rules about new passwords, and the hashes of those that operators had.

See docs/reference/signing-in.md.

Length, common ones and those like the person's address are Django's validators; here is what they
let pass (PCI DSS 8.3.6 and 8.3.7).
"""

import unicodedata

from django.contrib.auth.hashers import check_password, make_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from merchants.models import User

# Characters, runs and repetitions that a password has at least.
THINGS_MIN = 6
# So many characters that follow each other are a run.
RUN_MIN = 3
# Keys beside each other, of an English and of a Turkish keyboard.
KEYS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertyuıopğü", "asdfghjklşi",
        "zxcvbnmöç")  # fmt: skip
# The present one is one of them.
LAST_ONES = 4


class NotGuessable:
    """Refuse passwords without a letter, and those that are runs and repetitions."""

    def validate(self, password: str, user: User | None = None) -> None:
        """:raises ValidationError: it is such a password."""
        if has_no_letter(password):
            text = _("Digits alone are guessed soon: a password has letters, too.")
            raise ValidationError(text, code="password_without_letters")
        if count_things(password) < THINGS_MIN:
            text = _("Runs such as abcd or 1234 and repetitions are guessed soon.")
            raise ValidationError(text, code="password_of_runs")

    def get_help_text(self) -> str:
        return _("Not digits alone, and no runs or repetitions.")


class NotOneOfTheLast:
    """Refuse an operator's present password and the three before it."""

    def validate(self, password: str, user: User | None = None) -> None:
        """:raises ValidationError: they have it, or had it.

        :raises merchants.passwords.PasswordsBusy: too many are being looked at in this moment.
        """
        if user and user.is_password_printed and check_password(password, user.password):
            text = _("This is the password that was made for you: choose one of your own.")
            raise ValidationError(text, code="password_printed")
        if user is None or not user.is_staff:
            return
        if any(check_password(password, one) for one in [user.password, *user.former_passwords]):
            text = _("You had this password before: operators choose one that is new.")
            raise ValidationError(text, code="password_had_before")

    def get_help_text(self) -> str:
        return _("Of operators: none of the last four.")


@transaction.atomic
def replace(user: User, password: str) -> None:
    """Give a person another password; of an operator's the hashes before it are kept."""
    hashed = make_password(password)
    row = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    before = [row.password, *row.former_passwords][: LAST_ONES - 1] if row.is_staff else []
    # Not the count of wrong ones, which another request may be changing.
    User.objects.filter(pk=row.pk).update(
        password=hashed, former_passwords=before, is_password_printed=False
    )
    user.password, user.former_passwords = hashed, before
    user.is_password_printed = False


# --- What is guessed soon ---------------------------------------------------------------------


def has_no_letter(password: str) -> bool:
    """Return whether a password is of digits alone, or of those and signs between them."""
    return not any(one.isalpha() for one in password)


def count_things(password: str) -> int:
    """Count what there is to guess: each character, and each run or repetition as one."""
    text = _without_repetition(unicodedata.normalize("NFKC", password).casefold())
    things = position = 0
    while position < len(text):
        length = _run_at(text[position:])
        position += length if length >= RUN_MIN else 1
        things += 1
    return things


def _without_repetition(text: str) -> str:
    """Return the part that a text repeats from its beginning to its end; else the text."""
    for length in range(1, len(text) // 2 + 1):
        if text == (text[:length] * len(text))[: len(text)]:
            return text[:length]
    return text


def _run_at(text: str) -> int:
    """Return how many characters at the beginning follow each other by one step."""
    lines = [[ord(one) for one in text], *([keys.find(one) for one in text] for keys in KEYS)]
    return max(_even_steps(places) for places in lines)


def _even_steps(places: list[int]) -> int:
    """Return how many numbers at the beginning go up by one, down by one, or stay."""
    if len(places) < 2 or places[0] < 0 or abs(step := places[1] - places[0]) > 1:
        return 1
    length = 1
    while length < len(places) and 0 <= places[length] == places[length - 1] + step:
        length += 1
    return length
