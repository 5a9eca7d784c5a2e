"""Search as a resource: it has no objects of its own."""

from core.rest.resources import Resource

RESOURCE = Resource(path="search", tag=("Search", "Objects of several kinds by one text."))
