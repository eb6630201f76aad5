"""Pure functions over messages: pairs, protections, excerpts, previews, edits by structural sharing."""
