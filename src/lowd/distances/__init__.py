"""Distances between samples: named metrics, callables, Gower, precomputed."""
