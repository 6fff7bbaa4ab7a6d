"""Pickles, files, and the same bits on every surface (TRUST A2)."""

import copy
import io
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

import mercer


class Recording(pickle.Unpickler):
    """Knows what a pickle wants to import."""

    @classmethod
    def modules_in(cls, state):
        reader = cls(io.BytesIO(state))
        reader.modules = set()
        reader.load()
        return reader.modules

    def find_class(self, module, name):
        self.modules.add(module)
        return super().find_class(module, name)


def test_a_pickle_holds_parameters_and_checked_bytes(waves, rings):
    x, y = waves
    for model in (mercer.PowerRidgeCV(), mercer.SVR(), mercer.Lasso(alpha=0.01), mercer.QuantileRegressor(quantile=[0.1, 0.9])):
        model.fit(x, y)
        state = pickle.dumps(model)
        again = pickle.loads(state)
        np.testing.assert_array_equal(again.predict(x), model.predict(x))
        assert again.get_params() == model.get_params() and again.certificate_ == model.certificate_
        assert model.__getstate__()["_model"] == model.to_bytes()
        modules = Recording.modules_in(state)
        assert type(model).__module__ in modules and all(name.split(".")[0] in ("mercer", "numpy") for name in modules), modules
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
    with pytest.raises(FileNotFoundError, match="absent"):
        mercer.load(tmp_path / "absent.mercer")
    with pytest.raises(OSError):
        model.save(tmp_path / "no folder" / "m.mercer")


def test_weights_and_routing_survive_a_pickle(waves):
    x, y = waves
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    model = mercer.KernelRidge(alpha=0.5).fit(x, y, weights)
    again = pickle.loads(pickle.dumps(model))
    assert model.alpha_ == pytest.approx(0.5, rel=1e-14) and again.alpha_ == model.alpha_
    # Rows of weight 0 keep their places.
    assert len(again.loo_) == len(y) and (np.isnan(again.loo_) == (weights == 0)).all()
    with sklearn.config_context(enable_metadata_routing=True):
        asked = mercer.Ridge().set_fit_request(sample_weight=True)
        again = pickle.loads(pickle.dumps(asked))
        assert again.get_metadata_routing().fit.requests == {"sample_weight": True}


def test_what_a_search_tried_is_not_made_up_after_a_pickle(waves):
    model = mercer.AutoKernelRegressor(budget=2).fit(*waves)
    assert model.candidates_ and model.ran_out_ in (True, False)
    again = pickle.loads(pickle.dumps(model))
    for name in ("candidates_", "importance_", "ran_out_"):
        with pytest.raises(AttributeError, match="pickles carry the model alone"):
            getattr(again, name)
