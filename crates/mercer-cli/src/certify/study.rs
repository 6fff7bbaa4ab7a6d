//! Everything that is found out about a subject.

use mercer::loss::residual::{EpsilonInsensitive, SquaredEpsilonInsensitive};
use mercer::loss::{Loss, SharedLoss};
use mercer::solver::deletion::Divisor;
use mercer_lab::bounds::{Bound, Evidence, Kind, Verdict};
use mercer_lab::stability::{Observed, Scaling, Transfer};
use std::sync::Arc;

use super::subject::Subject;
use crate::args::{CertifyOptions, Common};
use crate::progress::Progress;

/// Random orders of the rows from which nested subsets are taken.
const DRAWS: usize = 5;

/// What deletions showed.
pub struct Stability {
    /// 1/n kept, and refitted on the others.
    pub observed: [Observed; 2],
    pub scaling: Option<Scaling>,
    pub transfer: Option<Transfer>,
}

/// Bounds of the risk under one loss.
pub struct Judged {
    pub loss: SharedLoss,
    pub train: f64,
    pub held_out: Option<f64>,
    /// What predicting the mean of y costs on these rows.
    pub baseline: f64,
    pub bounds: Vec<Bound>,
}

pub struct Found {
    pub subject: Subject,
    pub confidence: f64,
    pub centre: f64,
    pub target_bound_is_given: bool,
    /// For the squared loss.
    pub stability: Option<Stability>,
    /// The loss that was minimised comes first.
    pub judged: Vec<Judged>,
}

impl Found {
    pub fn of(subject: Subject, options: &CertifyOptions, common: &Common) -> anyhow::Result<Self> {
        let progress = Progress::start(common.quiet);
        let stability = stability(&subject, common, &progress)?;
        let mut losses: Vec<SharedLoss> = vec![subject.assume.loss.clone()];
        if let Some(epsilon) = options.epsilon {
            let more: [SharedLoss; 2] =
                [Arc::new(EpsilonInsensitive { epsilon }), Arc::new(SquaredEpsilonInsensitive { epsilon })];
            losses.extend(more.into_iter().filter(|loss| loss.spec() != subject.assume.loss.spec()));
        }
        let deleted = stability.as_ref().map(|stability| &stability.observed[1]);
        let judged = losses.into_iter().map(|loss| judge(&subject, loss, deleted, options.confidence));
        let judged = judged.collect::<mercer::Result<Vec<Judged>>>()?;
        Ok(Found {
            confidence: options.confidence,
            centre: options.center,
            target_bound_is_given: options.target_at_most.is_some(),
            stability,
            judged,
            subject,
        })
    }

    /// Whether a bound holds for this subject: with λ chosen on the same rows only that of doubling balls does.
    pub fn holds(&self, bound: &Bound) -> bool {
        match &self.subject.chosen_by {
            Some(_) => bound.kind == Kind::Doubling,
            None => bound.kind != Kind::Optimistic,
        }
    }

    /// The least bound of the risk under the loss that was minimised, among those that hold, and how many these are.
    pub fn best(&self) -> Option<(&Bound, usize)> {
        let bounds: Vec<&Bound> = self.judged[0].bounds.iter().filter(|bound| self.holds(bound)).collect();
        let count = bounds.len();
        bounds.into_iter().min_by(|a, b| a.value.total_cmp(&b.value)).map(|best| (best, count))
    }

    pub fn is_informative(&self) -> bool {
        self.best().is_some_and(|(bound, _)| bound.verdict == Verdict::Informative)
    }
}

fn stability(subject: &Subject, common: &Common, progress: &Progress) -> mercer::Result<Option<Stability>> {
    let (Some(sample), assume) = (&subject.sample, &subject.assume) else { return Ok(None) };
    let observer = progress.observer();
    let stage = |name: &'static str| if observer(name) { Ok(()) } else { Err(mercer::Error::Interrupted) };
    stage("leaving out each row")?;
    let observed = [sample.observe(assume, Divisor::All)?, sample.observe(assume, Divisor::Remaining)?];
    stage("leaving out each row, at the effective ridge")?;
    let transfer = sample.transfer(assume)?;
    let scaling = sample.scaling(assume, DRAWS, common.seed, &|| stage("leaving out each row of nested subsets"))?;
    Ok(Some(Stability { observed, scaling, transfer }))
}

fn judge(subject: &Subject, loss: SharedLoss, deleted: Option<&Observed>, confidence: f64) -> mercer::Result<Judged> {
    let n = subject.targets.len() as f64;
    let centre = subject.targets.iter().sum::<f64>() / n;
    let mean_of = |value: &dyn Fn(usize) -> f64| {
        subject.targets.iter().enumerate().map(|(i, y)| loss.value(*y, value(i))).sum::<f64>() / n
    };
    let (train, baseline) = (mean_of(&|i| subject.fitted[i]), mean_of(&|_| centre));
    let own = loss.spec() == subject.assume.loss.spec();
    let held_out = deleted.map(|observed| observed.held_out_loss(&*loss)).or(subject.held_out.filter(|_| own));
    let evidence = Evidence {
        assume: subject.assume.clone(),
        train_loss: train,
        baseline,
        norm: subject.norm,
        mean_diagonal: subject.mean_diagonal,
        confidence,
    };
    let bounds = evidence.bounds(&*loss as &dyn Loss)?;
    Ok(Judged { loss, train, held_out, baseline, bounds })
}
