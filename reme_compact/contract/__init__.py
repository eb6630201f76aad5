"""Wire models and typed errors; depends on nothing else of this package."""
