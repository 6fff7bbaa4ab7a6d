//! What a fit with these settings would take, method by method.

use super::{Reduce, SquaredFit};
use crate::base::error::{Error, Result};
use crate::data::{Design, Frame, Roles};
use crate::fit::FIRST_RANK;
use crate::fit::plan::forecast::cost::Sizes;
use crate::fit::plan::forecast::{Calibration, Forecast, Outlook, certificates};
use crate::fit::plan::{self, Method, Plan, Shape, fits};
use crate::term::criterion::Criterion;
use crate::term::kernel::SharedKernel;
use crate::term::kernel::kernel_for;

/// Landmarks that are shown beside the number that would be taken.
const RANKS: [usize; 4] = [500, 1000, 2000, 4000];
/// Landmarks of the moments that are shown.
const OF_MOMENTS: usize = 500;

impl SquaredFit {
    /// Bytes, seconds and certificate of every method that could fit this table, and which one a fit would take. Reads the table
    /// and measures this machine for less than half a second; fits nothing.
    pub fn forecast(&self, frame: &Frame, roles: &Roles) -> Result<Outlook> {
        self.check_settings()?;
        self.forecast_design(&Design::new(frame, roles, self.encoding())?)
    }

    /// Whether a fit to these rows stays within the memory that it may use. Measures and fits nothing.
    pub fn fits_into_memory(&self, design: &Design) -> Result<bool> {
        self.check_settings()?;
        if self.criterion == Criterion::LeaveOneOut && design.whole_groups().is_some() {
            return SquaredFit { criterion: self.criterion.for_groups(), ..self.clone() }.fits_into_memory(design);
        }
        fits(self.check_memory(&self.shape_of(design)).map(|_| ()))
    }

    /// Whether sums over parts of the table (`mercer moments`) can take the place of a fit to these rows, and fit into its memory.
    pub fn moments_fit_into_memory(&self, design: &Design) -> bool {
        let shape = self.shape_of(design);
        let limit = self.memory.unwrap_or_else(plan::available_memory);
        self.suits_moments(&shape) && bytes_of_moments(&shape) <= limit
    }

    fn suits_moments(&self, shape: &Shape) -> bool {
        let is_alike = self.kernels.len() == 1 && self.may_reduce() && shape.targets == 1;
        is_alike && !shape.is_linear && shape.rows > OF_MOMENTS
    }

    /// The same for rows that were read.
    pub(crate) fn forecast_design(&self, design: &Design) -> Result<Outlook> {
        if self.criterion == Criterion::LeaveOneOut && design.whole_groups().is_some() {
            return SquaredFit { criterion: self.criterion.for_groups(), ..self.clone() }.forecast_design(design);
        }
        let kernels: Vec<SharedKernel> =
            self.kernels.iter().map(|kernel| kernel_for(kernel, design)).collect::<Result<_>>()?;
        let shape = self.shape_of(design);
        let limit = self.memory.unwrap_or_else(plan::available_memory);
        let chosen = match self.check_memory(&shape) {
            Ok(plan) => Ok(plan),
            Err(error @ Error::Memory { .. }) => Err(error.to_string()),
            Err(other) => return Err(other),
        };
        let calibration = Calibration::measure(&*kernels[0], &design.points);
        let sizes = Sizes {
            rows: shape.rows as f64,
            features: shape.features as f64,
            targets: shape.targets as f64,
            kernels: kernels.len() as f64,
            is_chosen: self.fixed().is_none(),
        };
        let listing = Listing { fit: self, shape, sizes, calibration, limit };
        let methods = listing.methods(chosen.as_ref().ok());
        Ok(Outlook {
            rows: shape.rows,
            features: shape.features,
            kernel: kernels[0].spec(),
            limit,
            calibration,
            methods,
            reason: chosen.map_or_else(|refusal| refusal, |plan| listing.reason(&plan)),
        })
    }
}

/// Sums of every fold in twice the precision, and a part of the table.
fn bytes_of_moments(shape: &Shape) -> u64 {
    let r = OF_MOMENTS as u64;
    8 * (r * r * 14 + 65_536 * (r + shape.features as u64))
}

/// What the list is made from.
struct Listing<'a> {
    fit: &'a SquaredFit,
    shape: Shape,
    sizes: Sizes,
    calibration: Calibration,
    limit: u64,
}

impl Listing<'_> {
    fn methods(&self, chosen: Option<&Plan>) -> Vec<Forecast> {
        let (fit, shape) = (self.fit, &self.shape);
        let mut methods = Vec::new();
        if shape.is_linear && shape.features < shape.rows {
            methods.push(Method::Primal);
        } else {
            methods.push(Method::Spectral);
            if shape.fixed_exponent == Some(2.0) && !shape.is_weighted {
                methods.push(Method::Cholesky);
            }
            if shape.fixed_exponent.is_none() && shape.only_ridges && !shape.is_weighted {
                methods.push(Method::Band);
            }
            if fit.suits_gradients()
                && let Ok(plan) = plan::gradients(shape, self.limit.max(1 << 40), fit.memory.is_some())
            {
                methods.push(plan::gradients(shape, self.limit, fit.memory.is_some()).unwrap_or(plan).method);
            }
        }
        let mut ranks: Vec<usize> = RANKS.into_iter().filter(|rank| *rank < shape.rows).collect();
        let doubles = matches!(fit.reduce, Reduce::ToAccuracy(_));
        match chosen.map(|plan| plan.method) {
            Some(Method::LowRank { rank, .. }) if !doubles => ranks.push(rank),
            Some(many @ Method::ManyLandmarks { .. }) => methods.push(many),
            _ => {}
        }
        ranks.sort_unstable();
        ranks.dedup();
        if fit.may_reduce() && !methods.contains(&Method::Primal) {
            methods.extend(ranks.into_iter().map(|rank| Method::LowRank { rank, by: fit.landmarks() }));
        }
        let mut out: Vec<Forecast> = methods.into_iter().map(|method| self.forecast(method, chosen)).collect();
        if let Some(plan) = chosen.filter(|plan| doubles && matches!(plan.method, Method::LowRank { .. })) {
            out.push(self.to_accuracy(plan));
        }
        if fit.suits_moments(shape) {
            out.push(self.moments());
        }
        out
    }

    fn forecast(&self, method: Method, chosen: Option<&Plan>) -> Forecast {
        let (shape, sizes, rates) = (&self.shape, &self.sizes, &self.calibration);
        let (bytes, seconds, certificate) = match method {
            Method::Primal => (plan::bytes_of(method, shape), rates.primal(sizes), certificates::SPECTRUM),
            Method::Band => (plan::bytes_of(method, shape), rates.banded(sizes), certificates::FACTORED),
            Method::Cholesky => (plan::bytes_of(method, shape), rates.cholesky(sizes), certificates::FACTORED),
            Method::LowRank { rank, by } => (
                plan::low_rank(shape, Some(rank), by, u64::MAX).map_or(u64::MAX, |plan| plan.bytes),
                rates.low_rank(sizes, rank as f64),
                self.certificate_of_landmarks(),
            ),
            Method::ConjugateGradients { rank } => self.gradients(rank),
            Method::ManyLandmarks { rank } => (
                plan::many_landmarks(shape, rank, u64::MAX).map_or(u64::MAX, |plan| plan.bytes),
                rates.many_landmarks(sizes, rank as f64),
                certificates::MANY_LANDMARKS,
            ),
            _ => (plan::bytes_of(method, shape), rates.spectral(sizes), certificates::SPECTRUM),
        };
        Forecast {
            method: method.describe().to_owned(),
            landmarks: match method {
                Method::LowRank { rank, .. } | Method::ManyLandmarks { rank } => Some(rank),
                _ => None,
            },
            bytes,
            seconds,
            certificate,
            fits: bytes <= self.limit,
            is_chosen: chosen.is_some_and(|plan| plan.method == method),
            is_most: false,
        }
    }

    /// Landmarks that are doubled until a bound holds: how often is not known beforehand, but not beyond all rows and memory.
    fn to_accuracy(&self, first: &Plan) -> Forecast {
        let (shape, by) = (&self.shape, self.fit.landmarks());
        let doubled = std::iter::successors(Some(FIRST_RANK), |rank| (*rank < shape.rows).then_some(2 * rank));
        let plans = doubled.map_while(|rank| plan::low_rank(shape, Some(rank), by, self.limit).ok());
        let (mut last, mut seconds) = (*first, 0.0);
        for plan in plans {
            if let Method::LowRank { rank, .. } = plan.method {
                seconds += self.calibration.low_rank(&self.sizes, rank as f64);
            }
            last = plan;
        }
        Forecast { seconds, is_chosen: true, is_most: true, ..self.forecast(last.method, None) }
    }

    /// Nothing is proved of exponents up to 1, nor of others than 2 where several targets share a ridge.
    fn certificate_of_landmarks(&self) -> &'static str {
        let is_shared = self.fit.shared_ridge && self.shape.targets > 1;
        let has_bound = |m: &f64| *m == 2.0 || (*m > 1.0 && !is_shared);
        match self.fit.exponents.iter().filter(|m| has_bound(m)).count() {
            0 => certificates::LANDMARKS_UNBOUNDED,
            count if count < self.fit.exponents.len() => certificates::LANDMARKS_PARTLY,
            _ => certificates::LANDMARKS,
        }
    }

    fn gradients(&self, rank: usize) -> (u64, f64, &'static str) {
        let shape = &self.shape;
        let least = plan::bytes_of_gradients(shape, rank);
        let planned = plan::gradients(shape, self.limit, self.fit.memory.is_some());
        let bytes = planned.map_or(least, |plan| plan.bytes);
        let half = 4.0 * self.sizes.rows * self.sizes.rows;
        let kept = (bytes.saturating_sub(least) as f64 / half).min(1.0);
        let chosen_on = self
            .sizes
            .is_chosen
            .then(|| plan::low_rank(shape, None, self.fit.landmarks(), self.limit))
            .and_then(Result::ok);
        let chosen_on =
            chosen_on.and_then(|plan| if let Method::LowRank { rank, .. } = plan.method { Some(rank) } else { None });
        let seconds = self.calibration.gradients(&self.sizes, rank as f64, kept, chosen_on.map(|rank| rank as f64));
        (bytes, seconds, certificates::GRADIENTS)
    }

    fn moments(&self) -> Forecast {
        let bytes = bytes_of_moments(&self.shape);
        Forecast {
            method: "one pass of sums: mercer moments".into(),
            landmarks: Some(OF_MOMENTS),
            bytes,
            seconds: self.calibration.moments(&self.sizes, OF_MOMENTS as f64),
            certificate: certificates::MOMENTS,
            fits: bytes <= self.limit,
            is_chosen: false,
            is_most: false,
        }
    }

    /// Why this one.
    fn reason(&self, plan: &Plan) -> String {
        let exact = plan::plan(&self.shape);
        let too_large = exact.bytes > self.limit;
        let needs = format!("{} would need {}", exact.method.describe(), crate::base::bytes::bytes(exact.bytes));
        match (plan.method, self.fit.reduce) {
            (Method::Primal, _) => "the function is linear and has fewer features than rows".into(),
            (Method::Cholesky, _) => "λ is given and the exponent is 2, so one factorisation suffices".into(),
            (Method::Band, _) => "only λ is chosen, at exponent 2: no eigenvectors are needed".into(),
            (Method::LowRank { rank, .. } | Method::ManyLandmarks { rank }, Reduce::ToRank(_)) => {
                format!("{rank} landmarks were asked for")
            }
            (Method::LowRank { .. }, Reduce::ToAccuracy(_)) => {
                format!("landmarks are doubled from {FIRST_RANK} until the accuracy that was asked for is proved")
            }
            (Method::LowRank { .. }, _) if too_large => needs,
            (Method::LowRank { .. }, _) => {
                format!(
                    "decomposing more than {} rows takes long; these landmarks take about a quarter of a minute",
                    plan::EXACT_ROWS
                )
            }
            (Method::ConjugateGradients { .. }, _) if too_large => format!("all rows were asked for, and {needs}"),
            (Method::ConjugateGradients { .. }, _) => "they were asked for, or coefficients alone of many rows".into(),
            _ if self.shape.rows < 900 => "so few rows are decomposed quickly, and the spectrum tells most".into(),
            _ => "exponents, weights or the criterion need the whole spectrum".into(),
        }
    }
}
