"""Points with a metric, and what methods make of them: graphs, affinities, extensions."""
