"""Topups as a resource."""

from core.rest.expansion import Kind
from core.rest.resources import Resource
from payouts.topups import render, schema
from payouts.topups.models import Topup

SCOPE = "topups"

TOPUPS = Resource(
    path="topups",
    scope=SCOPE,
    tag=("Topups", "Send money to your balance by a bank transfer."),
    schemas=schema.SCHEMAS,
    kinds={
        "topup": Kind(prefix="tu", rows=Topup.objects.all(), show=render.topup, scope=SCOPE),
    },
)
