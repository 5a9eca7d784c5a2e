"""The pages for going live lead an empty live host to a captured and a refunded payment.

A new Debian follows `Install on Debian` with the choices of a live installation. Then, for each
bank, it follows the bank's page and `The first lira`, word by word. The bank is the simulated one
in an installation of its own, at `https://bank.example`, with a certificate of an authority that
the host has to be given. People type at a terminal: custodians their components, an operator the
codes of their app.
"""

import json
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from testbank.garanti import terminals as garanti
from testbank.nestpay import terminals as nestpay
from tests.stage import live_walk
from tests.stage.guide_pages import commands
from tests.stage.lengths import IS_FULL, tried
from tests.stage.new_debian import NewDebian, new_host

PAGE, FIRST_LIRA = "install-on-debian", "first-lira"
LIVE_STEPS = ("Settings", "The key ring, tables and files", "The processes")
BANKS = {
    "nestpay": (nestpay.FIRST.credentials, "CORE-2202"),
    # The terminal of production, as the page has it.
    "garanti": (garanti.SECOND.credentials, "92/0651"),
}
TRUST = "--cacert /etc/pay/tls/fullchain.pem"
CARD, WRONG_CVC_CARD = "4242424242424242", "4000000000000127"
OPERATOR = "you@pay.example"
COMPONENT = re.compile(r"^ {4}([0-9a-f ]{64,})$", re.M)
QUESTION_OF_CODE = r"Code of the app of [^\n]*: "
WALK = "REQUESTS_CA_BUNDLE=/root/trusted.pem /opt/pay/.venv/bin/python live_walk.py"
AS_PAY = (
    "systemd-run --quiet --collect --uid=pay --working-directory=/opt/pay"
    " --property=EnvironmentFile=/etc/stub/environment"
)
# The simulated bank, an installation of its own behind a proxy of its own.
STUB = f"""
su - postgres --command 'psql --quiet --set ON_ERROR_STOP=1' <<END
CREATE ROLE stub LOGIN PASSWORD 'stub';
CREATE DATABASE stub OWNER stub ENCODING 'UTF8' TEMPLATE template0;
CREATE DATABASE stub_bank OWNER stub ENCODING 'UTF8' TEMPLATE template0;
END
install --directory --mode 0700 --owner pay /etc/stub
cat > /etc/stub/environment <<END
INSTALLATION=sandbox
BASE_URL=http://127.0.0.1:8200
SECRET_KEY=$(openssl rand -hex 32)
KEYRING_FILE=/etc/stub/keyring
DATABASE_URL=postgresql://stub:stub@127.0.0.1/stub
BANK_DATABASE_URL=postgresql://stub:stub@127.0.0.1/stub_bank
REDIS_URL=redis://127.0.0.1:6379/1
TESTBANK_URL=http://127.0.0.1:8100
TESTBANK_SIGNING_KEY=$(openssl rand -hex 32)
ALLOWED_HOSTS=bank.example
END
for step in create_keyring migrate 'migrate --database bank'; do
    {AS_PAY} --pipe --wait /opt/pay/.venv/bin/python manage.py $step
done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \\
    -subj '/CN=Authority of the bank' -keyout authority.pem -out bank.crt
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \\
    -subj /CN=bank.example -keyout /etc/pay/tls/bank.key -out bank.csr
openssl x509 -req -in bank.csr -CA bank.crt -CAkey authority.pem -CAcreateserial -days 30 \\
    -extfile <(echo subjectAltName=DNS:bank.example) -out /etc/pay/tls/bank.pem
cat > /etc/nginx/conf.d/bank.conf <<'END'
server {{
    listen 443 ssl;
    server_name bank.example;
    ssl_certificate     /etc/pay/tls/bank.pem;
    ssl_certificate_key /etc/pay/tls/bank.key;
    location / {{ proxy_pass http://127.0.0.1:8100; proxy_set_header Host $host; }}
}}
END
echo '127.0.0.1 bank.example' >> /etc/hosts
cat bank.crt /etc/pay/tls/fullchain.pem > trusted.pem
"""
START_STUB = f"""
{AS_PAY} --unit=stub-bank /opt/pay/.venv/bin/gunicorn -c testbank/gunicorn.py testbank.wsgi
systemctl restart nginx
ready='curl --silent --fail --cacert bank.crt https://bank.example/healthz'
timeout 120 sh -c "until $ready; do sleep 0.2; done"
"""


# --- The pages alone -----------------------------------------------------------------------------


@pytest.mark.parametrize("page", [FIRST_LIRA, *BANKS])
def test_a_page_has_no_broken_command(page: str) -> None:
    blocks = [block for step in commands(page).values() for block in step]

    for block in blocks:
        read = subprocess.run(["bash", "-n", "-c", block], capture_output=True, text=True)  # noqa: S607
        assert read.returncode == 0, read.stderr
    assert len(blocks) >= 4


@pytest.mark.parametrize("page", BANKS)
def test_a_banks_page_has_a_terminal_with_each_of_its_credentials(page: str) -> None:
    shown = json.loads(terminal_of(page))

    assert (shown["kind"], set(shown["credentials"])) == (page, set(BANKS[page][0]))


@pytest.mark.parametrize("page", [FIRST_LIRA, *BANKS])
def test_each_change_names_its_operator(page: str) -> None:
    """In live a command that changes something ends with 1 without one."""
    reading = r"acquirer (check|list)|check |audit|status$"
    text = "\n".join(block for step in commands(page).values() for block in step)
    typed = re.findall(r"pay-manage (.*)", text.replace("\\\n", " "))

    changes = [one for one in typed if not re.match(reading, one)]
    assert [one for one in changes if "--as you@pay.example" not in one] == []
    assert len(changes) >= 3


def terminal_of(page: str) -> str:
    [shown] = commands(page, language="json")["Set the terminal up"]
    return shown


# --- Followed ------------------------------------------------------------------------------------


class Operator:
    """The first operator at the host's terminal; each code of their app is typed once."""

    def __init__(self, host: NewDebian) -> None:
        self.host, self.password = host, secrets.token_hex(12)
        self.key, self._used = "", 0.0
        self.components: list[str] = []

    def type(self, script: str) -> str:
        return self.host.converse(
            script,
            {
                QUESTION_OF_CODE: self._code,
                r"Password: |Password again: ": lambda _shown: self.password,
                r"then Enter: ": lambda _shown: "",
                r"from the paper: ": lambda shown: COMPONENT.findall(shown)[-1],
                r"Component[^\n]*: ": lambda _shown: self.components.pop(),
            },
        )

    def enrol(self) -> None:
        shown = self.host.run(f"{WALK} enrol {OPERATOR} {self.password}")
        self.key, self._used = shown.split()[-1], time.time() // 30

    def read(self, path: str) -> str:
        """Sign in and open a page; return its text."""
        self._wait_for_the_next_code()
        return self.host.run(f"{WALK} read {OPERATOR} {self.password} {self.key} {path}")

    def _code(self, _shown: str) -> str:
        self._wait_for_the_next_code()
        return live_walk.code(self.key)

    def _wait_for_the_next_code(self) -> None:
        while time.time() // 30 <= self._used:
            time.sleep(0.2)
        self._used = time.time() // 30


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    with new_host(tmp_path_factory.mktemp("live")) as host:
        shutil.copy(live_walk.__file__, host.root / "root")
        yield Operator(host)


@pytest.mark.proof(part="live")
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not IS_FULL, reason="./dev prove plays it")
def test_the_pages_lead_an_empty_live_host_to_a_captured_and_a_refunded_payment(
    operator: Operator,
) -> None:
    followed = install(operator)
    set_the_stub_up(operator.host)
    for page in BANKS:
        followed += go_live(operator, page)
    followed += _start_the_host_again(operator)
    tried(followed, "blocks of pages")


def install(operator: Operator) -> int:
    """Follow the page with its choices for live, up to the first operator; return the blocks."""
    host, steps = operator.host, commands(PAGE)
    # People put in what is theirs; none of it is another command.
    own = {
        "smtp+tls://user:password@mail.example:587": "smtp://127.0.0.1:2525",
        "CREATE DATABASE pay_bank OWNER pay ENCODING 'UTF8' TEMPLATE template0;\n": "",
        "nginx -t": "sed --in-place 's|10.0.0.0/8|127.0.0.0/8|' /etc/nginx/conf.d/pay.conf",
    }
    before = ["Packages", "The release"]
    after = ["PostgreSQL, PgBouncer and Redis", *LIVE_STEPS, "The proxy", "The first operator"]
    for step in before:
        host.run(_one(steps[step]))
    host.start()
    host.run(
        "systemd-run --quiet --unit=mail python3 -m smtpd -n -c DebuggingServer 127.0.0.1:2525"
    )
    for step in after:
        block = _one(steps[step])
        for shown, put in own.items():
            block = block.replace(shown, put)
        shown = operator.type(block)
        if step == LIVE_STEPS[1]:
            operator.components = [one.replace(" ", "") for one in _components(shown)]
    host.run("cp /etc/pay/tls/fullchain.pem trusted.pem")
    host.run(f"ip address add {live_walk.PAYER}/32 dev lo")
    operator.enrol()
    return len(before) + len(after)


def _components(shown: str) -> list[str]:
    found = COMPONENT.findall(shown)
    assert len(found) == 2, shown
    return found


def _one(blocks: list[str]) -> str:
    return "\n".join(blocks)


def set_the_stub_up(host: NewDebian) -> None:
    host.run(STUB)
    host.run(START_STUB)


def go_live(operator: Operator, page: str) -> int:
    """Follow a bank's page and the first lira; return how many blocks were followed."""
    steps, lira = commands(page), commands(FIRST_LIRA)
    set_up, check = _set_up(operator, page, steps)
    account = lira["An account of your own"] if page == "nestpay" else []
    before = [*account, *lira["A route for it alone"]]
    for block in before:
        operator.type(block)

    _pay_and_refund(operator, lira)
    _capture_a_part(operator, lira)
    _type_a_wrong_code(operator, lira)
    _look(operator, lira)
    for block in lira["Let merchants in"]:
        operator.type(block)
    _drain(operator, steps, lira)
    return len([*set_up, check, *before]) + sum(map(len, lira.values())) - len(account)


def _set_up(operator: Operator, page: str, steps: dict[str, list[str]]) -> tuple[list[str], str]:
    """Set the terminal up with a password that the bank has changed; then replace it."""
    host, (credentials, refusal) = operator.host, BANKS[page]
    editing, setting = steps["Set the terminal up"]
    given = json.loads(terminal_of(page))
    _edit(host, {**given, "credentials": {**credentials, "password": "of-last-year-1"}})
    operator.type(editing)
    set_first, check = setting.strip().rsplit("\n", 1)
    operator.type(set_first)
    if page == "nestpay":
        assert "SSLError" in host.run(f"{check} 2>&1 || true")
        host.run(_one(commands("terminals")["The bank's certificate"]))
        host.run("systemctl restart pay-web pay-worker")
    assert refusal in host.run(f"{check} 2>&1 || true")

    [replacing] = steps["Replace a password"]
    _edit(host, {**given, "credentials": credentials})
    host.run(editing)
    assert "The bank answers" in operator.type(replacing)
    return [editing, setting, replacing], check


def _edit(host: NewDebian, content: dict[str, Any]) -> None:
    """Let the editor of the page write this."""
    (host.root / "root/edited").write_text(json.dumps(content))
    host.run('editor() { cat /root/edited > "$1"; }')


def _pay_and_refund(operator: Operator, lira: dict[str, list[str]]) -> None:
    page, reading = lira["Pay"]
    shown = _pay(operator.host, page, CARD)
    assert "Payment complete" in shown, shown
    assert operator.host.run(reading).split() == ["succeeded", "100"]

    [refunding] = lira["Refund"]
    assert operator.host.run(refunding).split() == ["succeeded", "void"]


def _capture_a_part(operator: Operator, lira: dict[str, list[str]]) -> None:
    page, capturing = lira["In two steps"]
    _pay(operator.host, page, CARD)
    assert operator.host.run(capturing).split() == ["succeeded", "50"]


def _type_a_wrong_code(operator: Operator, lira: dict[str, list[str]]) -> None:
    _pay(operator.host, lira["Pay"][0], WRONG_CVC_CARD)
    assert "incorrect_cvc" in operator.host.run(lira["A wrong security code"][0])


def _look(operator: Operator, lira: dict[str, list[str]]) -> None:
    [looking] = lira["Look at all of it"]
    attempt = operator.type(looking).split()[-1]
    assert attempt in operator.read(f"/admin/desk/?q={attempt}")
    shown = operator.read(f"/admin/intents/attempt/{attempt}/change/")
    assert "Bank code" in shown, shown


def _drain(operator: Operator, steps: dict[str, list[str]], lira: dict[str, list[str]]) -> None:
    """Drain the terminal: it takes no new payment, and refunds one that it has."""
    host = operator.host
    _pay(host, lira["Pay"][0], CARD)
    host.run(lira["Pay"][1])

    [draining] = steps["Leave the bank"]
    operator.type(draining)

    assert host.run(lira["Refund"][0]).split() == ["succeeded", "void"]
    _pay(host, lira["Pay"][0], CARD)
    assert host.run(lira["Pay"][1]).split() == ["requires_payment_method", "0"]
    # Room for the next bank's route.
    operator.type(f"pay-manage acquirer route $terminal --currency try --remove --as {OPERATOR}")


def _pay(host: NewDebian, page: str, number: str) -> str:
    """Make a payment page, open it in a browser and walk to its end; return the last page."""
    url = host.run(page.replace("curl --silent", f"curl {TRUST} --silent")).split()[-1]
    return host.run(f"{WALK} pay '{url}' {number} 123")


def _start_the_host_again(operator: Operator) -> int:
    """Start the host again: the service is back once both custodians have opened the key ring."""
    host = operator.host
    host.stop()
    host.start()
    ready = "curl --silent --fail --cacert /etc/pay/tls/fullchain.pem https://pay.example/readyz"
    again = "[ $(systemctl show --value --property NRestarts pay-web) -gt 1 ]"
    host.run(f"timeout 120 sh -c 'until {again}; do sleep 0.2; done'")
    host.run(f"if {ready}; then exit 1; fi")
    [opening] = commands(PAGE)["After a start of the host"]
    for _custodian in range(2):
        operator.type(opening)
    host.run(f"timeout 120 sh -c 'until {ready}; do sleep 0.2; done'")
    host.run(START_STUB)
    host.run("pay-manage audit")
    host.run("timeout 120 sh -c 'until pay-manage status; do sleep 1; done'")
    return 1
