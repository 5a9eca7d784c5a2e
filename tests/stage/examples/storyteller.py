"""Calls the API, and remembers what the schema's examples are made of."""

from typing import Any, NamedTuple

from config.openapi.operations import SHARED_STATUSES
from tests.stage import described
from tests.stage.client import Answer, ApiClient

SECRET = "whsec_shown_this_once"


class Told(NamedTuple):
    """The first call of an operation: how it was made, and what the schema says of it.

    :param path: with the names of its ids, `/v1/refunds/{id}`.
    """

    method: str
    path: str
    address: str
    body: dict[str, Any] | None
    answer: Answer
    operation: dict[str, Any]


class Storyteller:
    """Remembers the first answer of each operation, its refusals, and an event of each type."""

    def __init__(self, client: ApiClient) -> None:
        self.client = client
        self.told: dict[str, Any] = {}
        self.calls: dict[str, Told] = {}

    def get(self, address: str) -> Answer:
        return self._tell("GET", address)

    def delete(self, address: str) -> Answer:
        return self._tell("DELETE", address)

    def post(self, address: str, body: dict[str, Any] | None = None) -> Answer:
        return self._tell("POST", address, body)

    def refused(
        self, code: str, method: str, address: str, body: Any = None, **headers: str
    ) -> Answer:
        """Call an operation, which must refuse with the code."""
        answer = self._call(method, address, body, headers)
        found = answer.body.get("error", {}).get("code")
        assert found == code, (address, body, answer.body)
        refusals = self._of(described.operation(method, address)).setdefault("refusals", {})
        refusals.setdefault(str(answer.status), {}).setdefault(code, answer.body)
        return answer

    def refused_anywhere(self, answer: Answer) -> None:
        """Remember a refusal that each operation may answer with."""
        assert answer.status in SHARED_STATUSES, answer.body
        refusals = self.told.setdefault("refusals", {}).setdefault(str(answer.status), {})
        refusals.setdefault(answer.error["code"], answer.body)

    def happened(self, event: dict[str, Any]) -> None:
        """Remember an event."""
        self.told.setdefault("events", {}).setdefault(event["type"], event)

    def _tell(self, method: str, address: str, body: dict[str, Any] | None = None) -> Answer:
        answer = self._call(method, address, body, {})
        assert answer.status == 200, answer.body
        operation = described.operation(method, address)
        about = self._of(operation)
        if "response" not in about:
            about.update({"request": body} if body else {}, response=_without_secrets(answer))
            name = operation["operationId"]
            path = described.path_of(address)
            self.calls[name] = Told(method, path, address, body, answer, operation)
        return answer

    def _of(self, operation: Any) -> dict[str, Any]:
        return self.told.setdefault(operation["operationId"], {})

    def _call(self, method: str, address: str, body: Any, headers: dict[str, str]) -> Answer:
        if method == "POST":
            return self.client.post(address, body, **headers)
        call = self.client.get if method == "GET" else self.client.delete
        return call(address, **headers)


def _without_secrets(answer: Answer) -> dict[str, Any]:
    """Return an answer without a secret, though it be of a database that is gone."""
    shown = {**answer.body, **({"secret": SECRET} if "secret" in answer.body else {})}
    if shown.get("object") == "checkout.session" and shown["url"]:
        shown["url"] = f"{shown['url'].rpartition('.')[0]}.secret_of_the_page"
    return shown
