"""`lowd.Pipeline`: preprocessing and a method as one model."""

from .pipeline import Pipeline as Pipeline
