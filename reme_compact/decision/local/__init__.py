"""The embedded decision model: no key, no network, a few fixed weights over what evidence shares with the task."""

from reme_compact.decision.local.model import LocalDecisionModel

__all__ = ["LocalDecisionModel"]
