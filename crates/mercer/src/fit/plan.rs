//! From shapes and sizes to a method and a memory forecast, before anything large is allocated.

pub mod forecast;

use std::fs;

use crate::base::bytes::bytes;
use crate::base::error::{Error, Result};
use crate::space::low_rank::Landmarks;

/// How a problem is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Eigendecomposition of the Gram matrix: every λ and exponent from it.
    Spectral,
    /// Tridiagonal form of the Gram matrix: leave-one-out at every λ and exponent, and the solution, without eigenvectors.
    Tridiagonal,
    /// Singular values of the features: linear kernels with fewer features than rows.
    Primal,
    /// Band form of the Gram matrix: λ chosen at exponent 2.
    Band,
    /// A Cholesky factor of the Gram matrix at the one ridge that a given λ needs.
    Cholesky,
    /// A factor of the Gram matrix with few columns: many rows.
    LowRank {
        /// Columns, at most.
        rank: usize,
        /// How the landmarks are chosen.
        by: Landmarks,
    },
    /// Conjugate gradients on all rows, without the Gram matrix.
    ConjugateGradients {
        /// Landmarks of the preconditioner.
        rank: usize,
    },
    /// Conjugate gradients on thousands of landmarks, rows of kernel values computed when they are needed.
    ManyLandmarks {
        /// Landmarks.
        rank: usize,
    },
    /// Dual decomposition with a duality gap: losses that are linear or quadratic in pieces.
    Dual,
    /// The same with kernel values computed when they are needed.
    DualOnDemand,
    /// Newton's method: smooth losses.
    Newton,
    /// Newton's method or an interior point on the features: linear kernels with fewer features than rows.
    Features,
    /// Newton's method for all classes at once.
    Multinomial,
    /// Least squares without penalty, by QR of the features.
    LeastSquares,
    /// λ‖Γw‖², by QR of the stacked matrix; of sparse rows, by a factor of the smaller square or conjugate gradients.
    Tikhonov,
    /// Penalties with an ℓ₁ norm, by coordinate descent with a duality gap.
    CoordinateDescent,
}

impl Method {
    /// In words, for a person.
    pub fn describe(self) -> &'static str {
        match self {
            Method::Spectral => "exact, eigendecomposition of the Gram matrix",
            Method::Tridiagonal => "exact, tridiagonal form of the Gram matrix",
            Method::Primal => "exact, singular values of the features",
            Method::Band => "exact, band form of the Gram matrix",
            Method::Cholesky => "exact, Cholesky factorisation of the Gram matrix",
            Method::LowRank { by: Landmarks::Pivots, .. } => "low rank, landmarks by randomly pivoted Cholesky",
            Method::LowRank { by: Landmarks::Centres, .. } => {
                "low rank, landmarks are the centres of clusters (k-means)"
            }
            Method::LowRank { by: Landmarks::Uniform, .. } => "low rank, landmarks are rows drawn alike",
            Method::ConjugateGradients { .. } => "exact, conjugate gradients without the Gram matrix",
            Method::ManyLandmarks { .. } => "low rank, conjugate gradients on landmarks",
            Method::Dual => "dual decomposition on the Gram matrix",
            Method::DualOnDemand => "dual decomposition, kernel values when they are needed",
            Method::Features => "Newton's method or an interior point on the features",
            Method::Newton => "Newton's method on the Gram matrix",
            Method::Multinomial => "Newton's method on the Gram matrix, all classes at once",
            Method::LeastSquares => "least squares by QR of the features",
            Method::Tikhonov => "QR of the features stacked on the penalty",
            Method::CoordinateDescent => "coordinate descent with a duality gap",
        }
    }
}

/// What decides the method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Training rows.
    pub rows: usize,
    /// Numeric features after encoding.
    pub features: usize,
    /// Targets.
    pub targets: usize,
    /// Whether f is a linear function.
    pub is_linear: bool,
    /// Whether rows have different weights.
    pub is_weighted: bool,
    /// The exponent, when it and λ are both given.
    pub fixed_exponent: Option<f64>,
    /// Whether λ alone is chosen, at exponent 2, by a criterion that a band form can give.
    pub only_ridges: bool,
    /// Whether the paths without each row are tabulated: leave-one-out at other exponents or with weights.
    pub tabulates_rows: bool,
}

/// The method and what it will take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The method.
    pub method: Method,
    /// Bytes at the peak, the features themselves included.
    pub bytes: u64,
}

/// Below this, an eigendecomposition is quick and tells more (the condition number, all ridges).
const CHOLESKY_FROM: usize = 600;

/// From here on a band form is quicker than eigenvectors.
const BAND_FROM: usize = 900;

/// Chooses a method: one total match on the shape.
pub fn plan(shape: &Shape) -> Plan {
    let method = if shape.is_linear && shape.features < shape.rows {
        Method::Primal
    } else if shape.fixed_exponent == Some(2.0) && !shape.is_weighted && shape.rows >= CHOLESKY_FROM {
        Method::Cholesky
    } else if shape.only_ridges && !shape.is_weighted && shape.rows >= BAND_FROM {
        Method::Band
    } else {
        Method::Spectral
    };
    Plan { method, bytes: bytes_of(method, shape) }
}

/// What an exact method takes at its peak.
pub(crate) fn bytes_of(method: Method, shape: &Shape) -> u64 {
    let (n, p) = (shape.rows as u64, shape.features as u64);
    let square = n.saturating_mul(n).saturating_mul(8);
    let thin = n.saturating_mul(p + shape.targets as u64 + 8).saturating_mul(8);
    match method {
        // Features, their scaled copy, singular vectors and the decomposition's workspace.
        Method::Primal => thin.saturating_mul(6),
        // One matrix, factored in its place.
        Method::Cholesky => square.saturating_add(thin.saturating_mul(2)),
        // The matrix, reduced in its place, panels beside it, and distances kept for other kernels.
        Method::Band => square.saturating_mul(9).saturating_div(4).saturating_add(thin.saturating_mul(2)),
        // The matrix, its eigenvectors, and more than twice the same as workspace (measured: 4.7 matrices).
        Method::Spectral | Method::Tridiagonal => square.saturating_mul(5).saturating_add(thin.saturating_mul(2)),
        // Not chosen here, or not for the squared loss.
        Method::LowRank { .. }
        | Method::ConjugateGradients { .. }
        | Method::ManyLandmarks { .. }
        | Method::Dual
        | Method::DualOnDemand
        | Method::Newton
        | Method::Features
        | Method::Multinomial
        | Method::LeastSquares
        | Method::Tikhonov
        | Method::CoordinateDescent => square.saturating_mul(2),
    }
}

/// Rows from which a decomposition of the whole matrix takes longer than people wait: several minutes.
pub const EXACT_ROWS: usize = 15_000;
/// Rows times squared landmarks where nothing is said of them and memory suffices: about a quarter of a minute.
const LANDMARK_WORK: f64 = 1.25e11;
/// Landmarks at most then.
const LANDMARKS: usize = 3_000;
/// Fewer are not worth it.
const FEWEST_LANDMARKS: usize = 20;
/// Numbers of each row in one table of paths, with many rows.
const TABLE: u64 = 128;
/// Rows of which something is computed at a time.
const TILE: u64 = 8192;

/// The largest number of up to `bits` binary digits whose bytes, which rise with it, are within the limit.
fn most_within(limit: u64, bits: u32, bytes: impl Fn(u64) -> u64) -> u64 {
    (0..bits).rev().map(|bit| 1 << bit).fold(0, |fits, bit| if bytes(fits | bit) <= limit { fits | bit } else { fits })
}

/// A plan with landmarks in the place of the whole matrix: as many as asked for, or as fit.
pub fn low_rank(shape: &Shape, rank: Option<usize>, by: Landmarks, limit: u64) -> Result<Plan> {
    let n = shape.rows as u64;
    let table = if shape.tabulates_rows { TABLE * (2 + shape.targets as u64) } else { 64 * shape.targets as u64 };
    let thin = n.saturating_mul(2 * (shape.features as u64 + shape.targets as u64) + 64 + table).saturating_mul(8);
    // F, which the basis replaces in its place, and what is computed of some rows at a time.
    let with = |rank: u64| {
        let tall = n.saturating_add(TILE.min(n)).saturating_mul(rank).saturating_mul(8);
        let all = tall.saturating_add(rank.saturating_mul(rank).saturating_mul(48)).saturating_add(thin);
        // What the table itself, its reading and the allocator add: up to a third was measured.
        all.saturating_add(all / 20 * 7)
    };
    let fits = most_within(limit, 23, with);
    let most = shape.rows.min(usize::try_from(fits).unwrap_or(usize::MAX));
    let usual = ((LANDMARK_WORK / shape.rows.max(1) as f64).sqrt() as usize).min(LANDMARKS);
    let rank = rank.unwrap_or(usual.min(most).max(FEWEST_LANDMARKS)).min(shape.rows).max(1);
    let method = Method::LowRank { rank, by };
    let needed = with(rank as u64);
    if needed <= limit {
        return Ok(Plan { method, bytes: needed });
    }
    let hint = if most > 0 { format!("; a rank of {most} would fit") } else { String::new() };
    Err(Error::Memory { rows: shape.rows, needed, available: limit, what: method.describe(), hint })
}

/// Rows times squared landmarks where nothing is said of them: one problem of another loss takes some ten times as long as the
/// squared one's.
const LOSS_WORK: f64 = 2e10;
/// The same when λ is chosen: some sixty problems.
const CHOOSING_WORK: f64 = 4e9;

/// A plan with landmarks for a loss other than the squared one: as many as asked for, or as fit.
pub(crate) fn landmarks_of_loss(
    rows: usize,
    features: usize,
    is_chosen: bool,
    rank: Option<usize>,
    limit: u64,
) -> Result<Plan> {
    let n = rows as u64;
    let thin = n.saturating_mul(features as u64 + 96).saturating_mul(8);
    // F, those of all folds, and the copies of two problems that are solved at a time.
    let copies: u64 = if is_chosen { 10 } else { 4 };
    let with = |rank: u64| {
        let tall = n.saturating_mul(rank).saturating_mul(8 * copies);
        tall.saturating_add(rank.saturating_mul(rank).saturating_mul(64)).saturating_add(thin)
    };
    let fits = most_within(limit, 23, with);
    let most = rows.min(usize::try_from(fits).unwrap_or(usize::MAX));
    let work = if is_chosen { CHOOSING_WORK } else { LOSS_WORK };
    let usual = ((work / rows.max(1) as f64).sqrt() as usize).min(LANDMARKS / 2);
    let rank = rank.unwrap_or(usual.min(most).max(FEWEST_LANDMARKS)).min(rows).max(1);
    let method = Method::LowRank { rank, by: Landmarks::Pivots };
    let needed = with(rank as u64);
    if needed <= limit {
        return Ok(Plan { method, bytes: needed });
    }
    let hint = if most > 0 { format!("; a rank of {most} would fit") } else { String::new() };
    Err(Error::Memory { rows, needed, available: limit, what: method.describe(), hint })
}

/// Rows up to which conjugate gradients on all of them are taken without being asked for: minutes.
pub const GRADIENT_ROWS: usize = 100_000;
/// Landmarks of the preconditioner, at most: beyond, they cost more than the iterations that they save.
const PRECONDITIONER: usize = 1_500;

/// What conjugate gradients take beside the tiles that are kept.
pub(crate) fn bytes_of_gradients(shape: &Shape, rank: usize) -> u64 {
    let (n, r) = (shape.rows as u64, rank as u64);
    // F and the copy in which it is made; vectors of every target, and those of every share of a product.
    let tall = n.saturating_mul(2 * r + 64 + 3 * shape.features as u64 + 24 * shape.targets as u64 + 32);
    tall.saturating_mul(8).saturating_add(r.saturating_mul(r).saturating_mul(40))
}

/// A plan for all rows by conjugate gradients. Tiles of the matrix are kept in what memory is left: all of it if the limit
/// `is_given`, else half.
pub fn gradients(shape: &Shape, limit: u64, is_given: bool) -> Result<Plan> {
    let usual = PRECONDITIONER.min(shape.rows / 4).max(1);
    let fits = most_within(limit, 11, |rank| bytes_of_gradients(shape, rank as usize));
    let rank = usual.min(fits as usize).max(FEWEST_LANDMARKS.min(shape.rows)).max(1);
    let needed = bytes_of_gradients(shape, rank);
    let method = Method::ConjugateGradients { rank };
    if needed > limit {
        let hint = String::new();
        return Err(Error::Memory { rows: shape.rows, needed, available: limit, what: method.describe(), hint });
    }
    let room = (limit - needed) / if is_given { 1 } else { 2 };
    let n = shape.rows as u64;
    let tiles = n.saturating_mul(n + 512).saturating_mul(4);
    Ok(Plan { method, bytes: needed + room.min(tiles) })
}

/// Landmarks beyond which conjugate gradients are quicker than the product of all features.
pub const MANY_LANDMARKS: usize = 5_000;

/// A plan for thousands of landmarks by conjugate gradients: two rows of features for each, and matrices of their number.
pub fn many_landmarks(shape: &Shape, rank: usize, limit: u64) -> Result<Plan> {
    let (n, r) = (shape.rows as u64, rank as u64);
    let thin = n.saturating_mul(2 * shape.features as u64 + shape.targets as u64 + 24).saturating_mul(8);
    // The sample's features while they are made, L, the sample's matrix and its factor.
    let needed = r.saturating_mul(r).saturating_mul(8 * 7).saturating_add(thin);
    let method = Method::ManyLandmarks { rank };
    if needed <= limit {
        return Ok(Plan { method, bytes: needed });
    }
    let fits = ((limit.saturating_sub(thin) as f64 / 56.0).sqrt() as usize).min(shape.rows / 2);
    let hint = if fits > 0 { format!("; a rank of {fits} would fit") } else { String::new() };
    Err(Error::Memory { rows: shape.rows, needed, available: limit, what: method.describe(), hint })
}

/// The plan for a loss other than the squared one. `method` is what its shape asks for; a dual method for which the Gram
/// matrix is too large does without it, unless it `needs_gram`.
pub(crate) fn convex(rows: usize, features: usize, needs_gram: bool, method: Method, limit: u64) -> Result<Plan> {
    let n = rows as u64;
    let square = n.saturating_mul(n).saturating_mul(8);
    let thin = n.saturating_mul(features as u64 + 64).saturating_mul(8);
    if method == Method::Features {
        // The features, those of every fold, and the solver's copies.
        let bytes = thin.saturating_mul(12);
        let hint = String::new();
        return match bytes <= limit {
            true => Ok(Plan { method, bytes }),
            false => Err(Error::Memory { rows, needed: bytes, available: limit, what: method.describe(), hint }),
        };
    }
    // Beside the matrix: those of the folds, where a solver needs them as matrices of their own.
    let copies: u64 = if matches!(method, Method::Dual | Method::DualOnDemand) { 1 } else { 6 };
    let bytes = square.saturating_mul(copies).saturating_add(thin);
    if bytes <= limit && method != Method::DualOnDemand {
        return Ok(Plan { method, bytes });
    }
    if matches!(method, Method::Dual | Method::DualOnDemand) && !needs_gram {
        // A cache of rows takes what there is, but a thousand rows are enough to work with.
        let least = thin.saturating_add(n.saturating_mul(8 * 1024));
        if least <= limit {
            return Ok(Plan { method: Method::DualOnDemand, bytes: least.max(limit / 2).min(bytes) });
        }
    }
    let hint = match method {
        Method::Dual | Method::DualOnDemand => "; the criterion kfold works without the whole matrix".to_owned(),
        _ => {
            let fits = ((limit as f64 / (8.0 * copies as f64)).sqrt() as usize).min(rows);
            format!("; {fits} rows would fit")
        }
    };
    Err(Error::Memory { rows, needed: bytes, available: limit, what: method.describe(), hint })
}

impl Plan {
    /// Whether the Gram matrix is in memory.
    pub(crate) fn keeps_gram(&self) -> bool {
        !matches!(self.method, Method::DualOnDemand | Method::Features | Method::LowRank { .. })
    }

    /// Refuses a plan that does not fit into `limit` bytes.
    pub fn check(&self, shape: &Shape, limit: u64) -> Result<()> {
        if self.bytes <= limit {
            return Ok(());
        }
        let hint = if matches!(self.method, Method::Spectral | Method::Band) && !shape.is_weighted {
            let fixed = plan(&Shape { fixed_exponent: Some(2.0), ..*shape });
            if fixed.bytes <= limit {
                format!("; with a given λ and exponent 2, {} suffice", bytes(fixed.bytes))
            } else {
                format!("; {} rows would fit", rows_that_fit(shape, limit))
            }
        } else {
            format!("; {} rows would fit", rows_that_fit(shape, limit))
        };
        let hint = match low_rank(shape, None, Landmarks::default(), limit) {
            Ok(Plan { method: Method::LowRank { rank, .. }, bytes: needed }) => {
                format!("{hint}; a factor of rank {rank} needs {}", bytes(needed))
            }
            _ => hint,
        };
        Err(Error::Memory {
            rows: shape.rows,
            needed: self.bytes,
            available: limit,
            what: self.method.describe(),
            hint,
        })
    }
}

/// The largest number of rows whose plan fits.
fn rows_that_fit(shape: &Shape, limit: u64) -> usize {
    let (mut fits, mut too_many) = (0, shape.rows);
    while too_many - fits > 1 {
        let middle = fits + (too_many - fits) / 2;
        if plan(&Shape { rows: middle, ..*shape }).bytes <= limit { fits = middle } else { too_many = middle }
    }
    fits
}

/// Bytes of memory that may be used: what the system says is available, less a tenth; 4 GiB when it does not say.
pub fn available_memory() -> u64 {
    let number = |text: &str| text.split_whitespace().find_map(|word| word.parse::<u64>().ok());
    let system = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| number(text.lines().find(|line| line.starts_with("MemAvailable:"))?))
        .map_or(4 << 30, |kib| kib.saturating_mul(1024));
    let read = |path: &str| fs::read_to_string(path).ok().and_then(|text| number(&text));
    let group = match (read("/sys/fs/cgroup/memory.max"), read("/sys/fs/cgroup/memory.current")) {
        (Some(most), Some(used)) => most.saturating_sub(used),
        _ => u64::MAX,
    };
    system.min(group) / 10 * 9
}

/// What the check of a plan says of memory alone.
pub(crate) fn fits(checked: Result<()>) -> Result<bool> {
    match checked {
        Ok(()) => Ok(true),
        Err(Error::Memory { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        rows: 1000,
        features: 8,
        targets: 1,
        is_linear: false,
        is_weighted: false,
        fixed_exponent: None,
        only_ridges: false,
        tabulates_rows: false,
    };

    #[test]
    fn the_method_follows_from_the_shape() {
        assert_eq!(plan(&SHAPE).method, Method::Spectral);
        assert_eq!(plan(&Shape { fixed_exponent: Some(2.0), ..SHAPE }).method, Method::Cholesky);
        assert_eq!(plan(&Shape { fixed_exponent: Some(1.5), ..SHAPE }).method, Method::Spectral);
        assert_eq!(plan(&Shape { is_linear: true, ..SHAPE }).method, Method::Primal);
        assert_eq!(plan(&Shape { only_ridges: true, ..SHAPE }).method, Method::Band);
        assert_eq!(plan(&Shape { only_ridges: true, is_weighted: true, ..SHAPE }).method, Method::Spectral);
        assert_eq!(plan(&Shape { is_linear: true, features: 2000, ..SHAPE }).method, Method::Spectral);
    }

    #[test]
    fn what_fits_is_the_most_that_does() {
        for limit in [0, 1, 7, 100, 1023, 5000] {
            let found = most_within(limit, 10, |count| 3 * count);
            assert_eq!(found, (0..1024).rev().find(|count| 3 * count <= limit).unwrap(), "{limit}");
        }
    }

    #[test]
    fn too_many_rows_are_refused_with_bytes_and_a_way_out() {
        let shape = Shape { rows: 200_000, fixed_exponent: Some(2.0), ..SHAPE };
        let error = plan(&shape).check(&shape, 2 << 30).unwrap_err().to_string();
        assert!(error.contains("320 GB") && error.contains("2.1 GB") && error.contains("rows would fit"), "{error}");
        assert!(plan(&SHAPE).check(&SHAPE, 2 << 30).is_ok());
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1_500_000), "1.5 MB");
    }
}
