"""What is odd is said: targets, rows outside the range of the fit, and which class effects are of."""

import warnings

import numpy as np
import pytest

from mercer import SVC, ExtrapolationWarning, KernelLogistic, KernelRidgeCV, Lasso, load

x = np.linspace(0, 6, 60)[:, None]
y = np.sin(x[:, 0])


def test_odd_targets_have_notes():
    def notes(target):
        return " ".join(KernelRidgeCV().fit(x, target).notes_)

    assert notes(y) == ""
    assert "only the values 0 and 1" in notes((y > 0).astype(float))
    assert "5 in every row" in notes(np.full(60, 5.0))
    absurd = y.copy()
    absurd[40] = 9999999
    assert "9999999 in row 41" in notes(absurd)
    assert "no better than by the mean" in notes(absurd)
    assert Lasso(reg_lambda=0.1).fit(x, (y > 0).astype(float)).notes_ != []


def test_an_absurd_cell_of_a_feature_has_a_note():
    absurd = np.c_[x, np.linspace(1, 2, 60)[::-1]]
    absurd[40, 1] = 1e9
    assert "is 1000000000 in row 41" in " ".join(KernelRidgeCV().fit(absurd, y).notes_)
    assert "is 1000000000 in row 41" in " ".join(KernelLogistic(reg_lambda=1e-2).fit(absurd, y > 0.1).notes_)


def test_probabilities_of_weighted_classes():
    labels = np.where(y > 0.8, "yes", "no")
    share = np.mean(labels == "yes")
    weights = {"yes": 4.0, "no": 0.5}
    model = SVC("linear", reg_lambda=1e-2, class_weight=weights, probability=True).fit(np.c_[x, np.sin(x)], labels)
    assert abs(model.predict_proba(np.c_[x, np.sin(x)])[:, 1].mean() - share) < 0.03
    assert model.notes_ == []
    stated = KernelLogistic("linear", reg_lambda=1e-2, class_weight="balanced").fit(x, labels)
    assert "those of classes with these weights" in stated.notes_[0]
    assert not any("weights" in note for note in KernelLogistic("linear", reg_lambda=1e-2).fit(x, labels).notes_)
    # A class of weight 0 is left out with its rows.
    three = np.where(y < -0.8, "never", labels)
    assert list(SVC(reg_lambda=1e-2, class_weight={"never": 0.0}).fit(x, three).classes_) == ["no", "yes"]


def test_rows_outside_are_warned_of(tmp_path):
    model = KernelRidgeCV().fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(x)
        model.predict(x + 0.3)
    far = x.copy()
    far[7] = 1e9
    with pytest.warns(ExtrapolationWarning, match="1 of 60 row.*in row 8, training had 0 … 6"):
        model.predict(far)
    model.save(tmp_path / "m.mercer")
    with pytest.warns(ExtrapolationWarning, match="in row 8"):
        load(tmp_path / "m.mercer").predict(far)
    # Of many rows the blocks count together.
    many = np.tile(x, (2000, 1))
    many[[5, 100_000]] = 50.0
    with pytest.warns(ExtrapolationWarning, match="2 of 120000 rows.*rows 6, 100001"):
        model.predict(many)


def test_effects_of_classes_name_the_class():
    labels = np.where(y > 0, "up", "down")
    model = KernelLogistic(reg_lambda=1e-2).fit(x, labels)
    odds, share = model.marginal_effects(x), model.marginal_effects(x, of="probability")
    assert (odds.of, odds.targets) == ("log-odds", ["log-odds of up"])
    assert (share.of, share.targets) == ("probability", ["probability of up"])
    place = list(model.classes_).index("up")
    step = 1e-5
    slope = (model.predict_proba(x + step)[:, place] - model.predict_proba(x - step)[:, place]) / (2 * step)
    assert np.allclose(share.values[:, 0], slope, atol=1e-7)
    with pytest.raises(ValueError, match="decision"):
        model.marginal_effects(x, of="odds")
