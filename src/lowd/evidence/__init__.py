"""Evidence about data and embeddings: quality, diagnosis, dimension, comparison."""
