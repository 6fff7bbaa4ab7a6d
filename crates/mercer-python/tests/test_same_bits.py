"""Rust, the program and Python predict the same bits on 20 problems (TRUST A2)."""

import os
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mercer

ROOT = Path(__file__).resolve().parents[3]
RELEASE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
PROGRAM, EXAMPLE = RELEASE / "mercer", RELEASE / "examples" / "same_bits"

POWER = [
    ("gaussian", 0.01, 2.0),
    ("gaussian", 0.01, 1.5),
    ("gaussian(lengthscale=2)", None, 1.0),
    ("gaussian(lengthscale=2)", None, 2.0),
    ("laplace", 0.1, 3.0),
    ("matern32(lengthscale=[1,2,3])", 1e-3, 2.0),
    ("polynomial(degree=2)", 0.1, 2.0),
    ("0.5*linear + gaussian", None, 2.0),
    ("linear", 0.5, 2.0),
    ("linear", None, 1.2),
    ("additive-spline", 1e-3, 2.0),
    ("matern52", 1e-8, 0.5),
]
LOSSES = [
    ("gaussian", "epsilon-insensitive(epsilon=0.1)", mercer.SVR(epsilon=0.1)),
    ("gaussian", "pinball(quantile=0.3)", mercer.QuantileRegressor(quantile=0.3)),
    ("gaussian", "huber(threshold=0.5)", mercer.HuberRegressor(threshold=0.5)),
]
LINEAR = [
    ("linear", "lasso", mercer.Lasso()),
    ("linear", "tikhonov(gamma=first-differences)", mercer.Tikhonov("first-differences")),
    ("gaussian", "kernel-lasso", mercer.KernelLasso()),
]


def problems():
    for kernel, value, exponent in POWER:
        scale = "unit" if "spline" in kernel else "standard"
        chosen = "loo" if value is None else value
        model = mercer.PowerRidge(kernel, exponent=exponent, reg_lambda=chosen, scale=scale)
        yield "power", kernel, value, exponent, "-", scale, False, model
    yield "power", "gaussian", 0.01, 1.5, "-", "none", True, mercer.PowerRidge(exponent=1.5, reg_lambda=0.01, scale="none")
    yield "power", "gaussian", None, 2.0, "-", "standard", True, mercer.PowerRidge(reg_lambda="loo", scale="standard")
    for kernel, spec, model in LOSSES:
        yield "loss", kernel, 0.01, 2.0, spec, "standard", False, model.set_params(reg_lambda=0.01, scale="standard", tolerance=1e-6)
    for kernel, spec, model in LINEAR:
        model.set_params(reg_lambda=0.02, scale="standard")
        if spec != "tikhonov(gamma=first-differences)":
            model.set_params(tolerance=1e-8)
        yield "linear", kernel, 0.02, 2.0, spec, "standard", False, model


def table(folder, problem):
    random = np.random.default_rng(problem)
    x = random.normal(size=(70, 3)) * [1, 10, 0.1]
    y = np.sin(x[:, 0]) + 0.1 * x[:, 1] + 0.1 * random.normal(size=70)
    weights = random.uniform(0.5, 2, size=70)
    new = random.normal(size=(50, 3)) * [1, 10, 0.1]
    for name, columns, cells in (
        ("plain", "x1,x2,x3,y", np.column_stack([x, y])),
        ("weighted", "x1,x2,x3,y,w", np.column_stack([x, y, weights])),
        ("new", "x1,x2,x3", new),
    ):
        np.savetxt(folder / f"{name}.csv", cells, delimiter=",", header=columns, comments="", fmt="%.17g")
    return x, y, weights, new


@pytest.mark.skipif(not (PROGRAM.exists() and EXAMPLE.exists()), reason=f"{PROGRAM.name} and {EXAMPLE.name} are not built")
def test_the_same_bits_on_every_surface(tmp_path):
    tried = 0
    for number, (door, kernel, value, exponent, spec, scale, weighted, model) in enumerate(problems()):
        x, y, weights, new = table(tmp_path, number)
        python = model.fit(x, y, sample_weight=weights if weighted else None).predict(new)
        name = "weighted" if weighted else "plain"
        given = "-" if value is None else repr(value)
        weight = "w" if weighted else "-"
        data, fresh = tmp_path / f"{name}.csv", tmp_path / "new.csv"
        library = subprocess.run(
            [EXAMPLE, data, fresh, door, kernel, given, repr(exponent), spec, scale, weight], capture_output=True, text=True, check=True
        ).stdout.split()
        rust = np.array([struct.unpack(">d", bytes.fromhex(bits))[0] for bits in library])
        options = ["--target", "y", "--scale", scale, "--output", str(tmp_path / "m.mercer"), "--quiet"]
        options += ["--kernel", kernel] if spec in ("-", "kernel-lasso") or door == "loss" else []
        options += ["--lambda", given] if value is not None else []
        options += ["--exponent", repr(exponent)] if door == "power" else []
        options += ["--weight", "w"] if weighted else []
        options += {"power": [], "loss": ["--loss", spec], "linear": ["--penalty", spec]}[door]
        done = subprocess.run([PROGRAM, "fit", data, *options], capture_output=True, text=True)
        assert done.returncode in (0, 3), done.stderr
        subprocess.run(
            [PROGRAM, "predict", tmp_path / "m.mercer", fresh, "--output", tmp_path / "p.csv", "--quiet"], check=True, capture_output=True
        )
        lines = (tmp_path / "p.csv").read_text().splitlines()
        place = lines[0].split(",").index("prediction")
        program = np.array([float(line.split(",")[place]) for line in lines[1:]])
        loaded = mercer.load(tmp_path / "m.mercer").predict(new)
        case = f"{number}: {door} {kernel} {given} {exponent} {spec}"
        for other, found in (("Rust", rust), ("the program", program), ("the program's file in Python", loaded)):
            assert python.tobytes() == found.tobytes(), f"{case}: Python and {other} differ by {np.abs(python - found).max()}"
        tried += 1
    assert tried == 20
