"""The neighbor graph: search, given graphs, duplicates, connected components, short circuits."""
