"""The package as a whole: what importing it costs, and that its documents run."""

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

MODULES = sorted(module.name for module in pkgutil.iter_modules(mercer.__path__, "mercer."))


@pytest.mark.parametrize("name", [name for name in MODULES if name != "mercer._core"] + ["mercer"])
def test_docstrings_run(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0
    assert tried > 0 or "._" in name


def test_every_public_name_is_documented():
    for name in mercer.__all__:
        one = getattr(mercer, name)
        assert name == "__version__" or (one.__doc__ or "").strip(), name


def test_importing_does_not_import_scikit_learn():
    code = "import sys, mercer; print('sklearn' in sys.modules, 'numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.split() == ["False", "False"]


def test_the_tutorial_runs():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(Path(__file__).parent.parent / "notebooks" / "tutorial.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    printed = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert len(printed) >= 8 and not any(output["output_type"] == "error" for output in printed)
