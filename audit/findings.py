from dataclasses import dataclass, field


@dataclass(slots=True)
class Findings:
    """The findings of one check.

    :param looked_at: the number of rows that the check compared.
    :param differences: one sentence per difference, with the ids it concerns.
    :param unknown: one sentence per attempt whose outcome is not known yet; no difference.
    :param unvouched: one sentence per older attempt that no bank has answered for.
    :param decided: one sentence per attempt that a person has decided, and the bank has not; no
        difference.
    :param contradicted: by attempt, the sentence of a difference between the bank and us.
    :param agreed: attempts with an open case about such a difference, which is over.
    """

    name: str
    looked_at: int = 0
    differences: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unvouched: list[str] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)
    contradicted: dict[str, str] = field(default_factory=dict)
    agreed: list[str] = field(default_factory=list)
