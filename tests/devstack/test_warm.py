"""A process that begins where others have been loaded is what a Python of its own would be."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.stage.processes import run
from tests.stage.warm import without_main

pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]

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
    ours, ended = sys.modules["__main__"], Event()
    often = sys.getswitchinterval()

    def look() -> int:
        looks = 0
        while not ended.is_set():
            assert "_io" in sys.modules
            looks += 1
        return looks

    with ThreadPoolExecutor(4) as threads:
        sys.setswitchinterval(1e-6)
        try:
            looking = threads.submit(look)
            beginning = [threads.submit(_begin_often) for _ in range(3)]
            assert sum(one.result() for one in beginning) == 3000
        finally:
            ended.set()
            sys.setswitchinterval(often)

    assert looking.result() > 100
    assert sys.modules["__main__"] is ours


def _begin_often() -> int:
    for _ in range(1000):
        with without_main():
            assert sys.modules["__main__"].__name__ == "__main__"
    return 1000
