#!/usr/bin/env python3
"""Models exported to ONNX predict in onnxruntime what the program predicts, to 1e-10.

usage: onnx.py PATH_TO_MERCER

Fits models of every kind that can be exported, exports them, and compares the outputs with `mercer predict`, in units of the
largest prediction. Needs the packages onnx and onnxruntime; where they are missing they are installed into a folder of their own
(MERCER_ONNX_VENV, default: a temporary one).
"""
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# This file has the name of a package that it needs.
sys.path.pop(0)

TOLERANCE = 1e-10
# A space that does not break and letters that are not ASCII: the file's metadata must be JSON all the same.
SKEWED = "c\u00a0(µ)"


def with_packages() -> None:
    """Starts this script again where onnx and onnxruntime are, unless they are here."""
    try:
        import numpy, onnx, onnxruntime  # noqa: F401, E401
        return
    except ImportError:
        pass
    if os.environ.get("MERCER_ONNX_INSTALLED"):
        sys.exit("onnx: onnx and onnxruntime could not be installed")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("MERCER_ONNX_VENV", temporary))
        python = folder / "bin" / "python"
        if not python.exists():
            venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "numpy", "onnx", "onnxruntime"], capture_output=True)
        environment = {**os.environ, "MERCER_ONNX_INSTALLED": "1"}
        sys.exit(subprocess.run([python, *sys.argv], env=environment).returncode)


def write_table(path: Path, rows: int, seed: int, missing: bool = False) -> None:
    import numpy as np

    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=rows) * 3 + 100, rng.uniform(-1, 1, size=rows)
    c = np.exp(2 * rng.normal(size=rows))
    y = np.sin(a) + b * b + 0.1 * np.log(c) + 0.05 * rng.normal(size=rows)
    z = 1e6 * (a - 100) * b
    kind = np.where(y > 0.7, "high", np.where(y > 0, "middle", "low"))
    sign = np.where(y > 0.3, 1, -1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{SKEWED},a,b,y,z,kind,sign\n")
        for i in range(rows):
            first = "" if missing and i % 5 == 0 else repr(float(c[i]))
            file.write(f"{first},{float(a[i])!r},{float(b[i])!r},{float(y[i])!r},{float(z[i])!r},{kind[i]},{sign[i]}\n")


COLUMNS = f"{SKEWED},a,b"
NUMBERS = ["--target", "y", "--features", COLUMNS]
CASES = {
    **{kernel: [*NUMBERS, "--kernel", kernel, "--lambda", "1e-4"] for kernel in (
        "gaussian", "gaussian(lengthscale=[1,2,0.5])", "laplace", "laplace(lengthscale=[1,2,0.5])", "matern12", "matern32",
        "matern52", "rational-quadratic(shape=0.7)", "linear", "polynomial(degree=3,constant=0.5)", "0.5*gaussian + linear",
        "gaussian*polynomial(degree=2) + 2*matern32", "normalized-polynomial")},
    "raw numbers": [*NUMBERS, "--kernel", "gaussian", "--scale", "none", "--lambda", "1e-6"],
    "unit range": [*NUMBERS, "--kernel", "gaussian", "--scale", "unit", "--lambda", "1e-6"],
    "logarithms": [*NUMBERS, "--kernel", "matern32", "--scale", "log", "--lambda", "1e-3"],
    "learned metric": [*NUMBERS, "--kernel", "matern52", "--metric", "full"],
    # Little penalised: predictions beyond the targets are cut.
    "clipped": [*NUMBERS, "--kernel", "gaussian", "--lambda", "1e-6", "--clip"],
    "landmarks": [*NUMBERS, "--kernel", "gaussian", "--rank", "40"],
    "two targets": ["--target", "y,z", "--features", "a,b", "--kernel", "gaussian", "--lambda", "1e-4"],
    "missing cells": [*NUMBERS, "--kernel", "gaussian", "--missing", "mean", "--lambda", "1e-3"],
    "monomials": ["--target", "y", "--features", f"{COLUMNS},poly:3", "--method", "ols"],
    "quantiles": [*NUMBERS, "--kernel", "gaussian", "--loss", "pinball(quantile=[0.1,0.5,0.9])", "--lambda", "1e-3"],
    "three classes": ["--target", "kind", "--features", COLUMNS, "--kernel", "gaussian", "--loss", "logistic", "--lambda", "1e-3"],
    "two classes": ["--target", "sign", "--features", COLUMNS, "--kernel", "gaussian", "--loss", "logistic", "--lambda", "1e-3"],
    "support vectors": ["--target", "kind", "--features", COLUMNS, "--kernel", "gaussian", "--loss", "hinge", "--lambda", "1e-3",
                        "--probability"],
}
# What ONNX cannot express, and the word that the refusal must have.
REFUSED = {"normalized-polynomial": "kernel"}


def compare(mercer: Path, folder: Path, name: str, options: list[str]) -> float | None:
    import numpy as np
    import onnx
    import onnxruntime

    train, new = folder / "train.csv", folder / "new.csv"
    missing = "--missing" in options
    write_table(train, 150, 1, missing)
    write_table(new, 400, 2, missing)
    model, exported = folder / "m.mercer", folder / "m.onnx"
    subprocess.run([mercer, "fit", train, *options, "--output", model, "--quiet"], check=True)
    export = subprocess.run([mercer, "export", model, "--output", exported, "--json"], capture_output=True, encoding="utf-8")
    if name in REFUSED:
        assert export.returncode == 1 and REFUSED[name] in export.stderr, f"{name}: {export.stderr}"
        return None
    assert export.returncode == 0, f"{name}: {export.stderr}"
    columns = json.loads(export.stdout)["columns"]
    onnx.checker.check_model(str(exported), full_check=True)
    is_class = "--loss" in options and "pinball" not in str(options)
    more = ["--probability", "--decision"] if is_class else []
    said = subprocess.run([mercer, "predict", model, new, "--json", *more], capture_output=True, encoding="utf-8", check=True)
    said = json.loads(said.stdout)["predictions"]
    lines = [line.split(",") for line in new.read_text(encoding="utf-8").split("\n")[:-1]]
    places = [lines[0].index(column) for column in columns]
    x = np.array([[float(row[place] or "nan") for place in places] for row in lines[1:]])
    session = onnxruntime.InferenceSession(str(exported), providers=["CPUExecutionProvider"])
    assert json.loads(session.get_modelmeta().custom_metadata_map["columns"]) == columns
    found = dict(zip([output.name for output in session.get_outputs()], session.run(None, {"x": x})))
    wanted = {key: np.array(values) for key, values in said.items()}
    if "--clip" in options:
        values = wanted["prediction"]
        assert np.sum(values == values.max()) > 1 and np.sum(values == values.min()) > 1, f"{name}: nothing was cut"
    if not is_class:
        return worst(np.column_stack(list(wanted.values())), found["prediction"])
    label = wanted.pop("prediction")
    assert (label == found["label"]).all(), f"{name}: {np.sum(label != found['label'])} labels differ"
    difference = 0.0
    for output in ("decision", "probability"):
        columns = [values for key, values in wanted.items() if key.startswith(output)]
        difference = np.max([difference, worst(np.column_stack(columns), found[output])])
    return difference


def worst(wanted, found) -> float:
    """The largest difference in units of the largest value, column by column."""
    import numpy as np

    assert wanted.shape == found.shape, f"{wanted.shape} and {found.shape}"
    assert np.isfinite(found).all(), f"{np.sum(~np.isfinite(found))} outputs are not numbers"
    # np.max keeps a NaN, which max would pass over.
    return float(np.max([np.max(np.abs(a - b)) / np.max(np.abs(a)) for a, b in zip(wanted.T, found.T)]))


def main() -> int:
    mercer = Path(sys.argv[1]).resolve()
    with_packages()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, options in CASES.items():
            difference = compare(mercer, Path(folder), name, options)
            if difference is None:
                print(f"onnx: {name}: refused, as it must be")
                continue
            failed += not difference <= TOLERANCE
            print(f"onnx: {name}: {difference:.1e}{'' if difference <= TOLERANCE else '  TOO FAR'}")
    print(f"onnx: {len(CASES)} models, {failed} too far from the program's predictions (tolerance {TOLERANCE})")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
