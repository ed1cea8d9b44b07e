"""Saving and loading of fitted estimators: one file of arrays and JSON, no pickle."""

from .files import FORMAT as FORMAT
from .files import class_of as class_of
from .files import load as load
from .files import save as save
