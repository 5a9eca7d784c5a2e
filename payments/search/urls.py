from django.urls import path

from payments.search.views import SearchViewSet

urlpatterns = [path("search", SearchViewSet.as_view({"get": "list"}))]
