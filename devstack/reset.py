"""`./dev reset`: delete the sandbox's data, embedded databases and secrets; asks nothing."""

import shutil
import sys

from devstack.state import (
    CannotContinue,
    data_directory,
    only_launcher,
    socket_directory,
    state_directory,
    wait_for_leftovers,
)


def main() -> None:
    state = state_directory()
    try:
        with only_launcher(state), wait_for_leftovers(state):
            for directory in (socket_directory(state), data_directory(state), state):
                shutil.rmtree(directory, ignore_errors=True)
    except CannotContinue as refusal:
        sys.exit(str(refusal))


if __name__ == "__main__":
    main()
