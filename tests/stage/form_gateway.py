"""A bank whose gate takes the card from the payer's browser, as real ones do."""

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from django.conf import settings
from django.test import override_settings

from acquirers import returned_forms
from acquirers.gateway import AuthenticationRequest, AuthorizationRequest, Order
from acquirers.messages import revealed
from acquirers.models import Terminal
from acquirers.outcomes import Outcome
from acquirers.sandbox.gateway import SandboxGateway
from acquirers.three_d_secure import (
    AskTheBank,
    Authenticated,
    AuthenticationProof,
    Forged,
    Form,
    FormPost,
    NotAuthenticated,
    Return,
)
from tests.stage.bank_transport import sandbox
from tests.stage.routed import routed

GATE = "https://gate.bank.example/3d/start"
ORIGINS = ("https://gate.bank.example", "https://acs.bank.example")
KIND, KEY = "formbank", b"shared with the gate"
# This bank writes Turkish letters, in an encoding of its own.
ENCODING = "iso-8859-9"


class FormGateway(SandboxGateway):
    """The test bank for the money, and a gate that is not there for 3-D Secure."""

    capabilities = replace(
        SandboxGateway.capabilities, cvc_at_handoff=True, references_are_idempotent=False
    )

    def __init__(self) -> None:
        self.session = sandbox().session

    def begin(self, request: AuthenticationRequest) -> FormPost:
        return FormPost(GATE, ORIGINS)

    def handoff(self, request: AuthenticationRequest, url: str) -> Form:
        card = revealed(request.sealed)
        fields = {
            "oid": request.order.reference,
            "pan": card.number,
            "cv2": request.cvc or "",
            "okUrl": request.callback_url,
            "amount": str(request.order.amount),
        }
        return Form(url, fields)

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        # The test bank knows no proof of this gate's.
        return super().authorize(replace(request, proof=None))

    def read_return(self, order: Order, raw: bytes, content_type: str) -> Return:
        fields = returned_forms.read(raw, content_type, encoding=ENCODING)
        if fields.get("oid") != order.reference:
            raise Forged("It is another order's.")
        if fields.get("model") == "3d_pay":
            return AskTheBank()
        if "hash" not in fields:
            return NotAuthenticated()
        if not hmac.compare_digest(signed(fields)["hash"], fields["hash"]):
            raise Forged("The hash is not the bank's.")
        proof = AuthenticationProof({"md": fields["md"]})
        return Authenticated(fields["mdStatus"], "05", proof, "3ds_of_the_gate", has_proof=True)


def signed(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields with the gate's hash over all of them."""
    told = {name: value for name, value in fields.items() if name != "hash"}
    text = "|".join(f"{name}={told[name]}" for name in sorted(told)).encode(ENCODING)
    return {**told, "hash": hmac.new(KEY, text, "sha256").hexdigest()}


@contextmanager
def form_bank() -> Iterator[Terminal]:
    """Let every merchant's payments go to the bank with a gate."""
    path = f"{__name__}.{FormGateway.__name__}"
    with override_settings(ACQUIRERS={**settings.ACQUIRERS, KIND: path}):
        yield routed("with-a-gate", kind=KIND)
