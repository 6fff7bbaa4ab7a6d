//! The front door: a kernel, an exponent and a λ (given, or chosen by leave-one-out) make a model.

use std::sync::Arc;

use crate::certificate::Certificate;
use crate::criterion::{LeaveOneOut, leave_one_out};
use crate::data::{Design, Encoding, Frame, Missing, Roles, Scale, TextAs};
use crate::error::{Error, Result};
use crate::kernel::combine::Combined;
use crate::kernel::special::Equality;
use crate::kernel::{Kernel, SharedKernel};
use crate::linalg::{DecompositionCheck, Matrix};
use crate::model::{Expansion, Model, Summary};
use crate::plan::{self, Method, Plan, Shape};
use crate::select::choose_lambda;
use crate::solver::{Solution, cholesky, spectral};
use crate::space;
use crate::spectrum::{Spectrum, Target};

/// Told the name of each stage of a long fit; answers whether to go on.
pub type Observer = Arc<dyn Fn(&'static str) -> bool + Send + Sync>;

/// Settings of a fit. Nothing is computed until one of the `fit` methods is called.
///
/// ```
/// use mercer::prelude::*;
///
/// let x = Matrix::from_fn(40, 1, |i, _| i as f64 / 10.0);
/// let y: Vec<f64> = (0..40).map(|i| (i as f64 / 10.0).sin()).collect();
/// let fitted = Fit::new(Gaussian::lengthscale(1.0)).exponent(1.5).fit(&x, &y)?;
/// assert!(fitted.summary().loo_rmse.unwrap() < 1e-3);
/// let at_two = fitted.model.predict(&Matrix::from_rows(&[[2.05]])?)?.get(0, 0);
/// assert!((at_two - 2.05_f64.sin()).abs() < 1e-3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone)]
pub struct Fit {
    kernel: SharedKernel,
    exponent: f64,
    lambda: Option<f64>,
    offset: bool,
    scale: Option<Scale>,
    missing: Missing,
    text_as: TextAs,
    shared_ridge: bool,
    diagnostics: bool,
    memory: Option<u64>,
    observer: Option<Observer>,
}

impl std::fmt::Debug for Fit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fit({}, exponent {}, lambda {:?})", self.kernel.spec(), self.exponent, self.lambda)
    }
}

/// A model with everything that was found out on the way.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Predicts; can be saved.
    pub model: Model,
    /// One per target: coefficients, fitted values, stationary points.
    pub solutions: Vec<Solution>,
    /// Leave-one-out residuals of each target, where they exist.
    pub leave_one_out: Vec<Option<LeaveOneOut>>,
    /// The decomposition, if one was made: any other λ or exponent follows from it without a new one.
    pub spectrum: Option<Spectrum>,
    /// The method that was used, and the memory it was expected to take.
    pub plan: Plan,
    /// The rows that were used: targets and weights.
    pub design: Design,
}

impl Fitted {
    /// What was found for the (first) target.
    pub fn summary(&self) -> &Summary {
        &self.model.summaries[0]
    }
}

impl Fit {
    /// A fit with this kernel: exponent 2, λ by exact leave-one-out, with offset, features as they are
    /// (splines: scaled to the unit range).
    pub fn new(kernel: impl Kernel + 'static) -> Self {
        Fit::with_shared(Arc::new(kernel))
    }

    /// Like [`new`](Self::new), for a kernel that is shared already, such as one from
    /// [`kernel::parse`](crate::kernel::parse).
    pub fn with_shared(kernel: SharedKernel) -> Self {
        Fit {
            kernel,
            exponent: 2.0,
            lambda: None,
            offset: true,
            scale: None,
            missing: Missing::Error,
            text_as: TextAs::OneHot,
            shared_ridge: false,
            diagnostics: true,
            memory: None,
            observer: None,
        }
    }

    /// m in λ‖f‖ᵐ, above 0 (from 0.001 to 1000).
    pub fn exponent(self, exponent: f64) -> Self {
        Fit { exponent, ..self }
    }

    /// λ, above 0. Without it, λ minimises the leave-one-out error.
    pub fn lambda(self, lambda: f64) -> Self {
        Fit { lambda: Some(lambda), ..self }
    }

    /// Without the offset b.
    pub fn without_offset(self) -> Self {
        Fit { offset: false, ..self }
    }

    /// How features are scaled.
    pub fn scale(self, scale: Scale) -> Self {
        Fit { scale: Some(scale), ..self }
    }

    /// What is done about missing cells.
    pub fn missing(self, missing: Missing) -> Self {
        Fit { missing, ..self }
    }

    /// How text columns are read. With [`TextAs::Equality`] a kernel that does not mention `equality` is
    /// multiplied by it.
    pub fn text_as(self, text_as: TextAs) -> Self {
        Fit { text_as, ..self }
    }

    /// With several targets: one effective ridge for all, ‖f‖² = Σ‖f_t‖², instead of one each.
    pub fn shared_ridge(self) -> Self {
        Fit { shared_ridge: true, ..self }
    }

    /// Coefficients only: without degrees of freedom and leave-one-out where those cost extra (λ given,
    /// exponent 2, many rows).
    pub fn without_diagnostics(self) -> Self {
        Fit { diagnostics: false, ..self }
    }

    /// Bytes that may be used; without it, what the system says is available.
    pub fn memory(self, bytes: u64) -> Self {
        Fit { memory: Some(bytes), ..self }
    }

    /// Told of every stage; may stop the fit.
    pub fn observer(self, observer: Observer) -> Self {
        Fit { observer: Some(observer), ..self }
    }

    /// Fits one target: `x` has one row per example.
    pub fn fit(&self, x: &Matrix, y: &[f64]) -> Result<Fitted> {
        self.fit_weighted(x, &Matrix::column_vector(y.to_vec()), None)
    }

    /// Fits several targets (the columns of `y`), with row weights if there are any.
    pub fn fit_weighted(&self, x: &Matrix, y: &Matrix, weights: Option<&[f64]>) -> Result<Fitted> {
        self.check_settings()?;
        self.check_memory(x.rows(), x.cols(), y.cols(), weights.is_some())?;
        self.fit_design(Design::from_matrix(x, y, weights, self.encoding())?)
    }

    /// Fits a table.
    pub fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<Fitted> {
        self.check_settings()?;
        self.fit_design(Design::new(frame, roles, self.encoding())?)
    }

    /// The choices that reading a table needs.
    fn encoding(&self) -> Encoding {
        let nonnegative = self.kernel.needs_nonnegative();
        let default = if nonnegative { Scale::Unit } else { Scale::None };
        let text_as = if self.kernel.uses_codes() { TextAs::Equality } else { self.text_as };
        let scale = if self.kernel.is_precomputed() { Scale::None } else { self.scale.unwrap_or(default) };
        Encoding { scale, missing: self.missing, text_as, nonnegative }
    }

    fn check_settings(&self) -> Result<()> {
        if !(1e-3..=1000.0).contains(&self.exponent) {
            return Err(Error::argument("exponent", "above 0 (from 0.001 to 1000)", self.exponent));
        }
        match self.lambda {
            // Below and above, λ n or its inverse leaves the range of f64.
            Some(lambda) if !(1e-290..=1e290).contains(&lambda) => {
                Err(Error::argument("lambda", "above 0 (from 1e-290 to 1e290)", lambda))
            }
            _ => Ok(()),
        }
    }

    /// The gate before anything large is allocated.
    fn check_memory(&self, rows: usize, features: usize, targets: usize, is_weighted: bool) -> Result<Plan> {
        let shape = Shape {
            rows,
            features,
            targets,
            is_linear: self.kernel.linear_scale().is_some(),
            is_weighted,
            fixed_exponent: self.lambda.map(|_| self.exponent),
        };
        let plan = plan::plan(&shape);
        plan.check(&shape, self.memory.unwrap_or_else(plan::available_memory))?;
        Ok(plan)
    }

    fn fit_design(&self, design: Design) -> Result<Fitted> {
        let points = &design.points;
        let mut plan =
            self.check_memory(design.rows(), points.features(), design.y.cols(), design.weights.is_some())?;
        let kernel = self.kernel_for(&design)?;
        if kernel.linear_scale().is_none() && plan.method == Method::Primal {
            // A text column kept as a code turned a linear kernel into a product.
            let shape = Shape { is_linear: false, ..self.shape_of(&design) };
            plan = plan::plan(&shape);
            plan.check(&shape, self.memory.unwrap_or_else(plan::available_memory))?;
        }
        let weights = design.weights.as_deref();
        let stage = |name: &'static str| match &self.observer {
            Some(observer) if !observer(name) => Err(Error::Interrupted),
            _ => Ok(()),
        };
        let found = match (plan.method, self.lambda) {
            (Method::Cholesky, Some(lambda)) => {
                let solved =
                    cholesky::solve(&*kernel, points, &design.y, lambda, self.offset, self.diagnostics, &stage)?;
                let residuals = match solved.residuals {
                    Some(all) => all.into_iter().map(|e| Some(LeaveOneOut::new(e, None))).collect(),
                    None => vec![None; design.y.cols()],
                };
                Found { lambdas: vec![lambda; design.y.cols()], solutions: solved.solutions, residuals, spectrum: None }
            }
            (method, _) => {
                stage("Gram matrix")?;
                let spectrum = match kernel.linear_scale() {
                    Some(scale) if method == Method::Primal => {
                        stage("decomposing")?;
                        Spectrum::from_linear(&points.to_matrix(), scale, weights, self.offset)?
                    }
                    _ => {
                        let gram = space::gram_lower(&*kernel, points);
                        stage("decomposing")?;
                        Spectrum::from_gram(gram, weights, self.offset)?
                    }
                };
                self.solve_on(&spectrum, &*kernel, &design, &stage)?.with_spectrum(spectrum)
            }
        };
        if found.solutions.len() != design.y.cols() {
            return Err(Error::Decomposition("the solution is not finite".into()));
        }
        self.assemble(design, kernel, plan, found)
    }

    fn shape_of(&self, design: &Design) -> Shape {
        Shape {
            rows: design.rows(),
            features: design.points.features(),
            targets: design.y.cols(),
            is_linear: self.kernel.linear_scale().is_some(),
            is_weighted: design.weights.is_some(),
            fixed_exponent: self.lambda.map(|_| self.exponent),
        }
    }

    /// The kernel with its numbers; text kept as codes is compared by `equality`.
    fn kernel_for(&self, design: &Design) -> Result<SharedKernel> {
        let (points, weights) = (&design.points, design.weights.as_deref());
        let kernel = if points.code_columns() > 0 && !self.kernel.uses_codes() {
            let equality: SharedKernel = Arc::new(Equality::new(0.5));
            Arc::new(Combined::product(vec![self.kernel.clone(), equality]))
        } else {
            self.kernel.clone()
        };
        kernel.fitted_to(points, weights)
    }

    /// λ, solutions and leave-one-out of every target, from one decomposition.
    fn solve_on(
        &self,
        spectrum: &Spectrum,
        kernel: &dyn Kernel,
        design: &Design,
        stage: &dyn Fn(&'static str) -> Result<()>,
    ) -> Result<Found> {
        let count = design.y.cols();
        let targets: Vec<Target> = (0..count).map(|t| spectrum.target(design.y.col(t))).collect::<Result<_>>()?;
        let groups: Vec<Vec<usize>> =
            if self.shared_ridge { vec![(0..count).collect()] } else { (0..count).map(|t| vec![t]).collect() };
        let mut found = Found::default();
        for group in groups {
            let members: Vec<&Target> = group.iter().map(|t| &targets[*t]).collect();
            stage("leave-one-out")?;
            let (lambda, residuals) = self.lambda_and_residuals(spectrum, &members, design.weights.as_deref());
            stage("solving")?;
            let pairs: Vec<(&Target, &[f64])> = group.iter().map(|t| (&targets[*t], design.y.col(*t))).collect();
            let solutions = spectral::solve(spectrum, kernel, &design.points, &pairs, self.exponent, lambda);
            found.lambdas.extend(vec![lambda; group.len()]);
            found.solutions.extend(solutions);
            found.residuals.extend(residuals);
        }
        Ok(found)
    }

    fn lambda_and_residuals(
        &self,
        spectrum: &Spectrum,
        targets: &[&Target],
        weights: Option<&[f64]>,
    ) -> (f64, Vec<Option<LeaveOneOut>>) {
        let at = |lambda: f64| match leave_one_out(spectrum, targets, self.exponent, &[libm::log(lambda)]) {
            Some(mut by_lambda) => {
                by_lambda.swap_remove(0).into_iter().map(|e| Some(LeaveOneOut::new(e, weights))).collect()
            }
            None => vec![None; targets.len()],
        };
        match self.lambda {
            Some(lambda) => (lambda, at(lambda)),
            None => match choose_lambda(spectrum, targets, weights, self.exponent) {
                // The residuals belong to this very λ, exp and log included.
                Some(chosen) => (chosen.lambda, chosen.leave_one_out.into_iter().map(Some).collect()),
                // One row, or nothing to explain: every λ gives the same model.
                None => (1.0, at(1.0)),
            },
        }
    }

    fn assemble(&self, design: Design, kernel: SharedKernel, plan: Plan, found: Found) -> Result<Fitted> {
        let check: Option<DecompositionCheck> = found.spectrum.as_ref().map(Spectrum::check);
        let weights = design.weights.as_deref();
        let mut summaries = Vec::new();
        for (t, solution) in found.solutions.iter().enumerate() {
            let y = design.y.col(t);
            let variance = weighted_variance(y, weights);
            let largest = y.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            let varies = variance.sqrt() > 16.0 * f64::EPSILON * largest;
            let explained = |mse: f64| varies.then(|| 1.0 - mse / variance);
            let loo = found.residuals[t].as_ref();
            summaries.push(Summary {
                target: design.targets[t].clone(),
                rows: design.rows(),
                lambda: found.lambdas[t],
                lambda_was_chosen: self.lambda.is_none(),
                exponent: self.exponent,
                effective_ridge: solution.effective_ridge(),
                stationary_ridges: solution.minimum.stationary.iter().map(|point| point.ridge()).collect(),
                norm: solution.norm,
                objective: solution.objective(self.exponent, found.lambdas[t]),
                intercept: solution.offset,
                has_offset: self.offset,
                dof: solution.dof,
                train_rmse: solution.train_mse.sqrt(),
                train_r2: explained(solution.train_mse),
                loo_rmse: loo.map(LeaveOneOut::rmse),
                loo_r2: loo.and_then(|loo| explained(loo.mse)),
                is_zero: solution.is_zero(),
                target_range: y.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(*v), h.max(*v)]),
                certificate: Certificate::new(solution, check),
            });
        }
        let length = found.solutions.first().map_or(0, |solution| solution.coefficients.len());
        let all: Vec<f64> = found.solutions.iter().flat_map(|solution| solution.coefficients.iter().copied()).collect();
        let coefficients = Matrix::from_columns(length, found.solutions.len(), all)?;
        if coefficients.as_slice().iter().any(|c| !c.is_finite()) {
            return Err(Error::Decomposition("the coefficients are not finite; a larger λ is needed".into()));
        }
        let expansion = if plan.method == Method::Primal {
            Expansion::Linear { coefficients }
        } else if kernel.is_precomputed() {
            // Kernel values come with every new row; only their number is needed.
            Expansion::Kernel {
                points: crate::kernel::Points::new(&Matrix::zeros(design.rows(), 0)),
                alpha: coefficients,
            }
        } else {
            Expansion::Kernel { points: design.points.clone(), alpha: coefficients }
        };
        let model = Model { encoder: design.encoder.clone(), kernel, expansion, summaries };
        Ok(Fitted {
            model,
            solutions: found.solutions,
            leave_one_out: found.residuals,
            spectrum: found.spectrum,
            plan,
            design,
        })
    }
}

/// What the solvers found, target by target.
#[derive(Default)]
struct Found {
    lambdas: Vec<f64>,
    solutions: Vec<Solution>,
    residuals: Vec<Option<LeaveOneOut>>,
    spectrum: Option<Spectrum>,
}

impl Found {
    fn with_spectrum(self, spectrum: Spectrum) -> Self {
        Found { spectrum: Some(spectrum), ..self }
    }
}

fn weighted_variance(y: &[f64], weights: Option<&[f64]>) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = weights.map_or(y.len() as f64, |w| w.iter().sum());
    let mean = y.iter().enumerate().map(|(i, v)| weight(i) / total * v).sum::<f64>();
    y.iter().enumerate().map(|(i, v)| weight(i) / total * (v - mean) * (v - mean)).sum()
}
