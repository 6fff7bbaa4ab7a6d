//! A criterion of one target on one decomposition, without the rest of a fit.

use super::judge::{Extras, Judge};
use super::{Choice, Search};
use crate::base::error::{Error, Result};
use crate::path::{Spectrum, Target};
use crate::term::criterion::{Criterion, Folds};

/// The criterion for several exponents, each with several λ in rising order: `[exponent][λ]`. `seed` draws the folds.
pub fn scores_of_target(
    spectrum: &Spectrum,
    target: &Target,
    criterion: &Criterion,
    asked: &[(f64, Vec<f64>)],
    seed: u64,
) -> Result<Vec<Vec<f64>>> {
    let (targets, extras) = ([target], extras(spectrum, criterion, seed)?);
    let judge = Judge::new(spectrum, &targets, criterion, &extras, None)?.ok_or_else(nothing_to_judge)?;
    let logarithms: Vec<(f64, Vec<f64>)> = asked
        .iter()
        .map(|(exponent, lambdas)| (*exponent, lambdas.iter().map(|lambda| libm::log(*lambda)).collect()))
        .collect();
    let scores = judge.scores(&logarithms);
    Ok(scores.iter().map(|scores| scores.iter().map(|score| score.value).collect()).collect())
}

/// The best of these exponents and any λ.
pub fn best_for_target(
    spectrum: &Spectrum,
    target: &Target,
    criterion: &Criterion,
    exponents: &[f64],
    seed: u64,
) -> Result<Choice> {
    let (targets, extras) = ([target], extras(spectrum, criterion, seed)?);
    let judge = Judge::new(spectrum, &targets, criterion, &extras, None)?.ok_or_else(nothing_to_judge)?;
    let search = Search {
        exponents: exponents.to_vec(),
        lambdas: None,
        refine: true,
        preferred: None,
        one_standard_error: false,
    };
    Ok(search.run(&judge, &[0]).ok_or_else(nothing_to_judge)?.best)
}

fn extras(spectrum: &Spectrum, criterion: &Criterion, seed: u64) -> Result<Extras> {
    let folds = match criterion {
        Criterion::KFold(rule) => Some(Folds::draw(rule, spectrum.rows(), None, seed)?),
        _ => None,
    };
    Ok(Extras { folds, unlabelled: None })
}

fn nothing_to_judge() -> Error {
    Error::argument("the target", "one that varies, in at least two rows", "a constant")
}
