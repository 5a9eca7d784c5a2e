"""`./dev info`: the addresses and keys of a running `./dev up`, as it printed them.

The page to pay on is a new one, if somebody has paid on the last.

Standard library only: it needs no environment.
"""

import io
import json
import sys
from pathlib import Path

from devstack import demo
from devstack.state import ROOT, launcher_runs, state_directory

BUILT = ROOT / "builtdocs" / "index.html"


def greeting(known: dict[str, str], state: Path) -> str:
    """Return what a developer needs first; the command is without names before it, to be copied."""
    unbuilt = "" if BUILT.is_file() else " (./dev docs builds it)"
    return (
        f"  Base address  {known['base_url']}\n"
        f"  Secret key    {known['secret_key']}\n"
        f"  Panel         {known['panel_url']}\n"
        f"                {known['panel_email']} · {known['panel_password']}\n"
        f"  Documentation {known['base_url']}/docs/{unbuilt}\n"
        f"  Webhooks to   {known['webhook_hosts'] or 'registered websites alone'}\n"
        f"  Mails         {known['mail_directory']}\n"
        f"  Kept in       {state / 'demo.json'}\n\n"
        f"{_page_to_pay(known)}"
        f"Take a first payment by the API:\n\n{known['curl']}\n\n"
    )


def _page_to_pay(known: dict[str, str]) -> str:
    if "pay_url" not in known:
        return ""
    return f"Pay as a customer, by the test card 4242 4242 4242 4242:\n\n{known['pay_url']}\n\n"


def speak_utf_8() -> None:
    """Let the printed payment have Turkish letters, whatever the terminal's locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def main() -> None:
    speak_utf_8()
    state = state_directory()
    # The file of a launcher that was killed stays: it alone proves nothing.
    if not launcher_runs(state) or not (state / "running.json").exists():
        sys.exit("Nothing runs: start ./dev up first, and wait until it is ready.")
    file = state / "demo.json"
    known = json.loads(file.read_text(encoding="utf-8"))
    known |= demo.page_to_pay(known["base_url"], known)
    demo.write(file, known)
    sys.stdout.write("\n" + greeting(known, state))


if __name__ == "__main__":
    main()
