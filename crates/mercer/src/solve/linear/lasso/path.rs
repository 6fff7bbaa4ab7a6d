//! The loop around the working sets: gaps, screening, and what enters.

use super::super::LinearSolution;
use super::super::design::Design;
use super::super::features::dot;
use super::super::gap::best_dual;
use super::LassoSettings;
use super::gram::GramSet;
use super::residual;
use crate::base::error::{Error, Result};
use crate::linalg::{Matrix, PivotedQr};

/// ½‖y − Xw‖² + a‖w‖₁ + ½β‖w‖².
#[derive(Debug, Clone, Copy)]
pub(super) struct Penalty {
    pub a: f64,
    pub beta: f64,
}

struct Values {
    primal: f64,
    dual: f64,
    scale: f64,
    dual_at_scale: f64,
}

pub(crate) struct Solver<'a> {
    design: &'a Design<'a>,
    w: Vec<f64>,
    r: Vec<f64>,
    /// xⱼᵀr, for some columns of an earlier r.
    correlations: Vec<f64>,
    gram: GramSet,
    /// a of the λ before.
    previous: Option<f64>,
}

/// Columns whose products are kept; beyond that residuals are carried instead.
const MOST_GRAM: usize = 6000;

impl<'a> Solver<'a> {
    pub fn new(design: &'a Design<'a>) -> Self {
        let all: Vec<usize> = (0..design.cols()).collect();
        let mut correlations = Vec::new();
        design.correlations(&design.y, &all, &mut correlations);
        // A column that is constant up to rounding has no correlation but rounding.
        for (c, norm) in correlations.iter_mut().zip(&design.norms) {
            if *norm == 0.0 {
                *c = 0.0;
            }
        }
        Solver {
            design,
            w: vec![0.0; design.cols()],
            r: design.y.clone(),
            correlations,
            gram: GramSet::new(design.cols()),
            previous: None,
        }
    }

    /// Valid before the first solution.
    pub fn lambda_max(&self, ratio: f64) -> f64 {
        let largest = self.correlations.iter().fold(0.0, |max: f64, c| max.max(c.abs()));
        2.0 * largest / self.design.total / ratio
    }

    pub fn solve(&mut self, lambda: f64, settings: &LassoSettings<'_>) -> Result<LinearSolution> {
        let design = self.design;
        let penalty = Penalty {
            a: 0.5 * design.total * lambda * settings.ratio,
            beta: design.total * lambda * (1.0 - settings.ratio),
        };
        let mut alive: Vec<usize> = (0..design.cols()).filter(|j| design.norms[*j] > 0.0).collect();
        let mut fresh = Vec::new();
        let mut eta = (0.7 * settings.tolerance).max(1e-13);
        let mut passes = 0;
        // The strong rule, half as cautious: what it misses the pass finds.
        let mut threshold = self.previous.map_or(penalty.a, |a| (1.25 * penalty.a - 0.25 * a).max(0.0));
        loop {
            if !(settings.go_on)() {
                return Err(Error::Interrupted);
            }
            if passes > 0 || self.previous.is_none() {
                self.r = design.residual(&self.support());
                design.correlations(&self.r, &alive, &mut fresh);
                for (j, c) in alive.iter().zip(&fresh) {
                    self.correlations[*j] = *c;
                }
                let Values { primal, dual, scale, dual_at_scale } = self.values(penalty, &alive);
                let relative = if primal > 0.0 { (primal - dual).max(0.0) / primal } else { 0.0 };
                let stuck = passes >= settings.most_passes;
                if relative <= settings.tolerance || stuck {
                    self.previous = Some(penalty.a);
                    return self.finish(penalty, settings, primal, relative, passes);
                }
                // Gap-safe: the dual optimum is within √(2 gap) of the dual point.
                let radius = (2.0 * (primal - dual_at_scale).max(0.0)).sqrt() * (1.0 + 1e-9);
                let (w, correlations) = (&self.w, &self.correlations);
                alive.retain(|j| {
                    w[*j] != 0.0
                        || scale * correlations[*j].abs() + radius * design.norms[*j] >= penalty.a * (1.0 - 1e-9)
                });
                if passes > 0 {
                    threshold = penalty.a;
                    eta = (0.2 * eta).max(1e-15);
                }
            }
            passes += 1;
            self.work(penalty, &alive, threshold, eta, settings)?;
        }
    }

    /// Solves on the working set: the support, and what reaches the threshold.
    fn work(
        &mut self,
        penalty: Penalty,
        alive: &[usize],
        threshold: f64,
        eta: f64,
        settings: &LassoSettings<'_>,
    ) -> Result<()> {
        let design = self.design;
        let support = self.support();
        let mut entering: Vec<usize> =
            alive.iter().copied().filter(|j| self.w[*j] == 0.0 && self.correlations[*j].abs() >= threshold).collect();
        let room = (2 * support.len()).max(64);
        if entering.len() > room {
            let size = |j: &usize| self.correlations[*j].abs();
            entering.select_nth_unstable_by(room, |i, j| size(j).total_cmp(&size(i)).then(i.cmp(j)));
            entering.truncate(room);
            entering.sort_unstable();
        }
        let columns: Vec<usize> = support.iter().map(|(j, _)| *j).chain(entering.iter().copied()).collect();
        if self.by_residual(&columns) {
            self.gram.clear();
            return residual::descend(design, &columns, &mut self.w, &mut self.r, penalty, eta, settings.go_on);
        }
        self.gram.keep(design, &columns);
        self.gram.descend(design, &mut self.w, &self.r, penalty, eta, settings.go_on)
    }

    /// Products between all columns of the working set pay unless there are too many, or columns are so sparse that
    /// conjugate gradients on them are cheaper than a factorisation.
    fn by_residual(&self, columns: &[usize]) -> bool {
        let k = columns.len() as f64;
        let stored: usize = columns.iter().map(|j| self.design.stored(*j)).sum();
        let factorisation = k * k * k / 3.0 / 2e10;
        let gradients = 60.0 * 4.0 * stored as f64 / 8e8;
        columns.len() > MOST_GRAM || (self.design.is_sparse() && factorisation > gradients)
    }

    fn support(&self) -> Vec<(usize, f64)> {
        self.w.iter().copied().enumerate().filter(|(_, w)| *w != 0.0).collect()
    }

    /// Primal value, the best dual value on the line of r, and the dual point s·r with its own value, for screening.
    fn values(&self, penalty: Penalty, alive: &[usize]) -> Values {
        let own = dot(&self.r, &self.r);
        let along = dot(&self.r, &self.design.y);
        let (mut one, mut two) = (0.0, 0.0);
        for w in self.w.iter().filter(|w| **w != 0.0) {
            one += w.abs();
            two += w * w;
        }
        let slopes: Vec<f64> = alive.iter().map(|j| self.correlations[*j].abs()).collect();
        let steepest = slopes.iter().copied().fold(0.0, f64::max);
        let scale = if penalty.beta > 0.0 || steepest <= penalty.a { 1.0 } else { penalty.a / steepest };
        let excess: f64 = if penalty.beta > 0.0 {
            slopes.iter().map(|c| (c - penalty.a).max(0.0).powi(2)).sum::<f64>() / (2.0 * penalty.beta)
        } else {
            0.0
        };
        Values {
            primal: 0.5 * own + penalty.a * one + 0.5 * penalty.beta * two,
            // Half of 2s·along − s²·own − Σ(s·slope − a)₊²/β.
            dual: 0.5 * best_dual(along, own, &slopes, penalty.a, 0.25 * penalty.beta),
            scale,
            dual_at_scale: scale * along - 0.5 * scale * scale * own - excess,
        }
    }

    fn finish(
        &self,
        penalty: Penalty,
        settings: &LassoSettings<'_>,
        primal: f64,
        relative_gap: f64,
        passes: usize,
    ) -> Result<LinearSolution> {
        let support = self.support();
        let shift: f64 = support.iter().map(|(j, w)| self.design.means[*j] * w).sum();
        let dof = if settings.dof { self.dof(penalty, &support)? } else { None };
        Ok(LinearSolution {
            coefficients: self.w.clone(),
            intercept: if self.design.offset { self.design.target_mean - shift } else { 0.0 },
            objective: 2.0 * primal / self.design.total,
            relative_gap,
            nonzero: support.len(),
            dof,
            converged: relative_gap <= settings.tolerance,
            iterations: passes,
        })
    }

    /// tr X_A(X_AᵀX_A + βI)⁻¹X_Aᵀ + 1 for the offset: the rank of the active columns for the Lasso.
    fn dof(&self, penalty: Penalty, support: &[(usize, f64)]) -> Result<Option<f64>> {
        let offset = f64::from(self.design.offset);
        let columns: Vec<usize> = support.iter().map(|(j, _)| *j).collect();
        if columns.is_empty() {
            return Ok(Some(offset));
        }
        if let Some(active) = self.gram.dof(&columns, penalty.beta) {
            return Ok(Some(active + offset));
        }
        let rows = self.design.rows();
        // Only where that is cheap: it must not cost more than the fit.
        if penalty.beta > 0.0 || rows * columns.len() * columns.len() > 1 << 26 {
            return Ok(None);
        }
        let mut matrix = Matrix::zeros(rows.max(columns.len()), columns.len());
        for (k, j) in columns.iter().enumerate() {
            let column = &mut matrix.col_mut(k)[..rows];
            let shift = self.design.add_column(column, 1.0 / self.design.norms[*j], *j);
            self.design.add_shift(column, shift);
        }
        let diagonal = PivotedQr::new(matrix)?.diagonal();
        let tolerance = rows as f64 * f64::EPSILON * diagonal[0];
        Ok(Some(diagonal.iter().filter(|d| **d > tolerance).count() as f64 + offset))
    }
}
