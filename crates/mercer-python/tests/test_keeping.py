"""Pickles, files, and the same bits on every surface (TRUST A2)."""

import copy
import pickle
import pickletools

import numpy as np
import pytest
from sklearn.base import clone

import mercer


def test_a_pickle_holds_parameters_and_checked_bytes(waves, rings):
    x, y = waves
    for model in (mercer.PowerRidgeCV(), mercer.SVR(), mercer.Lasso(alpha=0.01), mercer.QuantileRegressor(quantile=[0.1, 0.9])):
        model.fit(x, y)
        state = pickle.dumps(model)
        again = pickle.loads(state)
        np.testing.assert_array_equal(again.predict(x), model.predict(x))
        assert again.get_params() == model.get_params() and again.certificate_ == model.certificate_
        assert model.__getstate__()["_model"] == model.to_bytes()
        modules = {str(op[1]).split(" ")[0] for op in pickletools.genops(state) if op[0].name == "GLOBAL"}
        assert all(name.startswith(("mercer", "numpy")) for name in modules)
        np.testing.assert_array_equal(copy.deepcopy(model).predict(x), model.predict(x))
    classes = mercer.SVC(probability=True).fit(*rings)
    again = pickle.loads(pickle.dumps(classes))
    assert (again.predict(rings[0]) == classes.predict(rings[0])).all()
    np.testing.assert_array_equal(again.predict_proba(rings[0]), classes.predict_proba(rings[0]))


def test_a_damaged_pickle_is_refused(waves):
    model = mercer.PowerRidge().fit(*waves)
    state = model.__getstate__()
    for place in (0, 40, len(state["_model"]) // 2, len(state["_model"]) - 1):
        damaged = bytearray(state["_model"])
        damaged[place] ^= 1
        with pytest.raises(ValueError, match="model"):
            clone(model).__setstate__(state | {"_model": bytes(damaged)})


def test_what_follows_from_the_rows_still_does_after_a_pickle(waves):
    x, y = waves
    model = mercer.PowerRidge(exponent=1.5, reg_lambda=0.01).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.loo_, model.loo_, atol=1e-12)
    np.testing.assert_array_equal(again.path_["norm"], model.path_["norm"])
    np.testing.assert_array_equal(again.predict(x, interval=0.9)[1], model.predict(x, interval=0.9)[1])


def test_files(waves, rings, tmp_path):
    x, y = waves
    model = mercer.PowerRidge(reg_lambda=1e-3).fit(x, y)
    model.save(tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
    assert loaded.certificate_ == model.certificate_ and list(loaded.feature_names_in_) == ["x1", "x2", "x3"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(loaded)).predict(x), model.predict(x))
    with pytest.raises(ValueError, match="3 columns"):
        loaded.predict(x[:, :2])
    classes = mercer.KernelLogistic().fit(*rings)
    classes.save(tmp_path / "c.mercer")
    loaded = mercer.load(tmp_path / "c.mercer")
    assert (loaded.predict(rings[0]) == classes.predict(rings[0])).all()
    np.testing.assert_array_equal(loaded.predict_proba(rings[0]), classes.predict_proba(rings[0]))
    (tmp_path / "no.mercer").write_bytes(b"not a model")
    with pytest.raises(ValueError, match="not a Mercer model"):
        mercer.load(tmp_path / "no.mercer")
    with pytest.raises(OSError, match="absent"):
        mercer.load(tmp_path / "absent.mercer")
    with pytest.raises(OSError):
        model.save(tmp_path / "no folder" / "m.mercer")
