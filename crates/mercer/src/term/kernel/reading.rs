//! What kernels need of a table, and what a table makes of them.

use std::sync::Arc;

use super::SharedKernel;
use super::combine::Combined;
use super::special::Equality;
use crate::base::error::Result;
use crate::data::{Design, Encoding, Missing, Scale, TextAs};

impl Encoding {
    /// What these kernels need of a table, where nothing else is said.
    pub(crate) fn for_kernels(
        kernels: &[SharedKernel],
        scale: Option<Scale>,
        missing: Missing,
        text_as: TextAs,
    ) -> Self {
        let any = |holds: fn(&SharedKernel) -> bool| kernels.iter().any(holds);
        let nonnegative = any(|kernel| kernel.needs_nonnegative());
        let default = if nonnegative { Scale::Unit } else { Scale::None };
        let text_as = if any(|kernel| kernel.uses_codes()) { TextAs::Equality } else { text_as };
        let is_precomputed = any(|kernel| kernel.is_precomputed());
        let scale = if is_precomputed { Scale::None } else { scale.unwrap_or(default) };
        Encoding { scale, missing, text_as, nonnegative }
    }
}

/// The kernel with its numbers; text kept as codes is compared by `equality`.
pub(crate) fn kernel_for(kernel: &SharedKernel, design: &Design) -> Result<SharedKernel> {
    let points = &design.points;
    let kernel = if points.code_columns() > 0 && !kernel.uses_codes() {
        let equality: SharedKernel = Arc::new(Equality::new(0.5));
        Arc::new(Combined::product(vec![kernel.clone(), equality]))
    } else {
        kernel.clone()
    };
    kernel.fitted_to(points, design.weights.as_deref())
}
