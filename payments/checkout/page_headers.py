"""The headers of the payment pages: of every answer below `/pay/`, refusals included."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from payments.checkout import links

# No script at all, and nothing from elsewhere (docs/operate/pci.md).
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'none'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# The features that browsers know a switch for; they warn of names that they do not know.
SWITCHED_OFF = (
    "accelerometer", "autoplay", "browsing-topics", "camera", "clipboard-read", "clipboard-write",
    "compute-pressure", "cross-origin-isolated", "display-capture", "encrypted-media",
    "fullscreen", "gamepad", "geolocation", "gyroscope", "hid", "identity-credentials-get",
    "idle-detection", "keyboard-map", "local-fonts", "magnetometer", "microphone", "midi",
    "otp-credentials", "payment", "picture-in-picture", "publickey-credentials-create",
    "publickey-credentials-get", "screen-wake-lock", "serial", "storage-access", "sync-xhr", "usb",
    "window-management", "xr-spatial-tracking",
)  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
    "Permissions-Policy": ", ".join(f"{name}=()" for name in SWITCHED_OFF),
}
OTHER_SITES = ("cross-site", "same-site")


class PageHeaders:
    """Give every answer below `/pay/` the headers of payment pages; no cookie is read.

    None is set either, but by a press that leads to a bank which takes the card from the browser:
    it is of the hand-off's page alone (docs/adr/0061).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(f"{links.PATH}/"):
            return self.get_response(request)
        request.META.pop("HTTP_COOKIE", None)  # No cookie is read, so none is taken back either.
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response[name] = value
        return response


def is_posted_by_another_site(request: HttpRequest) -> bool:
    """Return whether a browser says that a form of another site has led here.

    Older browsers say nothing: the form's ticket is the proof.
    """
    return request.headers.get("Sec-Fetch-Site") in OTHER_SITES
