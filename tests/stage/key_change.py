"""An installation whose key is being changed, and what must hold when that is done."""

import io
import shutil
from collections.abc import Callable, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection

from core import clock, keyring
from core.cards import CardData
from core.keyring.file import content_of
from core.models import Process
from merchants.models import Merchant
from tests.stage.factories import GOOD_CARD
from tests.stage.key_ring_files import rewrite
from vault import cards
from vault.models import SealedCard
from vault.reveal import reveal

# A key that this installation's ring does not hold.
LOST = keyring.KeyRing(primary="k_lost", encryption={"k_lost": b"l" * 32}, mac={})


@dataclass
class KeyChange:
    """A copy of the tests' key ring: `new` is added, `old` still primary until `promote`.

    This process is one that runs: it knows the ring as it was at its last `restart`.
    """

    path: Path
    old: str
    new: str

    def promote(self) -> None:
        keyring.promote(self.path, self.new)

    def restart(self) -> None:
        keyring.ring.cache_clear()

    def promote_and_restart(self) -> None:
        self.promote()
        self.restart()


def change_key(settings: Any, directory: Path) -> KeyChange:
    """Begin to change the key of a copy; `settings` puts the tests' own ring back."""
    settings.KEYRING_FILE = Path(shutil.copy(settings.KEYRING_FILE, directory / "keyring"))
    old, new = keyring.load(settings.KEYRING_FILE).primary, keyring.add(settings.KEYRING_FILE)
    change = KeyChange(settings.KEYRING_FILE, old, new)
    # They are not of the installation whose key is being changed.
    Process.objects.all().delete()
    change.restart()
    return change


def seal_many(merchant: Merchant, count: int, *, created_at: datetime | None = None) -> set[str]:
    """Seal cards of different holders with the real ring; return their tokens."""
    now = created_at or clock.now()
    numbered = (CardData(GOOD_CARD, 12, 2040, holder_name=f"Holder {n}") for n in range(count))
    rows = [cards.sealed_row(merchant.id, card, now=now) for card in numbered]
    fields = SealedCard._meta.concrete_fields
    columns = ", ".join(field.column for field in fields)
    copying = f"COPY vault_sealedcard ({columns}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(copying) as copy:
        for row in rows:
            copy.write_row([getattr(row, field.attname) for field in fields])
    return {row.token for row in rows}


def assert_opens_by_one_key(tokens: Set[str], key_id: str) -> None:
    """Every card is there, says it is sealed with the key, is, and has kept its content."""
    rows = list(SealedCard.objects.filter(sealed__isnull=False))
    assert {row.token for row in rows} == tokens
    assert {row.key_id for row in rows} == {key_id}
    assert {keyring.ring().key_id_of(bytes(row.sealed)) for row in rows} == {key_id}
    opened = [reveal(row) for row in rows]
    assert {card.number for card in opened} == {GOOD_CARD}
    assert len({card.holder_name for card in opened}) == len(rows)


class Killed(BaseException):
    """Stands for the end of the process, of which nothing can be caught."""


def killed_after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is in a process that dies at the end of its last call."""
    left = [calls]

    def dying(*arguments: Any, **options: Any) -> Any:
        answer = function(*arguments, **options)
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return answer

    return dying


def rotate() -> str:
    """Run the command as a process that starts now; return what it printed."""
    printed = io.StringIO()
    call_command("vault_rotate", stdout=printed, stderr=printed)
    return printed.getvalue()


def keyring_command(*arguments: object) -> str:
    printed = io.StringIO()
    call_command("keyring", *arguments, stdout=printed)
    return printed.getvalue()


def take_out(key_id: str) -> None:
    """Take a key that nothing is sealed with out of the ring, by both steps."""
    keyring_command("remove", key_id)
    keyring_command("purge", key_id)


def seal_with_a_lost_key(row: SealedCard) -> None:
    sealed = LOST.seal(b'{"number": "4242424242424242"}', context=row.seal_context)
    SealedCard.objects.filter(token=row.token).update(sealed=sealed, key_id=LOST.primary)


@dataclass
class PurposeChange:
    """The key of a purpose while it is changed; each step is the operator's, then a restart."""

    path: Path
    purpose: str
    new: str = ""

    @property
    def old(self) -> str:
        return self.purpose

    def add(self) -> None:
        self.new = keyring_command("add", self.purpose).split()[-1]
        keyring.ring.cache_clear()

    def promote(self) -> None:
        keyring_command("promote", self.new)
        keyring.ring.cache_clear()

    def begin(self) -> None:
        """Bring the change to where all processes hash with the new key."""
        self.add()
        self.promote()

    def retire(self, *, ago: timedelta = timedelta(0)) -> None:
        keyring_command("remove", self.old)
        about = content_of(self.path)["about"]
        at = datetime.fromisoformat(about[self.old]["retired_at"]) - ago
        about[self.old]["retired_at"] = at.isoformat()
        rewrite(self.path, about=about)
        keyring.ring.cache_clear()

    def purge(self, *words: str) -> str:
        told = keyring_command("purge", self.old, *words)
        keyring.ring.cache_clear()
        return told
