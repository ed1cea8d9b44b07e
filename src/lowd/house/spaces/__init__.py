"""Spaces: points with a metric, and the graphs of their neighbors."""
