"""`lowd.view`: open the explorer from Python, in a browser or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from ..errors import DataError, MissingPackageError, ParameterError
from ..input.arguments import Embeddings, Foreign, Input, MetricName
from ..io.preparation import Preparation
from ..io.table import Data, Table
from ..io.writing import write_completely
from ..methods.pca import PCA
from ..pipeline import Pipeline
from ..reducer import Reducer
from . import page
from .routes import Routes
from .session import Session

if TYPE_CHECKING:
    from .server import Server


def view(
    X: Input = None,
    embeddings: Embeddings = None,
    *,
    labels: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    images: ArrayLike | None = None,
    models: Mapping[str, Reducer] | None = None,
    feature_names: Sequence[str] | None = None,
    metric: MetricName = "euclidean",
    metric_params: dict[str, Any] | None = None,
    title: str = "",
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    browser: bool = True,
    inline: bool | None = None,
    block: bool | None = None,
) -> Explorer:
    """Show embeddings of the same rows side by side, with evidence, in a web page.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or None, default=None
        The data: rows, a sparse matrix, a data frame of numbers, or distances
        (metric="precomputed"). Without them there are no true neighbors, no evidence and no jobs.
    embeddings : dict, array-like, fitted model or None, default=None
        Name -> coordinates of the rows (one to three columns are shown), or a fitted model. None:
        those of `models`, else PCA of X.
    labels, ids : array-like of shape (n_samples,) or None, default=None
        Class or value, and name of each row.
    columns : dict or None, default=None
        Further columns by name: numbers, categories or text.
    images : array-like of shape (n_samples, height, width) or None, default=None
        Thumbnails; with a fourth axis for 3 or 4 colors.
    models : dict or None, default=None
        Name -> fitted model, which then maps new points in the panel of that name.
    feature_names : sequence of str or None, default=None
        Names of X's columns; those of a data frame are known.
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
        Distances in the data, as in ClassicalMDS.
    title : str, default=""
    host : str, default="127.0.0.1"
    port : int, default=0
        Address of the server; 0 is any free port. A host other than loopback needs a token.
    token : str or None, default=None
        The secret in the link; None makes a random one.
    browser : bool, default=True
        Open a browser.
    inline : bool or None, default=None
        Show a widget in the notebook instead of a page; None: in a notebook.
    block : bool or None, default=None
        Wait until Ctrl-C; None: in a script, which would end at once otherwise.

    Returns
    -------
    Explorer
        With the link (`url`), the selected rows (`selection`), `save` and `close`.

    Examples
    --------
    >>> import lowd, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> explorer = lowd.view(X, {"PCA": lowd.PCA(2).fit(X)}, browser=False, block=False)
    >>> explorer.url.startswith("http://127.0.0.1:")
    True
    >>> explorer.selection
    array([], dtype=int64)
    >>> explorer.close()
    """
    session = make_session(
        X,
        embeddings,
        labels=labels,
        ids=ids,
        columns=columns,
        images=images,
        models=models,
        feature_names=feature_names,
        metric=metric,
        metric_params=metric_params,
        title=title,
    )
    explorer = Explorer(session)
    if inline or (inline is None and _is_notebook()):
        explorer.show_inline()
        return explorer
    explorer.serve(host, port, token)
    print(f"lowd: {explorer.url}", file=sys.stderr)
    if browser:
        explorer.open_browser()
    if block or (block is None and not _is_interactive()):
        explorer.wait()
    return explorer


class Explorer:
    """An open explorer: its link, its selection, and the way to save and to close it.

    Attributes
    ----------
    url : link with the token, or None in a notebook
    selection : indices of the selected rows
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._routes = Routes(session)
        self._server: Server | None = None
        self._widget: Foreign = None

    @property
    def url(self) -> str | None:
        return None if self._server is None else self._server.url

    @property
    def selection(self) -> NDArray[np.int64]:
        return self.session.selection

    def serve(self, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> None:
        """Start a server in a thread."""
        from .server import Server

        self._server = Server(self._routes, host, port, token)
        self._server.start()

    def open_browser(self) -> None:
        from .server import open_browser

        if self.url is not None:
            open_browser(self.url)

    def show_inline(self) -> None:
        """Show the page as a widget of the notebook."""
        from .widget import make_widget

        self._routes.mode = "widget"
        self._widget = make_widget(self._routes)

    def _repr_mimebundle_(self, **options: Any) -> Foreign:
        """The representation that a notebook shows."""
        if self._widget is None:
            return {"text/plain": repr(self)}
        return self._widget._repr_mimebundle_(**options)

    def __repr__(self) -> str:
        where = "notebook" if self._server is None else self.url
        return f"Explorer({self.session.n} rows, {len(self.session.panels)} panels: {where})"

    def save(self, path: str | Path) -> None:
        """Write the whole view as one HTML file that works without a server."""
        text = page.make_page(self._routes)

        def write(temporary: Path) -> None:
            temporary.write_text(text, "utf-8")

        write_completely(path, write)

    def wait(self) -> None:
        """Wait until Ctrl-C."""
        if self._server is not None:
            self._server.wait()

    def close(self) -> None:
        """End the jobs and the server."""
        if self._server is not None:
            self._server.close()
        self._routes.close()


def make_session(
    X: Input,
    embeddings: Embeddings,
    *,
    labels: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    images: ArrayLike | None = None,
    models: Mapping[str, Reducer] | None = None,
    feature_names: Sequence[str] | None = None,
    metric: MetricName = "euclidean",
    metric_params: dict[str, Any] | None = None,
    title: str = "",
) -> Session:
    """Make the session of `view`; arguments are validated here."""
    rows, names = _to_rows(X, feature_names)
    panels = _list_panels(rows, embeddings, models or {})
    if not panels:
        raise ParameterError("view() needs X, embeddings or models.")
    n = len(next(iter(panels.values()))[0])
    if rows is not None and rows.shape[0] != n:
        raise DataError(f"X has {rows.shape[0]} rows and the embeddings have {n}.")
    extra = {str(name): np.asarray(values) for name, values in (columns or {}).items()}
    given = {"labels": labels, "ids": ids}
    arrays = {name: None if v is None else np.asarray(v) for name, v in given.items()}
    for name, values in [*extra.items(), *arrays.items()]:
        if values is not None and values.shape != (n,):
            raise DataError(f"{name} has shape {values.shape}: expected one entry per row, ({n},).")
    table = Table(
        np.empty((n, 0)) if rows is None else rows,
        columns=names,
        ids=arrays["ids"],
        labels=arrays["labels"],
        extra=extra,
        thumbnails=None if images is None else np.asarray(images),
    )
    is_matrix = metric != "precomputed"
    session = Session(
        table,
        X=rows,
        metric=metric,
        metric_params=metric_params,
        preparation=Preparation("rows", names) if is_matrix and rows is not None else None,
        title=title or "lowd explorer",
        features=is_matrix,
    )
    for name, (Y, model) in panels.items():
        own = None if rows is not None or model is None else Preparation.of_model(model)
        session.add_panel(name, Y, model=model, preparation=own)
    return session


def _to_rows(X: Input, names: Sequence[str] | None) -> tuple[Data, tuple[str, ...]]:
    """Return the rows as an array or sparse matrix, and the names of their columns."""
    if X is None:
        return None, ()
    if issparse(X):
        rows = X.tocsr()
    else:
        if names is None and hasattr(X, "columns"):
            names = [str(name) for name in X.columns]
        rows = np.asarray(X)
        if rows.dtype.kind not in "iufb":
            raise DataError(
                f"X holds {rows.dtype}: expected numbers; pass text by columns={{...}}."
            )
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    if rows.ndim != 2:
        raise DataError(f"X has shape {rows.shape}: expected (n_samples, n_features).")
    d = rows.shape[1]
    if names is not None and len(names) != d:
        raise ParameterError(f"feature_names has {len(names)} names, but X has {d} columns.")
    return rows, tuple(f"x{j}" for j in range(d)) if names is None else tuple(names)


def _list_panels(
    X: Data, embeddings: Embeddings, models: Mapping[str, Reducer]
) -> dict[str, tuple[Any, Reducer | None]]:
    """Map names to coordinates and models."""
    given = embeddings
    if given is None:
        given = dict(models)
    elif not isinstance(given, Mapping):
        model = given if isinstance(given, Reducer) else None
        given = {"embedding" if model is None else _name_method(model): given}
    if not given and X is not None:
        given = {"PCA": PCA(min(2, *X.shape)).fit(X)}
    panels: dict[str, tuple[Any, Reducer | None]] = {}
    for name, value in given.items():
        model = value if isinstance(value, Reducer) else models.get(name)
        Y = _get_embedding(value, X, name) if isinstance(value, Reducer) else value
        panels[str(name)] = np.asarray(Y), model
    unused = [name for name in models if name not in panels]
    if unused:
        raise ParameterError(
            f"models has {unused[0]!r}, but embeddings has {', '.join(map(repr, panels))}; use the "
            "same names."
        )
    return panels


def _get_embedding(model: Reducer, X: Data, name: str) -> Foreign:
    """The coordinates of the training rows, or of X if it holds other rows."""
    Y = getattr(model, "embedding_", None)
    if Y is not None and (X is None or len(Y) == X.shape[0]):
        return Y
    if X is None:
        raise ParameterError(f"the model {name!r} keeps no embedding; pass X, which it transforms.")
    return model.transform(X)


def _name_method(model: Reducer) -> str:
    return type(model.method if isinstance(model, Pipeline) else model).__name__


def _is_notebook() -> bool:
    """Whether this is the kernel of a notebook that can show widgets."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ != "ZMQInteractiveShell":
        return False
    try:
        from . import widget  # noqa: F401
    except MissingPackageError:
        return False
    return True


def _is_interactive() -> bool:
    """Whether the interpreter goes on after the call, so that the server lives."""
    return hasattr(sys, "ps1") or "IPython" in sys.modules or bool(sys.flags.interactive)
