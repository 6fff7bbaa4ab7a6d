//! The criterion at exponent 2 from a band form.

use super::Scorer;
use super::judge::{HIGHEST, LOWEST, Score};
use crate::base::clip::{Clip, within};
use crate::linalg::Matrix;
use crate::path::Banded;
use crate::term::criterion::Criterion;
use crate::term::criterion::formula::{Facts, Formula};

/// Points of the grid over the whole useful range; a finer one follows around the best.
const GRID: usize = 40;

const EXCLUDED: Score = Score { value: f64::INFINITY, standard_error: None };

/// One target of a band form and one criterion.
pub(crate) struct BandJudge<'a> {
    pub banded: &'a Banded,
    pub target: usize,
    pub criterion: &'a Criterion,
    /// Where predictions are kept within the range of the target.
    pub clip: Option<Clip>,
}

/// Whether a criterion can be read off a band form.
pub(crate) fn suits(criterion: &Criterion) -> bool {
    match criterion {
        Criterion::LeaveOneOut => true,
        Criterion::Formula(formula) => !matches!(formula, Formula::Dee | Formula::Mallows),
        Criterion::KFold(_) | Criterion::Metric(_) => false,
    }
}

impl BandJudge<'_> {
    fn one_exponent(&self, log_lambdas: &[f64]) -> Vec<Score> {
        match self.criterion {
            Criterion::LeaveOneOut => self.leave_one_out(log_lambdas),
            Criterion::Formula(formula) => log_lambdas.iter().map(|log| self.formula(*formula, *log)).collect(),
            _ => vec![EXCLUDED; log_lambdas.len()],
        }
    }

    fn leave_one_out(&self, log_lambdas: &[f64]) -> Vec<Score> {
        let n = self.banded.rows() as f64;
        let unit = libm::ldexp(1.0, 2 * self.banded.power(self.target));
        // A refit without a row has n − 1 of them.
        let gammas: Vec<f64> = log_lambdas.iter().map(|log| (n - 1.0) * libm::exp(*log)).collect();
        let score = |residuals: Option<Matrix>| {
            let Some(mut residuals) = residuals else { return EXCLUDED };
            let own = residuals.col_mut(self.target);
            if let Some(clip) = &self.clip {
                let limits =
                    |row: usize| clip.limits(row).map(|limit| libm::ldexp(limit, -self.banded.power(self.target)));
                own.iter_mut().enumerate().for_each(|(row, e)| *e = within(*e, limits(row)));
            }
            let squares = own.iter().map(|e| e * e);
            let (sum, square) = squares.fold((0.0, 0.0), |(sum, square), e| (sum + e, square + e * e));
            let mean = sum / n;
            let error = ((square / n - mean * mean).max(0.0) / (n - 1.0)).sqrt();
            Score { value: mean * unit, standard_error: Some(error * unit) }
        };
        self.banded.residuals_at(&gammas).into_iter().map(score).collect()
    }

    fn formula(&self, formula: Formula, log_lambda: f64) -> Score {
        let n = self.banded.rows() as f64;
        let unit = libm::ldexp(1.0, 2 * self.banded.power(self.target));
        let gamma = n * libm::exp(log_lambda);
        let Some(fit) = self.banded.at(gamma) else { return EXCLUDED };
        let facts = Facts {
            rows: n,
            train_mse: fit.squares[self.target] / n * unit,
            dof: n - gamma * fit.trace,
            noise: 0.0,
            quadratic: fit.quadratics[self.target] * unit,
            log_det: fit.log_det,
            log_det_reduced: fit.log_det_reduced,
            offset: self.banded.has_offset(),
            spread_new: 0.0,
            left_train: 0.0,
        };
        Score { value: formula.value(&facts), standard_error: None }
    }
}

impl Scorer for BandJudge<'_> {
    fn scores(&self, asked: &[(f64, Vec<f64>)]) -> Vec<Vec<Score>> {
        asked.iter().map(|(_, log_lambdas)| self.one_exponent(log_lambdas)).collect()
    }

    fn useful_lambdas(&self, _: f64) -> Vec<f64> {
        let unit = libm::log(self.banded.size() / self.banded.rows() as f64);
        (0..GRID).map(|i| unit + LOWEST + (HIGHEST - LOWEST) * i as f64 / (GRID - 1) as f64).collect()
    }

    fn criterion(&self) -> &Criterion {
        self.criterion
    }

    /// There is one exponent.
    fn same_ridge(&self, _: f64, lambda: f64, _: f64) -> f64 {
        libm::log(lambda)
    }
}
