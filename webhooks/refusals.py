"""Refusals that more than one module of webhooks gives."""

from core.errors import DomainError, Explained
from webhooks import render
from webhooks.models import Endpoint


class EndpointUnexpectedState(DomainError):
    """The endpoint is in a state that does not allow this; the answer carries the endpoint."""

    explained = Explained(
        cause=(
            "The webhook endpoint is disabled or failing, and this needs an enabled one. The answer"
            " carries the endpoint."
        ),
        remedy="Enable it first: `POST /v1/webhook_endpoints/{id}` with `disabled: false`.",
    )
    code = "webhook_endpoint_unexpected_state"
    message = "The webhook endpoint's status does not allow this."
    is_lasting = True

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(
            f"The webhook endpoint's status, {endpoint.status}, does not allow this.",
            shown={"webhook_endpoint": render.webhook_endpoint(endpoint)},
        )
