//! λ chosen at exponent 2 on band forms, then one Cholesky factor at the chosen λ.

use super::trials::Trials;
use super::{Found, Stage};
use crate::base::clip::Clip;
use crate::base::error::{Error, Result};
use crate::choose::select::{BandJudge, Surface};
use crate::data::Design;
use crate::fit::plan::Method;
use crate::fit::squares::SquaredFit;
use crate::linalg::Matrix;
use crate::path::Banded;
use crate::path::LeaveOneOut;
use crate::solve::cholesky;
use crate::term::kernel::{Kernel, SharedKernel};

impl SquaredFit {
    /// Tries every kernel and solves with the best.
    pub(super) fn choose_banded(
        &self,
        kernels: &[SharedKernel],
        design: &Design,
        stage: Stage<'_>,
    ) -> Result<(SharedKernel, Found)> {
        let (tried, kernels, best) = Trials::new(self, kernels, design, Method::Band, stage)?.run_banded()?;
        // A constant target has no surface; every λ gives the same model.
        let mut lambdas =
            vec![self.lambdas.as_ref().map_or(1.0, |lambdas| lambdas[lambdas.len() - 1]); design.y.cols()];
        for surface in tried[best].surfaces() {
            surface.targets.iter().for_each(|target| lambdas[*target] = surface.best.lambda);
        }
        let found = self.factorise(&*kernels[best], design, &lambdas, stage)?;
        Ok((kernels[best].clone(), Found { tried, ..found }))
    }

    pub(super) fn surfaces_on(&self, banded: &Banded, y: &Matrix) -> Result<(Vec<Surface>, f64)> {
        let search = self.search();
        let mut surfaces = Vec::new();
        let mut total = 0.0;
        for target in 0..banded.targets() {
            if banded.zero_mse(target) == 0.0 {
                continue;
            }
            let clip = self.clip.then(|| Clip::of(y.col(target)));
            let judge = BandJudge { banded, target, criterion: &self.criterion, clip };
            let surface = search.run(&judge, &[target]).ok_or_else(|| {
                Error::Decomposition("the criterion is infinite at every λ; a larger λ is needed".into())
            })?;
            let unit = if banded.targets() > 1 && self.criterion.is_squared_error() {
                libm::ldexp(banded.zero_mse(target), 2 * banded.power(target))
            } else {
                1.0
            };
            total += surface.best.score.value / unit;
            surfaces.push(surface);
        }
        Ok((surfaces, total))
    }

    /// Solutions at given λ, one per target; targets with equal λ share a factor.
    pub(super) fn factorise(
        &self,
        kernel: &dyn Kernel,
        design: &Design,
        lambdas: &[f64],
        stage: Stage<'_>,
    ) -> Result<Found> {
        let mut found = Found::default();
        let mut start = 0;
        while start < lambdas.len() {
            let same = lambdas[start..].iter().take_while(|lambda| **lambda == lambdas[start]).count();
            let columns: Vec<f64> = (start..start + same).flat_map(|t| design.y.col(t).to_vec()).collect();
            let y = Matrix::from_columns(design.rows(), same, columns)?;
            let lambda = lambdas[start];
            let solved = cholesky::solve(kernel, &design.points, &y, lambda, self.offset, self.diagnostics, stage)?;
            found.solutions.extend(solved.solutions);
            found.penalties.extend(vec![(2.0, lambda); same]);
            found.residuals.extend(match solved.residuals {
                Some(all) => all.into_iter().map(|e| Some(LeaveOneOut::new(e, None))).collect(),
                None => vec![None; same],
            });
            start += same;
        }
        if found.solutions.len() != design.y.cols() {
            return Err(Error::Decomposition("the solution is not finite".into()));
        }
        Ok(found)
    }
}
