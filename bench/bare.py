"""The floor of a read: a view of the same framework that does nothing, in the same gunicorn."""

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import re_path

# Before the framework is imported, which reads them.
settings.configure(
    SECRET_KEY="not a secret: nothing here is signed",  # noqa: S106
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF="bench.bare",
    # The web server asks whether a request came in the clear.
    BASE_URL="http://127.0.0.1",
    METRICS_BIND="",
    TRACES=None,
    # It says how long the answer is, without which no client can keep its connection.
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_PERMISSION_CLASSES": [],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "UNAUTHENTICATED_USER": None,
    },
)

from rest_framework.request import Request  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


class Bare(APIView):
    def get(self, request: Request) -> Response:
        return Response({"object": "nothing", "status": "succeeded"})


urlpatterns = [re_path("", Bare.as_view())]
application = get_wsgi_application()
