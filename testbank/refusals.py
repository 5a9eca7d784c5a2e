"""What the bank says when it cannot do what was asked."""

from django.http import JsonResponse

ERRORS = {
    400: "bad request",
    404: "not found",
    405: "method not allowed",
    413: "too long",
    500: "the bank failed",
}


def refuse(status: int) -> JsonResponse:
    """Return the answer to what the bank cannot do."""
    return JsonResponse({"error": ERRORS[status]}, status=status)
