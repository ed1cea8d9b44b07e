"""How many small faults of the sources do the tests find? A mutation run.

Usage: python tests/mutants.py [--count 200] [--seed 0] [--sources PATH ...] [--tests PATH ...]
       python tests/mutants.py --again [--tests PATH ...]

Lines of functions are drawn at random, and of each one mutant: an operator, a comparison, a bound,
an axis or a condition is changed, or a statement is removed. Texts, annotations and assertions
stay. The mutants are written into a copy of the sources and tried there on tests that run the line:
of each test function the quickest case, then the next ones, for some seconds in all. Which tests
run which lines is recorded at first, by the package coverage.

The results are in build/mutants.json. `--again` tries the survivors there on all of the given
tests. Some survivors are not faults, such as a tolerance that is a little larger: whoever reads the
list judges.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "mutants.json"
SOURCES = [f"src/lowd/{name}" for name in ("linalg", "methods", "spaces")]
TESTS = [f"tests/{name}" for name in ("contracts", "linalg", "methods", "native", "spaces")]
TESTS += SOURCES
IMPORTED = ["hypothesis", "hypothesis.extra.numpy", "joblib", "pandas", "pyarrow", "scipy.stats"]
IMPORTED += ["sklearn.datasets", "sklearn.manifold", "sklearn.utils.estimator_checks"]
OPTIONS = ["-q", "--assert=plain", "-p", "xdist.plugin"]
SECONDS = 20  # of tests for each mutant
MEMORY = 12 * 2**30  # bytes of addresses; a mutant may ask for more than there are

SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,  # codespell:ignore notin
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.And: ast.Or,
    ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
TWINS = ["min max", "any all", "argmin argmax", "minimum maximum", "floor ceil", "zeros ones"]
NAMES = {a: b for pair in map(str.split, TWINS) for a, b in (pair, pair[::-1])}
KEPT = (ast.Assert, ast.Raise, ast.JoinedStr)
MESSAGES = {"warn", "report", "isinstance", "cast"}  # calls whose arguments are texts or types


def changed(node, name, value):
    """The node with another value of one field."""
    other = copy.copy(node)
    setattr(other, name, value)
    return other


def mutations(node, parent):
    """What may stand in the place of a node."""
    match node:
        case ast.Compare():
            for i, op in enumerate(node.ops):
                yield changed(node, "ops", [*node.ops[:i], SWAPS[type(op)](), *node.ops[i + 1 :]])
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign():
            if type(node.op) in SWAPS:
                yield changed(node, "op", SWAPS[type(node.op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            is_axis = isinstance(parent, ast.Call | ast.keyword) and node.value in (0, 1)
            yield ast.Constant(1 - node.value if is_axis else node.value + 1)
        case ast.Constant(value=float()):
            yield ast.Constant(node.value * 2 or 1.0)
        case ast.Name() | ast.Attribute():
            field = "id" if isinstance(node, ast.Name) else "attr"
            if getattr(node, field) in NAMES and isinstance(parent, ast.Call):
                yield changed(node, field, NAMES[getattr(node, field)])
        case ast.Slice():
            for name in ("lower", "upper", "step"):
                if getattr(node, name) is not None:
                    yield changed(node, name, None)
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            yield ast.UnaryOp(ast.Not(), node.test)
        case ast.Return(value=ast.Call(args=[ast.Name() as first, *_])):
            if ast.unparse(node.value.func).split(".")[-1].islower():  # a class makes another type
                yield changed(node, "value", first)
        case ast.AugAssign() | ast.Expr(value=ast.Call()) | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Name(id=name)]):
            if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node.value)):
                yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def all_mutants(path):
    """Every mutant of a file: its lines, and the part of the text (in bytes) that is replaced."""
    text = path.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []

    def visit(node, parent, statement, inside):
        if inside and not isinstance(node, ast.expr_context):
            statement = node if isinstance(node, ast.stmt) else statement
            for new in mutations(node, parent):
                old = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node
                a = starts[old.lineno - 1] + old.col_offset
                b = starts[old.end_lineno - 1] + old.end_col_offset
                source = ast.unparse(ast.fix_missing_locations(new))
                if isinstance(new, ast.expr) and not isinstance(new, ast.Slice):
                    source = f"({source})"
                lines = sorted({statement.lineno, *range(old.lineno, old.end_lineno + 1)})
                part = {"start": a, "end": b, "old": text[a:b].decode(), "new": source}
                found.append({"path": str(path.relative_to(ROOT)), "lines": lines, **part})
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, KEPT) or called.split(".")[-1] in MESSAGES:
            return
        for name, value in ast.iter_fields(node):
            is_function = isinstance(node, ast.FunctionDef)
            if name in ("annotation", "returns", "decorator_list") or (
                is_function and name == "args"
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, node, statement, inside or (is_function and name == "body"))

    visit(ast.parse(text), None, None, False)
    return found


def draw(sources, count, seed):
    """Mutants of so many lines, which are drawn at random; one for each."""
    by_line = defaultdict(list)
    for source in sources:
        for path in sorted((ROOT / source).rglob("*.py")):
            for mutant in all_mutants(path):
                by_line[mutant["path"], mutant["lines"][-1]].append(mutant)
    generator = random.Random(seed)
    lines = generator.sample(sorted(by_line), min(count, len(by_line)))
    return [generator.choice(by_line[line]) for line in lines]


def copy_tree(folder):
    """What the tests need. Python recompiles what has another content, whatever its time."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in ("src", "tests", "docs", "examples", "benchmarks", "native"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for path in [*ROOT.glob("*.*"), ROOT / "Makefile"]:
        if path.is_file():
            shutil.copy(path, folder)
    if (ROOT.parent / "shared").exists():
        (folder.parent / "shared").symlink_to(ROOT.parent / "shared")
    compiling = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash"]
    subprocess.run([*compiling, folder / "src", folder / "tests"], check=True)


def run(folder, call, seconds=None):
    """Call in a process of the copy: the output, and the exit status (None: it took too long).

    The process is a fork of this one, which has imported what all tests import. Seconds are those
    of a core, which other work on the machine does not change; a process that waits gets 20 times.
    """
    import resource  # which Windows does not have, where the tests collect this file

    output = folder / "output.txt"

    def target():
        os.setsid()
        os.chdir(folder)
        file = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        sys.path[0] = str(folder / "src")
        sys.dont_write_bytecode = True
        os.environ.update(PYTHONPATH=sys.path[0], PYTHONDONTWRITEBYTECODE="1", CI="true")
        status = call()
        sys.stdout.flush()
        os._exit(status)

    process = multiprocessing.get_context("fork").Process(target=target)
    process.start()
    process.join(seconds and 20 * seconds)
    status = None if process.exitcode == -signal.SIGKILL else process.exitcode
    with contextlib.suppress(ProcessLookupError):  # of it, and of what it has started
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    return output.read_text(errors="replace"), status


def record(sources, tests):
    """In the copy: how long each test takes that passes, and the tests that run each line."""
    import coverage

    lines = coverage.Coverage(data_file=None, config_file=False, source=sources)
    seconds, others = {}, set()

    class Recorder:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item):
            lines.switch_context(item.nodeid)
            start = time.process_time()
            done = yield
            seconds[item.nodeid] = time.process_time() - start
            lines.switch_context("")
            return done

        def pytest_runtest_logreport(self, report):
            if not report.passed:
                others.add(report.nodeid)

    lines.start()
    pytest.main([*OPTIONS, *tests], plugins=[Recorder()])
    lines.stop()
    passed = {test: seconds[test] for test in seconds if test not in others}
    number = {test: i for i, test in enumerate(passed)}
    files = {}
    for path in lines.get_data().measured_files():
        found = lines.get_data().contexts_by_lineno(path).items()
        files[str(Path(path).relative_to(Path.cwd()))] = {
            line: [number[test] for test in contexts if test in number] for line, contexts in found
        }
    Path("record.json").write_text(json.dumps({"seconds": passed, "files": files}))
    return 0


def choose(mutant, found):
    """The tests of a mutant's lines: of each function the quickest case, then the next ones."""
    names, lines = list(found["seconds"]), found["files"].get(mutant["path"], {})
    tests = {names[i] for line in mutant["lines"] for i in lines.get(str(line), [])}
    cases, rounds = defaultdict(int), []
    for test in sorted(tests, key=found["seconds"].get):
        function = test.split("[")[0]
        rounds.append((cases[function], found["seconds"][test], test))
        cases[function] += 1
    chosen, left = [], SECONDS
    for _, seconds, test in sorted(rounds):
        if seconds <= left:
            chosen.append(test)
            left -= seconds
    return chosen, SECONDS - left


def attempt(mutant, folder, tests, limit):
    """The test that finds the mutant, or why there is none."""
    path = folder / mutant["path"]
    original = path.read_bytes()
    part = slice(mutant["start"], mutant["end"])
    if original[part].decode() != mutant["old"]:
        sys.exit(f"{mutant['path']} has changed since its mutants were drawn")
    text = original[: part.start] + mutant["new"].encode() + original[part.stop :]
    compile(text, path, "exec")  # what no test could import would be found for nothing
    path.write_bytes(text)
    try:
        output, status = run(folder, lambda: pytest.main([*OPTIONS, "-x", *tests]), limit)
    finally:
        path.write_bytes(original)
    if status is None:
        return "found", f"no end within {limit} s"
    if status == 0:
        return "survived", f"{len(tests)} tests"
    failures = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.M)
    if status == 4 and not failures:
        sys.exit(output)
    return "found", failures[0] if failures else f"status {status}"


def show(mutant):
    print(f"{mutant['verdict']}: {mutant['path']}:{mutant['lines'][-1]} ({mutant['by']})")
    for sign, text in (("-", mutant["old"]), ("+", mutant["new"])):
        print(f"    {sign} {' '.join(text.split())}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sources", nargs="+", default=SOURCES)
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    for name in IMPORTED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "tree"
        copy_tree(folder)
        if given.again:
            mutants = json.loads(RESULTS.read_text())
        else:
            output, status = run(folder, lambda: record(given.sources, given.tests))
            if status:
                sys.exit(output)
            found = json.loads((folder / "record.json").read_text())
            mutants = draw(given.sources, given.count, given.seed)
        for mutant in mutants:
            if mutant.get("verdict") == "found":
                continue
            tests, limit = given.tests, 1200
            if not given.again:
                tests, seconds = choose(mutant, found)
                limit = int(30 + 3 * seconds)
            if tests:
                mutant["verdict"], mutant["by"] = attempt(mutant, folder, tests, limit)
            else:
                mutant["verdict"], mutant["by"] = "survived", "no test runs the line"
            show(mutant)
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(mutants, indent=1))
        # A test that fails by itself finds nothing.
        finders = sorted({mutant["by"] for mutant in mutants if "::" in mutant["by"]})
        output, status = run(folder, lambda: pytest.main([*OPTIONS, *finders]))
    if status:
        sys.exit(f"tests fail without a mutant:\n{output}")
    survivors = [mutant for mutant in mutants if mutant["verdict"] == "survived"]
    print(f"\n{len(mutants) - len(survivors)} of {len(mutants)} mutants were found. The survivors:")
    for mutant in survivors:
        show(mutant)


if __name__ == "__main__":
    main()
