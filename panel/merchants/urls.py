from django.urls import path

from panel.merchants import home, overview, search

app_name = "panel"
# Every page of a merchant has a row in `panel.permissions.PAGES`, by its name here.
urlpatterns = [
    path("", home.home, name="home"),
    path("look", home.choose_look, name="look"),
    path("<str:merchant>", overview.overview, name="overview"),
    path("<str:merchant>/search", search.search, name="search"),
]
