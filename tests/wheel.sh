#!/usr/bin/env bash
# Build sdist and wheel, and try the wheel in an empty environment outside the repository.
# Usage: tests/wheel.sh PYTHON   (a Python that has the `build` dependency group of pyproject.toml)
set -euo pipefail

python=$(command -v "${1:?usage: tests/wheel.sh PYTHON}")
python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python")   # its links are kept: they make a venv a venv
repo=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {   # a step is silent unless it fails
    "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "failed: $*" >&2; exit 1; }
}

# The wheel is linked from what is compiled already; that the sdist has all it needs is checked below.
cd "$repo"
PATH="$(dirname "$python"):$PATH" run "$python" -m build --no-isolation --sdist --wheel --outdir "$work/dist"
sdist=$(echo "$work"/dist/*.tar.gz) wheel=$(echo "$work"/dist/*.whl)
echo "built      $(basename "$sdist") and $(basename "$wheel")"

tar -tzf "$sdist" | cut -d/ -f2- | sort >"$work/sdist"
for file in $(git ls-files -co --exclude-standard CMakeLists.txt LICENSE README.md pyproject.toml native src); do
    grep -qxF "$file" "$work/sdist" || { echo "the sdist lacks $file" >&2; exit 1; }
done
echo "sdist      holds the sources of the package and of its native core"

"$python" -m zipfile -l "$wheel" | awk '{print $1}' | sort >"$work/wheel"
for pattern in 'lowd/_native\..*' 'lowd/_native.pyi' 'lowd/py.typed' 'lowd/methods/pca.py' 'lowd/explorer/static/app.js' 'lowd/explorer/static/licenses.txt' 'lowd/report/page.css' '.*/LICENSE'; do
    grep -qx "$pattern" "$work/wheel" || { echo "the wheel lacks $pattern" >&2; exit 1; }
done
if grep -qvE '^(File|lowd/|lowd-[^/]*\.dist-info/)' "$work/wheel"; then
    echo "the wheel installs something beside lowd" >&2
    exit 1
fi
echo "wheel      holds the package, its core and its types, and nothing else"

cp "$repo/tests/smoke.py" "$work/smoke.py"
cd "$work"
run "$python" -m venv "$work/venv"
run "$work/venv/bin/python" -m pip install --disable-pip-version-check "$wheel"
echo "installed  in an empty environment, with its dependencies only"
"$work/venv/bin/python" -I smoke.py
