"""What all side-by-side scripts share: thread pinning, data, running our timing program, printing."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

THREADS = "2"
# Before numpy is imported: OpenBLAS and OpenMP read these once.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = THREADS

ROOT = Path(__file__).resolve().parent.parent


def build() -> Path:
    """Builds the timing program; returns its path."""
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "mercer", "--example", "timing"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "timing"


def ours(program: Path, *arguments: object) -> dict:
    """Runs the timing program with two threads in a process of its own."""
    environment = {**os.environ, "MERCER_THREADS": THREADS}
    command = [str(program), *map(str, arguments)]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def in_child(code: str, *arguments: object) -> dict:
    """Runs Python code in a fresh process, so that its peak memory is its own; it prints one JSON object."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def problem(folder: str, rows: int, features: int):
    """Normal features, a curved target with noise; also written to a file that the timing program reads."""
    import numpy as np

    random = np.random.default_rng(1)
    x = random.normal(size=(rows, features))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * random.normal(size=rows)
    path = Path(folder) / f"problem-{rows}-{features}.csv"
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", fmt="%.17g")
    return x, y, path


def median(values) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def temporary_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


def versions() -> None:
    import numpy
    import scipy
    import sklearn

    print(f"numpy {numpy.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}, {THREADS} threads each")
