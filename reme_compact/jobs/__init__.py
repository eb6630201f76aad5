"""Compactions as jobs: their records, who keeps them, who runs them."""
