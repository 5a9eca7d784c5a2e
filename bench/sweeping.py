"""The sweeper as beat runs it, every two seconds: `python -m bench.sweeping`, until it is ended."""

import time

from bench import (
    installation,  # noqa: F401
)
from payments.charging import tasks

EVERY_SECONDS = 2.0


def main() -> None:
    while True:
        tasks.resolve_unknown()
        time.sleep(EVERY_SECONDS)


if __name__ == "__main__":
    main()
