"""A bank that remembers which payers it was told of, and may repeat their address."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from django.conf import settings
from django.test import override_settings

from acquirers.gateway import AuthenticationRequest, AuthorizationRequest, Payer
from acquirers.outcomes import Exchange, Outcome
from acquirers.sandbox.gateway import SandboxGateway
from acquirers.three_d_secure import Form
from tests.stage.bank_transport import sandbox
from tests.stage.form_gateway import FormGateway
from tests.stage.routed import routed

HEARD: list[Payer] = []


def _authorized(request: AuthorizationRequest, outcome: Outcome) -> Outcome:
    payer = request.order.payer
    HEARD.append(payer)
    text = f"customer {payer.ip} of {request.order.terminal.name}"
    return replace(outcome, exchange=Exchange(code="00", text=text, numbers={"client": text}))


class ListeningGateway(SandboxGateway):
    def __init__(self) -> None:
        self.session = sandbox().session

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        return _authorized(request, super().authorize(request))


class ListeningFormGateway(FormGateway):
    def authorize(self, request: AuthorizationRequest) -> Outcome:
        return _authorized(request, super().authorize(request))

    def handoff(self, request: AuthenticationRequest, url: str) -> Form:
        HEARD.append(request.order.payer)
        return super().handoff(request, url)


@contextmanager
def listening(gateway: type[SandboxGateway] = ListeningGateway) -> Iterator[list[Payer]]:
    """Let every merchant's payments go to a bank that listens; yield what it hears."""
    HEARD.clear()
    kinds = {**settings.ACQUIRERS, "listening": f"{__name__}.{gateway.__name__}"}
    with override_settings(ACQUIRERS=kinds):
        routed("listening", kind="listening")
        yield HEARD
