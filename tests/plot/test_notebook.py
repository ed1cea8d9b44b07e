"""Figures in a notebook: displayed by the cell that draws them, once, without a magic line."""

from __future__ import annotations

import json
import os
import subprocess
import sys

CELLS = {  # and how many figures each displays
    "ax = lowd.plot.scatter(X)": 1,
    "lowd.plot.scatter(X)": 1,  # also its value is displayed, as text
    "lowd.plot.scatter(X); lowd.plot.scree(model);": 2,
    "lowd.plot.save(lowd.plot.scatter(X), 'a.png')": 1,
    "lowd.report.write('a.html', model=model, X=X)": 0,  # they are on the page
}
SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
shell.run_cell("import numpy as np, lowd, lowd.plot, lowd.report").raise_error()
shell.run_cell("X = np.eye(9)[:, :4] + np.arange(9)[:, None]; model = lowd.PCA(2).fit(X)")
for cell in json.loads(sys.argv[1]):
    with capture_output(display=True) as shown:
        shell.run_cell(cell).raise_error()
    print(sum("image/png" in one.data for one in shown.outputs), end=" ")
"""


def test_cells_display_their_figures(tmp_path):
    kernel = {  # a kernel names matplotlib's inline backend, and publishes what a cell displays
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "IPYTHONDIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", SHELL, json.dumps(list(CELLS))],
        env=os.environ | kernel,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [int(count) for count in done.stdout.split()] == list(CELLS.values())
