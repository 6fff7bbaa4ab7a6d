//! What is certified: a fit to a table, or the rows that a model file still holds, always without an offset.

use mercer::certificate::Certificate;
use mercer::data::{Column, Frame, Roles};
use mercer::kernel::SharedKernel;
use mercer::loss::SharedLoss;
use mercer::{Fit, Fitted, Summary};
use mercer_lab::stability::{Assumptions, Sample};

use crate::args::{CertifyOptions, Common};
use crate::fit::named;
use crate::outcome::Usage;
use crate::predict::load;
use crate::progress::Progress;
use crate::report::judged_by;
use crate::{files, learn, moments};

/// A fit without offset, its rows and how it came about.
pub struct Subject {
    pub target: String,
    pub kernel: SharedKernel,
    pub assume: Assumptions,
    pub certificate: Certificate,
    pub is_zero: bool,
    /// What λ was chosen by, if it was.
    pub chosen_by: Option<String>,
    /// The rows come from a model that has an offset.
    pub had_offset: bool,
    /// κ² holds for every x there can be.
    pub kernel_is_known: bool,
    /// y after centring, and f at the rows.
    pub targets: Vec<f64>,
    pub fitted: Vec<f64>,
    pub norm: f64,
    /// tr K/n.
    pub mean_diagonal: f64,
    /// The mean loss of held-out rows, where they were not deleted one by one.
    pub held_out: Option<f64>,
    /// For the squared loss: the rows, decomposed.
    pub sample: Option<Sample>,
}

impl Subject {
    pub fn read(options: &CertifyOptions, common: &Common) -> anyhow::Result<Self> {
        let progress = Progress::start(common.quiet);
        if files::is_model(&options.file) {
            return Subject::of_model(options);
        }
        moments::refuse_file(&options.file, "certify")?;
        let table = files::read_table(&options.file, &options.reading.to_read_options())?;
        let roles = options.columns.to_roles_of_one_target(&table.frame)?;
        if roles.weight.is_some() {
            let text = "--weight cannot be certified: the theorems speak of rows that all count alike";
            return Err(Usage(text.into()).into());
        }
        let frame = centred(&table.frame, &roles, options.center)?;
        let kernels = match &options.kernel {
            Some(argument) => argument.0.clone(),
            None => vec![mercer::kernel::parse("gaussian")?],
        };
        match options.loss.as_ref().filter(|loss| loss.spec() != "squared") {
            Some(loss) => {
                let mut learn = learn::with(vec![vec![loss.clone()]], kernels, options.scale, &options.rows)
                    .without_offset()
                    .exponent(options.exponent.unwrap_or(2.0))
                    .seed(common.seed)
                    .observer(progress.observer());
                if let Some(lambda) = options.lambda {
                    learn = learn.lambda(lambda);
                }
                let learned = learn.fit_frame(&frame, &roles)?;
                Subject::of_loss(loss, &learned, options)
            }
            None => {
                let mut fit = named(kernels, options.scale, &options.rows)
                    .exact()
                    .without_offset()
                    .exponent(options.exponent.unwrap_or(2.0))
                    .seed(common.seed)
                    .observer(progress.observer());
                if let Some(lambda) = options.lambda {
                    fit = fit.lambda(lambda);
                }
                let fitted = fit.fit_frame(&frame, &roles)?;
                let sample = Sample::new(&**fitted.model.kernel(), &fitted.design.points, fitted.design.y.col(0));
                // As text: what helps a fit that lacks memory does not help here.
                let sample = sample.map_err(|error| anyhow::anyhow!("{error}"))?;
                Subject::of_squares(sample, fitted.summary(), fitted.model.kernel(), options)
            }
        }
    }

    /// The rows of a model, fitted again without an offset by its own kernel, exponent and λ.
    fn of_model(options: &CertifyOptions) -> anyhow::Result<Self> {
        let decided = [
            ("--target", !options.columns.target.is_empty()),
            ("--kernel", options.kernel.is_some()),
            ("--exponent", options.exponent.is_some()),
            ("--lambda", options.lambda.is_some()),
            ("--loss", options.loss.is_some()),
            ("--scale", options.scale.is_some()),
            ("--features", options.columns.features.is_some()),
            ("--drop", !options.columns.drop.is_empty()),
            ("--weight", options.columns.weight.is_some()),
            ("--group", options.columns.group.is_some()),
            ("--categorical", !options.columns.categorical.is_empty()),
        ];
        if let Some((option, _)) = decided.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Usage(format!("{option} is decided by the model; certify its table to choose it")).into());
        }
        let model = load(&options.file)?;
        let advice = "certify the table instead, with the model's --kernel, --exponent, --lambda and --loss";
        let sample = Sample::from_model(&model).map_err(|error| anyhow::anyhow!("{error}; {advice}"))?;
        let sample = if options.center == 0.0 { sample } else { sample.centred(options.center)? };
        let summary = &model.summaries()[0];
        let mut subject = Subject::of_squares(sample, summary, model.kernel(), options)?;
        if summary.has_offset || options.center != 0.0 {
            // What was verified is the model as it was fitted; verify what is certified here.
            if let Some(sample) = &subject.sample {
                let again = Fit::new(mercer::kernel::special::Precomputed)
                    .without_offset()
                    .exponent(summary.exponent)
                    .lambda(summary.lambda)
                    .fit(sample.gram(), &subject.targets)?;
                subject.certificate = again.summary().certificate.clone();
                subject.is_zero = again.summary().is_zero;
            }
        }
        subject.had_offset = summary.has_offset;
        Ok(subject)
    }

    fn of_squares(
        sample: Sample,
        summary: &Summary,
        kernel: &SharedKernel,
        options: &CertifyOptions,
    ) -> anyhow::Result<Self> {
        let assume = sample.assumptions(summary.exponent, summary.lambda, options.target_at_most)?;
        let (norm, fitted) = sample.fit(&assume);
        Ok(Subject {
            target: summary.target.clone(),
            kernel: kernel.clone(),
            certificate: summary.certificate.clone(),
            is_zero: summary.is_zero,
            chosen_by: judged_by(summary).filter(|_| summary.lambda_was_chosen),
            had_offset: false,
            kernel_is_known: sample.largest_diagonal().1,
            targets: sample.targets().to_vec(),
            fitted,
            norm,
            mean_diagonal: sample.mean_diagonal(),
            held_out: None,
            assume,
            sample: Some(sample),
        })
    }

    /// For another loss, of which only the bounds speak.
    fn of_loss(loss: &SharedLoss, learned: &Fitted, options: &CertifyOptions) -> anyhow::Result<Self> {
        let (summary, kernel, points) = (learned.summary(), learned.model.kernel(), &learned.design.points);
        let mut diagonal = vec![0.0; points.rows()];
        kernel.diagonal(points, 0, &mut diagonal);
        let of_rows = diagonal.iter().copied().fold(0.0, f64::max);
        let targets = learned.design.y.col(0).to_vec();
        let largest = targets.iter().fold(0.0, |max: f64, y| max.max(y.abs()));
        if let Some(bound) = options.target_at_most.filter(|bound| *bound < largest) {
            anyhow::bail!("the bound of |y| must be at least the |y| of every row; one has {largest}; got {bound}");
        }
        let assume = Assumptions {
            rows: points.rows(),
            exponent: summary.exponent,
            lambda: summary.lambda,
            target_bound: options.target_at_most.unwrap_or(largest),
            kernel_bound: kernel.largest_diagonal().unwrap_or(of_rows).sqrt(),
            loss: loss.clone(),
        };
        assume.check()?;
        Ok(Subject {
            target: summary.target.clone(),
            kernel: kernel.clone(),
            assume,
            certificate: summary.certificate.clone(),
            is_zero: summary.is_zero,
            chosen_by: judged_by(summary).filter(|_| summary.lambda_was_chosen),
            had_offset: false,
            kernel_is_known: kernel.largest_diagonal().is_some(),
            targets,
            fitted: learned.fitted[0].clone(),
            norm: summary.norm,
            mean_diagonal: diagonal.iter().sum::<f64>() / diagonal.len() as f64,
            held_out: summary.held_out.as_ref().filter(|held_out| held_out.measure == "loss").map(|h| h.value),
            sample: None,
        })
    }
}

/// The table with a number subtracted from the target.
fn centred(frame: &Frame, roles: &Roles, centre: f64) -> mercer::Result<Frame> {
    let mut out = frame.clone();
    for target in &roles.targets {
        if let Column::Number(cells) = frame.column(target)? {
            out = out.with_column(target, Column::Number(cells.iter().map(|y| y - centre).collect()))?;
        }
    }
    Ok(out)
}
