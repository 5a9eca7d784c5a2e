"""The bodies of /v1/disputes, declared."""

from core.rest.fields import Boolean, Metadata, Text
from core.rest.forms import Form
from payments.disputes.evidence import LONGEST, MEANINGS


class EvidenceForm(Form):
    schema_name = "DisputeEvidenceParams"
    null_clears = True

    # Fields of a form are declared; these are the same for each key.
    vars().update(
        {
            key: Text(
                max_length=LONGEST,
                required=False,
                help_text=f"{meaning} Up to {LONGEST} characters, all evidence together.",
            )
            for key, meaning in MEANINGS.items()
        }
    )


class UpdateDisputeForm(Form):
    schema_name = "DisputeUpdateParams"
    never_null = ("submit",)
    null_clears = True

    evidence = EvidenceForm(
        required=False,
        help_text=(
            "Texts that prove your side. They are merged with those that you gave before. Absent: "
            "nothing changes; null clears all of them."
        ),
    )
    submit = Boolean(
        required=False,
        help_text="True sends the evidence to the bank, once. Default: false, it is only kept.",
    )
    metadata = Metadata(required=False)


class CloseDisputeForm(Form):
    """It takes nothing."""

    schema_name = "DisputeCloseParams"
