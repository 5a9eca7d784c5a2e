"""`./dev run CMD...`: CMD as given, with the environment of a running `./dev up`."""

import json
import os
import sys

from devstack.state import launcher_runs, state_directory


def main() -> None:
    command = sys.argv[1:]
    if not command:
        sys.exit("What shall run? ./dev run CMD...")
    state = state_directory()
    running = state / "running.json"
    # The file alone proves nothing: a killed launcher leaves it behind.
    if not launcher_runs(state) or not running.exists():
        sys.exit("Nothing to run it against: start ./dev up first, and wait until it is ready.")
    environment = {**os.environ, **json.loads(running.read_text())["environment"]}
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
