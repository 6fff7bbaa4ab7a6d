//! Which way of choosing landmarks suits these rows: each is tried on a part of them, by exact leave-one-out.
//!
//! Centres of clusters usually serve best; rows drawn alike where many features are codes, pivots where a few rows far out matter.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::Stage;
use crate::criterion::Criterion;
use crate::criterion::folds::shuffle;
use crate::data::Design;
use crate::error::Result;
use crate::fit::Fit;
use crate::kernel::SharedKernel;
use crate::low_rank::{Landmarks, span};
use crate::select::{Extras, Judge, Scorer};
use crate::spectrum::Spectrum;

/// Rows of the part.
const ROWS: usize = 4000;
/// Landmarks at most.
const RANK: usize = 300;
/// Rows times squared landmarks from which comparing costs little beside the fit.
const WORTHWHILE: f64 = 1e10;
/// A squared error must be below this share of that with centres for another choice.
const BETTER: f64 = 0.98;

impl Fit {
    /// The choice for many rows and landmarks.
    pub(super) fn compared_landmarks(
        &self,
        design: &Design,
        kernel: &SharedKernel,
        rank: usize,
        stage: Stage<'_>,
    ) -> Result<Landmarks> {
        let is_worthwhile = design.rows() as f64 * rank as f64 * rank as f64 >= WORTHWHILE;
        if !is_worthwhile || Landmarks::Centres.suited_to(&design.points, rank) != Landmarks::Centres {
            return Ok(Landmarks::Centres);
        }
        stage("comparing landmarks")?;
        let mut order: Vec<usize> = (0..design.rows()).collect();
        shuffle(&mut order, &mut ChaCha8Rng::seed_from_u64(self.seed));
        order.truncate(ROWS);
        order.sort_unstable();
        let part = design.subset(&order);
        let centres = self.error_with(Landmarks::Centres, &part, kernel, rank.min(RANK))?;
        let mut best = (BETTER * centres, Landmarks::Centres);
        for by in [Landmarks::Uniform, Landmarks::Pivots] {
            stage("comparing landmarks")?;
            let error = self.error_with(by, &part, kernel, rank.min(RANK))?;
            if error < best.0 {
                best = (error, by);
            }
        }
        Ok(best.1)
    }

    /// The least leave-one-out error at exponent 2, added over the targets in units of their variances.
    fn error_with(&self, by: Landmarks, part: &Design, kernel: &SharedKernel, rank: usize) -> Result<f64> {
        let spanned = span(by, kernel, &part.points, rank, self.seed);
        let spectrum = Spectrum::from_factor(spanned.features, part.weights.as_deref(), self.offset)?;
        let extras = Extras::default();
        let mut total = 0.0;
        for t in 0..part.y.cols() {
            let target = spectrum.target(part.y.col(t))?;
            let unit = spectrum.path(&[&target]).zero_mse().max(f64::MIN_POSITIVE);
            if let Some(judge) = Judge::new(&spectrum, &[&target], &Criterion::LeaveOneOut, &extras, None)? {
                let scores = judge.scores_at(2.0, &judge.useful_lambdas(2.0));
                total += scores.iter().map(|score| score.value).fold(f64::INFINITY, f64::min) / unit;
            }
        }
        Ok(total)
    }
}
