"""Ctrl-C is a KeyboardInterrupt within a second, whatever is going on (TRUST D6)."""

import subprocess
import sys

import pytest

CODE = """
import os, signal, sys, threading, time
import numpy as np
import mercer
random = np.random.default_rng(1)
x = random.normal(size=(ROWS, 6))
y = np.sin(x[:, 0]) + x[:, 1]
model = ESTIMATOR
CALL0
sent = []
def press():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(AFTER, press).start()
try:
    CALL
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0])
else:
    print("finished before the signal")
sys.stdout.flush()
os._exit(0)
"""

CASES = {
    "a surface": ("mercer.PowerRidgeCV()", "pass", "model.fit(x, y)", 5000, 1.0),
    "a Cholesky factorisation": ("mercer.KernelRidge()", "pass", "model.fit(x, y)", 9000, 1.0),
    "support vectors": ("mercer.SVR(C=1e4, epsilon=0)", "pass", "model.fit(x, y)", 5000, 1.0),
    "the automatic mode": ("mercer.AutoKernelRegressor()", "pass", "model.fit(x, y)", 3000, 1.0),
    "prediction": ("mercer.KernelRidge()", "model.fit(x, y)", "model.predict(np.tile(x, (300, 1)))", 2000, 0.3),
}


@pytest.mark.parametrize("name", CASES)
def test_interrupted(name):
    estimator, before, call, rows, after = CASES[name]
    code = CODE.replace("ROWS", str(rows)).replace("ESTIMATOR", estimator).replace("CALL0", before).replace("CALL", call).replace("AFTER", str(after))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.0, done.stdout
