"""A process that begins where others have been loaded is what a Python of its own would be."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.stage.lengths import tried
from tests.stage.processes import run
from tests.stage.warm import without_main

pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]

ROUNDS = 3000
SHOWS = """
import atexit, os, sys, threading
import config
from django.conf import settings
atexit.register(print, "at its end", flush=True)
main = threading.main_thread()
threading.Thread(target=lambda: (main.join(), print("thread", flush=True))).start()
print(sorted(os.environ.items()), os.getcwd(), sys.argv, settings.RELEASE)
print(__name__, sys.modules["__main__"].__name__, "pytest" in sys.modules)
sys.exit({ending})
"""


@pytest.mark.parametrize("ending", ["3", "'one sentence'", ""])
def test_it_ends_as_a_python_of_its_own_does(ending: str) -> None:
    code = SHOWS.format(ending=ending)
    arguments, settings = ("-c", code, "first", "second"), {"RELEASE": "of its own"}

    fresh = run(*arguments, is_fresh=True, **settings)

    assert "at its end" in fresh[1]
    assert run(*arguments, **settings) == fresh


def test_others_find_each_module_while_a_process_begins() -> None:
    ours, often = sys.modules["__main__"], sys.getswitchinterval()
    with ThreadPoolExecutor(3) as threads:
        sys.setswitchinterval(1e-6)
        try:
            beginning = [threads.submit(_begin, ROUNDS) for _ in range(3)]
            while not all(one.done() for one in beginning):
                assert "_io" in sys.modules
        finally:
            sys.setswitchinterval(often)

    tried(sum(one.result() for one in beginning), "processes that begin while modules are sought")
    assert sys.modules["__main__"] is ours


def _begin(rounds: int) -> int:
    for _ in range(rounds):
        with without_main():
            pass
    return rounds
