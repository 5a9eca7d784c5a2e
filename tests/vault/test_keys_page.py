"""The page `Keys and secrets` leads operators through a rotation and a lost component.

Each command is read from the page and run as it stands there, in live, by two operators at a
terminal. A restart of the processes is where the page asks for it.
"""

import io
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command

from audit import keys as audit_keys
from core import keyring
from core.keyring import KeyRingError
from core.keyring.file import content_of
from core.models import Process
from devstack.state import ROOT
from merchants.models import AuditEntry, Merchant, User
from tests.stage.factories import MerchantFactory
from tests.stage.guide_pages import STEPS
from tests.stage.key_change import assert_opens_by_one_key, seal_many
from tests.stage.key_ring_files import rewrite
from tests.stage.second_factors import add_app, code
from vault import peers

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAGE = (ROOT / "docs/operate/keys.md").read_text()
SECTIONS = dict(STEPS.findall(PAGE))
COMMAND = re.compile(r"`manage\.py ([^`]+)`")
TWO_OPERATORS = re.compile(r"^In live (.*?) take \[two operators\]", re.M | re.S)
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # Each test has a directory of its own in it.
ADA, BEN = "ada@pay.example", "ben@pay.example"


def steps(section: str) -> list[str]:
    """Return the numbered steps of a section."""
    return re.findall(r"^\d\. .*?(?=^\d\. |^$)", SECTIONS[section], re.M | re.S)


class Terminal(io.StringIO):
    """A terminal at which two operators and two custodians answer what they are asked.

    :ivar papers: of the custodians: component by number.
    """

    def __init__(self) -> None:
        super().__init__()
        self.papers: dict[str, str] = {}
        self.entered: Iterator[str] = iter(())
        self.screen = io.StringIO()

    def isatty(self) -> bool:
        return True

    def answer(self, question: str) -> str:
        if question.startswith("Code of the app"):
            return code()
        if question == "Component: ":
            return next(self.entered)
        if question.startswith("Write it down"):
            shown = re.findall(r"Component (\d) of 2.*?\n\n +(.*?)\n", self.screen.getvalue())
            self.papers.update(shown)
        if paper := re.match(r"Component (\d) from the paper", question):
            return self.papers[paper[1]]
        return ""


class Installation:
    """A live installation that its operators work on by the page alone.

    :ivar names: of keys, by what the page calls them.
    """

    def __init__(self, terminal: Terminal, ring: Path) -> None:
        self.terminal, self.ring = terminal, ring
        self.names: dict[str, str] = {}
        [named] = TWO_OPERATORS.findall(PAGE)
        self._of_two = set(re.findall(r"`([\w-]+)`", named))

    def follow(self, section: str) -> None:
        for step in steps(section):
            for command in COMMAND.findall(step):
                self.run(command)
            if "start every process again" in step.replace("\n  ", "").lower():
                self.restart()

    def restart(self) -> None:
        keyring.ring.cache_clear()
        keyring.ring()

    def run(self, command: str) -> str:
        for name, key in self.names.items():
            command = re.sub(rf"(?<!\S){re.escape(name)}(?!\S)", key, command)
        words = command.split()
        if words[0] == "keyring" and words[1] in self._of_two:
            words += [f"--as={ADA}", f"--as={BEN}"]
        self.terminal.screen = io.StringIO()
        cache.clear()  # Half a minute passes: their apps show another code.
        call_command(*words, stdout=self.terminal.screen)
        said = self.terminal.screen.getvalue()
        self._note(command, said)
        return said

    def _note(self, command: str, said: str) -> None:
        """Keep the names that the page leads an operator to."""
        if added := re.match(r"Added (\S+)\.", said):
            self.names["k_NEW"] = self.names["PURPOSE-…"] = added[1]
        if command == "keyring show" and "k_OLD" not in self.names:
            [self.names["k_OLD"]] = re.findall(r"^(k_\S+)  primary", said, re.M)


@pytest.fixture
def installation(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """A ring that two custodians have made, two operators, and processes that run."""
    if not SHARED_MEMORY.is_dir():
        pytest.skip("There is no tmpfs at /dev/shm.")
    home, terminal = Path(mkdtemp(dir=SHARED_MEMORY)), Terminal()
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("getpass.getpass", terminal.answer)
    monkeypatch.setattr(peers, "HEAR_SECONDS", 0)
    settings.KEYRING_FILE, settings.KEK_FILE = home / "keyring", home / "kek"
    settings.KEK_PROVIDER, settings.INSTALLATION, settings.LIVEMODE = "components", "live", True
    made = Installation(terminal, settings.KEYRING_FILE)
    made.run("create_keyring")
    Process.objects.all().delete()
    made.restart()
    for email in (ADA, BEN):
        person = User.objects.create_user(email, "a long enough password", is_staff=True)
        person.is_superuser = True
        person.save()
        add_app(person)
    yield made
    keyring.ring.cache_clear()
    shutil.rmtree(home)


@pytest.fixture
def tokens(installation: Installation) -> set[str]:
    merchant: Merchant = MerchantFactory()
    return seal_many(merchant, 5)


def test_the_page_leads_two_operators_through_a_change_of_the_key(
    installation: Installation, tokens: set[str]
) -> None:
    first = keyring.ring().primary

    installation.follow("Changing the key")

    installation.restart()
    assert installation.names["k_OLD"] == first
    assert keyring.ring().key_ids == {installation.names["k_NEW"]}
    assert_opens_by_one_key(tokens, installation.names["k_NEW"])
    assert audit_keys.check().differences == []
    rows = AuditEntry.objects.filter(action__startswith="key_ring.").order_by("sequence")
    steps_made = ["made", "key_added", "key_promoted", "key_retired", "key_purged"]
    assert [row.action.partition(".")[2] for row in rows] == steps_made
    assert {row.actor for row in rows[1:]} == {"operator"}


def test_the_page_leads_two_operators_through_a_change_for_hashes(
    installation: Installation,
) -> None:
    installation.names |= {"PURPOSE": "session", "OLD": "session"}
    before = keyring.ring().mac("session", b"x")
    *early, last = steps("Changing a key for hashes")
    for step in early:
        for command in COMMAND.findall(step):
            installation.run(command)
        installation.restart()
    assert before in keyring.ring().macs("session", b"x")
    a_month_passes(installation)

    for command in COMMAND.findall(last)[:1]:
        installation.run(command)

    installation.restart()
    assert keyring.ring().names("session") == (installation.names["PURPOSE-…"],)
    assert before not in keyring.ring().macs("session", b"x")


def a_month_passes(installation: Installation) -> None:
    about = content_of(installation.ring)["about"]
    at = datetime.fromisoformat(about["session"]["retired_at"]) - timedelta(days=31)
    about["session"]["retired_at"] = at.isoformat()
    rewrite(installation.ring, about=about)
    installation.restart()


def test_the_page_leads_from_a_lost_component_to_new_ones_on_each_host(
    installation: Installation, tokens: set[str], settings: Any
) -> None:
    [lost] = re.findall(r"^- \*\*A component is lost.*?(?=^- )", PAGE, re.M | re.S)
    [wrap] = COMMAND.findall(lost)
    [on_each_host] = re.findall(r"run `(keyring open)`", " ".join(lost.split()))
    old, running = dict(installation.terminal.papers), keyring.ring()
    sealed = running.seal(b"x", context="a")

    installation.run(wrap)

    assert set(installation.terminal.papers) == {"1", "2"}
    assert not set(old.values()) & set(installation.terminal.papers.values())
    settings.KEK_FILE = settings.KEK_FILE.with_name("kek_of_another_host")
    installation.terminal.entered = iter([old["1"], *installation.terminal.papers.values()])
    for _custodian in range(2):
        with pytest.raises(KeyRingError):
            keyring.load(installation.ring)
        installation.run(on_each_host)
    installation.restart()
    assert keyring.ring().open(sealed, context="a") == b"x"
    assert_opens_by_one_key(tokens, running.primary)
