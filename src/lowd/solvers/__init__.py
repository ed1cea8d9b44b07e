"""From a relation to an embedding and its map."""
