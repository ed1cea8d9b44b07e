"""Confidence of new points: how far they are from the training points."""
