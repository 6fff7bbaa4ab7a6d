//! Regularised least squares in kernel spaces, exactly, with a certificate on every answer.
//!
//! Mercer minimises
//!
//! > (1/W) Σᵢ wᵢ (yᵢ − f(xᵢ) − b)² + λ‖f‖ᵐ
//!
//! over the functions f of a kernel's Hilbert space and an offset b that no penalty touches, for **every
//! exponent m > 0** (m = 2 is kernel ridge regression). W = Σ wᵢ; without weights it is the number of rows.
//!
//! One idea carries the code: *decompose once, read everything off the spectrum*. Each stationary point of the
//! problem is a point of the ridge path α(μ) = (K + Wμ)⁻¹y with an effective ridge μ that solves
//! μ = (λm/2)·‖f_μ‖^(m−2); one eigendecomposition gives that path, hence every λ, every exponent, degrees of
//! freedom, and leave-one-out residuals that are exact without a refit.
//!
//! ```
//! use mercer::prelude::*;
//!
//! // y = sin x at 60 points, exponent 1.3, λ by exact leave-one-out.
//! let x = Matrix::from_fn(60, 1, |i, _| 0.1 * i as f64);
//! let y: Vec<f64> = (0..60).map(|i| (0.1 * i as f64).sin()).collect();
//! let fitted = Fit::new(Gaussian::lengthscale(1.0)).exponent(1.3).fit(&x, &y)?;
//!
//! let summary = fitted.summary();
//! assert!(summary.certificate.holds && summary.stationary_ridges.len() == 1);
//! assert!(summary.loo_rmse.unwrap() < 1e-4);
//!
//! // Any other exponent or λ on the same decomposition.
//! let spectrum = fitted.spectrum.as_ref().unwrap();
//! let path = spectrum.path(&[&spectrum.target(&y)?]);
//! assert!(path.dof(1e-6) > path.dof(1e-2));
//!
//! // The model as bytes, and back: the same bits come out of it.
//! let bytes = mercer::format::to_bytes(&fitted.model)?;
//! let again = mercer::format::from_bytes(&bytes)?;
//! assert_eq!(again.predict(&x)?, fitted.model.predict(&x)?);
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! # The chapters
//!
//! | | |
//! |---|---|
//! | [`kernel`] | k(x, x′): the members, their specs, sums and products |
//! | [`data`] | tables of named columns, scaling, text, missing cells |
//! | [`spectrum`] | the decomposition and the ridge path |
//! | [`solver`] | which point of the path minimises the m-power problem |
//! | [`loss`] | ℓ(y, v): squared, absolute, Huber, ε-insensitive, pinball, hinge, logistic, … |
//! | [`learn`] | any of those losses, for numbers, quantiles and classes |
//! | [`criterion`] | what a model is chosen by: exact leave-one-out and k-fold, GCV, FPE, likelihoods, … |
//! | [`select`] | the surface of a criterion over exponents and λ |
//! | [`certificate`] | what was verified about an answer |
//! | [`range`] | `0.1..2.9:0.1`: many numbers in one word |
//! | [`metric`] | lengthscales per feature and linear maps of the features, learned |
//! | [`auto`] | families, metric, exponent and λ by themselves |
//! | [`assess`] | an error estimate that selection did not touch |
//! | [`importance`] | which columns matter, by permuting them in held-out rows |
//! | [`journal`] | resuming a long selection |
//! | [`low_rank`] | K ≈ FFᵀ with a residual that is known |
//! | [`moments`] | sums over rows that merge: tables larger than memory |
//! | [`online`] | rows one at a time, each predicted before it is learned |
//! | [`linear`] | f(x) = xᵀw + b: least squares, ridge, Tikhonov, Lasso, logistic and support vector machines |
//! | [`plan`], [`forecast`] | method and memory, before anything is allocated; what every method would take |
//! | [`interval`], [`effects`] | prediction intervals, and what each column does to a prediction |
//! | [`Fit`], [`Model`] | the front door, and what comes out of it |
//! | [`mod@format`] | models as bytes |
//!
//! Equivalence of algorithms, stability, bounds of the risk and generated data sets are in the crate `mercer-lab`.

#![forbid(unsafe_code)]

// The floors, from the lowest to the highest; `cargo xtask layers` keeps their order. What is hidden in the documentation is
// public for `mercer-lab` and the tests only, and may change in any version.
#[doc(hidden)]
pub mod base;
#[doc(hidden)]
pub mod choose;
pub mod data;
mod fit;
pub mod linalg;
mod model;
#[doc(hidden)]
pub mod path;
#[doc(hidden)]
pub mod solve;
#[doc(hidden)]
pub mod space;
#[doc(hidden)]
pub mod term;

pub use base::error::{Error, Result};
pub use base::watch::Observer;
pub use base::{error, journal, table};
pub use choose::{metric, select};
pub use fit::after::PathPoint;
pub use fit::after::training::Training;
pub use fit::after::{assess, effects, importance, interval};
pub use fit::automatic as auto;
pub use fit::losses as learn;
pub use fit::plan::{self, forecast};
pub use fit::stream as online;
pub use fit::{Curve, Engine, Fit, Fitted, Judged, Problem, Space, Tried, moments};
pub use linalg::Matrix;
pub use model::format;
pub use model::notes::Note;
pub use model::{DataFile, HeldOut, Meaning, Model, Precision, Probability, Provenance, Summary};
// Hidden under their own names, documented under these.
#[doc(inline)]
pub use path as spectrum;
#[doc(inline)]
pub use solve as solver;
pub use solve::{certificate, linear};
pub use space::low_rank;
pub use term::{criterion, kernel, loss, penalty};

/// Many numbers in one word: `0.1..2.9:0.1`, `1e-7..1e3:25`.
pub mod range {
    pub use crate::base::range::{log_spaced, stepped};
    pub use crate::term::ranges::{kernels, losses};
}

/// What most programs need.
pub mod prelude {
    pub use crate::data::{Frame, Missing, Roles, Scale, TextAs};
    pub use crate::term::kernel::product::{Linear, Polynomial};
    pub use crate::term::kernel::radial::{Gaussian, Laplace, Matern12, Matern32, Matern52};
    pub use crate::term::kernel::spline::Spline;
    pub use crate::{Error, Fit, Fitted, Matrix, Model, Result, Summary};
}
