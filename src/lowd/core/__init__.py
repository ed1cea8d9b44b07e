"""The estimator base class, parameters, memory plans and callbacks."""
