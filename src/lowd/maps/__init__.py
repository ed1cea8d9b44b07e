"""Out-of-sample maps: from new points to coordinates in the embedding, row by row."""
