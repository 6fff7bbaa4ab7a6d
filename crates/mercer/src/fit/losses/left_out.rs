//! Leave-one-out values of a model that is fitted already: by refits where they are affordable, else to first order.
//!
//! Without row i, (1/W) Σ w ℓ + λ‖f‖ᵐ has the total weight W − wᵢ: up to a factor it is the problem of the other rows at λ(W − wᵢ)/W. A row that has
//! no coefficient in the solution of *all* rows at that λ changes nothing when it leaves, so its value is known; the others are fitted again,
//! each from that solution.

use rayon::prelude::*;

use super::approximate;
use super::part::Part;
use super::solve::{Penalty, Rows, Solved};
use super::targets::{Group, Kind, Output};
use crate::base::error::{Error, Result};
use crate::base::watch::Observer;
use crate::data::Design;
use crate::fit::after::training::told;
use crate::fit::{Engaged, Fitted, plan};
use crate::linalg::{Matrix, side_by_side};
use crate::model::{Meaning, Probability, Summary};
use crate::solve::convex::{Problem, RidgePoint};
use crate::space;
use crate::term::criterion::{Folds, folds_of_groups};
use crate::term::loss::{self, Loss, Shape, SharedLoss};

/// The relative duality gap of a refit.
const TOLERANCE: f64 = 1e-9;
/// Rows to be fitted again, times all rows, at most: for losses with kinks. Their first order would say too little of rows at a bound.
const MOST_REFITS: usize = 1 << 23;
/// Rows up to which smooth losses are fitted again: beyond, first order is near.
const MOST_SMOOTH: usize = 250;
/// Different weights for which all rows are solved.
const MOST_WEIGHTS: usize = 8;

/// Every row's value by the fit without it.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// f₋ᵢ(xᵢ) + b₋ᵢ, one vector per model.
    pub values: Vec<Vec<f64>>,
    /// yᵢ − f₋ᵢ(xᵢ) − b₋ᵢ, one vector per model; empty for classes.
    pub residuals: Vec<Vec<f64>>,
    /// Whether they are those of refits: exactly for the squared loss, to a relative duality gap of 1e-9 for others. Otherwise (smooth
    /// losses on many rows, a class of a single row, very large tables with an ℓ₁ penalty) they are right to first order, the effective
    /// ridge or the support held where it is.
    pub is_exact: bool,
}

impl LeftOut {
    pub(crate) fn of_residuals(design: &Design, residuals: Vec<Vec<f64>>, is_exact: bool) -> Self {
        let values = |(t, e): (usize, &Vec<f64>)| design.y.col(t).iter().zip(e).map(|(y, e)| y - e).collect();
        LeftOut { values: residuals.iter().enumerate().map(values).collect(), residuals, is_exact }
    }
}

/// A fit with another loss, whose rows are left out.
struct Left<'a> {
    fitted: &'a Fitted,
    outputs: &'a [Vec<f64>],
    row_weights: Option<&'a [f64]>,
}

impl Fitted {
    pub(crate) fn left_out_of_loss(&self, observer: Option<&Observer>) -> Result<LeftOut> {
        let Engaged::Loss { outputs, row_weights } = &self.engaged else {
            return Err(Error::argument("the fit", "one with another loss", "one without"));
        };
        let left = Left { fitted: self, outputs, row_weights: row_weights.as_deref() };
        let (values, is_exact) = left.values(observer)?;
        let residuals = match self.model.meaning {
            Meaning::Classes { .. } => Vec::new(),
            _ => {
                let of = |(v, y): (&Vec<f64>, &Vec<f64>)| y.iter().zip(v).map(|(y, v)| y - v).collect();
                values.iter().zip(outputs).map(of).collect()
            }
        };
        Ok(LeftOut { values, residuals, is_exact })
    }
}

impl Left<'_> {
    /// The values, and whether they are exact.
    fn values(&self, observer: Option<&Observer>) -> Result<(Vec<Vec<f64>>, bool)> {
        if self.fitted.model.is_on_landmarks() {
            let must = "a sum over all rows for leave-one-out";
            return Err(Error::argument("the model", must, "one on landmarks"));
        }
        if self.fitted.design.rows() < 2 {
            return Err(Error::argument(
                "the number of rows",
                "at least 2 for leave-one-out",
                self.fitted.design.rows(),
            ));
        }
        told(observer, "leaving out")?;
        let is_multinomial =
            matches!(&self.fitted.model.meaning, Meaning::Classes { probability: Probability::Softmax, .. });
        self.check_memory(is_multinomial)?;
        let gram = space::gram(&**self.fitted.model.kernel(), &self.fitted.design.points);
        let folds = self.fitted.design.whole_groups().map(folds_of_groups).transpose()?;
        if let Some(values) = self.refitted(&gram, folds.as_ref(), observer)? {
            let is_exact = folds.is_some() || !self.has_a_lone_row();
            return Ok((values, is_exact));
        }
        let values = if is_multinomial {
            let points: Vec<RidgePoint> = (0..self.outputs.len()).map(|t| self.point(t)).collect();
            let (weights, has_offset) = (self.row_weights, self.fitted.summary().has_offset);
            approximate::multinomial::values(&gram, weights, has_offset, &points, self.outputs, observer)?
        } else {
            (0..self.outputs.len()).map(|t| self.to_first_order(t, &gram)).collect::<Result<_>>()?
        };
        Ok((values, false))
    }

    /// Whether a class has one row only, without which there is no such class.
    fn has_a_lone_row(&self) -> bool {
        let is_lone = |y: &Vec<f64>| [-1.0, 1.0].iter().any(|label| y.iter().filter(|y| *y == label).count() == 1);
        matches!(self.fitted.model.meaning, Meaning::Classes { .. }) && self.outputs.iter().any(is_lone)
    }

    fn check_memory(&self, is_multinomial: bool) -> Result<()> {
        let rows = self.fitted.design.rows();
        let size = rows * if is_multinomial { self.outputs.len() } else { 1 };
        let needed = (size as u64).saturating_pow(2).saturating_mul(8 * 3);
        let available = plan::available_memory();
        let what = "the kernel matrix and an inverse of it, for leave-one-out";
        if needed <= available {
            Ok(())
        } else {
            Err(Error::Memory { rows, needed, available, what, hint: String::new() })
        }
    }

    fn loss(&self, t: usize) -> Result<SharedLoss> {
        Ok(loss::parse(&self.fitted.model.summaries[t].loss)?.swap_remove(0))
    }

    fn to_first_order(&self, t: usize, gram: &Matrix) -> Result<Vec<f64>> {
        let own = self.loss(t)?;
        let (weights, has_offset) = (self.row_weights, self.fitted.model.summaries[t].has_offset);
        let problem = Problem { loss: &*own, y: &self.outputs[t], weights, has_offset };
        approximate::of_model(&problem, gram, &self.point(t))
    }

    fn point(&self, t: usize) -> RidgePoint {
        let Summary { intercept, effective_ridge, norm, .. } = &self.fitted.model.summaries[t];
        RidgePoint {
            // The zero function has no coefficients, whatever ridge it is given.
            ridge: effective_ridge.unwrap_or(1.0),
            alpha: self.fitted.coefficients[t].clone(),
            offset: *intercept,
            fitted: self.fitted.fitted[t].iter().map(|value| value - intercept).collect(),
            elsewhere: Vec::new(),
            coefficients: None,
            squared_norm: norm * norm,
            converged: true,
            iterations: 0,
        }
    }

    /// Models that share λ: all classes, or a single number or quantile.
    fn groups(&self) -> Result<Vec<Group>> {
        let output = |t: usize| -> Result<Output> {
            Ok(Output { name: String::new(), y: self.outputs[t].clone(), losses: vec![self.loss(t)?] })
        };
        let models = 0..self.outputs.len();
        let Meaning::Classes { probability, .. } = &self.fitted.model.meaning else {
            return models.map(|t| Ok(Group { outputs: vec![output(t)?], kind: Kind::Numbers })).collect();
        };
        let code_of = |i: usize| match self.outputs {
            [single] => usize::from(single[i] > 0.0),
            many => many.iter().position(|y| y[i] > 0.0).unwrap_or(0),
        };
        let codes = (0..self.fitted.design.rows()).map(code_of).collect();
        let kind = Kind::Classes { codes, is_multinomial: *probability == Probability::Softmax };
        Ok(vec![Group { outputs: models.map(output).collect::<Result<_>>()?, kind }])
    }

    /// Without each row, or each of these folds. `None` if first order is near.
    fn refitted(
        &self,
        gram: &Matrix,
        folds: Option<&Folds>,
        observer: Option<&Observer>,
    ) -> Result<Option<Vec<Vec<f64>>>> {
        let n = self.fitted.design.rows();
        let mut all = Vec::new();
        for group in self.groups()? {
            let go_on = || observer.is_none_or(|observer| observer("leaving out"));
            let rows = Rows {
                kernel: &**self.fitted.model.kernel(),
                points: &self.fitted.design.points,
                gram: Some(gram),
                single: None,
                of_gram: None,
                factor: None,
                weights: self.row_weights,
                has_offset: self.fitted.summary().has_offset,
                memory: plan::available_memory() / 2,
                in_features: false,
                is_measured_after: false,
                go_on: &go_on,
            };
            let Summary { exponent, lambda, .. } = self.fitted.model.summaries[all.len()];
            let one = OneLess { rows: &rows, group: &group, exponent, lambda };
            if let Some(folds) = folds {
                all.extend(one.values_without(folds)?);
                continue;
            }
            if n > MOST_SMOOTH && !one.has_kinks() {
                return Ok(None);
            }
            all.extend(one.values()?);
        }
        Ok(Some(all))
    }
}

/// The fits of a group without one row.
struct OneLess<'a> {
    rows: &'a Rows<'a>,
    group: &'a Group,
    exponent: f64,
    lambda: f64,
}

impl OneLess<'_> {
    fn has_kinks(&self) -> bool {
        self.losses().iter().all(|loss| matches!(loss.shape(), Shape::Tube(_)))
    }

    fn losses(&self) -> Vec<&dyn Loss> {
        self.group.outputs.iter().map(|output| &*output.losses[0]).collect()
    }

    fn weight(&self, row: usize) -> f64 {
        self.rows.weights.map_or(1.0, |weights| weights[row])
    }

    /// One vector per model, each row by the fit without its fold.
    fn values_without(&self, folds: &Folds) -> Result<Vec<Vec<f64>>> {
        let own = Penalty { exponent: self.exponent, lambda: self.lambda, tolerance: TOLERANCE };
        let refit = |held: &Vec<usize>| -> Result<Matrix> {
            let mut part = Part::new(self.rows, self.group, held);
            side_by_side(|| part.advance(self.rows, &self.losses(), own))
        };
        let found: Vec<Matrix> = folds.groups.par_iter().map(refit).collect::<Result<_>>()?;
        let mut values = vec![vec![0.0; self.rows.points.rows()]; self.group.outputs.len()];
        for (held, found) in folds.groups.iter().zip(&found) {
            for (place, row) in held.iter().enumerate() {
                values.iter_mut().enumerate().for_each(|(t, values)| values[*row] = found.get(place, t));
            }
        }
        Ok(values)
    }

    /// One vector per model.
    fn values(&self) -> Result<Vec<Vec<f64>>> {
        let (n, models) = (self.rows.points.rows(), self.group.outputs.len());
        let total: f64 = (0..n).map(|row| self.weight(row)).sum();
        let penalty = |weight: f64| {
            let lambda = self.lambda * (total - weight) / total;
            Penalty { exponent: self.exponent, lambda, tolerance: TOLERANCE }
        };
        let mut weights: Vec<f64> = (0..n).map(|row| self.weight(row)).collect();
        weights.sort_by(f64::total_cmp);
        weights.dedup();
        let mut whole: Vec<Option<Solved>> = Vec::new();
        if weights.len() <= MOST_WEIGHTS {
            for weight in &weights {
                let last = whole.last().and_then(Option::as_ref);
                whole.push(Some(self.rows.solve(self.group, &self.losses(), penalty(*weight), last)?));
            }
        }
        let solution_for = |row: usize| whole.get(weights.partition_point(|w| *w < self.weight(row)))?.as_ref();
        let is_idle = |row: &usize| {
            solution_for(*row).is_some_and(|solved| solved.models.iter().all(|model| model.point.alpha[*row] == 0.0))
        };
        let again: Vec<usize> = (0..n).filter(|row| !is_idle(row)).collect();
        if again.len().saturating_mul(n) > MOST_REFITS {
            let must = format!(
                "at most {MOST_REFITS}, rows × rows that have a coefficient, for leave-one-out of a loss with kinks; folds do with fewer"
            );
            return Err(Error::argument("the number of fits", must, format!("{n} × {}", again.len())));
        }
        let mut values = vec![vec![0.0; n]; models];
        for row in (0..n).filter(is_idle) {
            if let Some(solved) = solution_for(row) {
                solved.models.iter().zip(&mut values).for_each(|(model, values)| {
                    values[row] = model.point.fitted[row] + model.point.offset;
                });
            }
        }
        // Its own weight is no longer in the total: λ is that of the problem.
        let own = Penalty { exponent: self.exponent, lambda: self.lambda, tolerance: TOLERANCE };
        let refit = |row: &usize| -> Result<Matrix> {
            let mut part = Part::new(self.rows, self.group, &[*row]);
            if let (Some(solved), Some(gram)) = (solution_for(*row), self.rows.gram) {
                part.start_without(solved, gram);
            }
            side_by_side(|| part.advance(self.rows, &self.losses(), own))
        };
        let found: Vec<Matrix> = again.par_iter().map(refit).collect::<Result<_>>()?;
        for (row, found) in again.iter().zip(&found) {
            values.iter_mut().enumerate().for_each(|(t, values)| values[*row] = found.get(0, t));
        }
        Ok(values)
    }
}
