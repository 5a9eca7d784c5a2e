"""The bodies of /v1/disputes, declared."""

from core.rest.fields import Boolean, Metadata, Text
from core.rest.forms import Form
from payments.disputes.evidence import KEYS, LONGEST


class EvidenceForm(Form):
    null_clears = True

    # Fields of a form are declared; these are the same for each key.
    vars().update({key: Text(max_length=LONGEST, required=False) for key in KEYS})


class UpdateDisputeForm(Form):
    null_clears = True

    evidence = EvidenceForm(required=False)
    submit = Boolean(required=False)
    metadata = Metadata(required=False)


class CloseDisputeForm(Form):
    """It takes nothing."""
