"""The explorer as a widget of a notebook: the same routes, by messages instead of HTTP."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..errors import MissingPackageError
from .page import read_static
from .replies import Request
from .routes import Routes

try:
    import anywidget
    import traitlets
except ImportError as error:  # pragma: no cover - the extra is part of the tests
    raise MissingPackageError(
        f"the explorer in a notebook needs {error.name}: pip install 'lowd[notebook]'."
    ) from None


class ExplorerWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """Shows the page in a cell; `selection` holds the selected rows."""

    selection = traitlets.List(traitlets.Int()).tag(sync=True)


def make_module() -> str:
    """Make the module that anywidget needs from the page's script and style."""
    script, style = (read_static(name).decode("utf-8") for name in ("app.js", "app.css"))
    render = f"(context) => lowdExplorer.renderWidget(context, {json.dumps(style)})"
    return f"{script}\nexport default {{ render: {render} }};\n"


def make_widget(routes: Routes) -> ExplorerWidget:
    """Make a widget that answers the requests of its page."""

    def answer(_: object, content: dict[str, Any], buffers: list[memoryview]) -> None:
        body = bytes(buffers[0]) if buffers else str(content.get("body") or "").encode("utf-8")
        request = Request.parse(str(content["method"]), str(content["path"]), body)
        reply = routes.answer(request)
        about = {"id": content["id"], "status": reply.status, "type": reply.type}
        widget.send({**about, "headers": dict(reply.headers)}, buffers=[reply.body])

    def select(change: dict[str, Any]) -> None:
        routes.session.selection = np.unique(np.array(change["new"], np.int64))

    widget = ExplorerWidget(_esm=make_module())
    widget.on_msg(answer)
    widget.observe(select, names="selection")
    return widget
