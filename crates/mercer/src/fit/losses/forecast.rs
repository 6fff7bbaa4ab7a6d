//! What a fit with a loss would take, method by method.

use super::LossFit;
use crate::base::error::{Error, Result};
use crate::data::{Frame, Roles};
use crate::fit::Reduce;
use crate::fit::plan::fits;
use crate::fit::plan::forecast::cost::Sizes;
use crate::fit::plan::forecast::{Calibration, Forecast, Outlook, certificates};
use crate::fit::plan::{self, Method, Plan};
use crate::space::low_rank::Landmarks;
use crate::term::kernel::SharedKernel;
use crate::term::kernel::kernel_for;

/// Landmarks that are shown beside the number that would be taken.
const RANKS: [usize; 3] = [200, 500, 1000];

impl LossFit {
    /// Whether a fit to this table stays within the memory that it may use. Measures and fits nothing.
    pub fn fits_into_memory(&self, frame: &Frame, roles: &Roles) -> Result<bool> {
        self.check_settings()?;
        let targets = self.targets(frame, roles)?;
        let kernels: Vec<SharedKernel> =
            self.kernels.iter().map(|kernel| kernel_for(kernel, &targets.design)).collect::<Result<_>>()?;
        let limit = self.memory.unwrap_or_else(plan::available_memory);
        fits(self.planned(&targets, &kernels, limit).map(|_| ()))
    }

    /// Bytes, seconds and certificate of every method that could fit this table, and which one a fit would take. Reads the table
    /// and measures this machine for less than half a second; fits nothing.
    pub fn forecast(&self, frame: &Frame, roles: &Roles) -> Result<Outlook> {
        self.check_settings()?;
        let targets = self.targets(frame, roles)?;
        let design = &targets.design;
        let kernels: Vec<SharedKernel> =
            self.kernels.iter().map(|kernel| kernel_for(kernel, design)).collect::<Result<_>>()?;
        let limit = self.memory.unwrap_or_else(plan::available_memory);
        let planned = match self.planned(&targets, &kernels, limit) {
            Ok(plan) => Ok(plan),
            Err(error @ Error::Memory { .. }) => Err(error.to_string()),
            Err(other) => return Err(other),
        };
        let (rows, features) = (design.rows(), design.points.features());
        let models: usize = targets.groups.iter().map(|group| group.outputs.len()).sum();
        let calibration = Calibration::measure(&*kernels[0], &design.points);
        let sizes = Sizes {
            rows: rows as f64,
            features: features as f64,
            targets: models as f64,
            kernels: kernels.len() as f64,
            is_chosen: self.fixed().is_none(),
        };
        // The whole matrix, kernel values when they are needed, landmarks.
        let own = self.method(&targets, &kernels);
        let mut methods = vec![own];
        if own == Method::Dual && !self.needs_gram() {
            methods.push(Method::DualOnDemand);
        }
        if !matches!(own, Method::Features | Method::Multinomial) && !kernels.iter().any(|k| k.is_precomputed()) {
            methods.extend(
                RANKS
                    .into_iter()
                    .filter(|rank| *rank < rows)
                    .map(|rank| Method::LowRank { rank, by: Landmarks::Pivots }),
            );
        }
        if let Some(plan) = planned.as_ref().ok().filter(|plan| !methods.contains(&plan.method)) {
            methods.push(plan.method);
        }
        let forecast = |method: Method| {
            let (bytes, seconds) = match method {
                Method::LowRank { rank, .. } => (
                    plan::landmarks_of_loss(rows, features, sizes.is_chosen, Some(rank), u64::MAX),
                    calibration.loss_on_landmarks(&sizes, rank as f64),
                ),
                Method::Features => (
                    plan::convex(rows, features, false, method, u64::MAX),
                    calibration.on_features(&sizes, sizes.features),
                ),
                Method::Newton | Method::Multinomial => {
                    (plan::convex(rows, features, true, method, u64::MAX), calibration.newton(&sizes))
                }
                Method::DualOnDemand => {
                    let on_demand = plan::convex(rows, features, false, method, limit);
                    (
                        on_demand.or_else(|_| plan::convex(rows, features, false, method, u64::MAX)),
                        calibration.dual(&sizes),
                    )
                }
                _ => (plan::convex(rows, features, false, method, u64::MAX), calibration.dual(&sizes)),
            };
            let bytes = bytes.map_or(u64::MAX, |plan| plan.bytes);
            let landmarks = if let Method::LowRank { rank, .. } = method { Some(rank) } else { None };
            Forecast {
                method: method.describe().to_owned(),
                landmarks,
                bytes,
                seconds,
                certificate: if landmarks.is_some() { certificates::GAP_ON_LANDMARKS } else { certificates::GAP },
                fits: bytes <= limit,
                is_chosen: planned.as_ref().is_ok_and(|plan| plan.method == method),
                is_most: false,
            }
        };
        Ok(Outlook {
            rows,
            features,
            kernel: kernels[0].spec(),
            limit,
            calibration,
            methods: methods.into_iter().map(forecast).collect(),
            reason: planned.map_or_else(|refusal| refusal, |plan| self.reason(&plan, rows, own, limit, features)),
        })
    }

    fn reason(&self, plan: &Plan, rows: usize, own: Method, limit: u64, features: usize) -> String {
        match (plan.method, self.reduce) {
            (Method::LowRank { rank, .. }, Reduce::ToRank(_)) => format!("{rank} landmarks were asked for"),
            (Method::LowRank { .. }, _) => match plan::convex(rows, features, self.needs_gram(), own, limit) {
                Ok(_) => format!("solving on all of {rows} rows takes longer than people wait"),
                Err(error) => error.to_string(),
            },
            (Method::Features, _) => "the function is linear and has fewer features than rows".into(),
            (Method::DualOnDemand, _) => {
                "one problem reads few rows of the matrix, or memory has no room for all".into()
            }
            (Method::Dual, _) => {
                "the loss is linear or quadratic in pieces: few rows have coefficients inside their bounds".into()
            }
            _ => "the loss is smooth: few steps suffice".into(),
        }
    }
}
