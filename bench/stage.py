"""The stage of a measurement: throw-away servers, and the service's processes started on them."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from devstack import demo, processes, up
from devstack.children import ChildEnded, Children, begin, finish
from devstack.processes import Command, Leash
from devstack.state import ROOT, CannotContinue
from devstack.storage import Storage

# Programs are told how long to run; this is on top, for one that does not end by itself.
GRACE_SECONDS = 30


class Stage(NamedTuple):
    """`environment` is what the service's processes get; `directory` takes what they write.

    `pids` are of what runs at the moment, by name. `root` is the directory of the service's code,
    to whose migrations the databases have been brought if it `is_migrated`.
    """

    places: Storage
    postgres_log: Path
    ports: up.Ports
    environment: dict[str, str]
    directory: Path
    leash: Leash
    pids: dict[str, int]
    root: Path = ROOT
    is_migrated: bool = False

    @property
    def databases(self) -> dict[str, str]:
        """Return the address of the database that each process writes."""
        return {"web": self.places.database_url, "bank": self.places.bank_database_url}

    def open_merchant(self) -> dict[str, str]:
        """Migrate both databases and return a new merchant's id, key and the like."""
        self.migrate()
        return self.open_another()

    def migrate(self) -> None:
        """Bring both databases to the migrations of the code that runs here."""
        if not self.is_migrated:
            up.migrate(self.places, self.environment, root=self.root)

    def open_another(self, *changes: str) -> dict[str, str]:
        """Return one more merchant's id, key and the like.

        :param changes: options of `create_merchant` in the place of the demo merchant's.
        """
        command = [*demo.CREATE_MERCHANT, *changes]
        return json.loads(finish(begin(command, self.environment, root=self.root)))

    @contextmanager
    def service(self, *, bank: str = "testbank.wsgi") -> Iterator[None]:
        """Run the web process and the bank as `./dev up` does.

        Without workers: what is done later is no part of a request.

        :param bank: the bank's application.
        """
        with self._children() as children:
            # PostgreSQL's log names the process of each statement so.
            up.start_web(children, self.ports.web_listener, self.environment | {"PGAPPNAME": "web"})
            named = self.environment | {"PGAPPNAME": "bank"}
            up.start_bank(children, self.ports.bank_listener, named, application=bank)
            addresses = [f"{self.ports.base_url}/healthz", f"{self.ports.bank_url}/healthz"]
            up.wait_until_ready(children, addresses)
            self.pids.update(children.pids)
            yield

    @contextmanager
    def bare_view(self) -> Iterator[None]:
        """Run the view that does nothing in the place of the web process."""
        with self._children() as children:
            up.start_web(
                children, self.ports.web_listener, self.environment, application="bench.bare"
            )
            up.wait_until_ready(children, [f"{self.ports.base_url}/healthz"])
            self.pids.update(children.pids)
            yield

    @contextmanager
    def program(self, name: str, module: Command) -> Iterator[None]:
        """Run a Python module in the service's environment, until the block ends."""
        with self._children() as children:
            children.start(name, module, self.environment)
            self.pids.update(children.pids)
            yield
            children.check()

    def output_of(self, command: Command, *, seconds: float) -> str:
        """Run a program that takes about `seconds`; return what it printed.

        :raises CannotContinue: it failed, or did not end.
        """
        program = processes.spawn(
            command,
            cwd=ROOT,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.leash.hold(program)
        try:
            printed, complaint = program.communicate(timeout=seconds + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            raise CannotContinue(f"{Path(command[0]).name} does not end.") from None
        finally:
            processes.stop([program])
        if program.returncode:
            raise CannotContinue(f"{Path(command[0]).name} failed:\n{printed}{complaint}".rstrip())
        return printed

    @contextmanager
    def _children(self) -> Iterator[Children]:
        children = Children(self.leash, logs=self.directory, root=self.root)
        try:
            yield children
        except ChildEnded as end:
            raise CannotContinue(f"{end}; its lines are in {self.directory}.") from end
        finally:
            children.stop()
            for name in children.pids:
                self.pids.pop(name, None)
