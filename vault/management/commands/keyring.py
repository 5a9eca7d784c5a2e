from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, ProgrammingError

from api.commands import AuditedCommand
from core import keyring
from core.keyring import components, dates, needs
from core.keyring.content import MADE_FOR
from core.keyring.file import content_of, installation_of, stored_in
from merchants import audit_log, operators, second_factors
from merchants import keys as api_keys
from merchants.models import AuditHead
from vault import cards, custodians, peers, ring_steps, sealed_rows

log = structlog.get_logger(__name__)

# By purpose, a look at whether anything was made with its key.
MADE_WITH: dict[str, Callable[[], bool]] = {
    audit_log.PURPOSE: AuditHead.objects.exists,
    second_factors.PURPOSE: second_factors.are_sealed,
}
MADE_OF = {
    audit_log.PURPOSE: "Rows of the audit log",
    second_factors.PURPOSE: "Second factors",
}


class Command(AuditedCommand):
    help = "Change the key ring while the service runs (docs/operate/keys.md)."
    permission = operators.MANAGE
    people = 2
    # `open` is the custodians', and what a later version needs is nobody's choice.
    reading = frozenset({"show", "open", "add-purpose"})

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--file", type=Path, help="the key ring (default: KEYRING_FILE)")
        steps = parser.add_subparsers(dest="step", required=True)
        steps.add_parser("show", help="which keys there are, and what each of them seals")
        add = steps.add_parser("add", help="add a key that seals nothing yet")
        add.add_argument(
            "purpose", nargs="?", choices=keyring.PURPOSES,
            help="of hashes; without one the key seals data",
        )  # fmt: skip
        steps.add_parser("add-purpose", help="make the keys that this version knows of first")
        steps.add_parser("open", help="enter a custodian's component, after a start of the host")
        wrap = steps.add_parser("wrap", help="wrap all keys by a new key-encryption key")
        custodians.add_argument(wrap)
        wrap.add_argument(
            "--kek-file", type=Path, metavar="OLD",
            help="the file that has the earlier key-encryption key, if KEK_FILE is another by now",
        )  # fmt: skip
        for name, meaning in (
            ("promote", "seal with this key, from every process's next start on"),
            ("remove", "retire a key: it opens what it has sealed, and seals nothing any more"),
            ("purge", "take a retired key out for good that nothing is sealed with"),
        ):
            step = steps.add_parser(name, help=meaning)
            step.add_argument("key_id")
        step.add_argument(
            "--revoke-unused", action="store_true",
            help="of api_key: revoke the API keys that were not used since the change",
        )  # fmt: skip
        give_up = steps.add_parser("give-up", help="write down that a key is lost for good")
        give_up.add_argument("key_id")
        put_back = steps.add_parser("put-back", help="take a lost key over from another key ring")
        put_back.add_argument("key_id", metavar="KEY", help="an id, or a purpose of hashes")
        put_back.add_argument("--from", type=Path, required=True, metavar="COPY", dest="copy")

    def needs_operators(self, options: dict[str, Any]) -> bool:
        # Second factors are sealed by the ring: one that does not load proves nobody's code.
        if ring_steps.loads():
            return super().needs_operators(options)
        other = options["file"]
        if other and ring_steps.loads(other) and super().needs_operators(options):
            raise CommandError(f"Set KEYRING_FILE to {other}: operators are proved by its keys.")
        return False

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command; the database is asked for operators before its own step is."""
        path = options["file"] or settings.KEYRING_FILE
        try:
            with custodians.earlier_key(path, options.get("kek_file")):
                return super().execute(*args, **options)
        except keyring.KeyRingError as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(
                "The database does not answer, and it says what the keys seal and who may change "
                "them; nothing was changed."
            ) from error

    def handle(self, *_args: Any, **options: Any) -> None:
        path = options["file"] or settings.KEYRING_FILE
        step = getattr(self, f"_{options['step'].replace('-', '_')}")
        names = ("purpose", "key_id", "copy", "components", "revoke_unused")
        given = [options[name] for name in names if name in options]
        try:
            if options["step"] not in self.reading:
                ring_steps.write_missing_of(path)
            step(path, *given)
        except keyring.KeyRingError as error:
            raise CommandError(str(error)) from error

    def _show(self, path: Path) -> None:
        ring = keyring.load(path)
        counts = {column.label: column.counts() for column in sealed_rows.columns()}
        for key_id in sorted(ring.key_ids.union(*counts.values())):
            sealed = ", ".join(f"{counts[label].get(key_id, 0)} {label}" for label in counts)
            self.stdout.write(f"{key_id}  {_role(ring, key_id)}  {sealed}")
        content = content_of(path)
        for one in dates.records(content):
            self.stdout.write(f"{one.name}  {one.purpose}  {_history(one)}")
            for reason in _reasons(ring, one.name):
                self.stdout.write(f"{one.name} is needed: {reason}")
        self.stdout.write(
            f"installation {content['installation']}, {_kind_of(content)}wrapped by "
            f"{content['kek']} of {content['provider']}"
        )
        for step in ring_steps.missing(ring.steps):
            self.stdout.write(ring_steps.in_words(step))
        for sentence in dates.due(content):
            self.stdout.write(f"DUE  {sentence}")
        for process in peers.living().order_by("host", "kind", "id"):
            lacks = sorted(ring.held - set(process.key_ids))
            self.stdout.write(
                f"{process.kind} on {process.host}, release {process.release}, since "
                f"{process.started_at:%Y-%m-%d %H:%M:%S}: seals with {process.primary_key_id}"
                + (f", lacks {', '.join(lacks)}" if lacks else "")
            )

    def _add(self, path: Path, purpose: str | None) -> None:
        key_id = keyring.new_key_id(purpose)
        with ring_steps.noted("key_added", path, key_id) as step:
            keyring.add(path, key_id=key_id, step=step)
        self.stdout.write(
            f"Added {key_id}. Once every process has started anew with this file: "
            f"manage.py keyring promote {key_id}"
        )

    def _add_purpose(self, path: Path) -> None:
        # A key that is lost is not made again: what it made could not be verified any more.
        for purpose in keyring.missing_purposes(path):
            if purpose in MADE_WITH and _has_rows(MADE_WITH[purpose]):
                raise CommandError(
                    f"{MADE_OF[purpose]} were made with the key for {purpose}, which {path} "
                    f"lacks. Put it back: `manage.py keyring put-back {purpose} --from COPY`, of "
                    "which COPY is a key ring that has it."
                )
        added = keyring.complete(path, action="key_ring.key_added")
        ring_steps.write_if_possible(path)
        if not added:
            self.stdout.write(f"Nothing to add: {path} has a key for every purpose.")
            return
        self.stdout.write(
            f"Added a key for {', '.join(added)}. Keep a new copy of {path}, give it to every "
            "machine, then start every process anew."
        )

    def _open(self, path: Path) -> None:
        stored, owner = stored_in(path), path.stat()
        for tries_left in reversed(range(custodians.TRIES)):
            try:
                component = custodians.typed("Component: ")
                done = components.enter(stored, component, kek_file=settings.KEK_FILE, owner=owner)
                break
            except components.WrongComponent as refusal:
                if not tries_left:
                    raise
                self.stderr.write(str(refusal))
        if done.missing:
            self.stdout.write(
                f"Component {done.number} is entered. Now the other custodian runs this command."
            )
            return
        keyring.load(path)
        self._note_opening(path, stored["installation"])
        self.stdout.write(
            f"The key ring is open: {settings.KEK_FILE} has its key. Start the service."
        )

    def _note_opening(self, path: Path, installation: str) -> None:
        try:
            ring_steps.note("opened", path, installation)
        except (DatabaseError, keyring.KeyRingError) as error:
            # A host that starts may reach its database later than its custodians come.
            log.warning("opening_not_noted", error=type(error).__name__)

    def _wrap(self, path: Path, files: list[Path]) -> None:
        was_clear = not keyring.is_wrapped(path)
        if not was_clear:
            keyring.missing_purposes(path)  # Refused before anybody has written anything down.
        installation = installation_of(path)
        if custodians.are_of(path, files):
            self._finish(path, files)
            return
        # Before the transaction: custodians who write on paper take minutes.
        wrapping = custodians.make(installation, files, self.stdout)
        with ring_steps.noted("wrapped", path, installation) as step:
            keyring.wrap(path, wrapping, step=step)
        custodians.hand_out(path, files)
        self.stdout.write(
            f"Wrapped all keys of {path} by a new key of {settings.KEK_PROVIDER}. Bring the file "
            "to every host, and "
            + (
                "destroy every copy of before: its keys are in clear."
                if was_clear
                else f"the key that {settings.KEK_FILE} has; processes that run need no restart."
            )
        )

    def _finish(self, path: Path, files: list[Path]) -> None:
        """Do the last step of a command that was broken off behind the key ring's file."""
        custodians.hand_out(path, files)
        self.stdout.write(
            f"{path} is wrapped by the components of these files already: give new files for "
            "another key."
        )

    def _promote(self, path: Path, key_id: str) -> None:
        peers.require_held(key_id)
        if keyring.purpose_of(key_id) == cards.PURPOSE:
            cards.require_known_under(key_id)
        earlier = _primary_like(path, key_id)
        with ring_steps.noted("key_promoted", path, key_id) as step:
            keyring.promote(path, key_id, step=step)
        then = f"keyring remove {earlier}" if keyring.purpose_of(key_id) else "vault_rotate"
        self.stdout.write(
            f"{key_id} is primary. Once every process has started anew with this file: "
            f"manage.py {then}"
        )

    def _remove(self, path: Path, key_id: str) -> None:
        if keyring.purpose_of(key_id):
            # From now on it makes nothing: the time that it is needed for begins.
            self._hear_all()
            peers.require_sealing_with(_primary_like(path, key_id))
        else:
            _require_unused(key_id)
        with ring_steps.noted("key_retired", path, key_id) as step:
            keyring.retire(path, key_id, step=step)
        then = ", and start every process anew" if keyring.purpose_of(key_id) else ""
        self.stdout.write(
            f"Retired {key_id}: it opens what it has sealed, and seals nothing any more. Bring the "
            f"file to every host{then}. `manage.py keyring purge {key_id}` takes the key out for "
            "good."
        )

    def _purge(self, path: Path, key_id: str, revokes_unused: bool) -> None:  # noqa: FBT001
        keyring.require_retired(path, key_id)
        if revokes_unused and keyring.purpose_of(key_id) != api_keys.PURPOSE:
            raise CommandError(f"--revoke-unused is of keys of {api_keys.PURPOSE} alone.")
        # The one step that can lose something: nobody is missed who lives and was not seen.
        self._hear_all()
        peers.require_sealing_with(_primary_like(path, key_id))
        # Only now: a process that seals with the key would do so again after the look.
        if revokes_unused:
            self.stdout.write(f"Revoked {api_keys.revoke_unused(key_id)} API keys.")
        if keyring.purpose_of(key_id):
            _require_not_needed(path, key_id)
        else:
            _require_unused(key_id)
        with ring_steps.noted("key_purged", path, key_id) as step:
            keyring.purge(path, key_id, step=step)
        self.stdout.write(
            f"Took {key_id} out for good. Keep it with the backups of the database that still "
            "need it."
        )

    def _give_up(self, path: Path, key_id: str) -> None:
        if key_id in keyring.load(path).held:
            raise CommandError(f"The key ring at {path} has {key_id}: `purge` takes a key out.")
        # A newer ring that has it would be refused from then on, as an earlier copy.
        self._hear_all()
        peers.require_lost(key_id)
        ring_steps.note("key_purged", path, key_id)
        self.stdout.write(
            f"{key_id} is lost for good. Processes start without it, and what it made is unknown."
        )

    def _hear_all(self) -> None:
        self.stdout.write(f"Waiting {peers.HEAR_SECONDS:.0f} s for a beat of every process.")
        peers.hear_all()

    def _put_back(self, path: Path, name: str, copy: Path) -> None:
        with ring_steps.noted("key_put_back", path, name) as step:
            keyring.put_back(path, name, copy=copy, step=step)
        is_retired = name in keyring.load(path).retired
        then = "" if keyring.purpose_of(name) else ", then run `manage.py vault_rotate`"
        self.stdout.write(
            f"Put {name} back{' as a retired key' if is_retired else ''}. Bring the file to "
            f"every host, start every process anew{then}."
        )


def _history(one: dates.KeyRecord) -> str:
    told = [
        f"{step} {one.about[date][:10]}"
        + (f" by {by}" if (by := one.about.get(f"{step}_by")) else "")
        for step in ("made", "active", "superseded", "retired", "put_back", "purged")
        if (date := f"{step}_since" if step == "active" else f"{step}_at") in one.about
    ]
    due = [f"due {one.due_at:%Y-%m-%d}"] if one.due_at else []
    return ", ".join([*told, *due]) or "of before dates were kept"


def _kind_of(content: Mapping[str, Any]) -> str:
    return f"made for {content[MADE_FOR]}, " if MADE_FOR in content else ""


def _role(ring: keyring.KeyRing, key_id: str) -> str:
    if key_id not in ring.key_ids:
        return "NOT IN THE KEY RING"
    if key_id in ring.retired:
        return "retired"
    return "primary" if key_id == ring.primary else "other"


def _primary_like(path: Path, key_id: str) -> str:
    """Return the primary key of a key's purpose, or the primary encryption key."""
    ring, purpose = keyring.load(path), keyring.purpose_of(key_id)
    return ring.primaries[purpose] if purpose else ring.primary


def _reasons(ring: keyring.KeyRing, name: str) -> list[str]:
    purpose = keyring.purpose_of(name)
    if purpose is None or name not in ring.retired:
        return []
    return needs.of(needs.Retired(name, purpose, ring.retired_at[name]))


def _require_not_needed(path: Path, key_id: str) -> None:
    if reasons := _reasons(keyring.load(path), key_id):
        raise CommandError(f"{key_id} is needed: {'; '.join(reasons)}.")


def _require_unused(key_id: str) -> None:
    for column in sealed_rows.columns():
        if column.rows_under(key_id).exists():
            raise CommandError(
                f"Rows of {column.label} are sealed with {key_id}: promote another key, "
                "then run `manage.py vault_rotate`."
            )


def _has_rows(look: Callable[[], bool]) -> bool:
    try:
        return look()
    except ProgrammingError:
        return False  # The database is from before there were such rows.
