"""Small tables that all tests use."""

import os

# scikit-learn leaves out its check of the array API unless SciPy was told of it before it is imported.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest


@pytest.fixture
def waves():
    """60 rows of three features, and a smooth target with a little noise."""
    random = np.random.default_rng(7)
    x = random.normal(size=(60, 3))
    return x, np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.05 * random.normal(size=60)


@pytest.fixture
def rings():
    """80 rows of two classes that no line separates."""
    random = np.random.default_rng(8)
    x = random.normal(size=(80, 2))
    return x, np.where(np.hypot(x[:, 0], x[:, 1]) + 0.1 * random.normal(size=80) > 1.1, "far", "near")
