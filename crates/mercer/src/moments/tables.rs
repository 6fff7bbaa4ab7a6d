//! Moments of tables: the sample that decides how they are read, and parts of them as they come.

use super::{LandmarkMap, Moments};
use crate::data::{Column, Design, Encoding, Frame, Missing, Roles, Scale, TextAs};
use crate::error::Result;
use crate::kernel::SharedKernel;

/// What is decided on a sample of rows, before any are counted.
#[derive(Debug, Clone)]
pub struct Pilot {
    /// The kernel; its lengthscale rules are applied to the sample.
    pub kernel: SharedKernel,
    /// How numbers are scaled.
    pub scale: Scale,
    /// What is done about missing cells.
    pub missing: Missing,
    /// Landmarks, at most.
    pub landmarks: usize,
    /// Folds.
    pub folds: usize,
    /// The seed of the landmarks.
    pub seed: u64,
}

impl Pilot {
    /// Moments of nothing yet: scaling, categories, landmarks and means from the sample.
    pub fn start(&self, sample: &Frame, roles: &Roles) -> Result<Moments> {
        let encoding = Encoding {
            scale: self.scale,
            missing: self.missing,
            text_as: TextAs::OneHot,
            nonnegative: self.kernel.needs_nonnegative(),
        };
        let design = Design::new(sample, roles, encoding)?;
        let map = LandmarkMap::choose(&self.kernel, design.encoder.clone(), &design.points, self.landmarks, self.seed)?;
        Moments::new(map, design.targets.clone(), self.folds, (&design.points, &design.y))
    }
}

impl Moments {
    /// Adds the rows of a table, read as the sample was; returns how many were left out for a missing cell or the weight 0.
    pub fn absorb_frame(&mut self, frame: &Frame, weight: Option<&str>) -> Result<usize> {
        let roles = Roles { targets: self.targets.clone(), weight: weight.map(str::to_owned), ..Roles::default() };
        let design = Design::again(frame, &roles, self.map.encoder())?;
        // Weights that are equal here need not be those of other parts.
        let equal = match weight.map(|name| frame.column(name)) {
            Some(Ok(Column::Number(cells))) if design.weights.is_none() => cells.iter().copied().find(|w| *w > 0.0),
            _ => None,
        };
        let weights = design.weights.or_else(|| equal.map(|w| vec![w; design.points.rows()]));
        self.absorb(&design.points, &design.y, weights.as_deref())?;
        Ok(design.dropped_missing + design.dropped_weightless)
    }
}
