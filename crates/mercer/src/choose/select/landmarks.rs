//! Which way of choosing landmarks suits these rows: each is tried on a part of them, by exact leave-one-out.
//!
//! Centres of clusters often serve best. Means of rows in many directions are nearer to each other than the rows are: where features are
//! independent or codes, rows drawn alike are better; and pivots where a few rows far out matter.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;

use super::{Extras, Judge, Scorer};
use crate::base::error::Result;
use crate::data::Design;
use crate::linalg::side_by_side;
use crate::path::Spectrum;
use crate::space::low_rank::{Landmarks, span};
use crate::term::criterion::Criterion;
use crate::term::criterion::folds::shuffle;
use crate::term::kernel::SharedKernel;

/// Rows of the part.
const ROWS: usize = 4000;
/// Landmarks at most.
const RANK: usize = 300;
/// A squared error must be below this share of that with centres for another choice.
const BETTER: f64 = 0.98;

/// Compares the ways; `stage` is told of each, and may end it.
pub(crate) fn compared_landmarks(
    design: &Design,
    kernel: &SharedKernel,
    rank: usize,
    (offset, seed, clip): (bool, u64, bool),
    stage: &(dyn Fn() -> Result<()> + Sync),
) -> Result<Landmarks> {
    let suited = Landmarks::Centres.suited_to(&design.points, rank);
    if suited != Landmarks::Centres {
        return Ok(suited);
    }
    let mut order: Vec<usize> = (0..design.rows()).collect();
    shuffle(&mut order, &mut ChaCha8Rng::seed_from_u64(seed));
    order.truncate(ROWS);
    order.sort_unstable();
    let part = design.subset(&order);
    let rank = rank.min(RANK).min(part.rows().div_ceil(4));
    let error = |by: Landmarks| -> Result<f64> {
        stage()?;
        error_with(by, &part, kernel, rank, (offset, seed, clip))
    };
    let ways = [Landmarks::Centres, Landmarks::Pivots, Landmarks::Uniform];
    let errors: Vec<Result<f64>> = ways.par_iter().map(|by| side_by_side(|| error(*by))).collect();
    let mut best = (f64::INFINITY, Landmarks::Centres);
    for (by, error) in ways.into_iter().zip(errors) {
        let error = error? * if by == Landmarks::Centres { BETTER } else { 1.0 };
        if error < best.0 {
            best = (error, by);
        }
    }
    Ok(best.1)
}

/// The least leave-one-out error at exponent 2, added over the targets in units of their variances.
fn error_with(
    by: Landmarks,
    part: &Design,
    kernel: &SharedKernel,
    rank: usize,
    (offset, seed, clip): (bool, u64, bool),
) -> Result<f64> {
    let spanned = span(by, kernel, &part.points, rank, seed);
    let spectrum = Spectrum::from_factor(spanned.features, part.weights.as_deref(), offset)?;
    let extras = Extras::default();
    let mut total = 0.0;
    for t in 0..part.y.cols() {
        let target = spectrum.target(part.y.col(t))?;
        let target = if clip { target.clipped(part.y.col(t)) } else { target };
        let unit = spectrum.path(&[&target]).zero_mse().max(f64::MIN_POSITIVE);
        if let Some(judge) = Judge::new(&spectrum, &[&target], &Criterion::LeaveOneOut, &extras, None)? {
            let scores = judge.scores_at(2.0, &judge.useful_lambdas(2.0));
            total += scores.iter().map(|score| score.value).fold(f64::INFINITY, f64::min) / unit;
        }
    }
    Ok(total)
}
