//! Experiments on top of [`mercer`]: properties of the estimators themselves rather than of one fitted model.
//!
//! | module | question |
//! |---|---|
//! | [`equivalence`] | Which parameter of one algorithm gives the function that another algorithm fits? |
//! | [`stability`] | How much can one training row change the loss? |
//! | [`bounds`] | How large can the risk be, with a given confidence? |
//! | [`split`] | What is the test error of every exponent and λ on one training and test split? |
//! | [`root_search`] | How often does the published root search miss the global minimum? |
//! | [`synthetic`] | Which data sets can be generated from a formula? |
//!
//! The program's commands `equivalence`, `distance`, `certify`, `generate` and `experiment` are built on this crate. Fitting
//! and predicting need only `mercer`.
//!
//! # Equivalence
//!
//! Ridge regression, the penalties λ‖f‖ᵐ, and bounds of the norm or of the training error all select a point of the same
//! ridge path, so a parameter of one converts to a parameter of another. [`equivalence`] computes the conversion and
//! measures how it changes with the training set. `KernelRidge` in scikit-learn minimises Σ r² + alpha‖f‖², hence its
//! `alpha` is n times λ:
//!
//! ```
//! use mercer::prelude::*;
//! use mercer_lab::equivalence::{Algorithm, TrainingSet};
//!
//! let x = Matrix::from_fn(40, 1, |i, _| 0.1 * i as f64);
//! let y: Vec<f64> = (0..40).map(|i| (0.1 * i as f64).sin()).collect();
//! let fitted = Fit::new(Gaussian::lengthscale(1.0)).without_offset().keep_spectrum().fit(&x, &y)?;
//!
//! let set = TrainingSet::new(fitted.spectrum.as_ref().unwrap(), &y, 40.0)?;
//! let lambda = set.map(Algorithm::parse("scikit-learn")?, Algorithm::RIDGE, 0.4)?;
//! assert!((lambda.parameter().unwrap() - 0.4 / 40.0).abs() < 1e-15);
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! # Stability
//!
//! [`stability`] bounds the change of the squared loss when any one row is left out of any training set, for every exponent
//! above 1, and computes the changes that actually occur on a given training set, exactly and without refits.
//!
//! ```
//! use mercer::kernel::{Points, radial::Gaussian};
//! use mercer::prelude::Matrix;
//! use mercer::solver::deletion::Divisor;
//! use mercer_lab::stability::Sample;
//!
//! let x = Matrix::from_fn(40, 1, |i, _| 0.1 * i as f64);
//! let y: Vec<f64> = (0..40).map(|i| (0.1 * i as f64).sin()).collect();
//! let sample = Sample::new(&Gaussian::lengthscale(1.0), &Points::new(&x), &y)?;
//!
//! // Exponent 1.5, λ = 0.01, and |y| never above 1.
//! let assumptions = sample.assumptions(1.5, 0.01, Some(1.0))?;
//! let observed = sample.observe(&assumptions, Divisor::Remaining)?;
//! assert!(observed.at_rows <= assumptions.bound(Divisor::Remaining).unwrap());
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! # Bounds of the risk
//!
//! [`bounds`] evaluates Rademacher and stability bounds of the expected loss, and reports whether a bound is informative and
//! from how many rows it would be.
//!
//! ```
//! use std::sync::Arc;
//!
//! use mercer::loss::residual::Squared;
//! use mercer_lab::bounds::{Evidence, Kind, Verdict};
//! use mercer_lab::stability::Assumptions;
//!
//! let assume = Assumptions {
//!     rows: 1000,
//!     exponent: 2.0,
//!     lambda: 0.5,
//!     target_bound: 1.0,
//!     kernel_bound: 1.0,
//!     loss: Arc::new(Squared),
//! };
//! let evidence =
//!     Evidence { assume, train_loss: 0.2, baseline: 0.3, norm: 0.5, mean_diagonal: 1.0, confidence: 0.95 };
//! let bound = evidence.bound(Kind::Radius, &Squared).unwrap();
//! // With 1,000 rows the bound is above the loss of predicting the mean; it needs about 43,000.
//! assert_eq!(bound.verdict, Verdict::AboveMean);
//! assert!((42_000.0..44_000.0).contains(&bound.rows_needed.unwrap()));
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! # One split, every parameter
//!
//! [`split`] decomposes the training rows once and evaluates the test error at any exponent and λ.
//!
//! ```
//! use mercer::criterion::Criterion;
//! use mercer::prelude::*;
//! use mercer_lab::split::{Split, divide};
//! use mercer_lab::synthetic::generator;
//!
//! let frame = generator("sinc")?.frame(120, 0.1, 1)?;
//! let (training, test) = divide(frame.rows(), 0.7, 1);
//! let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
//! let fit = Fit::new(Gaussian::lengthscale(1.5));
//! let split = Split::of(&fit, &frame.select_rows(&training), &frame.select_rows(&test), &roles)?;
//!
//! let chosen = split.choose(&Criterion::LeaveOneOut, &[1.0, 1.5, 2.0], 1)?;
//! let ridge = split.ridge(chosen.exponent, chosen.lambda);
//! // The test error of the chosen model, and that of the zero function.
//! let errors = split.test_rmse(&[ridge, None]);
//! assert!(errors[0] < 0.5 * errors[1]);
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! # The published root search
//!
//! For exponents up to 1 the objective has several stationary points. [`root_search`] runs the ten-start Newton search of the
//! M-RLSR paper and compares its result with the global minimum.
//!
//! ```
//! use mercer::Matrix;
//! use mercer::spectrum::Spectrum;
//! use mercer_lab::root_search::{Outcome, Problem};
//!
//! let gram = Matrix::from_fn(3, 3, |i, j| if i == j { [3.0, 1.0, 0.2][i] } else { 0.0 });
//! let problem = Problem::new(&Spectrum::from_gram(gram, None, false)?, &[2.0, 1.0, 0.5])?;
//! assert_eq!(problem.compare(0.5, 0.01).0, Outcome::Found);
//! // f = 0 is the minimiser, and the search does not consider it.
//! assert_ne!(problem.compare(0.5, 50.0).0, Outcome::Found);
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! # Generated data
//!
//! [`synthetic`] draws tables from formulas, such as Friedman's three. A seed gives the same numbers on every machine.
//!
//! ```
//! use mercer_lab::synthetic::generator;
//!
//! // 100 rows, noise with standard deviation 1, seed 7.
//! let frame = generator("friedman1")?.frame(100, 1.0, 7)?;
//! assert_eq!((frame.rows(), frame.names().len()), (100, 11));
//! # Ok::<(), mercer::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod bounds;
pub mod equivalence;
pub mod root_search;
pub mod split;
pub mod stability;
pub mod synthetic;
