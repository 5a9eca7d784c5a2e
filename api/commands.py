"""The bases of commands: the audit log names the command, and the operator or unit it is run by."""

import getpass
import sys
from argparse import SUPPRESS, ArgumentParser, _SubParsersAction
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from api import request_logs
from core import context
from core.context import ActorKind
from merchants import named_operators
from merchants.models import User
from merchants.operator_rights import OperatorRefused

# Of the name that the audit log keeps.
NAME_MAX = 254
CGROUP = Path("/proc/self/cgroup")


class AuditedCommand(BaseCommand):
    """A command that runs as a piece of work of its own, in the name of an operator.

    Its `req_` id is in the request logs if it records an event, and in the audit log.

    :cvar permission: what an operator has to be allowed for it, as at the desk.
    :cvar reading: the steps that change nothing: they need no operator.
    :cvar is_for_jobs: whether it may run without an operator in live.
    :cvar people: how many different operators stand for it.
    :ivar operators: the operators that were named.
    """

    permission: ClassVar[str | None] = None
    reading: ClassVar[frozenset[str]] = frozenset()
    is_for_jobs: ClassVar[bool] = False
    people: ClassVar[int] = 1
    requires_system_checks = ()  # They are those of `manage.py check`: they load all pages.
    operators: list[User]

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **options)
        _add_as(parser, default=[])
        return parser

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command in the operator's name, else in the machine's user's who typed it."""
        name = type(self).__module__.rpartition(".")[2]
        login = context.login_name()
        with context.work():
            context.act_as(ActorKind.COMMAND, name, login)
            self.operators = self._named(options)
            if self.operators:
                who = " and ".join(one.email for one in self.operators)
                said = f"{who} by manage.py {name} as {login}"
                context.act_as(ActorKind.OPERATOR, str(self.operators[0].pk), said[:NAME_MAX])
            with request_logs.job(f"manage.py {name}"):
                return super().execute(*args, **options)

    def needs_operators(self, options: dict[str, Any]) -> bool:
        """Return whether operators have to be named: in live, for each step that changes."""
        is_reading = options.get("step") in self.reading
        return not is_reading and not self.is_for_jobs and named_operators.are_needed()

    def _named(self, options: dict[str, Any]) -> list[User]:
        """Return the operators that were named, each proved by a code where one is needed."""
        addresses = options.get("operators") or []
        is_needed = self.needs_operators(options)
        if not addresses and not is_needed:
            return []
        try:
            people = [named_operators.find(one, permission=self.permission) for one in addresses]
            if len({one.pk for one in people}) < (self.people if is_needed else 1):
                raise CommandError(_said_who(self.people))
            for one in people if named_operators.are_needed() else ():
                named_operators.require_proof(one, _code_of(one))
        except OperatorRefused as refusal:
            raise CommandError(refusal.text) from refusal
        return people


class JobCommand(BaseCommand):
    """A command that a unit or a timer runs: it acts as the service, in the unit's name."""

    requires_system_checks = ()

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command as a piece of work of its own."""
        with context.work():
            name = type(self).__module__.rpartition(".")[2]
            context.act_as(ActorKind.SYSTEM, name, unit() or context.login_name())
            return super().execute(*args, **options)


def unit() -> str | None:
    """Return the name of the systemd unit that this process belongs to, such as `cron.service`."""
    try:
        lines = CGROUP.read_text().splitlines()
    except OSError:
        return None
    parts = [part for line in lines for part in line.rpartition(":")[2].split("/")]
    units = [part for part in parts if part.endswith((".service", ".scope"))]
    return units[-1] if units else None


def _said_who(people: int) -> str:
    if people == 1:
        return "Say which operator does this: --as E-MAIL, and type the code of their app."
    return f"This takes {people} different operators: --as E-MAIL for each, and their apps' codes."


def _add_as(parser: ArgumentParser, *, default: Any) -> None:
    parser.add_argument(
        "--as", action="append", dest="operators", metavar="E-MAIL", default=default,
        help="the operator who does this; in live their app's code is asked for",
    )  # fmt: skip
    steps = (one for one in parser._actions if isinstance(one, _SubParsersAction))
    for one in steps:
        for step in one.choices.values():
            _add_as(step, default=SUPPRESS)


def _code_of(person: User) -> str:
    """Return the code that is typed, or the next line of a standard input that is no terminal.

    It is asked for at the terminal of the errors then: a code that was typed before this process
    had begun may be over.
    """
    question = f"Code of the app of {person.email}: "
    if sys.stdin.isatty():
        return getpass.getpass(question).strip()
    if sys.stderr.isatty():
        sys.stderr.write(question)
        sys.stderr.flush()
    return sys.stdin.readline().strip()
