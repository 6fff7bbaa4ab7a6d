//! A kernel's decomposition on landmarks.

use super::reduced::Reduction;
use super::trials::Trials;
use crate::base::error::Result;
use crate::path::{Rows, Spectrum, Target, is_long};
use crate::space::low_rank::{Basis, Landmarks, span};
use crate::term::criterion::Criterion;
use crate::term::kernel::SharedKernel;

impl Trials<'_> {
    /// The spectrum of the features that landmarks span, targets in its coordinates, and the landmarks.
    pub(super) fn on_landmarks(
        &self,
        kernel: &SharedKernel,
        rank: usize,
        by: Landmarks,
    ) -> Result<(Spectrum, Vec<Target>, Reduction)> {
        let (points, weights, y) = (&self.design.points, self.design.weights.as_deref(), &self.design.y);
        let (offset, seed) = (self.fit.offset, self.fit.seed);
        (self.stage)(if by == Landmarks::Pivots { "pivoting" } else { "landmarks" })?;
        let spanned = if by != Landmarks::Pivots && self.suits_parts(rank) {
            let basis = Basis::choose(by, kernel, points, rank, seed);
            (self.stage)("decomposing")?;
            let mut residual = Vec::with_capacity(points.rows());
            let found = Spectrum::of_parts(Rows { weights, offset, y }, basis.width(), &mut |rows| {
                let part = points.subset(&rows.collect::<Vec<usize>>());
                let features = basis.features(&part);
                residual.extend(basis.residual(&part, &features));
                features
            })?;
            if let Some((spectrum, targets)) = found {
                return Ok((spectrum, targets, Reduction::on(basis, residual)));
            }
            basis.span(points)
        } else {
            span(by, kernel, points, rank, seed)
        };
        let (features, reduction) = Reduction::of(spanned);
        (self.stage)("decomposing")?;
        let spectrum = Spectrum::from_factor(features, weights, offset)?;
        let targets = spectrum.targets(y)?;
        Ok((spectrum, targets, reduction))
    }

    /// Whether leave-one-out is all that is wanted of the basis, by tables of many rows.
    fn suits_parts(&self, rank: usize) -> bool {
        self.fit.criterion == Criterion::LeaveOneOut
            && self.fit.exponents.iter().all(|exponent| *exponent >= 1.0)
            && is_long(self.design.rows() as f64, rank as f64)
    }
}
