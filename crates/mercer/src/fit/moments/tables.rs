//! Moments of tables: the sample that decides how they are read, and parts of them as they come.

use super::{LandmarkMap, Moments};
use crate::base::error::{Error, Result};
use crate::choose::select::compared_landmarks;
use crate::data::{Design, Encoding, Frame, Missing, Roles, Scale, TextAs};
use crate::space::low_rank::Landmarks;
use crate::term::kernel::SharedKernel;

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
    /// How they are chosen; if it is not said, by what suits the sample.
    pub landmarks_by: Option<Landmarks>,
    /// Random waves in the place of landmarks, as many as there would be of those.
    pub waves: bool,
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
        self.check_memory()?;
        let design = Design::new(sample, roles, encoding)?;
        // Columns that do not vary in the sample may vary in the tables.
        let encoder = design.encoder.clone().with_constants_read();
        if self.waves {
            let map = LandmarkMap::waves(&self.kernel, encoder, &design.points, self.landmarks, self.seed)?;
            return self.moments(map, &design, roles);
        }
        let by = match self.landmarks_by {
            Some(by) => by,
            None => {
                let kernel = self.kernel.fitted_to(&design.points, None)?;
                compared_landmarks(&design, &kernel, self.landmarks, (true, self.seed, false), &|| Ok(()))?
            }
        };
        let map = LandmarkMap::choose(by, &self.kernel, encoder, &design.points, self.landmarks, self.seed)?;
        self.moments(map, &design, roles)
    }

    /// Sums of every fold and of all, twice as precise as a number, and L.
    fn check_memory(&self) -> Result<()> {
        let available = crate::fit::plan::available_memory();
        let matrices = 2 * (self.folds as u64 + 2) + 2;
        let most = ((available / 8 / matrices) as f64).sqrt() as usize;
        if self.landmarks > most {
            let must = format!("at most {most} with {} folds, so that their sums fit into memory", self.folds);
            return Err(Error::argument("the number of landmarks or waves", must, self.landmarks));
        }
        Ok(())
    }

    fn moments(&self, map: LandmarkMap, design: &Design, roles: &Roles) -> Result<Moments> {
        let moments = Moments::new(map, design.targets.clone(), self.folds, (&design.points, &design.y))?;
        Ok(Moments { weight: roles.weight.clone(), ..moments })
    }
}

impl Moments {
    /// Adds the rows of a table, read as the sample was; returns how many were left out for a missing cell or the weight 0.
    pub fn absorb_frame(&mut self, frame: &Frame) -> Result<usize> {
        let roles = Roles { targets: self.targets.clone(), weight: self.weight.clone(), ..Roles::default() };
        let design = Design::again(frame, &roles, self.map.encoder())?;
        // As they stand in the table: other parts have other units.
        let unit = design.weight_unit;
        let weights = match design.weights {
            Some(weights) => Some(weights.iter().map(|weight| unit * weight).collect()),
            None => self.weight.as_ref().map(|_| vec![unit; design.points.rows()]),
        };
        self.absorb(&design.points, &design.y, weights.as_deref())?;
        Ok(design.dropped_missing + design.dropped_weightless)
    }
}
