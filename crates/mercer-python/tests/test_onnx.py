"""Models in onnxruntime: the same predictions to 1e-10."""

import numpy as np
import onnxruntime
import pytest

import mercer


def in_runtime(graph: bytes, x):
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, {"x": x})))


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidge(kernel="gaussian", reg_lambda=1e-3),
        mercer.PowerRidge(kernel="polynomial(degree=3)", exponent=1.5, reg_lambda=1e-2),
        mercer.PowerRidge(kernel="linear", reg_lambda=1e-2),
        mercer.SVR(C=10.0, gamma=0.5),
        mercer.Ridge(alpha=0.1),
        mercer.Lasso(alpha=0.01),
    ],
    ids=lambda model: type(model).__name__,
)
def test_numbers_are_the_same(model, waves, tmp_path):
    x, y = waves
    model.fit(x, y)
    path = tmp_path / "m.onnx"
    graph = model.to_onnx(path)
    assert path.read_bytes() == graph
    found = in_runtime(graph, x)["prediction"]
    wanted = model.predict(x)
    assert np.abs(found.ravel() - wanted).max() <= 1e-10 * np.abs(wanted).max()


def test_classes_and_probabilities_are_the_same(rings):
    x, y = rings
    model = mercer.KernelLogistic().fit(x, y)
    found = in_runtime(model.to_onnx(), x)
    np.testing.assert_allclose(found["probability"], model.predict_proba(x), rtol=0, atol=1e-10)


def test_what_onnx_cannot_say_is_refused_with_the_reason(waves):
    model = mercer.PowerRidge(kernel="additive-spline", scale="unit", reg_lambda=1e-3).fit(*waves)
    with pytest.raises(ValueError, match="spline"):
        model.to_onnx()
