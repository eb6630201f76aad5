"""All formats, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from reme_compact.contract.formats import FormatName
from reme_compact.history.formats.agentscope import AgentScopeFormat
from reme_compact.history.formats.anthropic import AnthropicFormat
from reme_compact.history.formats.langchain import LangChainFormat
from reme_compact.history.formats.openai_chat import OpenAIChatFormat
from reme_compact.history.formats.openai_responses import OpenAIResponsesFormat
from reme_compact.history.formats.protocol import HistoryFormat

FORMATS: Mapping[FormatName, HistoryFormat] = MappingProxyType(
    {
        "agentscope": AgentScopeFormat(),
        "openai_chat": OpenAIChatFormat(),
        "openai_responses": OpenAIResponsesFormat(),
        "anthropic": AnthropicFormat(),
        "langchain": LangChainFormat(),
    }
)
"""The formats that a request may name."""
