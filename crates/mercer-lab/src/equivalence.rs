//! Equivalence of learning algorithms: which parameter of one gives the function that another gives at its own, on a given
//! training set, and whether that map depends on the set.
//!
//! Every algorithm here chooses a point of the ridge path (see [`mercer::spectrum::power`]): the powers λ‖f‖ᵐ, Ivanov's and
//! Morozov's bounds, and the ridge under the names and factors of other programs. So between any two of them there is a map
//! Φ(parameter, Z) with f_A = f_B on Z: *weak* equivalence. It is *strong* if Φ is the same for every Z; only then do
//! properties that speak of changing sets, such as stability, carry over by themselves. With C(n) = max |Φ(λ, Z) − Φ(λ, Zⁱ)|
//! over the deletions of one row, falling to 0 as n grows, weak equivalence can be enough.
//!
//! ```
//! use mercer_lab::equivalence::{Algorithm, Relation, Study};
//! use mercer::prelude::*;
//!
//! let x = Matrix::from_fn(40, 1, |i, _| i as f64 / 10.0);
//! let y: Vec<f64> = (0..40).map(|i| (i as f64 / 10.0).sin()).collect();
//! let fitted = Fit::new(Gaussian::lengthscale(1.0)).keep_spectrum().fit(&x, &y)?;
//!
//! let found = Study::new(Algorithm::parse("power(exponent=1.5)")?, Algorithm::RIDGE, 1e-3).run(&fitted)?;
//! assert_eq!(found.relation, Relation::SetDependent);
//! let agreement = found.agreement.unwrap();
//! assert!(agreement.distance < 1e-12 * agreement.norm);
//! # Ok::<(), mercer::Error>(())
//! ```

mod algorithm;
pub mod convention;
mod decay;
mod hamming;
mod map;
mod relation;
mod study;
mod training_set;

pub use algorithm::{Algorithm, all};
pub use convention::Convention;
pub use decay::Decay;
pub use hamming::{HammingDistance, hamming, hamming_of_lists, refuse_missing};
pub use map::{Image, Place};
pub use relation::Relation;
pub use study::{Comparison, Deleted, Mapped, Study};
pub use training_set::{Agreement, TrainingSet};
