"""Pictures are drawn, with the numbers of the model in them."""

import matplotlib
import numpy as np
import pytest

import mercer

matplotlib.use("Agg")


def test_pictures(waves, tmp_path):
    import matplotlib.pyplot as plt

    x, y = waves
    model = mercer.PowerRidgeCV("gaussian(lengthscale=2)").fit(x, y)
    ax = mercer.plot.path(model)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.path_["loo_rmse"])
    ax.figure.savefig(tmp_path / "path.png")
    ax = mercer.plot.surface(model)
    assert len(ax.get_yticks()) == 4
    ax.figure.savefig(tmp_path / "surface.png")
    ax = mercer.plot.residuals(model, x, y)
    np.testing.assert_allclose(np.asarray(ax.collections[0].get_offsets())[:, 1], y - model.predict(x))
    ax = mercer.plot.component(model, x, 1, interval=0.9)
    assert ax.get_xlabel() == "x2"
    ax = mercer.plot.bands(model, x, y)
    ax.figure.savefig(tmp_path / "bands.png")
    ax = mercer.plot.path(mercer.LassoCV().fit(x, y))
    assert ax.get_ylabel() == "criterion"
    two = mercer.LassoCV().fit(x, np.column_stack([y, 100 * y]))
    ax = mercer.plot.path(two, target=1)
    assert ax.lines[0].get_xdata().max() >= two.summaries_[1]["lambda"] > two.summaries_[0]["lambda"]
    framed = mercer.PowerRidge(reg_lambda=1e-3).set_output(predict="pandas").fit(x, y)
    mercer.plot.bands(framed, x, y)
    mercer.plot.component(framed, x, 0, interval=0.9)
    small = mercer.PowerRidgeCV("gaussian(lengthscale=2)", cv="aic").fit(x, y)
    assert mercer.plot.surface(small).figure.axes[-1].get_ylabel() == "criterion"
    assert mercer.plot.surface(model).figure.axes[-1].get_ylabel() == "criterion (log₁₀)"
    with pytest.raises(ValueError, match="no surface"):
        mercer.plot.surface(mercer.PowerRidge().fit(x, y))
    plt.close("all")
