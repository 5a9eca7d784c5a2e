"""The ring's keys are wrapped: by a key in a file of its own, or by that of two custodians."""

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from audit.daily import overdue
from core import keyring
from core.keyring import KeyRingError, components, dates, kek
from core.keyring.file import content_of, stored_in
from merchants.models import AuditEntry
from tests.stage.key_change import keyring_command
from tests.stage.key_ring_files import put_in_clear, replace, rewrite
from vault.checks import keys_are_in_date

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # Each test has a directory of its own in it.
CLOSED = r"lacks the key-encryption key|no file with the key-encryption key"


@pytest.fixture
def path(settings: Any, tmp_path: Path) -> Path:
    """An installation's key ring, and the key that wraps it beside."""
    settings.KEYRING_FILE, settings.KEK_FILE = tmp_path / "keyring", tmp_path / "kek"
    keyring.create(settings.KEYRING_FILE)
    return settings.KEYRING_FILE


# --- The file as a whole ----------------------------------------------------------------------


def test_no_key_lies_in_the_ring_or_beside_it_in_clear(path: Path) -> None:
    content, [line] = content_of(path), path.with_name("kek").read_text().splitlines()

    keys = [content["cvc"], *content["mac"].values(), *content["encryption"].values()]
    assert len(keys) > 10
    assert [key for key in [*keys, line.split()[2]] if key in path.read_text()] == []
    assert [key for key in keys if key in line] == []


def test_no_byte_of_the_file_is_changed_unnoticed(path: Path) -> None:
    whole = path.read_bytes()
    path.chmod(0o600)
    tried = 0
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        tried += 1
        # White space between two members is no part of what the file says.
        if whole[at : at + 1].isspace() and _says(path) == json.loads(whole):
            continue
        with pytest.raises(KeyRingError):
            keyring.load(path)
    print(f"{tried} changed bytes tried")  # noqa: T201
    assert tried > 200


def _says(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


@pytest.mark.parametrize(
    "plant",
    [
        lambda stored: stored["mac"].pop("session"),
        lambda stored: stored["encryption"].update(k_more=stored["cvc"]),
        lambda stored: stored.update(primary="k_more"),
        lambda stored: stored["about"].pop("cvc"),
        lambda stored: stored.pop("code"),
        lambda stored: stored.update(code=7),
        lambda stored: stored.update(later=True),
    ],
)
def test_a_ring_that_was_cut_or_added_to_is_refused(
    path: Path, plant: Callable[[dict[str, Any]], object]
) -> None:
    stored = stored_in(path)
    plant(stored)
    replace(path, stored)

    with pytest.raises(KeyRingError, match="malformed"):
        keyring.load(path)


def test_a_wrapped_key_opens_at_its_own_place_only() -> None:
    ours = kek.Kek("ins_a", os.urandom(32))
    text = ours.wrap("QUJD" * 11 + "QQ==", place="mac|link")

    assert ours.unwrap(text, place="mac|link") == "QUJD" * 11 + "QQ=="
    for other, place in [(ours, "cvc"), (kek.Kek("ins_b", ours.key), "mac|link")]:
        with pytest.raises(kek.NotUnwrapped):
            other.unwrap(text, place=place)


def test_a_key_that_is_there_twice_is_refused(path: Path) -> None:
    content = content_of(path)
    rewrite(path, cvc=content["mac"]["link"])
    with pytest.raises(KeyRingError, match="two of its keys are the same"):
        keyring.load(path)

    text = path.read_text().replace('"cvc":', '"cvc": "", "cvc":', 1)
    path.chmod(0o600)
    path.write_text(text)
    with pytest.raises(KeyRingError, match="a member is there twice"):
        keyring.load(path)


def test_another_installations_ring_is_refused_by_name(path: Path, tmp_path: Path) -> None:
    keyring.create(tmp_path / "other", kek_file=tmp_path / "other_kek")

    with pytest.raises(KeyRingError, match="is of the installation ins_.* has no key of it"):
        keyring.load(tmp_path / "other")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "There is no file with the key-encryption key"),
        ("", "lacks the key-encryption key"),
        ("ins_a 00 QUJD\n", "is no key-encryption key"),
        ("one two\n", "is no key-encryption key"),
        ("\xff\n", "is no key-encryption key"),
    ],
)
def test_a_file_without_the_key_that_is_needed_says_what_to_do(
    path: Path, text: str | None, reason: str
) -> None:
    place = path.with_name("kek")
    place.unlink()
    if text is not None:
        place.write_text(text, encoding="latin-1")
        place.chmod(0o400)

    with pytest.raises(KeyRingError, match=reason):
        keyring.load(path)


def test_a_key_encryption_key_that_others_can_read_is_refused(path: Path) -> None:
    path.with_name("kek").chmod(0o440)

    with pytest.raises(KeyRingError, match=r"chmod 0400 .*kek"):
        keyring.load(path)


# --- Dates ------------------------------------------------------------------------------------


def test_the_ring_says_when_each_step_was_made_and_by_whom(path: Path) -> None:
    old, new = keyring.load(path).primary, keyring.add(path)
    keyring.promote(path, new)
    keyring.retire(path, old)
    keyring.purge(path, old)

    about = content_of(path)["about"]
    assert {f"{step}_at" for step in ("made", "superseded", "retired", "purged")} < about[
        old
    ].keys()
    assert {"made_by", "active_by", "active_since"} < about[new].keys()
    assert "purged_at" not in about[new]


def age(path: Path, name: str, **instants: str) -> None:
    about = content_of(path)["about"]
    rewrite(path, about={**about, name: {**about[name], **instants}})


@pytest.mark.django_db
def test_a_key_that_is_used_for_too_long_is_due_in_every_place_that_looks(path: Path) -> None:
    primary = keyring.load(path).primary
    assert (overdue.keys_due(), keys_are_in_date(databases=["default"])) == ([], [])

    age(path, primary, active_since="2020-01-01T00:00:00+00:00")
    age(path, "kek", active_since="2020-01-01T00:00:00+00:00")

    said = [
        "key ring: kek is used since 2020-01-01: change it",
        f"key ring: {primary} is used since 2020-01-01: change it",
    ]
    assert overdue.keys_due() == said
    assert [warning.msg for warning in keys_are_in_date(databases=["default"])] == said
    assert keys_are_in_date() == []
    assert [line for line in keyring_command("show").splitlines() if "DUE" in line] == [
        f"DUE  {sentence}" for sentence in said
    ]


def test_a_retired_key_is_due_to_be_purged(path: Path) -> None:
    old = keyring.load(path).primary
    keyring.promote(path, keyring.add(path))
    keyring.retire(path, old)
    age(path, old, retired_at="2020-01-01T00:00:00+00:00")

    assert overdue.keys_due() == [f"key ring: {old} was retired at 2020-01-01: purge it"]


def test_a_clock_may_be_an_hour_off_and_not_two_days(path: Path) -> None:
    now = datetime.now(UTC)
    age(path, "cvc", made_at=(now + timedelta(hours=1)).isoformat())
    keyring.load(path)

    age(path, "cvc", made_at=(now + timedelta(days=2)).isoformat())

    with pytest.raises(KeyRingError, match="date of cvc lies in the future"):
        keyring.load(path)


def test_a_live_ring_with_its_key_on_the_same_mount_is_warned_of(path: Path, settings: Any) -> None:
    settings.LIVEMODE, settings.KEK_PROVIDER = True, "components"

    warnings = keys_are_in_date(databases=["default"])

    assert [warning.msg.partition(" ")[0] for warning in warnings] == ["The", "KEK_FILE"]


# --- Wrapping a ring of before ----------------------------------------------------------------


def test_a_ring_in_clear_is_wrapped_without_a_database_and_keeps_its_keys(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "ensure_connection", Mock(side_effect=OperationalError))
    before = keyring.load(path)
    blob, content = before.seal(b"x", context="a"), content_of(path)
    put_in_clear(path)
    with pytest.raises(KeyRingError, match=r"in clear\. Run `manage\.py keyring wrap`"):
        keyring.load(path)

    assert "destroy every copy of before" in keyring_command("wrap")

    assert keyring.load(path).open(blob, context="a") == b"x"
    assert content_of(path)["mac"] == content["mac"]
    assert dates.records(content_of(path))[-1].about == {}


@pytest.mark.django_db
def test_the_key_encryption_key_is_changed_and_copies_of_before_open(
    path: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copy(path, tmp_path / "copy"))
    old, running = stored_in(path), keyring.load(path)

    keyring_command("wrap")

    assert stored_in(path)["kek"] != old["kek"]
    assert stored_in(path)["installation"] == old["installation"]
    for one in (path, copy):
        assert keyring.load(one).open(running.seal(b"x", context="a"), context="a") == b"x"


# --- Components -------------------------------------------------------------------------------


@pytest.fixture
def memory() -> Iterator[Path]:
    if not SHARED_MEMORY.is_dir():
        pytest.skip("There is no tmpfs at /dev/shm.")
    directory = Path(mkdtemp(dir=SHARED_MEMORY))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def custodians(
    settings: Any, tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """The components of a new ring, whose host has been started since; `type_in` enters them."""
    settings.KEYRING_FILE, settings.KEK_FILE = tmp_path / "keyring", memory / "kek"
    settings.KEK_PROVIDER = "components"
    files = [tmp_path / "one", tmp_path / "two"]
    call_command("create_keyring", components=files, stdout=io.StringIO())
    keyring.load(settings.KEYRING_FILE)
    settings.KEK_FILE.unlink()
    return [file.read_text() for file in files]


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    def type_in(*lines: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines).replace("\n\n", "\n")))
        return keyring_command("open")

    return type_in


@pytest.mark.django_db
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_custodians_open_the_ring_one_after_the_other(
    custodians: list[str], type_in: Callable[..., str], settings: Any, order: tuple[int, int]
) -> None:
    with pytest.raises(KeyRingError, match=CLOSED):
        keyring.load(settings.KEYRING_FILE)

    first = type_in(custodians[order[0]])
    with pytest.raises(KeyRingError, match=CLOSED):
        keyring.load(settings.KEYRING_FILE)
    second = type_in(custodians[order[1]].upper().replace(" ", "-"))

    assert "Now the other custodian" in first
    assert "The key ring is open" in second
    assert keyring.load(settings.KEYRING_FILE)
    assert [file.name for file in settings.KEK_FILE.parent.iterdir()] == ["kek"]
    assert settings.KEK_FILE.stat().st_mode & 0o777 == 0o400
    assert AuditEntry.objects.filter(action="key_ring.opened").count() == 1
    with pytest.raises(CommandError, match="is open already"):
        type_in(custodians[0])


def test_one_custodian_twice_opens_nothing(
    custodians: list[str], type_in: Callable[..., str], settings: Any
) -> None:
    type_in(custodians[0])

    with pytest.raises(
        CommandError, match="Component 1 has been entered already: enter component 2"
    ):
        type_in(custodians[0])
    assert not settings.KEK_FILE.exists()


def test_a_mistyped_component_is_told_and_thrice_ends_the_command(
    custodians: list[str], type_in: Callable[..., str], settings: Any
) -> None:
    wrong = custodians[0].translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
    foreign = components.new_component()

    with pytest.raises(CommandError, match="is no component of the key ring of ins_"):
        type_in(wrong, foreign, wrong, custodians[0])
    with pytest.raises(CommandError, match="64 hexadecimal digits"):
        type_in("12", "x", "ab" * 31)
    assert list(settings.KEK_FILE.parent.iterdir()) == []

    assert "Component 1 is entered" in type_in(wrong, foreign, custodians[0])


def test_components_tell_nothing_of_the_key_alone(custodians: list[str], settings: Any) -> None:
    stored = stored_in(settings.KEYRING_FILE)
    one, two = (bytes.fromhex(text.replace(" ", "")) for text in custodians)

    for guess in (one, two, bytes(a ^ b for a, b in zip(one, two, strict=True))):
        assert kek.Kek(stored["installation"], guess).id != stored["kek"]
    assert components.wrapping_of(stored["installation"], custodians).kek.id == stored["kek"]
    assert components.wrapping_of("ins_other", custodians).kek.id != stored["kek"]


def test_the_opened_key_lies_in_memory_only(
    custodians: list[str], type_in: Callable[..., str], settings: Any, tmp_path: Path
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"22 1 8:1 / {tmp_path} rw - ext4 /dev/sda rw\n")
    settings.KEK_FILE = tmp_path / "kek"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(components, "MOUNTS", mounts)
        with pytest.raises(CommandError, match="is on ext4, which may keep the opened key"):
            type_in(custodians[0])
    settings.KEK_FILE = tmp_path / "missing" / "kek"
    with pytest.raises(CommandError, match="Make the directory"):
        type_in(custodians[0])


def test_components_are_shown_once_and_typed_back(
    settings: Any, tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KEK_PROVIDER, settings.KEK_FILE = "components", memory / "kek"
    shown, texts = io.StringIO(), ["aa" * 32, "bb" * 32]
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    made = iter(texts)
    monkeypatch.setattr(components, "new_component", lambda: next(made))
    answers = iter(["", "", "mistyped", texts[0], "", "", texts[1]])
    monkeypatch.setattr("getpass.getpass", lambda _question: next(answers))

    call_command("create_keyring", tmp_path / "ring", stdout=shown)

    assert [shown.getvalue().count(text) for text in texts] == [1, 1]
    assert keyring.load(tmp_path / "ring")


def test_a_component_that_was_not_written_down_makes_no_ring(
    settings: Any, tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KEK_PROVIDER, settings.KEK_FILE = "components", memory / "kek"
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("getpass.getpass", lambda _question: "")

    with pytest.raises(CommandError, match="mistyped 3 times: nothing was made"):
        call_command("create_keyring", tmp_path / "ring", stdout=io.StringIO())
    assert list(memory.iterdir()) == []
    assert not (tmp_path / "ring").exists()


@pytest.mark.django_db
def test_a_file_provider_is_followed_by_components(
    path: Path, settings: Any, tmp_path: Path, memory: Path
) -> None:
    settings.KEK_PROVIDER, settings.KEK_FILE = "components", memory / "kek"
    blob = keyring.load(path, kek_file=tmp_path / "kek").seal(b"x", context="a")
    shutil.copy(tmp_path / "kek", memory / "kek")

    files = [tmp_path / "one", tmp_path / "two"]
    keyring_command("wrap", *(f"--component={file}" for file in files))

    assert keyring.load(path).open(blob, context="a") == b"x"
    assert f"of {settings.KEK_PROVIDER}" in keyring_command("show")


@pytest.mark.django_db
def test_a_key_in_another_file_wraps_the_ring_anew_and_stays_there_alone(
    path: Path, settings: Any, tmp_path: Path, memory: Path
) -> None:
    settings.KEK_PROVIDER, settings.KEK_FILE = "components", memory / "kek"
    blob = keyring.load(path, kek_file=tmp_path / "kek").seal(b"x", context="a")
    earlier = stored_in(path)["kek"]
    files = [f"--component={tmp_path / name}" for name in ("one", "two")]

    keyring_command("wrap", "--kek-file", tmp_path / "kek", *files)

    assert keyring.load(path).open(blob, context="a") == b"x"
    assert earlier not in settings.KEK_FILE.read_text()
    assert earlier in (tmp_path / "kek").read_text()


@pytest.mark.django_db
@pytest.mark.parametrize("fault", ["missing", "another", "same files"])
def test_a_wrap_by_another_file_that_fails_leaves_all_as_it_was(
    fault: str, path: Path, settings: Any, tmp_path: Path, memory: Path
) -> None:
    settings.KEK_PROVIDER, settings.KEK_FILE = "components", memory / "kek"
    keyring.create(tmp_path / "other", kek_file=tmp_path / "another")
    source = tmp_path / ("kek" if fault == "same files" else fault)
    before = path.read_bytes()

    with pytest.raises(CommandError):
        keyring_command("wrap", "--kek-file", source, *[f"--component={tmp_path / 'one'}"] * 2)

    assert path.read_bytes() == before
    assert not settings.KEK_FILE.exists() or settings.KEK_FILE.read_text() == ""


@pytest.mark.django_db
@pytest.mark.parametrize("is_kept", [False, True])
def test_an_opening_that_was_killed_at_its_last_steps_is_gone_on_with(
    custodians: list[str],
    type_in: Callable[..., str],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    is_kept: bool,
) -> None:
    def killed(*arguments: Any, **options: Any) -> None:
        if is_kept:
            kek.keep(*arguments, **options)
        raise Killed

    type_in(custodians[0])
    with monkeypatch.context() as patch:
        patch.setattr(components, "keep", killed)
        with pytest.raises(Killed):
            type_in(custodians[1])

    if is_kept:
        with pytest.raises(CommandError, match="is open already"):
            type_in(custodians[0])
    else:
        assert "The key ring is open" in type_in(custodians[0])

    assert keyring.load(settings.KEYRING_FILE)
    assert [file.name for file in settings.KEK_FILE.parent.iterdir()] == ["kek"]


class Killed(BaseException):
    """A process that ends here."""


@pytest.mark.django_db
@pytest.mark.parametrize("fault", ["of another command", "gone with its medium"])
def test_files_that_do_not_open_the_ring_are_not_handed_out(
    fault: str,
    path: Path,
    settings: Any,
    tmp_path: Path,
    memory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.KEK_PROVIDER, settings.KEK_FILE = "components", memory / "kek"
    files = [tmp_path / "one", tmp_path / "two"]
    wrap = keyring.wrap

    def disturbed(*arguments: Any, **options: Any) -> None:
        wrap(*arguments, **options)
        draft = tmp_path / "two.unused"
        draft.unlink()
        if fault == "of another command":
            draft.write_text(components.new_component())

    with monkeypatch.context() as patch:
        patch.setattr(keyring, "wrap", disturbed)
        with pytest.raises(CommandError, match="again"):
            keyring_command("wrap", "--kek-file", tmp_path / "kek", *given(files))

    assert not any(file.exists() for file in files)
    keyring_command("wrap", *given(files))
    texts = [file.read_text() for file in files]
    stored = stored_in(path)
    assert components.wrapping_of(stored["installation"], texts).kek.id == stored["kek"]


def given(files: list[Path]) -> list[str]:
    return [f"--component={file}" for file in files]


@pytest.mark.django_db
def test_a_wrap_by_the_files_of_the_last_one_changes_nothing_and_leaves_no_row(
    path: Path, settings: Any, tmp_path: Path, memory: Path
) -> None:
    settings.KEK_PROVIDER, settings.KEK_FILE = "components", memory / "kek"
    files = [tmp_path / "one", tmp_path / "two"]
    keyring_command("wrap", "--kek-file", tmp_path / "kek", *given(files))
    before = path.read_bytes()

    assert "already: give new files" in keyring_command("wrap", *given(files))

    assert path.read_bytes() == before
    assert AuditEntry.objects.filter(action="key_ring.wrapped").count() == 1


@pytest.mark.django_db
def test_a_link_to_the_file_with_the_key_stays_a_link(path: Path, settings: Any) -> None:
    mounted = path.parent / "mounted"
    mounted.mkdir()
    settings.KEK_FILE.rename(mounted / "kek")
    settings.KEK_FILE.symlink_to(mounted / "kek")

    keyring_command("wrap")

    assert settings.KEK_FILE.is_symlink()
    assert keyring.load(path, kek_file=mounted / "kek")


def test_a_link_out_of_memory_is_refused(
    custodians: list[str], type_in: Callable[..., str], settings: Any, tmp_path: Path
) -> None:
    settings.KEK_FILE.symlink_to(tmp_path / "missing" / "kek")

    with pytest.raises(CommandError, match=r"Make the directory .*missing"):
        type_in(custodians[0])
