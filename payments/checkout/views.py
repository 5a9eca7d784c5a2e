"""The API's door to checkout sessions: read the body, make one domain call, render the session."""

from collections.abc import Sequence
from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.viewset import ApiViewSet
from payments.checkout import creation, expiry, render, schema, sessions
from payments.checkout.forms import CreateSessionForm, ExpireSessionForm, UpdateSessionForm
from payments.checkout.models import CheckoutSession
from payments.checkout.resource import LINES, SCOPE, SESSIONS
from payments.intents.models import LineItem
from payments.intents.render import line_item


class SessionViewSet(ApiViewSet):
    """Checkout sessions (contract: Checkout)."""

    operations = schema.SESSIONS
    scope = SCOPE
    shows = (render.NAME,)
    lists = {"list": SESSIONS}

    def list(self, request: Request) -> Response:
        page = self.page_of(sessions.of(self.merchant))
        return self.get_paginated_response(self._all_shown(page))

    def create(self, request: Request) -> Response:
        draft = CreateSessionForm.read(self.body)
        return self._shown(creation.create(self.merchant, draft))

    def retrieve(self, request: Request, session_id: str) -> Response:
        return self._shown(sessions.of(self.merchant).find(session_id))

    def update(self, request: Request, session_id: str) -> Response:
        changes = UpdateSessionForm.read(self.body)
        return self._shown(sessions.update(self.merchant, session_id, changes))

    def expire(self, request: Request, session_id: str) -> Response:
        ExpireSessionForm.read(self.body)
        return self._shown(expiry.expire(self.merchant, session_id))

    def resume(self, request: Request, **kwargs: str) -> Response:
        return self.retrieve(request, self.earlier.object_id)

    def _shown(self, session: CheckoutSession) -> Response:
        [shown] = self._all_shown([session])
        return Response(shown)

    def _all_shown(self, rows: Sequence[CheckoutSession]) -> Sequence[dict[str, Any]]:
        """Return sessions as `expand[]` asks for them; only then a session has its lines."""
        shown = [render.session(row) for row in rows]
        if "line_items" not in self.expansion:
            return self.expanded(shown)
        for row, one in zip(rows, shown, strict=True):
            one["line_items"] = row.intent.line_item_ids[: render.LINES_MAX]
        self.expanded(shown)
        for row, one in zip(rows, shown, strict=True):
            one["line_items"] = render.lines(row, one["line_items"])
        return shown


class LineItemViewSet(ApiViewSet):
    """The lines of a session's payment."""

    operations = schema.SESSIONS
    scope = SCOPE
    lists = {"line_items": LINES}

    def line_items(self, request: Request, session_id: str) -> Response:
        session = sessions.of(self.merchant).find(session_id)
        lines = LineItem.objects.for_merchant(self.merchant).filter(intent=session.intent_id)
        page = self.page_of(lines)
        return self.get_paginated_response([line_item(line) for line in page])


ONE = "checkout/sessions/<str:session_id>"
urlpatterns = [
    path("checkout/sessions", SessionViewSet.as_view({"get": "list", "post": "create"})),
    path(ONE, SessionViewSet.as_view({"get": "retrieve", "post": "update"})),
    path(f"{ONE}/expire", SessionViewSet.as_view({"post": "expire"})),
    path(f"{ONE}/line_items", LineItemViewSet.as_view({"get": "line_items"})),
]
