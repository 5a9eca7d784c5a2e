"""A merchant of a new Debian on which the page `Install on Debian` was followed.

`$key`, in the shell of root, is the merchant's key: the page has set it.
"""

import json
import re
from typing import Any

from devstack.state import ROOT
from tests.stage.new_debian import NewDebian

# The choices of a live installation are followed in test_going_live.
PAGE, _, LIVE_PAGE = (
    (ROOT / "docs/operate/install-on-debian.md").read_text().partition("\n## A live installation\n")
)
INSTALL, IN_LIVE = (
    re.findall(r"^```sh\n(.*?)^```$", part, re.S | re.M) for part in (PAGE, LIVE_PAGE)
)
# They fetch packages; all others run on the started host, which reaches nothing outside.
FETCHING = 2
CURL = "curl --silent --fail-with-body --cacert /etc/pay/tls/fullchain.pem https://pay.example"
AS_MERCHANT = '--header "Authorization: Bearer $key"'
# That of the page's first payment.
[PAYMENT] = re.findall(r"--json '(\{.*?\n\})'", PAGE, re.S)
RECEIVER = """
import http.server

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open("/root/received", "ab") as file:
            file.write(body + b"\\n")
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", 3000), Receiver).serve_forever()
"""


def until_ready(host: NewDebian) -> None:
    # A payment while the bank is away would be `processing` at first, as it should be.
    for ready in (f"{CURL}/readyz", "curl --silent http://127.0.0.1:8100/"):
        host.run(f"timeout 120 sh -c 'until {ready}; do sleep 0.2; done'")


def pay(host: NewDebian, file: str) -> dict[str, Any]:
    """Make the page's payment, and return it; `file` of root's home has it too."""
    host.run(f"{CURL}/v1/payment_intents {AS_MERCHANT} --json '{PAYMENT}' > {file}")
    [payment] = lines(host, file)
    assert payment["status"] == "succeeded"
    return payment


def receive(host: NewDebian) -> None:
    """Start a receiver of the merchant's webhooks: `received` in root's home has one a line."""
    (host.root / "root/receiver.py").write_text(RECEIVER)
    host.run("systemd-run --quiet --unit=receiver python3 /root/receiver.py")
    host.run("echo WEBHOOK_DEV_HOSTS=127.0.0.1:3000 >> /etc/pay/environment")
    host.run("systemctl restart pay-web pay-webhooks")
    until_ready(host)
    url = '{"url": "http://127.0.0.1:3000/hook", "enabled_events": ["*"]}'
    host.run(f"{CURL}/v1/webhook_endpoints {AS_MERCHANT} --json '{url}'")


def lines(host: NewDebian, file: str) -> list[dict[str, Any]]:
    path = host.root / "root" / file
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
