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
    ExitCode.PROPOSAL: "a proposal was made, also when it changes nothing; a job was accepted, shown or cancelled, or "
    "the one that was watched succeeded; an original was read back, or the archive was looked after; or the service or "
    "a worker was stopped",
    ExitCode.FAILURE: "the request was refused (a value outside its limits, a message that breaks the format), a "
    "preset's file or the environment is wrong, the call or the job failed, the job that was watched did not "
    "succeed, or something in the archive is damaged; standard error names the code and the cause",
    ExitCode.USAGE: "the command line cannot be read (an unknown key, job or preset, a value that is not of its key's "
    "type, an impossible port, timeout or setting of the preset, a missing file); standard error names the key, and "
    "nothing was sent",
    ExitCode.UNREACHABLE: "no service answered at that address in time",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
}
