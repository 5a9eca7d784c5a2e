from django.urls import path

from panel.merchants import home, overview, search, websites

app_name = "panel"
# Every page of a merchant has a row in `panel.permissions.PAGES`, by its name here.
urlpatterns = [
    path("", home.home, name="home"),
    path("look", home.choose_look, name="look"),
    path("<str:merchant>", overview.overview, name="overview"),
    path("<str:merchant>/websites", websites.websites, name="websites"),
    path(
        "<str:merchant>/websites/<str:site>/remove", websites.remove_website, name="remove_website"
    ),
    path(
        "<str:merchant>/callbacks/<str:site>/remove",
        websites.remove_callback,
        name="remove_callback",
    ),
    path("<str:merchant>/search", search.search, name="search"),
]
