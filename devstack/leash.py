"""Kill the process groups named on standard input once it ends (see `processes.Leash`).

Run as a file with `-I -S`: it imports nothing of ours and starts in milliseconds.
"""

import os
import signal
import sys
import time

PATIENCE_SECONDS = 5.0
LAST_WAIT_SECONDS = 1.0


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # It ends when the launcher does, and only then.
    groups = [int(line) for line in sys.stdin]
    if wait_until_gone(groups, PATIENCE_SECONDS):
        return
    for group in groups:
        if is_alive(group):
            os.killpg(group, signal.SIGKILL)
    wait_until_gone(groups, LAST_WAIT_SECONDS)


def wait_until_gone(groups: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(is_alive(group) for group in groups):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    main()
