"""A key of a live installation is changed by two operators, and each act leaves a row."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from core import keyring
from core.keyring import kek
from core.keyring.file import content_of, replacing
from merchants.models import AuditEntry, User
from tests.stage.key_change import KeyChange, keyring_command
from tests.stage.key_ring_files import without_purposes
from tests.stage.second_factors import add_app, code
from vault import custodians, ring_steps

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ADA, BEN, CEM = "ada@pay.example", "ben@pay.example", "cem@pay.example"


@pytest.fixture
def operators(settings: Any, key_change: KeyChange) -> KeyChange:
    """Two operators of a live installation who may change keys, and one who may not."""
    settings.LIVEMODE = True
    for email in (ADA, BEN, CEM):
        person = User.objects.create_user(email, "a long enough password", is_staff=True)
        person.is_superuser = email != CEM
        person.save()
        add_app(person)
    return key_change


def run(patch: pytest.MonkeyPatch, *words: str, people: tuple[str, ...], codes: int) -> str:
    patch.setattr("sys.stdin", StringIO(f"{code()}\n" * codes))
    named = [f"--as={email}" for email in people]
    printed = StringIO()
    call_command("keyring", *words, *named, stdout=printed)
    return printed.getvalue()


@pytest.mark.parametrize(
    ("people", "codes", "reason"),
    [
        ((), 2, "takes 2 different operators"),
        ((ADA,), 2, "takes 2 different operators"),
        ((ADA, ADA), 2, "takes 2 different operators"),
        ((ADA, ADA.upper()), 2, "takes 2 different operators"),
        ((ADA, BEN), 1, "six digits that the app of ben@pay.example"),
        ((ADA, CEM), 2, "cem@pay.example may not do this"),
    ],
)
@pytest.mark.parametrize(
    "step", ["add", "promote", "remove", "purge", "give-up", "put-back", "wrap"]
)
def test_no_step_is_made_by_less_than_two_people(  # noqa: PLR0913  # A case and its fixtures.
    step: str,
    people: tuple[str, ...],
    codes: int,
    reason: str,
    operators: KeyChange,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, rows = operators.path.read_bytes(), AuditEntry.objects.filter(action__startswith="key_")
    words = {"add": (), "wrap": (), "put-back": (operators.new, "--from", "copy")}

    with pytest.raises(CommandError, match=reason):
        run(
            monkeypatch, step, *words.get(step, (operators.new,)), people=people, codes=codes
        )  # fmt: skip

    assert operators.path.read_bytes() == before
    assert not rows.exists()


def test_no_transaction_is_open_while_custodians_write(
    operators: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    make = custodians.make

    def watched(*arguments: Any) -> kek.Wrapping:
        seen.append(AuditEntry.objects.filter(action="key_ring.wrapped").count())
        return make(*arguments)

    monkeypatch.setattr(custodians, "make", watched)
    run(monkeypatch, "wrap", people=(ADA, BEN), codes=2)

    assert seen == [0]
    assert AuditEntry.objects.filter(action="key_ring.wrapped").count() == 1


def test_a_change_whose_row_was_lost_is_not_called_none(
    operators: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def dies_at_its_commit(**_: object) -> Iterator[None]:
        yield
        raise OperationalError("the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(ring_steps, "transaction", SimpleNamespace(atomic=dies_at_its_commit))
        with pytest.raises(CommandError, match=r"was changed \(key_promoted\)"):
            run(monkeypatch, "promote", operators.new, people=(ADA, BEN), codes=2)

    assert keyring.load(operators.path).primary == operators.new


def test_a_ring_that_is_not_the_services_own_is_changed_by_nobody_alone(
    operators: KeyChange, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    own, settings.KEYRING_FILE = settings.KEYRING_FILE, Path("/nowhere/keyring")

    with pytest.raises(CommandError, match="Set KEYRING_FILE to"):
        run(monkeypatch, f"--file={own}", "promote", operators.new, people=(), codes=0)


def test_two_people_change_the_key_and_ring_and_log_name_both(
    operators: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(monkeypatch, "promote", operators.new, people=(ADA, BEN), codes=2)

    row = AuditEntry.objects.get(action="key_ring.key_promoted")
    said = f"{ADA} and {BEN} by manage.py keyring as "
    assert (row.subject, row.actor) == (operators.new, "operator")
    assert str(row.actor_name).startswith(said)
    about = content_of(operators.path)["about"][operators.new]
    assert about["active_by"].startswith(said)
    assert said in keyring_command("show")


def test_each_step_leaves_a_row(key_change: KeyChange, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(key_change.path.read_bytes())
    copy.chmod(0o400)
    keyring_command("add")
    keyring_command("promote", key_change.new)
    keyring_command("remove", key_change.old)
    keyring_command("purge", key_change.old)
    keyring_command("put-back", key_change.old, "--from", copy)
    keyring_command("wrap")

    rows = AuditEntry.objects.filter(action__startswith="key_ring.").order_by("sequence")
    steps = ["key_added", "key_promoted", "key_retired", "key_purged", "key_put_back", "wrapped"]
    assert [row.action.partition(".")[2] for row in rows] == steps
    assert {row.actor for row in rows} == {"command"}


def test_a_change_that_fails_leaves_no_row(key_change: KeyChange) -> None:
    with (
        replacing(key_change.path),
        pytest.raises(CommandError, match="Another process is changing the key ring"),
    ):
        keyring_command("add")

    assert not AuditEntry.objects.filter(action__startswith="key_ring.").exists()


def test_a_ring_that_an_earlier_key_opens_is_wrapped_by_two_people_too(
    operators: KeyChange, settings: Any, tmp_path: Path
) -> None:
    old, settings.KEK_FILE = settings.KEK_FILE, tmp_path / "kek"
    before = operators.path.read_bytes()

    with pytest.raises(CommandError, match="takes 2 different operators"):
        keyring_command("wrap", "--kek-file", old)

    assert operators.path.read_bytes() == before


def test_without_a_ring_that_opens_second_factors_there_is_nothing_to_prove(
    operators: KeyChange, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(operators.path.read_bytes())
    copy.chmod(0o400)
    without_purposes(operators.path, "second_factor")

    keyring_command("put-back", "second_factor", "--from", copy)

    assert keyring.load(operators.path)
