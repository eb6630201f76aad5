"""Keep an LLM agent's context small without losing what it needs."""
