//! Many kernels on the same rows: each is judged on a factor F of its Gram matrix where that says the same for less.
//!
//! A factor whose residual is at rounding level *is* the matrix. With thousands of rows a factor of limited rank is used
//! to tell which kernels are worth a full decomposition; those near the best get one.

use super::recorded;
use super::{Candidate, Tried};
use crate::criterion::{Criterion, Folds};
use crate::criterion::formula::Formula;
use crate::data::Design;
use crate::error::Result;
use crate::fit::Fit;
use crate::kernel::SharedKernel;
use crate::low_rank::factor;
use crate::select::Extras;
use crate::spectrum::Spectrum;

/// A residual of this share of the diagonal is rounding.
const ROUNDING: f64 = 1e-14;
/// From this many rows on, kernels are compared on factors of limited rank.
const MANY: usize = 2500;
/// That rank.
const LIMITED: usize = 1000;
/// Kernels whose score on a factor is within this share of the best one's are decomposed.
const NEAR: f64 = 0.01;

impl Fit {
    /// Whether a criterion can be read off a factor.
    fn suits_factor(&self) -> bool {
        self.unlabelled.is_none() && !matches!(self.criterion, Criterion::Formula(Formula::Likelihood))
    }

    /// The surfaces of a kernel on a factor of its matrix; `None` where the whole matrix is needed.
    pub(super) fn by_factor(
        &self,
        kernel: &SharedKernel,
        design: &Design,
        folds: Option<&Folds>,
        stage: &dyn Fn(&'static str) -> Result<()>,
    ) -> Result<Option<(Candidate, (usize, f64))>> {
        let n = design.rows();
        if !self.suits_factor() || kernel.is_precomputed() || n < 200 {
            return Ok(None);
        }
        stage("pivoting")?;
        let most = if n >= MANY { LIMITED } else { n / 3 };
        let found = factor(&**kernel, &design.points, ROUNDING, most, self.seed);
        if !found.is_reached && n < MANY {
            return Ok(None);
        }
        stage("choosing")?;
        let spectrum = Spectrum::from_factor(&found.matrix, design.weights.as_deref(), self.offset)?;
        let extras = Extras { folds: folds.cloned(), unlabelled: None };
        let candidate = self.judge(kernel.clone(), spectrum, design, &extras)?;
        Ok(Some((candidate, (found.matrix.cols(), found.mean_residual))))
    }

    /// All kernels judged on factors, as far as they can be; from a journal what it knows.
    pub(super) fn screen(
        &self,
        kernels: &[SharedKernel],
        design: &Design,
        folds: Option<&Folds>,
        stage: &dyn Fn(&'static str) -> Result<()>,
    ) -> Result<Vec<Option<Tried>>> {
        if kernels.len() < 2 {
            return Ok(vec![None; kernels.len()]);
        }
        let mut screened = Vec::with_capacity(kernels.len());
        for (index, kernel) in kernels.iter().enumerate() {
            let key = format!("factor {index} {}", kernel.spec());
            let known = self.journal.as_ref().and_then(|journal| journal.recall(&key));
            if let Some(([rank, residual], surfaces)) =
                known.as_ref().and_then(|numbers| Some((*numbers.first_chunk()?, recorded::read(numbers.get(2..)?)?)))
            {
                let (surfaces, score) = surfaces;
                let low_rank = Some((rank as usize, residual));
                screened.push(Some(Tried { kernel: kernel.clone(), surfaces, score, low_rank, is_chosen: false }));
                continue;
            }
            let tried = self.by_factor(kernel, design, folds, stage)?.map(|(candidate, (rank, residual))| {
                if let Some(journal) = &self.journal {
                    let mut numbers = vec![rank as f64, residual];
                    numbers.extend(recorded::write(&candidate.surfaces, candidate.score));
                    journal.record(&key, &numbers);
                }
                let Candidate { surfaces, score, .. } = candidate;
                let low_rank = Some((rank, residual));
                Tried { kernel: kernel.clone(), surfaces, score, low_rank, is_chosen: false }
            });
            screened.push(tried);
        }
        Ok(screened)
    }

    /// Whether a kernel that was screened still needs a full decomposition to be compared.
    pub(super) fn is_near_best(&self, screened: &[Option<Tried>], index: usize, rows: usize) -> bool {
        let Some(own) = &screened[index] else { return true };
        if rows < MANY {
            return false;
        }
        let least = screened.iter().flatten().map(|tried| tried.score).fold(f64::INFINITY, f64::min);
        own.score <= least + NEAR * least.abs()
    }
}
