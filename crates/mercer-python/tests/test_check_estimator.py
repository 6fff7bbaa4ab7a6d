"""scikit-learn's own checks: every estimator, every check, none expected to fail, none skipped (TRUST A1)."""

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

import mercer

ESTIMATORS = [
    mercer.PowerRidge(),
    mercer.PowerRidge(exponent=1.5),
    mercer.KernelRidge(),
    mercer.PowerRidgeCV(),
    mercer.KernelRidgeCV(),
    mercer.Ridge(),
    mercer.Tikhonov(),
    mercer.Lasso(),
    mercer.LassoCV(),
    mercer.KernelLasso(),
    mercer.SVR(),
    mercer.QuantileRegressor(),
    mercer.HuberRegressor(),
    mercer.SVC(),
    mercer.KernelLogistic(),
    mercer.Nystroem(),
    mercer.AutoKernelRegressor(),
]


def test_every_public_estimator_is_checked():
    known = {type(estimator).__name__ for estimator in ESTIMATORS}
    public = {name for name in mercer.__all__ if hasattr(getattr(mercer, name), "get_params")}
    assert known == public and len(public) == 16


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: repr(estimator))
def test_scikit_learn_has_nothing_to_object(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {one["check_name"]: f"{type(one['exception']).__name__}: {one['exception']}" for one in found if one["status"] == "failed"}
    assert not failed, failed
    skipped = {one["check_name"] for one in found if one["status"] == "skipped"}
    assert not skipped, skipped
    assert not any(one["expected_to_fail"] for one in found)
    assert len(found) > 40
