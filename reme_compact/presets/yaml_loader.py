"""A YAML loader without surprises: plain scalars, no tags, no duplicate keys, and bounded in size and depth."""

import re
from dataclasses import dataclass
from typing import Any

import yaml

MOST_VALUES = 10_000
"""Values, keys and collections that a text may hold once every alias is replaced by what it stands for."""

MOST_LEVELS = 50
"""Deepest nesting of lists and mappings, aliases replaced."""

_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
_SURROGATE = re.compile("[\ud800-\udfff]")


class RefusedYAMLError(yaml.MarkedYAMLError):
    """YAML that is well-formed, and still refused; `problem` says why and quotes nothing."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem=problem, problem_mark=mark)


@dataclass(frozen=True, slots=True)
class _Extent:
    """How many values a node holds, itself included, and over how many levels, aliases replaced.

    It holds the node, too: extents are found by a node's identity, which nothing else may get meanwhile.
    """

    values: int
    levels: int
    node: yaml.Node | None = None


class Loader(yaml.SafeLoader):
    """Safe loader with the scalars of YAML 1.2: `on` and `yes` are text, so are dates and `12:30`.

    Everything is checked while nodes are composed, before aliases and merge keys multiply them: a few hundred bytes
    can stand for more than a machine can hold.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._values = 0
        self._levels = 0
        self._extents: dict[int, _Extent] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node, refusing tags, endless texts and lone surrogates."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        _check_event(event)
        if isinstance(event, yaml.AliasEvent):
            node = super().compose_node(parent, index)
            extent = self._extents.get(id(node))
            if extent is None:
                raise RefusedYAMLError("an alias stands inside what it stands for", event.start_mark)
            self._count(extent, event.start_mark)
            return node
        before = self._values
        self._count(_Extent(1, 1), event.start_mark)
        self._levels += 1
        node = super().compose_node(parent, index)
        self._levels -= 1
        levels = 1 + max((self._extents[id(child)].levels for child in _children(node)), default=0)
        self._extents[id(node)] = _Extent(self._values - before, levels, node)
        return node

    def compose_mapping_node(self, anchor: Any) -> Any:
        """Compose a mapping with its merge keys resolved: own keys win, then what is merged first."""
        node = super().compose_mapping_node(anchor)
        own: dict[tuple[str, str], Any] = {}
        for key, value in node.value:
            if key.tag not in (_TEXT, _MERGE):
                raise RefusedYAMLError("a key is not text", key.start_mark)
            if (key.tag, key.value) in own:
                raise RefusedYAMLError("a key stands twice", key.start_mark)
            own[key.tag, key.value] = (key, value)
        merge = own.pop((_MERGE, "<<"), None)
        if merge is not None:
            node.value = list((_pairs_to_merge(merge[1]) | own).values())
        return node

    def _count(self, extent: _Extent, mark: Any) -> None:
        self._values += extent.values
        if self._values > MOST_VALUES:
            raise RefusedYAMLError(f"more than {MOST_VALUES} values, counting what aliases stand for", mark)
        if self._levels + extent.levels > MOST_LEVELS:
            raise RefusedYAMLError(f"nested too deeply, more than {MOST_LEVELS} levels", mark)


def _check_event(event: Any) -> None:
    if getattr(event, "tag", None) is not None:
        raise RefusedYAMLError("tags such as !!int are not supported", event.start_mark)
    if isinstance(event, yaml.ScalarEvent) and _SURROGATE.search(event.value):
        raise RefusedYAMLError("a text holds a lone surrogate", event.start_mark)


def _pairs_to_merge(value: yaml.Node) -> dict[tuple[str, str], Any]:
    pairs: dict[tuple[str, str], Any] = {}
    for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
        if not isinstance(source, yaml.MappingNode):
            raise RefusedYAMLError("a merge key takes a mapping or a list of mappings", source.start_mark)
        for key, item in source.value:
            pairs.setdefault((key.tag, key.value), (key, item))
    return pairs


def _children(node: yaml.Node | None) -> list[Any]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:[Tt]rue|TRUE|[Ff]alse|FALSE)$"), list("tTfF"))
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,18})$"), list("-+0123456789")
)
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
Loader.add_implicit_resolver(_MERGE, re.compile(r"^<<$"), ["<"])
