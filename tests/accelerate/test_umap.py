"""`umap.UMAP` on lowd: with a module of that name, and with umap-learn where it is installed.

umap-learn brings 200 MB of compilers, and compiles for longer than all other tests here take.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

STAND_IN = """
from sklearn.base import BaseEstimator

class UMAP(BaseEstimator):
    def __init__(
        self, n_neighbors=15, n_components=2, metric="euclidean", metric_kwds=None,
        output_metric="euclidean", n_epochs=None, learning_rate=1.0, init="spectral", min_dist=0.1,
        spread=1.0, n_jobs=-1, set_op_mix_ratio=1.0, local_connectivity=1.0, repulsion_strength=1.0,
        negative_sample_rate=5, a=None, b=None, random_state=None, verbose=False, unique=False,
        densmap=False, output_dens=False, transform_mode="embedding", disconnection_distance=None,
        precomputed_knn=(None, None, None),
    ):
        given = dict(locals())
        for name in given:
            if name != "self":
                setattr(self, name, given[name])

    def _validate_parameters(self):
        if self.n_jobs < -1 or self._initial_alpha < 0 or self._raw_data.ndim != 2:
            raise ValueError("n_jobs must be a positive integer, or -1")
        self.n_jobs = 1

    def fit(self, X, y=None, ensure_all_finite=True, **kwargs):
        self.graph_ = self.transform_mode, X.shape
        return self

    def fit_transform(self, X, y=None, ensure_all_finite=True, **kwargs):
        self.fit(X, y)
        return "the original"

    def transform(self, X, ensure_all_finite=True):
        return "the original"
"""
CHECK = """
import sys
import numpy as np
import lowd.accelerate
lowd.accelerate.install()
assert "umap" not in sys.modules
import umap
from umap import UMAP
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5)) + 9 * np.repeat([0, 1, 2], 40)[:, None]
model = UMAP(n_neighbors=10, random_state=0, init=sys.argv[1])
Y = model.fit_transform(X)
assert Y.shape == (120, 2) and Y.dtype == np.float32 and np.isfinite(Y).all()
new = model.transform(X[:40].mean(0)[None])
assert np.abs(new - Y[:40].mean(0)).max() < 3
served = lowd.accelerate.profile(reset=True)
assert (served.by_lowd, served.by_original) == (2, 0), served
assert umap.__spec__.loader is umap.__loader__ and "importlib" in type(umap.__loader__).__module__
original = UMAP.original
assert isinstance(model, original) and UMAP.__module__ == "umap"
"""


def _run(script, *arguments, path=None):
    environment = None
    if path is not None:
        paths = [str(path), *filter(None, sys.path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *arguments],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert made.returncode == 0, made.stderr[-3000:]
    return made.stdout


def test_a_module_imported_later_is_replaced(tmp_path):
    """Served, completed and pickled as umap-learn's, left alone with targets, and put back."""
    stored = tmp_path / "model.pickle"
    (tmp_path / "umap.py").write_text(STAND_IN)
    script = f"""{CHECK}
import pickle
from sklearn.base import clone
assert "graph_" not in vars(model) and model.graph_ == ("graph", (120, 5))
assert type(clone(model)) is UMAP and clone(model).get_params() == model.get_params()
again = pickle.loads(pickle.dumps(model))
assert type(again) is UMAP and (again.embedding_ == Y).all()
assert again.transform(X) == "the original"  # by umap-learn's attributes, which it has
lowd.accelerate.profile(reset=True)
pickle.dump(model, open({str(stored)!r}, "wb"))
assert UMAP().fit_transform(X, [0] * 120) == "the original"
assert UMAP(densmap=True).fit_transform(X) == "the original"
assert UMAP(metric="haversine").fit_transform(X) == "the original"
assert UMAP(n_jobs=-2).fit_transform(X) == "the original"
assert model.n_jobs == -1 and UMAP(n_epochs=0).fit_transform(X) == "the original"
model.embedding_ = model.embedding_ + 100
assert model.transform(X) == "the original"
reasons = [call.reason for call in lowd.accelerate.profile(reset=True).calls]
assert reasons == [
    "fitted to targets",
    "densmap",
    "metric='haversine' is the original's",
    "ValueError: n_jobs must be a positive integer, or -1",
    "n_epochs=0: the start is that of the original",
    "fitted by the original",
], reasons
lowd.accelerate.uninstall()
assert umap.UMAP is original
lowd.accelerate.install()
assert umap.UMAP is UMAP
lowd.accelerate.uninstall()
assert type(sys.meta_path[0]).__name__ != "AfterImport"
"""
    _run(script, "pca", path=tmp_path)
    plain = f"""
import pickle, sys
model = pickle.load(open({str(stored)!r}, "rb"))
assert "lowd" not in sys.modules and type(model).__mro__[1].__name__ == "BaseEstimator"
assert model.embedding_.shape == (120, 2) and model.graph_ == ("graph", (120, 5))
"""
    _run(plain, path=tmp_path)


def test_install_without_umap_changes_nothing():
    script = """
import sys, lowd.accelerate
before = list(sys.meta_path)
lowd.accelerate.install()
lowd.accelerate.install()
assert len(sys.meta_path) == len(before) + 1
lowd.accelerate.uninstall()
assert sys.meta_path == before
"""
    _run(script)


@pytest.mark.skipif(find_spec("umap") is None, reason="umap-learn is not installed")
def test_umap_learn_itself(tmp_path):
    """Trustworthy as the original, whose transform, inverse and pickles go on to work."""
    stored = tmp_path / "model.pickle"
    script = f"""{CHECK}
import pickle
from sklearn.manifold import trustworthiness
plain = original(n_neighbors=10, random_state=0).fit(X)
assert trustworthiness(X, Y) > trustworthiness(X, plain.embedding_) - 0.01
assert model.graph_.shape == (120, 120) and model.graph_dists_ is None
np.testing.assert_allclose(model.graph_.toarray(), plain.graph_.toarray(), atol=1e-5)
again = pickle.loads(pickle.dumps(model))
assert type(again) is UMAP
pickle.dump((model, X, Y), open({str(stored)!r}, "wb"))
for wrong in (dict(n_jobs=-2), dict(target_n_neighbors=1), dict(dens_lambda=-1), dict(dens_frac=2)):
    try:
        UMAP(**wrong).fit(X)
    except ValueError:
        continue
    raise AssertionError(wrong)
"""
    _run(script, "spectral")
    plain = f"""
import pickle, sys
import numpy as np
model, X, Y = pickle.load(open({str(stored)!r}, "rb"))
assert "lowd" not in sys.modules
new = model.transform(X[:40].mean(0)[None])
assert np.abs(new - Y[:40].mean(0)).max() < 3
"""
    _run(plain)
