from django.contrib import admin
from django.urls import include, path, re_path

from config import documentation, errors, health, pages, site_files
from payments.checkout import pages as checkout
from payments.payer import pages as payer

admin.autodiscover()  # Only those who serve or check pages need the admin (panel.operators.apps).

v1 = [
    path("", include("ledger.views")),
    path("", include("api.views")),
    path("", include("payments.customers.views")),
    path("", include("payments.installments.views")),
    path("", include("payments.charging.views")),
    path("", include("payments.refunds.views")),
    path("", include("payments.disputes.views")),
    path("", include("payments.checkout.views")),
    path("", include("payments.search.views")),
    path("", include("payouts.views")),
    path("", include("payouts.topups.views")),
    path("", include("webhooks.views")),
]

urlpatterns = [
    path("", pages.front_page),
    path(pages.SCHEMA_PATH.removeprefix("/"), pages.openapi),
    path("v1/", include(v1)),
    path("3ds/<str:token>", payer.hand_off),
    path("3ds/<str:token>/return", payer.bank_return),
    path("pay/<str:token>", checkout.page),
    path("pay/<str:token>/confirm", checkout.choice),
    path("pay/<str:token>/card", checkout.another_card),
    path("pay/<str:token>/back", checkout.back),
    path("livez", health.livez),
    path("readyz", health.readyz),
    path("healthz", health.readyz),
    path("robots.txt", site_files.robots),
    path("favicon.ico", site_files.favicon),
    path(".well-known/security.txt", site_files.security_note),
    path("docs/errors", documentation.errors_page),
    re_path(r"^docs(?:/(?P<address>.*))?$", documentation.page),
    path("panel/", include("panel.merchants.urls")),
    path("account/", include("panel.account.urls")),
    path("admin/", admin.site.urls),
]

handler400 = errors.bad_request
handler403 = errors.permission_denied
handler404 = errors.not_found
handler500 = errors.server_error
# Asked for by django-allauth.
handler429 = errors.too_many_requests
