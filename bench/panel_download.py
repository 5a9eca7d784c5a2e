"""A download of the merchant's newest payments, while others pay."""

import time

from bench import paced
from bench.bars import Figures
from bench.client import ClientCall
from bench.load import LoadTerms
from bench.panel_person import Person
from bench.payments import PATH, SUCCEEDED
from bench.stage import Stage
from devstack import demo
from devstack.console import say

ALONE_SECONDS = 15
# More would fill two cores: any other work would slow each of them.
CLIENTS = 2
# A file of a hundred thousand rows takes ten seconds.
FILES = 2


def measure(stage: Stage, told: dict[str, str], terms: LoadTerms, *, since: int) -> Figures:
    """Pay alone, and while a person downloads one file after the other.

    :param since: Unix seconds; the file's payments are not older.
    :raises CannotContinue: a payment did not succeed, or a file did not come.
    """
    call = ClientCall(stage.ports.web, PATH, SUCCEEDED, told["secret_key"], demo.first_payment())
    # Without those that are made meanwhile, with which the file would be too large.
    span = f"created[gte]={since}&created[lt]={int(time.time())}"
    path = f"/panel/{told['merchant_id']}/payments/export?{span}"
    with stage.service():
        person = Person(stage.ports.web, told)
        cookies = person.prove(person.sign_in().cookies)
        say("bench", f"{FILES} downloads beside {CLIENTS} clients that pay")
        waits, files = paced.beside(
            call,
            terms._replace(clients=CLIENTS),
            lambda: [person.download(path, cookies) for _ in range(FILES)],
            alone_seconds=ALONE_SECONDS,
        )
    rows = files[-1].count(b"\npi_")
    return {"download_rows": rows, **{f"download_{name}": one for name, one in waits.items()}}
