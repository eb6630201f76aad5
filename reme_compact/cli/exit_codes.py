"""What the exit status of `reme` says."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit status; scripts may rely on it."""

    PROPOSAL = 0
    FAILURE = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.PROPOSAL: "a proposal was made, also when it changes nothing; or the service was stopped",
    ExitCode.FAILURE: "the call failed; standard error names the code and the cause",
    ExitCode.USAGE: "the command line is wrong; standard error names the key",
    ExitCode.UNREACHABLE: "no service answered at that address in time",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
}
