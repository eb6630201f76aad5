"""Which format a history is written in, and its view."""

from dataclasses import dataclass

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.formats import FormatName
from reme_compact.contract.messages import Message
from reme_compact.contract.request import CompactionRequest
from reme_compact.history.formats.protocol import HistoryFormat, HistoryFormatError, SourceMessage
from reme_compact.history.formats.registry import FORMATS


@dataclass(frozen=True, slots=True)
class OpenedHistory:
    """A history that was read.

    Attributes:
        format: how it is written.
        source: as it came.
        view: in AgentScope's structure, message for message; the source itself if it is written like that.
    """

    format: HistoryFormat
    source: list[SourceMessage]
    view: list[Message]

    @property
    def is_own_view(self) -> bool:
        """Whether the source is its own view."""
        return self.view is self.source


def open_history(request: CompactionRequest) -> OpenedHistory:
    """Read the history of a request in the format that it names, or else in the one that it is written in.

    Raises:
        InvalidRequestError: the format cannot be told, or a message is not what its format allows.
    """
    name = request.format or detect_format(request.messages)
    known = FORMATS[name]
    if name == "agentscope" and known.fits(request.messages):
        # Validation has looked at every message already.
        return OpenedHistory(known, request.messages, request.messages)
    try:
        view = known.read(request.messages)
    except HistoryFormatError as error:
        message = error.message
        if request.format is None and not known.fits(request.messages):
            message += (
                " in AgentScope's format, and the messages fit no other; name theirs to learn what is wrong in it"
            )
        raise InvalidRequestError([{"path": f"messages{error.path}", "message": message}]) from None
    return OpenedHistory(known, request.messages, view)


def detect_format(messages: list[SourceMessage]) -> FormatName:
    """Tell how a history is written; what fits AgentScope and another format alike is AgentScope's.

    Raises:
        InvalidRequestError: it fits several other formats.
    """
    if FORMATS["agentscope"].fits(messages):
        return "agentscope"
    fitting: list[FormatName] = [name for name, known in FORMATS.items() if known.fits(messages)]
    if len(fitting) > 1:
        names = " and ".join(f"'{name}'" for name in fitting)
        message = f"the messages could be written in {names}; name one of them"
        raise InvalidRequestError([{"path": "format", "message": message}])
    # What fits nothing is refused in the words of the contract's own format.
    return fitting[0] if fitting else "agentscope"
