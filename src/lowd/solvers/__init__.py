"""Solvers: from a relation among the training points to an embedding and its map."""
