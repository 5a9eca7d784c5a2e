"""A process that begins where others have been loaded is what a Python of its own would be."""

import pytest

from tests.stage.processes import run

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
