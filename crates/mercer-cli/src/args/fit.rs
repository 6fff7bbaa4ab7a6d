//! The options of `mercer fit`.

use std::time::Duration;

use clap::Args;
use mercer::criterion::{Criterion, FoldRule};

use super::linear::PenaltyOptions;
use super::loss::LossOptions;
use super::table::{ColumnOptions, RowOptions, TableOptions};
use super::values::{
    KernelArgument, LandmarksArgument, Numbers, ScaleArgument, SolverArgument, criterion, duration, exponents,
    fold_rule, kernels, lambdas, metric, positive, row_count,
};

/// Fit a model to a table
///
/// Without --kernel, --exponent, --lambda and --criterion everything is chosen: the kernel's family, its metric,
/// the exponent and λ. With any of them the rest has a default: the Gaussian kernel, exponent 2, and the λ with
/// the least exact leave-one-out error (with --group, leave-one-group-out).
///
/// Examples:
///
///   mercer fit concrete.csv --target strength
///   mercer fit concrete.csv --target strength --budget 2m --assess kfold:5 --output concrete.mercer
///   mercer fit concrete.csv --target strength --kernel gaussian --exponent 1.5 --lambda 0.01 --json
///   mercer fit concrete.csv --target strength --kernel "0.5*linear + gaussian(lengthscale=median)"
///
/// Ranges are choices; one decomposition per kernel serves all exponents and λ:
///
///   mercer fit t.csv --target y --exponent 0.1..2.9:0.1 --lambda 1e-7..1e3:25 --table surface.csv
///   mercer fit t.csv --target y --kernel "gaussian(lengthscale=0.5..50:10)" --kernel additive-spline
///   mercer fit t.csv --target y --kernel matern52 --metric each
///   mercer fit t.csv --target y --kernel matern52 --group patient
///   mercer fit t.csv --target y --kernel gaussian --criterion tri --unlabelled more.csv
///   mercer fit t.csv --target y --kernel "laplace(lengthscale=0.1..100:40)" --journal run.journal
///   mercer fit big.csv --target y --kernel gaussian --rank 1000
///   mercer fit big.csv --target y --kernel matern52 --solver conjugate-gradients
///   cat table.csv | mercer fit - --target y
///
/// Other losses (`mercer list losses`), for numbers, quantiles and classes; λ by five folds unless it is given:
///
///   mercer fit t.csv --target y --loss "huber(threshold=0.5)"
///   mercer fit t.csv --target y --loss "epsilon-insensitive(epsilon=0.01..1:5)" --kernel "gaussian(lengthscale=1..8:4)"
///   mercer fit t.csv --target y --loss "pinball(quantile=[0.1,0.5,0.9])" --non-crossing
///   mercer fit t.csv --target kind --loss logistic --many-classes multinomial --assess kfold:5
///   mercer fit t.csv --target kind --method svm --class-weight balanced --probability --output m.mercer
///   mercer fit big.csv --target kind --loss hinge --rank 500
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct FitOptions {
    /// The table: CSV (any separator, also gzipped), Parquet, Arrow IPC or LIBSVM text; - is standard input. Or a file of
    /// `mercer moments`
    #[arg(
        required_unless_present = "from_moments",
        default_value_if("from_moments", clap::builder::ArgPredicate::IsPresent, "-")
    )]
    pub table: String,
    /// Fit to a file of `mercer moments` instead of a table
    #[arg(long, value_name = "MOMENTS", conflicts_with = "table", help_heading = "Reading the table")]
    pub from_moments: Option<String>,
    #[command(flatten)]
    pub columns: ColumnOptions,

    /// A kernel, as a spec such as gaussian(lengthscale=1.5) or with ranges; see `mercer list kernels`. Several: the best
    #[arg(long, short, value_name = "SPEC", value_parser = kernels, help_heading = "The model")]
    pub kernel: Vec<KernelArgument>,
    /// m in the penalty λ‖f‖ᵐ, any number above 0 (with --loss: at least 1), or a range with a step such as 0.1..2.9:0.1
    #[arg(long, short = 'm', value_name = "M", value_parser = exponents, allow_negative_numbers = true, help_heading = "The model")]
    pub exponent: Option<Numbers>,
    /// λ in the penalty, or a range with a number of points such as 1e-7..1e3:25 (default: chosen from all)
    #[arg(long, short, value_name = "L", value_parser = lambdas, allow_negative_numbers = true, help_heading = "The model")]
    pub lambda: Option<Numbers>,
    /// Learn the metric of the kernel first: each (one lengthscale per feature by the gradient of leave-one-out),
    /// each-likelihood, diagonal or full (by average gradient outer products)
    #[arg(long, value_name = "HOW", value_parser = metric, requires = "kernel", help_heading = "The model")]
    pub metric: Option<mercer::metric::Rule>,
    /// How numbers are scaled (default: standard; unit for splines; none for precomputed)
    #[arg(long, value_name = "HOW", help_heading = "The model")]
    pub scale: Option<ScaleArgument>,
    #[command(flatten)]
    pub losses: LossOptions,
    #[command(flatten)]
    pub penalties: PenaltyOptions,
    #[command(flatten)]
    pub rows: RowOptions,
    /// With many rows: f is a sum over at most this many landmarks (default: all rows up to 15,000 (automatic fits: 8,000) and what
    /// memory allows, then as many landmarks as take about a quarter of a minute)
    #[arg(long, value_name = "R", value_parser = row_count, help_heading = "The model")]
    pub rank: Option<usize>,
    /// As many landmarks as it takes for predictions this close to those of all rows at the same λ, at the training rows, in units
    /// of the target's spread, by a proved bound (exponents above 1)
    #[arg(long, value_name = "A", value_parser = positive, conflicts_with = "rank", help_heading = "The model")]
    pub accuracy: Option<f64>,
    /// How landmarks are chosen (default: kmeans, unless another is clearly better on a part of the rows; pivots for --accuracy, for
    /// text that is compared and with few rows for each)
    #[arg(long, value_name = "HOW", conflicts_with = "exact", help_heading = "The model")]
    pub landmarks_by: Option<LandmarksArgument>,
    /// All rows, however long it takes; where memory has no room for the kernel matrix, by conjugate gradients (exponents above 1, up
    /// to 100,000 rows); otherwise the fit is refused
    #[arg(long, conflicts_with_all = ["rank", "accuracy"], help_heading = "The model")]
    pub exact: bool,
    /// How the problem on all rows is solved: by what suits its size, or by conjugate gradients, without the kernel matrix and
    /// without leave-one-out; what is not given is then chosen on landmarks first (exponents above 1)
    #[arg(long, value_name = "HOW", conflicts_with_all = ["rank", "accuracy"], help_heading = "The model")]
    pub solver: Option<SolverArgument>,
    /// Keep predictions within the range of the training targets; leave-one-out and folds, and so what is chosen, count them so
    #[arg(long, help_heading = "The model")]
    pub clip: bool,
    /// With several targets: one effective ridge for all instead of one each
    #[arg(long, help_heading = "The model")]
    pub shared_ridge: bool,

    /// What is minimised: loo, kfold:10, forward:5 (rows in order of time), gcv, fpe, reml, …; see `mercer list criteria` (default: loo; with --loss: kfold:5, or loo, which is approximate there)
    #[arg(long, value_name = "SPEC", value_parser = criterion, help_heading = "Choosing")]
    pub criterion: Option<Criterion>,
    /// Rows without target, for the criteria tri, adj and dee; read like the table
    #[arg(long, value_name = "FILE", help_heading = "Choosing")]
    pub unlabelled: Option<String>,
    /// Take the largest λ within one standard error of the best
    #[arg(long, help_heading = "Choosing")]
    pub one_standard_error: bool,
    /// Choose among the points of the ranges only, not between them
    #[arg(long, help_heading = "Choosing")]
    pub on_grid: bool,
    /// Time for the automatic search, such as 90s or 2m (default: 60s, all folds of --assess included)
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["kernel", "lambda"], help_heading = "Choosing")]
    pub budget: Option<Duration>,
    /// Repeat everything, choices included, on all folds but one, and measure the error there: kfold:5; or, with rows in order of
    /// time, on the rows before each block: forward:5
    #[arg(long, value_name = "FOLDS", value_parser = fold_rule, help_heading = "Choosing")]
    pub assess: Option<FoldRule>,
    /// Write down finished work here; a run that was stopped goes on from it, with the same result bit for bit
    #[arg(long, value_name = "FILE", help_heading = "Choosing")]
    pub journal: Option<String>,

    /// Save the model to this file (- is standard output)
    #[arg(long, short, value_name = "MODEL", help_heading = "Output")]
    pub output: Option<String>,
    /// Save every point that was tried as a table; the name tells the format
    #[arg(long = "table", value_name = "FILE", help_heading = "Output")]
    pub surface: Option<String>,
    /// Print one JSON object instead of a report
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Coefficients only: no leave-one-out, no degrees of freedom (saves time with many rows and a given λ)
    #[arg(long, requires = "lambda", help_heading = "Output")]
    pub no_diagnostics: bool,
    #[command(flatten)]
    pub reading: TableOptions,
}

impl FitOptions {
    /// Whether everything is to be chosen.
    pub fn is_automatic(&self) -> bool {
        let nothing_said =
            self.kernel.is_empty() && self.exponent.is_none() && self.lambda.is_none() && self.criterion.is_none();
        let is_bounded = self.penalties.norm_at_most.is_some() || self.penalties.train_error_at_most.is_some();
        (nothing_said && !is_bounded) || self.budget.is_some()
    }

    /// Whether conjugate gradients are asked for.
    pub fn by_gradients(&self) -> bool {
        self.solver == Some(SolverArgument::ConjugateGradients)
    }

    /// Whether conjugate gradients may be what a fit by the squared loss is solved by.
    pub fn may_descend(&self) -> bool {
        !self.is_automatic() && (self.by_gradients() || self.exact || self.rank.is_some())
    }

    /// Whether anything is said about landmarks, and with which option.
    pub fn reduction(&self) -> Option<&'static str> {
        let named = [
            ("--rank", self.rank.is_some()),
            ("--accuracy", self.accuracy.is_some()),
            ("--landmarks-by", self.landmarks_by.is_some()),
            ("--exact", self.exact),
        ];
        named.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }

    /// Whether kernel, exponent and λ are all given.
    pub fn is_fixed(&self) -> bool {
        let kernels: usize = self.kernel.iter().map(|argument| argument.0.len()).sum();
        let one = |numbers: &Option<Numbers>| numbers.as_ref().is_some_and(|numbers| numbers.0.len() == 1);
        kernels <= 1 && one(&self.lambda) && (self.exponent.is_none() || one(&self.exponent))
    }
}
