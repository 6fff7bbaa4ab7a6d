//! Leave-one-out at every exponent from a tridiagonal form.

use std::cell::OnceCell;

use super::judge::{HIGHEST, LOWEST, Score};
use super::lambdas::lambdas_between;
use super::{Scorer, Search};
use crate::path::held_out::{HeldOut, HeldOutError, leave_one_out_on_form};
use crate::path::power;
use crate::path::{Curve, FormTarget, TridiagonalForm};
use crate::term::criterion::Criterion;

/// Some targets of a tridiagonal form, which share one effective ridge.
pub(crate) struct TridiagonalJudge<'a> {
    form: &'a TridiagonalForm,
    targets: Vec<&'a FormTarget>,
    /// What each target's error is divided by when there are several.
    units: Vec<f64>,
    range: (f64, f64),
    /// Tables for exponents from 1 on, and for all.
    tables: [OnceCell<Option<HeldOut>>; 2],
}

impl<'a> TridiagonalJudge<'a> {
    /// `None` where there is nothing to judge.
    pub fn new(form: &'a TridiagonalForm, targets: &[&'a FormTarget], search: &Search) -> Option<Self> {
        let mut path = form.path(targets);
        if path.zero_mse() == 0.0 || form.largest() == 0.0 || form.rows() < 2 {
            return None;
        }
        let (low, high) = search.range(&mut path, form.largest()).unwrap_or((LOWEST, HIGHEST));
        // Below that nothing changes that is not rounding: so it stays as it is there.
        let range = (low.max(form.lowest()), high.max(form.lowest() + 1.0));
        let own = |target: &&'a FormTarget| form.path(&[*target]).zero_mse().max(f64::MIN_POSITIVE);
        let units = if targets.len() == 1 { vec![1.0] } else { targets.iter().map(own).collect() };
        Some(TridiagonalJudge { form, targets: targets.to_vec(), units, range, tables: Default::default() })
    }

    /// Whether tables for these exponents can be made: T + γI is definite for every γ of them.
    pub fn is_possible(&self, exponents: &[f64]) -> bool {
        exponents == [2.0] || self.table(exponents.iter().any(|m| *m < 1.0)).is_some()
    }

    fn table(&self, below_one: bool) -> Option<&HeldOut> {
        let below_one = below_one || self.tables[1].get().is_some();
        let make = || HeldOut::rows_of_form(self.form, &self.targets, self.range, below_one);
        self.tables[usize::from(below_one)].get_or_init(make).as_ref()
    }

    fn add(&self, values: &[f64]) -> f64 {
        values.iter().zip(&self.units).map(|(value, unit)| value / unit).sum()
    }
}

impl Scorer for TridiagonalJudge<'_> {
    fn scores(&self, asked: &[(f64, Vec<f64>)]) -> Vec<Vec<Score>> {
        // At exponent 2 every deletion has the same ridge.
        let is_plain = asked.iter().all(|(exponent, _)| *exponent == 2.0);
        let errors: Vec<Vec<HeldOutError>> = if is_plain && self.tables.iter().all(|table| table.get().is_none()) {
            let one = |(_, log_lambdas): &(f64, Vec<f64>)| leave_one_out_on_form(self.form, &self.targets, log_lambdas);
            asked.iter().map(one).collect::<Option<_>>().unwrap_or_default()
        } else {
            let table = self.table(asked.iter().any(|(exponent, _)| *exponent < 1.0));
            table.map_or_else(Vec::new, |table| table.errors(asked))
        };
        let score = |error: &HeldOutError| {
            let standard_error = Some(self.add(&error.standard_error));
            Score { value: self.add(&error.mse), standard_error }
        };
        errors.iter().map(|errors| errors.iter().map(score).collect()).collect()
    }

    fn useful_lambdas(&self, exponent: f64) -> Vec<f64> {
        let mut path = self.form.path(&self.targets);
        let (largest, rows) = (self.form.largest(), self.form.rows() as f64);
        lambdas_between(&mut |t| path.at(t), largest, rows, exponent, (LOWEST.max(self.form.lowest()), HIGHEST))
    }

    fn criterion(&self) -> &Criterion {
        &Criterion::LeaveOneOut
    }

    fn same_ridge(&self, from: f64, lambda: f64, to: f64) -> f64 {
        let mut path = self.form.path(&self.targets);
        let found = power::minimise(&mut path, from, libm::log(lambda), None).log_ridge;
        found.map_or(libm::log(lambda), |t| path.at(t).log_lambda(t, to))
    }
}
