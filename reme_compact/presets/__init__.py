"""Presets: finding, merging and validating them, and assembling jobs and components from them."""
