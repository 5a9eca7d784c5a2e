"""The files of deploy/: what can be started here is, and the rest is compared with the code."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from core.keyring import ring
from devstack import pooler
from devstack.state import ROOT
from docsite import sources
from tests.stage.client import ApiClient
from tests.stage.draining import until
from tests.stage.emptying import empty
from tests.stage.factories import GOOD_CARD, open_merchant
from tests.stage.front_proxies import BEHIND_IT, HOST, Caddy, Nginx, Proxy
from tests.stage.own_ports import refusing_port
from tests.stage.web_process import PATIENCE_SECONDS, WebProcess

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
# Of systemd's scale: 10 is a service without any bound.
EXPOSURE_MAX = 2.0


# --- Processes --------------------------------------------------------------------------------


def command_of(unit: Path) -> str:
    [command] = re.findall(r"^ExecStart=/opt/pay/\.venv/bin/(.+)$", unit.read_text(), re.M)
    return command.replace("python ", "").replace(" --worker-tmp-dir /dev/shm", "")


def test_units_and_containers_start_the_processes_of_the_table() -> None:
    page = (ROOT / "docs/operate/processes.md").read_text()
    table = page.partition("## What runs")[2].partition("## ")[0]
    told = [*re.findall(r"\| `((?:gunicorn -c config|celery|manage\.py)[^`]*)`", table)]
    services = COMPOSE["services"]
    image = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Dockerfile").read_text(), re.M)
    contained = [services[name].get("command") for name in ("worker", "webhooks", "beat")]
    web = " ".join(json.loads(image[0])).replace(" --worker-tmp-dir /dev/shm", "")
    commands = {web, *(" ".join(one).replace("python ", "") for one in contained)}

    bank = (
        "gunicorn -c testbank/gunicorn.py testbank.wsgi"  # A sandbox's; compose.yaml is for live.
    )
    assert {command_of(unit) for unit in UNITS} == {*commands, bank, "manage.py migrate"}
    assert services["migrate"]["command"] == ["python", "manage.py", "migrate"]
    # Each is one of the page's; of the two senders of webhooks the one without Celery.
    assert {one.removesuffix(" --pidfile=") for one in commands} <= set(told)
    assert len(commands) == 4


@pytest.mark.parametrize(
    ("typed", "given"),
    [("${SECRET_KEY}", "$${SECRET_KEY}"), ("5 $ $$", "5 $$ $$$$"), ("a 'b\n", "a 'b\n"), ("", "")],
)
def test_pay_manage_leaves_settings_and_arguments_to_systemd_as_they_are(
    typed: str, given: str, tmp_path: Path
) -> None:
    """systemd expands no variable in its files, and `$X` in a command unless it is doubled."""
    fake = tmp_path / "systemd-run"
    fake.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    fake.chmod(0o755)

    done = subprocess.run(
        [DEPLOY / "bin" / "pay-manage", "acquirer", "--reason", typed, "end"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "SECRET_KEY": "of the caller"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    arguments = done.stdout.split("\0")[:-1]
    assert "--property=EnvironmentFile=/etc/pay/environment" in arguments
    assert arguments[-5:] == ["manage.py", "acquirer", "--reason", given, "end"]
    assert "of the caller" not in done.stdout


def test_every_setting_of_the_files_is_explained() -> None:
    example = (ROOT / ".env.example").read_text()
    explained = set(re.findall(r"^#? ?([A-Z_]+)=", example, re.M))
    named = set(re.findall(r"^Environment=([A-Z_]+)=", "".join(map(Path.read_text, UNITS)), re.M))
    for service in ("web", "worker", "webhooks", "beat", "migrate"):
        named |= {
            name.removesuffix("_FILE") for name in COMPOSE["services"][service]["environment"]
        }

    named -= {"PYTHONDONTWRITEBYTECODE"}
    # Of these the name ends so.
    named = {"KEYRING_FILE" if name == "KEYRING" else name for name in named}
    named = {"KEK_FILE" if name == "KEK" else name for name in named}
    named = {"MARK_FILE" if name == "MARK" else name for name in named}
    named = {"BEAT_FILE" if name == "BEAT" else name for name in named}
    assert len(named) >= 6
    assert named <= explained


def test_every_secret_and_file_of_the_containers_is_named() -> None:
    services = COMPOSE["services"].values()
    used = {secret for service in services for secret in service.get("secrets", [])}
    files = [DEPLOY / "compose.yaml", DEPLOY / "postgresql/roles.sh"]
    paths = re.findall(r"/run/secrets/(\w+)", "".join(map(Path.read_text, files)))
    steps = (DEPLOY / "README.md").read_text()

    assert used == set(COMPOSE["secrets"]) == set(paths)
    assert [name for name in used if name not in steps] == []
    for service in services:
        assert set(service["networks"]) <= set(COMPOSE["networks"])
    # The sender calls addresses of merchants' choice: it reaches nothing else outside.
    assert COMPOSE["services"]["webhooks"]["networks"] == ["inside", "deliveries"]


def test_what_beat_writes_outlives_its_container() -> None:
    """Without its file beat takes each task for just begun: one of days may never be due."""
    beat = COMPOSE["services"]["beat"]
    lasting = {
        place: name
        for name, _, place in (volume.partition(":") for volume in beat["volumes"])
        if name in COMPOSE["volumes"]
    }

    for setting in ("MARK_FILE", "BEAT_FILE"):
        assert str(Path(beat["environment"][setting]).parent) in lasting, setting


def test_no_image_of_others_has_to_change_its_user_without_capabilities() -> None:
    """Such an image starts as root, and its first step becomes a user of its own."""
    bare = {name: one for name, one in COMPOSE["services"].items() if "cap_drop" in one}
    foreign = {name: one for name, one in bare.items() if one["image"] != "pay:latest"}

    assert len(bare) >= 6
    assert foreign
    for one in foreign.values():
        uid, _, gid = one["user"].partition(":")
        assert all(f"uid={uid},gid={gid}" in place for place in one["tmpfs"])
    assert re.findall("^USER (.+)$", (DEPLOY / "Dockerfile").read_text(), re.M) == ["10001:10001"]


def test_no_image_and_no_commit_takes_in_secrets_or_settings() -> None:
    services = COMPOSE["services"].values()
    named = {file for service in services for file in service.get("env_file", [])}
    named |= {secret["file"] for secret in COMPOSE["secrets"].values()}
    files = {f"deploy/{file}" for file in named}

    assert len(files) == 1 + len(COMPOSE["secrets"])
    assert {file for file in files if not is_left_out_of_images(file)} == set()
    assert {file for file in files if not is_ignored_by_git(file)} == set()

    planted = "deploy/other/secret_key"
    assert (is_left_out_of_images(planted), is_ignored_by_git(planted)) == (False, False)


def is_left_out_of_images(file: str) -> bool:
    """Read the patterns as Docker does: of those that match, the last one decides."""
    place = PurePosixPath("/", file)
    is_out = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        # `**/` stands for any directories, and a pattern without `/` matches a last name.
        wanted = pattern.removeprefix("**/") if pattern.startswith("**/") else f"/{pattern}"
        if any(one.match(wanted) for one in (place, *place.parents)):
            is_out = line == pattern
    return is_out


def test_an_image_has_each_file_that_a_page_of_the_site_leads_to() -> None:
    """The site is built in the image: a link to a file that is missing there ends the build."""
    pages = [*sources.DOCS.rglob("*.md"), *(ROOT / name for name in sources.BESIDE)]
    linked = {
        os.path.relpath(page.parent / target, ROOT)
        for page in pages
        for _, target, _ in sources.LINK.findall(page.read_text())
    }

    assert len(linked) > 100
    assert {file for file in linked if is_left_out_of_images(file)} == set()
    assert is_left_out_of_images("tests/config/test_deploy.py")


def test_the_image_collects_the_static_files_with_the_settings_that_it_names() -> None:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    [line] = re.findall(r"^RUN env (.+ collectstatic .+)$", text, re.M)
    words = shlex.split(line)
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    command = words[words.index("manage.py") :]

    done = subprocess.run(
        [sys.executable, *command, "--dry-run"],
        cwd=ROOT, env=settings, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "static files copied" in done.stdout


def is_ignored_by_git(file: str) -> bool:
    # Without an index: what was added already would be no longer ignored.
    return not _ran("git", "-C", str(ROOT), "check-ignore", "--no-index", "-q", file).returncode


def test_only_the_migration_knows_the_owner_of_the_tables() -> None:
    owners = re.compile("owner_database_url|/etc/pay/owner", re.I)
    units = {unit.stem for unit in UNITS if owners.search(unit.read_text())}
    services = {name for name, one in COMPOSE["services"].items() if owners.search(str(one))}

    assert units == {"pay-migrate"}
    assert services == {"migrate"}


def test_the_containers_make_the_roles_of_the_page() -> None:
    page = (ROOT / "docs/operate/database.md").read_text()
    told = page.partition("## Two roles")[2].partition("```sql\n")[2].partition("```")[0]
    script = (DEPLOY / "postgresql/roles.sh").read_text()

    made = re.findall(r"^CREATE .+;$", script, re.M)
    assert [re.sub(r":'\w+'", "'…'", one) for one in made] == told.splitlines()
    assert len(made) == 3


def test_the_poolers_file_is_as_the_tests_pooler() -> None:
    text = (DEPLOY / "pgbouncer/pgbouncer.ini").read_text()
    parser = configparser.ConfigParser(inline_comment_prefixes=(";",))
    parser.read_string(text)

    assert parser["pgbouncer"]["pool_mode"] == "transaction"
    for name, value in pooler.ROLE.items():
        assert f"ALTER ROLE pay SET {name} = '{value}';" in text


def test_no_unit_that_is_started_again_is_ever_given_up() -> None:
    """Without this systemd gives a unit up for good that has failed five times in ten seconds."""
    lasting = {unit.stem: unit.read_text() for unit in UNITS if "Restart=" in unit.read_text()}

    assert len(lasting) == 5
    for name, text in lasting.items():
        assert "\nRestart=always\n" in text, name
        assert "\nStartLimitIntervalSec=0\n" in text.partition("[Service]")[0], name


def test_each_unit_with_metrics_may_make_the_socket_of_the_page() -> None:
    page = (ROOT / "docs/operate/watch.md").read_text()
    [bind] = re.findall(r"`METRICS_BIND=/run/([\w-]+)/\w+`", page)
    measured = [f"pay-{name}" for name in ("web", "worker", "webhooks", "beat")]

    for unit in (DEPLOY / "systemd" / f"{name}.service" for name in measured):
        lines = unit.read_text().splitlines()
        # Several units share it: without the second line the first one that stops deletes it.
        assert {f"RuntimeDirectory={bind}", "RuntimeDirectoryPreserve=yes"} <= set(lines), unit


@pytest.mark.slow
def test_systemd_finds_no_fault_in_the_units(tmp_path: Path) -> None:
    if not (program := shutil.which("systemd-analyze")):
        pytest.skip("systemd-analyze is not installed")
    # The release is not installed here: the same units, with programs that there are.
    for unit in [*UNITS, DEPLOY / "systemd/pay.target"]:
        text = re.sub(r"/opt/pay/\.venv/bin/\w+", "/bin/true", unit.read_text())
        (tmp_path / unit.name).write_text(text.replace("/opt/pay/docs", str(ROOT / "docs")))
    files = sorted(map(str, tmp_path.iterdir()))

    verified = _ran(program, "verify", "--man=no", *files)
    assert (verified.returncode, verified.stderr) == (0, "")
    for file in files:
        if file.endswith(".service"):
            rated = _ran(program, "security", "--offline=true", "--json=short", file)
            overall = _ran(program, "security", "--offline=true", file).stdout
            [exposure] = re.findall(r"exposure level for \S+: ([\d.]+)", overall)
            assert float(exposure) < EXPOSURE_MAX, rated.stdout

    planted = tmp_path / "planted.service"
    planted.write_text("[Service]\nExecStart=/nowhere/gunicorn\nProtectSystm=strict\n")
    assert _ran(program, "verify", "--man=no", str(planted)).stderr.count("\n") >= 2


@pytest.mark.slow
def test_caddy_takes_its_file(tmp_path: Path) -> None:
    if not (program := shutil.which("caddy")):
        pytest.skip("caddy is not installed")
    file = DEPLOY / "caddy/Caddyfile"
    planted = tmp_path / "Caddyfile"
    planted.write_text(file.read_text().replace("reverse_proxy", "revers_proxy"))

    assert (
        _ran(program, "validate", "--adapter", "caddyfile", "--config", str(file)).returncode == 0
    )
    assert _ran(program, "validate", "--adapter", "caddyfile", "--config", str(planted)).returncode


@pytest.mark.slow
def test_docker_compose_takes_its_file(tmp_path: Path) -> None:
    if not (program := shutil.which("docker-compose")):
        pytest.skip("docker-compose is not installed")
    # Debian 12's knows the specification of before it had a project's name.
    text = (DEPLOY / "compose.yaml").read_text().replace("\nname: pay\n", "\n")
    (tmp_path / "environment").touch()
    for name, content in {"own": text, "planted": text.replace("cap_drop", "cap_drp")}.items():
        (tmp_path / name).write_text(content)

    command = ("env", "PAY_HOST=pay.example", program, "--file")
    own, planted = (
        _ran(*command, str(tmp_path / name), "config", "--quiet") for name in ("own", "planted")
    )
    assert own.returncode == 0, own.stderr
    assert "'cap_drp'" in planted.stderr


def _ran(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


# --- nginx ------------------------------------------------------------------------------------

KEPT_IN_MEMORY = "    client_body_buffer_size     256k;\n"
DASHED = "-".join(re.findall("....", GOOD_CARD))


def ask_with_secrets(proxy: Proxy) -> None:
    """Ask for what no log may have, and for one thing that it may."""
    paths = [
        f"/v1/payment_intents/{GOOD_CARD}", f"/v1/payment_intents/{DASHED}",
        f"/v1/payment_intents?q={GOOD_CARD}", f"/nothing/{GOOD_CARD}/x",
        "/pay/cs_one.secret-of-it", "/3ds/att_one.secret-of-it/return",
        "/account/invitation/secret-of-it", "/account/password/reset/MQ-secret-of-it",
    ]  # fmt: skip
    for path in paths:
        proxy.ask("GET", path)
        proxy.ask("GET", path, tls=False)
    proxy.ask("GET", "/v1/balance")


def has_no_secret(logs: str) -> bool:
    return not any(secret in logs for secret in (GOOD_CARD, DASHED, "secret-of-it", "?"))


@pytest.fixture(scope="module")
def behind(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[WebProcess]:
    """A web process that believes its proxy."""
    ring()
    with django_db_blocker.unblock():
        acme = ApiClient(open_merchant("Acme Store", website="https://acme.example"))
        web = WebProcess(
            tmp_path_factory.mktemp("behind") / "log",
            **BEHIND_IT,
        )  # fmt: skip
        web.acme = acme
        yield web
        web.stop()
        empty("default")


@pytest.fixture(scope="module")
def nginx(behind: WebProcess, tmp_path_factory: Any) -> Iterator[Nginx]:
    nginx = Nginx(tmp_path_factory.mktemp("nginx"), behind.address)
    yield nginx
    nginx.stop()


def customer(behind: WebProcess, size: int) -> dict[str, Any]:
    body = json.dumps({"name": "Ada", "description": "x" * size}).encode()
    headers = {"Authorization": f"Bearer {behind.acme.key}", "Content_Type": "application/json"}
    return {"method": "POST", "path": "/v1/customers", "body": body, **headers}


@pytest.mark.slow
@pytest.mark.django_db(databases=["default", "bank"])
class TestNginx:
    def test_a_request_comes_through_by_https(self, nginx: Nginx, behind: WebProcess) -> None:
        alive = nginx.ask("GET", "/livez", X_Forwarded_Proto="http")
        made = nginx.ask(**customer(behind, size=10))

        assert (alive[0], made[0]) == (200, 200)

    def test_the_clients_address_is_the_one_that_nginx_saw(
        self, nginx: Nginx, behind: WebProcess
    ) -> None:
        _, headers, _ = nginx.ask("GET", "/v1/nothing", X_Forwarded_For="203.0.113.9")

        [line] = [line for line in behind.log.splitlines() if headers["Request-Id"] in line]
        assert json.loads(line)["ip"] == "127.0.0.1"

    def test_no_body_touches_a_disk(self, nginx: Nginx, behind: WebProcess, tmp_path: Path) -> None:
        large = customer(behind, size=200_000)
        without = Nginx(tmp_path, behind.address, changed={KEPT_IN_MEMORY: ""})
        try:
            spooled = without.ask(**large)[0]
        finally:
            without.stop()

        # There is no place for it on a disk: nginx itself fails where it wants one.
        assert (nginx.ask(**large)[0], spooled) == (400, 500)
        assert nginx.ask(**customer(behind, size=300_000))[0] == 413

    def test_no_log_has_a_card_a_query_or_a_payers_link(self, nginx: Nginx) -> None:
        ask_with_secrets(nginx)

        until(lambda: "GET /v1/balance 401" in nginx.logs)  # Written once the answer has left.
        assert nginx.logs.count("[hidden]") >= 7
        assert has_no_secret(nginx.logs)

    def test_others_than_operators_do_not_reach_the_admin(self, nginx: Nginx) -> None:
        assert [nginx.ask("GET", path)[0] for path in ("/admin/", "/admin/x")] == [403] * 2

    def test_the_clear_port_leads_people_on_and_no_key(self, nginx: Nginx) -> None:
        led = nginx.ask("GET", "/panel/?x=1", tls=False)
        keyed = nginx.ask("GET", "/v1/balance", tls=False, Authorization="Bearer sk_test_x")

        assert (led[0], led[1]["Location"]) == (301, f"https://{HOST}/panel/?x=1")
        assert (keyed[0], "Location" in keyed[1]) == (403, False)


# --- Proxies before a web process that is away ------------------------------------------------


@pytest.fixture
def away() -> Iterator[str]:
    with refusing_port() as port:
        yield f"127.0.0.1:{port}"


@pytest.mark.slow
@pytest.mark.parametrize("is_refused", [True, False], ids=["refused", "missing"])
def test_nginx_logs_no_secret_while_the_web_process_is_away(
    is_refused: bool, away: str, tmp_path: Path
) -> None:
    # To nginx a socket that is not there is worse than a port that refuses.
    nginx = Nginx(tmp_path, away if is_refused else f"unix:{tmp_path}/nothing")
    try:
        ask_with_secrets(nginx)
        until(lambda: "GET /v1/balance 502" in nginx.logs)
    finally:
        nginx.stop()

    assert nginx.logs.count("[hidden]") >= 7
    assert has_no_secret(nginx.logs)


@pytest.mark.slow
def test_caddy_logs_no_secret_while_the_web_process_is_away(away: str, tmp_path: Path) -> None:
    caddy = Caddy(tmp_path, away)
    try:
        ask_with_secrets(caddy)
        until(lambda: caddy.logs.count('"status":502') == 9)
    finally:
        caddy.stop()

    assert has_no_secret(caddy.logs)
