"""Relations between samples: inner products, kernels, geodesics, affinities, probabilities."""
