"""`./dev info`: the addresses and keys of a running `./dev up`, as it printed them.

Standard library only: it needs no environment.
"""

import io
import json
import sys
from pathlib import Path

from devstack.state import ROOT, launcher_runs, state_directory

BUILT = ROOT / "builtdocs" / "index.html"


def greeting(demo: dict[str, str], state: Path) -> str:
    """Return what a developer needs first; the command is without names before it, to be copied."""
    unbuilt = "" if BUILT.is_file() else " (./dev docs builds it)"
    return (
        f"  Base address  {demo['base_url']}\n"
        f"  Secret key    {demo['secret_key']}\n"
        f"  Panel         {demo['panel_url']}\n"
        f"                {demo['panel_email']} · {demo['panel_password']}\n"
        f"  Documentation {demo['base_url']}/docs/{unbuilt}\n"
        f"  Webhooks to   {demo['webhook_hosts'] or 'registered websites alone'}\n"
        f"  Mails         {demo['mail_directory']}\n"
        f"  Kept in       {state / 'demo.json'}\n\n"
        f"Take a first payment:\n\n{demo['curl']}\n\n"
    )


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
    demo = json.loads((state / "demo.json").read_text(encoding="utf-8"))
    sys.stdout.write("\n" + greeting(demo, state))


if __name__ == "__main__":
    main()
