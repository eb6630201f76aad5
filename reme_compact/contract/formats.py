"""The names of the formats in which a history may come."""

from typing import Literal, TypeAlias

FormatName: TypeAlias = Literal["agentscope", "openai_chat", "openai_responses", "anthropic", "langchain"]
