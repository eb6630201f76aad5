"""End with the parent process, also when that is killed."""

import ctypes
import os
import signal
import sys
from collections.abc import Mapping

_PR_SET_PDEATHSIG = 1
_VARIABLE = "REME_PARENT"


def names_parent() -> Mapping[str, str]:
    """Return the variables that tell a child who its parent is."""
    return {_VARIABLE: str(os.getpid())}


def end_with_parent() -> None:
    """Have this process killed when the thread that started it ends. Linux only; elsewhere without effect."""
    parent = os.environ.pop(_VARIABLE, None)
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent is not None and str(os.getppid()) != parent:
        # It ended before this process could ask to be told.
        os.kill(os.getpid(), signal.SIGKILL)
