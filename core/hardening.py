"""No copy of a process's memory: it has keys, and card numbers that pass (PCI DSS 3.6.1.2)."""

import ctypes
import resource

PR_SET_DUMPABLE = 4


def forbid_core_dumps(*, is_live: bool) -> None:
    """Let no crash of this process, or of its children, write its memory to a disk.

    In live, other processes of the same user cannot read its memory either. A sandbox's can, for
    debuggers.
    """
    _soft, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0 if is_live else most))
    if is_live:
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
