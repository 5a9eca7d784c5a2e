"""Refusals: every reason the service has to say no, in one shape."""

from typing import Any, ClassVar, NamedTuple


class Explained(NamedTuple):
    """A code as the reference explains it to the developer of a merchant.

    :param cause: when the service refuses with it.
    :param remedy: what the developer does then.
    """

    cause: str
    remedy: str


class DomainError(Exception):
    """A refusal that the API answers with (contract 4).

    Subclasses live where they are raised and name the refusal. `message` and `advice` never
    repeat a value that the client sent. `core.rest.messages` puts the API's message together.

    The first class of a code has it `explained`; others explain cases of their own by `message`.

    :param message: the sentence, for people and developers; defaults to the class's own. One that
        begins with `Must` is about the parameter.
    :param param: the parameter as the client would write it, `a[b][c]`.
    :param shown: objects that the answer carries, by name, already rendered.
    :param advice: more sentences, for a developer alone: the reason, and the way out.
    """

    explained: ClassVar[Explained | None] = None
    code: str = "internal_error"
    http_status: ClassVar[int] = 400
    message: ClassVar[str] = "The request was refused."
    advice: str = ""
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
        advice: str | None = None,
    ) -> None:
        self.text = message or self.message
        self.advice = advice or self.advice
        self.param = param if param is not None else self.param
        self.shown = shown or {}
        super().__init__(self.text)

    @property
    def type(self) -> str:
        """Return the error's class as contract 4 lists them."""
        return type_of(self.code, self.http_status)


def type_of(code: str, http_status: int) -> str:
    """Return the `type` of a refusal."""
    if code in ("idempotency_key_reused", "idempotency_key_in_use"):
        return "idempotency_error"
    return "api_error" if http_status >= 500 else "invalid_request_error"


class ParameterMissing(DomainError):
    """The request lacks a parameter.

    :param lacking: all parameters that it lacks, as far as they are known; `param` is the first.
    """

    explained = Explained(
        cause="The request lacks a parameter that it needs, or gives it as null or empty.",
        remedy=(
            "Send the parameter that `param` names. A confirm needs the card and the billing "
            "details together: send all of them in one request."
        ),
    )
    code = "parameter_missing"
    message = "A required parameter is missing."

    def __init__(
        self,
        message: str | None = None,
        *,
        param: str | None = None,
        lacking: tuple[str, ...] = (),
        advice: str | None = None,
    ) -> None:
        super().__init__(message, param=param, advice=advice)
        self.lacking = lacking


class ParameterInvalid(DomainError):
    explained = Explained(
        cause=(
            "A parameter has a type, a range or a spelling that the endpoint does not take. In a "
            "query, the endpoint may also not know the filter."
        ),
        remedy=(
            "Correct the parameter that `param` names: `message` says which values are right. "
            "Repeating the same request changes nothing."
        ),
    )
    code = "parameter_invalid"
    message = "The parameter's value is not valid."


class QueryParameterUnknown(ParameterInvalid):
    message = "The address does not know this parameter."


class ParameterUnknown(DomainError):
    explained = Explained(
        cause=(
            "The body has a parameter that this endpoint does not know. Nothing is ignored, because"
            " a misspelt `capture_method` would cost money."
        ),
        remedy="Correct the name that `param` shows, or leave the parameter out.",
    )
    code = "parameter_unknown"
    message = "The endpoint does not know this parameter."


class HeaderRepeated(DomainError):
    explained = Explained(
        cause="The request has two lines of a header that takes one value.",
        remedy=(
            "Send the header that `param` names once. Look for a proxy that adds it a second time."
        ),
    )
    code = "header_repeated"
    message = "Send this header once: it has one value."


class ResourceMissing(DomainError):
    """None of the merchant's rows has the id.

    :param wanted: the model whose row is looked for, None if it may be of several.
    :param given: the id. No message repeats it: its prefix says which kind of object it is of.
    """

    explained = Explained(
        cause=(
            "No object of your account has this id. An object of another account, a deleted "
            "customer and an unknown id all get this answer."
        ),
        remedy=(
            "Check the id, and that the key belongs to the account and to the installation (sandbox"
            " or live) where the object was made."
        ),
    )
    code = "resource_missing"
    http_status = 404
    message = "There is no such object."

    def __init__(
        self,
        message: str | None = None,
        *,
        param: str | None = None,
        wanted: type | None = None,
        given: str = "",
    ) -> None:
        super().__init__(message, param=param)
        self.wanted, self.given = wanted, given


class UrlNotFound(DomainError):
    explained = Explained(
        cause="The service has no endpoint at this address.",
        remedy=(
            "Check the path: it begins with `/v1/` and has no slash at its end. An id in it must "
            "not hold a slash."
        ),
    )
    code = "url_not_found"
    http_status = 404
    message = "There is nothing at this address."


class MethodNotAllowed(DomainError):
    explained = Explained(
        cause="The address exists, but not with this HTTP method.",
        remedy=(
            "Use one of the methods in the `Allow` header. Objects are changed by POST, and there "
            "is no PUT or PATCH."
        ),
    )
    code = "method_not_allowed"
    http_status = 405
    message = "This address does not take this method."


class BodyInvalid(DomainError):
    explained = Explained(
        cause=(
            "The body is not one JSON object. Frequent causes are a comma at the end, a key given "
            "twice, `NaN`, or bytes that are not UTF-8."
        ),
        remedy="Build the body with a JSON library, and send an object.",
    )
    code = "body_invalid"
    message = "The body is not valid JSON."


class BodyTooLarge(DomainError):
    explained = Explained(
        cause="The body has more bytes than the service reads.",
        remedy=(
            "Send less: keep large texts in your own system, and put a reference to them in "
            "`metadata`."
        ),
    )
    code = "body_too_large"
    http_status = 413
    message = "The body is too large."


class UnsupportedMediaType(DomainError):
    explained = Explained(
        cause=(
            "The body's `Content-Type` is not one that the service reads, or the body is "
            "compressed."
        ),
        remedy="Send `Content-Type: application/json`, and no `Content-Encoding`.",
    )
    code = "unsupported_media_type"
    http_status = 415
    message = "Send the body as application/json."


class CardDataInUrl(DomainError):
    explained = Explained(
        cause=(
            "The path or the query holds digits that are a card number. Addresses are written to "
            "logs on their way, so nothing of it was stored here."
        ),
        remedy=(
            "Send card numbers in the body alone, as `payment_method_data[card][number]`. Treat the"
            " number as exposed if a proxy of yours logs addresses."
        ),
    )
    code = "card_data_in_url"
    message = "A card number may not be part of an address or a query."


class CardDataNotAllowed(DomainError):
    explained = Explained(
        cause=(
            "A card number, or a parameter named like a security code, stands outside of "
            "`payment_method_data[card]`. Nothing was stored."
        ),
        remedy=(
            "Remove it from the parameter that `param` names. Descriptions and metadata must not "
            "hold card data."
        ),
    )
    code = "card_data_not_allowed"
    message = "Card numbers and security codes are accepted only in payment_method_data[card]."
    advice = "Take it out: no other parameter, description or metadata may hold card data."


class PermissionDenied(DomainError):
    explained = Explained(
        cause="The key is valid, but its scopes do not allow this request.",
        remedy="Give the key the scope in the panel (Developers, API keys), or use another key.",
    )
    code = "permission_denied"
    http_status = 403
    message = "The key's scopes do not allow this."


class LockTimeout(DomainError):
    explained = Explained(
        cause=(
            "Another request is changing the same object, and it did not end in time. Nothing was "
            "changed."
        ),
        remedy=(
            "Wait as many seconds as `Retry-After` says and send the same request again, with the "
            "same `Idempotency-Key`."
        ),
    )
    code = "lock_timeout"
    http_status = 409
    retry_after_seconds = 1
    message = "Another request is changing this object. Try again shortly."


class InternalError(DomainError):
    explained = Explained(
        cause="The service failed. The answer does not say whether the payment was made.",
        remedy=(
            "Send the same request again with the same `Idempotency-Key`: it has one effect. "
            "Without a key, read the object before you try again. Give `request_id` to the "
            "operator."
        ),
    )
    code = "internal_error"
    http_status = 500
    message = "Something went wrong on our side."


class UpstreamUnavailable(DomainError):
    explained = Explained(
        cause=(
            "The service cannot reach what it needs for this request: its database, a free place at"
            " the bank, or a bank at all. Nothing was begun."
        ),
        remedy=(
            "Wait as many seconds as `Retry-After` says and send the same request again. An hour "
            "there means that the operator has set up no bank yet."
        ),
    )
    code = "upstream_unavailable"
    http_status = 503
    retry_after_seconds = 1
    message = "The service cannot take this request right now. Try again later."


class NotSetUp(UpstreamUnavailable):
    """Refuses what needs a bank that no operator has set up yet: no matter of seconds."""

    retry_after_seconds = 3600


class Overloaded(DomainError):
    explained = Explained(
        cause="The request waited too long for its turn, and was not begun.",
        remedy=(
            "Wait as many seconds as `Retry-After` says and send the same request again, with "
            "growing pauses if it happens repeatedly."
        ),
    )
    code = "overloaded"
    http_status = 503
    retry_after_seconds = 1
    message = "Too many requests are waiting, and this one was not begun. Try again shortly."


class SentBefore(DomainError):
    """An operator's form is one act, and this one was another act before."""

    code = "parameter_invalid"
    message = "This form was sent before, with other values: open it anew."
