"""Refusals: every reason the service has to say no, in one shape."""

from typing import Any, ClassVar


class DomainError(Exception):
    """A refusal that the API answers with (contract 4).

    Subclasses live where they are raised and name the refusal. `message` never
    repeats a value that the client sent.

    :param message: a sentence for the developer; defaults to the class's own.
    :param param: the parameter as the client would write it, `a[b][c]`.
    :param shown: objects that the answer carries, by name, already rendered.
    """

    code: str = "internal_error"
    http_status: ClassVar[int] = 400
    message: ClassVar[str] = "The request was refused."
    param: str | None = None
    retry_after_seconds: int | None = None
    # Decided on a locked row, so a retry with the same Idempotency-Key gets it again (contract 6).
    is_lasting: ClassVar[bool] = False

    def __init__(
        self,
        message: str | None = None,
        *,
        param: str | None = None,
        shown: dict[str, Any] | None = None,
    ) -> None:
        self.text = message or self.message
        self.param = param if param is not None else self.param
        self.shown = shown or {}
        super().__init__(self.text)

    @property
    def type(self) -> str:
        """Return the error's class as contract 4 lists them."""
        if self.code in ("idempotency_key_reused", "idempotency_key_in_use"):
            return "idempotency_error"
        return "api_error" if self.http_status >= 500 else "invalid_request_error"


class ParameterMissing(DomainError):
    code = "parameter_missing"
    message = "A required parameter is missing."


class ParameterInvalid(DomainError):
    code = "parameter_invalid"
    message = "The parameter's value is not valid."


class ParameterUnknown(DomainError):
    code = "parameter_unknown"
    message = "The endpoint does not know this parameter."


class HeaderRepeated(DomainError):
    code = "header_repeated"
    message = "Send this header once: it has one value."


class ResourceMissing(DomainError):
    code = "resource_missing"
    http_status = 404
    message = "There is no such object."


class UrlNotFound(DomainError):
    code = "url_not_found"
    http_status = 404
    message = "There is nothing at this address."


class MethodNotAllowed(DomainError):
    code = "method_not_allowed"
    http_status = 405
    message = "This address does not take this method."


class BodyInvalid(DomainError):
    code = "body_invalid"
    message = "The body is not valid JSON."


class BodyTooLarge(DomainError):
    code = "body_too_large"
    http_status = 413
    message = "The body is too large."


class UnsupportedMediaType(DomainError):
    code = "unsupported_media_type"
    http_status = 415
    message = "Send the body as application/json."


class CardDataInUrl(DomainError):
    code = "card_data_in_url"
    message = "A card number may not be part of an address or a query."


class CardDataNotAllowed(DomainError):
    code = "card_data_not_allowed"
    message = "Card numbers and security codes are accepted only in payment_method_data[card]."


class PermissionDenied(DomainError):
    code = "permission_denied"
    http_status = 403
    message = "The key's scopes do not allow this."


class LockTimeout(DomainError):
    code = "lock_timeout"
    http_status = 409
    retry_after_seconds = 1
    message = "Another request is changing this object. Try again shortly."


class InternalError(DomainError):
    code = "internal_error"
    http_status = 500
    message = "Something went wrong on our side."


class UpstreamUnavailable(DomainError):
    code = "upstream_unavailable"
    http_status = 503
    retry_after_seconds = 1
    message = "The service cannot take this request right now. Try again later."


class NotSetUp(UpstreamUnavailable):
    """Refuses what needs a bank that no operator has set up yet: no matter of seconds."""

    retry_after_seconds = 3600


class Overloaded(DomainError):
    code = "overloaded"
    http_status = 503
    retry_after_seconds = 1
    message = "Too many requests are waiting, and this one was not begun. Try again shortly."


class SentBefore(DomainError):
    """An operator's form is one act, and this one was another act before."""

    code = "parameter_invalid"
    message = "This form was sent before, with other values: open it anew."
