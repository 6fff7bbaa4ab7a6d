//! Which columns matter: the rise of the held-out squared error when a column is permuted.
//!
//! 1. Rows (at most [`Permutation::rows`]: drawn at random, or the latest ones in order of time) are divided into folds, the rows of a
//!    group (or copies of one row) together.
//! 2. On the training rows of each fold the model is fitted again with its kernel, exponent and λ, as it reads its columns.
//! 3. Held-out rows i are predicted as they are, and once for each column and permutation with that column's cell taken from another
//!    held-out row. A column is permuted as it stands in the table: the features of its categories, or its logarithm, move with it.
//!
//! Δᵢ is the mean over the permutations of (yᵢ − f₋(permuted xᵢ))² − (yᵢ − f₋(xᵢ))². A column's rise is the weighted mean of Δᵢ, with the standard
//! error of that mean over rows, or over groups. Columns that say the same can replace each other, and each then shows a smaller rise
//! (Breiman, Random forests, 2001; Fisher, Rudin and Dominici, All models are wrong, but many are useful, 2019).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::base::error::{Error, Result};
use crate::base::watch::Observer;
use crate::data::{Column, Design, Frame, Missing, Roles, group_codes};
use crate::fit::Fit;
use crate::fit::after::training::{AGREEMENT, told};
use crate::model::Model;
use crate::term::criterion::folds::shuffle;
use crate::term::criterion::{Criterion, FoldRule, Folds, Order, group_count};

/// Predictions times training rows that are computed at most: a second or so.
const WORK: usize = 40_000_000;
/// Rows that are predicted at least.
const FEWEST: usize = 50;

/// How importance is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permutation {
    /// Which rows predict which.
    pub folds: FoldRule,
    /// How often each column is permuted.
    pub permutations: usize,
    /// Rows that are used at most.
    pub rows: usize,
    /// Held-out rows that are predicted at most; fewer with many columns.
    pub predicted: usize,
    /// The seed of folds, sample and permutations.
    pub seed: u64,
}

impl Default for Permutation {
    fn default() -> Self {
        Permutation { folds: FoldRule::random(5), permutations: 5, rows: 1500, predicted: 1500, seed: 1 }
    }
}

/// The importance of the columns for one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Importance {
    /// The target.
    pub target: String,
    /// The columns, those with the largest rise first.
    pub columns: Vec<ColumnImportance>,
    /// The weighted mean squared error of the held-out rows as they are.
    pub mse: f64,
    /// The held-out rows that were predicted, as rows of the table.
    pub rows: Vec<usize>,
    /// The row that each of them takes a permuted cell from, `[permutation][place]`.
    pub partners: Vec<Vec<usize>>,
}

/// The importance of one column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnImportance {
    /// The column's name.
    pub column: String,
    /// The rise of the mean squared error when it is permuted; below 0 by chance where it does not matter.
    pub increase: f64,
    /// The standard error of the rise, over rows or groups.
    pub standard_error: f64,
    /// Its share of the sum of all rises above 0.
    pub share: f64,
    /// The standard error in the same unit.
    pub share_error: f64,
}

/// The rows of a table that are used, and how.
struct Rows {
    /// Rows of the table, rising.
    used: Vec<usize>,
    groups: Option<Vec<u32>>,
    /// Over places in `used`.
    folds: Folds,
    /// Whether a place is predicted.
    is_predicted: Vec<bool>,
    /// `[permutation][place]`: the place whose cell is taken.
    partners: Vec<Vec<usize>>,
}

impl Permutation {
    /// Five folds; of a model that was chosen by forward chaining, its blocks.
    pub fn for_model(model: &Model) -> Self {
        let chosen_by = model.summaries().iter().find_map(|summary| summary.chosen_by.as_deref());
        match chosen_by.map(Criterion::parse) {
            Some(Ok(Criterion::KFold(folds))) if folds.is_forward() => Permutation { folds, ..Permutation::default() },
            _ => Permutation::default(),
        }
    }

    /// The importance of a model's columns for each of its targets, from the table it was fitted to. A table on which the
    /// model's training error, number of rows or number of groups differs is refused.
    pub fn of_model(
        &self,
        model: &Model,
        frame: &Frame,
        roles: &Roles,
        observer: Option<&Observer>,
    ) -> Result<Vec<Importance>> {
        check_model(model)?;
        check_rows(model, frame, roles)?;
        self.of_rows(model, frame, roles, observer)
    }

    /// The same of rows that are known to be those of the fit.
    pub(crate) fn of_rows(
        &self,
        model: &Model,
        frame: &Frame,
        roles: &Roles,
        observer: Option<&Observer>,
    ) -> Result<Vec<Importance>> {
        check_model(model)?;
        let columns: Vec<String> = model.encoder().columns().into_iter().map(str::to_owned).collect();
        let rows = self.draw(model, frame, roles, &columns)?;
        let mut features = Frame::new(frame.rows());
        for name in &columns {
            features.push(name.clone(), frame.column(name)?.clone())?;
        }
        (0..model.summaries().len())
            .map(|t| self.of_target(model, t, frame, &features, roles, &rows, observer))
            .collect()
    }

    fn draw(&self, model: &Model, frame: &Frame, roles: &Roles, columns: &[String]) -> Result<Rows> {
        let mut needed: Vec<&str> = roles.targets.iter().chain(&roles.weight).map(String::as_str).collect();
        if model.encoder().missing != Missing::Mean {
            needed.extend(columns.iter().map(String::as_str));
        }
        let needed: Vec<&Column> = needed.into_iter().map(|name| frame.column(name)).collect::<Result<_>>()?;
        let weight = weights(frame, roles)?;
        let is_used = |row: &usize| {
            needed.iter().all(|column| !column.is_missing(*row)) && weight.is_none_or(|cells| cells[*row] > 0.0)
        };
        let mut used: Vec<usize> = (0..frame.rows()).filter(is_used).collect();
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        if used.len() > self.rows {
            if self.folds.is_forward() {
                used.drain(..used.len() - self.rows);
            } else {
                shuffle(&mut used, &mut random);
                used.truncate(self.rows);
                used.sort_unstable();
            }
        }
        let groups = match &roles.group {
            Some(name) => Some(group_codes(frame, name, &used)?),
            // A row is not held out while a copy of it stays.
            None if !self.folds.is_forward() => {
                Design::again(&frame.select_rows(&used), roles, model.encoder())?.copies()
            }
            None => None,
        };
        let units =
            groups.as_ref().map_or(used.len(), |codes| codes.iter().collect::<std::collections::HashSet<_>>().len());
        let rule = match self.folds.order {
            Order::Forward(_) => self.folds,
            _ => FoldRule { folds: self.folds.folds.min(units), repeats: 1, ..self.folds },
        };
        let folds = Folds::draw(&rule, used.len(), groups.as_deref(), self.seed)?;
        let mut predicted = folds.held_out_rows();
        let each = columns.len() * self.permutations * used.len();
        let most = self.predicted.min((WORK / each.max(1)).max(FEWEST));
        if predicted.len() > most {
            shuffle(&mut predicted, &mut random);
            predicted.truncate(most);
            predicted.sort_unstable();
        }
        let mut is_predicted = vec![false; used.len()];
        predicted.iter().for_each(|place| is_predicted[*place] = true);
        let partners = (0..self.permutations.max(1)).map(|_| {
            let mut order = predicted.clone();
            shuffle(&mut order, &mut random);
            let mut partner: Vec<usize> = (0..used.len()).collect();
            predicted.iter().zip(order).for_each(|(place, other)| partner[*place] = other);
            partner
        });
        Ok(Rows { partners: partners.collect(), used, groups, folds, is_predicted })
    }

    #[expect(clippy::too_many_arguments, reason = "a table in two forms, and what is measured on it")]
    fn of_target(
        &self,
        model: &Model,
        t: usize,
        frame: &Frame,
        features: &Frame,
        roles: &Roles,
        rows: &Rows,
        observer: Option<&Observer>,
    ) -> Result<Importance> {
        let summary = &model.summaries()[t];
        let own = Roles { targets: vec![summary.target.clone()], group: None, ..roles.clone() };
        let Column::Number(y) = frame.column(&summary.target)? else {
            return Err(Error::argument(
                "the target of permutation importance",
                "a column of numbers",
                &summary.target,
            ));
        };
        let fit = Fit::with_shared(model.kernel().clone()).exponent(summary.exponent).lambda(summary.lambda).exact();
        let fit = if summary.has_offset { fit } else { fit.without_offset() };
        let fit = if summary.clip.is_some() { fit.clip() } else { fit }.without_diagnostics().squared();
        let names = features.names();
        // Of every place: the squared error, and for each column its mean rise.
        let mut squares = vec![f64::NAN; rows.used.len()];
        let mut rises = vec![vec![0.0; rows.used.len()]; names.len()];
        for (fold, held) in rows.folds.groups.iter().enumerate() {
            told(observer, "what matters")?;
            let held: Vec<usize> = held.iter().copied().filter(|place| rows.is_predicted[*place]).collect();
            if held.is_empty() {
                continue;
            }
            let in_table = |places: &[usize]| places.iter().map(|place| rows.used[*place]).collect::<Vec<usize>>();
            let kept = in_table(&rows.folds.kept(fold, rows.used.len()));
            let training = Design::again(&frame.select_rows(&kept), &own, model.encoder())?;
            let part = fit.fit_design(training)?.model;
            let truth: Vec<f64> = held.iter().map(|place| y[rows.used[*place]]).collect();
            let errors = |frame: &Frame| -> Result<Vec<f64>> {
                let values = part.predict_frame(frame)?.swap_remove(0);
                Ok(values.iter().zip(&truth).map(|(v, y)| v.map_or(f64::NAN, |v| (y - v) * (y - v))).collect())
            };
            let plain = features.select_rows(&in_table(&held));
            let base = errors(&plain)?;
            held.iter().zip(&base).for_each(|(place, square)| squares[*place] = *square);
            for partners in &rows.partners {
                let others: Vec<usize> = held.iter().map(|place| partners[*place]).collect();
                let others = features.select_rows(&in_table(&others));
                for (c, name) in names.iter().enumerate() {
                    let mut permuted = Frame::new(held.len());
                    for (other, column) in plain.iter() {
                        let column = if other == name { others.column(name)? } else { column };
                        permuted.push(other, column.clone())?;
                    }
                    let found = errors(&permuted)?;
                    for (i, place) in held.iter().enumerate() {
                        rises[c][*place] += (found[i] - base[i]) / rows.partners.len() as f64;
                    }
                }
            }
        }
        Ok(rows.summed(summary.target.clone(), names, &squares, &rises, weights(frame, roles)?))
    }
}

fn check_model(model: &Model) -> Result<()> {
    if let Some(reason) = model.is_not_spectral() {
        let must = "one of the squared loss with the penalty λ‖f‖ᵐ for permutation importance";
        return Err(Error::argument("the model", must, reason));
    }
    if model.kernel().is_precomputed() {
        return Err(Error::argument("the kernel", "one with columns for permutation importance", "precomputed"));
    }
    Ok(())
}

/// Refuses rows that are not those of the fit: their number, their groups, or the model's error on them differs.
fn check_rows(model: &Model, frame: &Frame, roles: &Roles) -> Result<()> {
    let design = Design::again(frame, roles, model.encoder())?;
    let groups = design.groups.as_deref().map(group_count);
    if let Some(known) = model.summaries().iter().find_map(|summary| summary.groups).filter(|n| groups != Some(*n)) {
        let must = format!("given with the column of their {known} groups, which the fit had");
        let got = groups.map_or("rows without groups".into(), |count| format!("{count} groups"));
        return Err(Error::argument("the training rows", must, got));
    }
    // The training error is that of predictions before they are clipped.
    let mut model = model.clone();
    model.summaries.iter_mut().for_each(|summary| summary.clip = None);
    let values = model.predict_points(&design.points)?;
    let total = design.weight_sum();
    for (t, (summary, spread)) in model.summaries.iter().zip(design.deviations()).enumerate() {
        let weight = |i: usize| design.weights.as_ref().map_or(1.0, |w| w[i]) / total;
        let pairs = || design.y.col(t).iter().zip(values.col(t)).enumerate();
        let rmse = pairs().map(|(i, (y, f))| weight(i) * (y - f) * (y - f)).sum::<f64>().sqrt();
        let largest = design.y.col(t).iter().fold(0.0, |max: f64, y| max.max(y.abs()));
        let is_same =
            summary.rows == design.rows() && (rmse - summary.train_rmse).abs() <= AGREEMENT * spread + 1e-9 * largest;
        if !is_same {
            let found = format!(
                "{} rows on which {} has training error {rmse:.6e}; the model says {} rows and {:.6e}",
                design.rows(),
                summary.target,
                summary.rows,
                summary.train_rmse
            );
            return Err(Error::argument("the training rows", "those of the fit, with their weights", found));
        }
    }
    Ok(())
}

impl Rows {
    /// Means over the predicted rows, and their standard errors.
    fn summed(
        &self,
        target: String,
        names: &[String],
        squares: &[f64],
        rises: &[Vec<f64>],
        weights: Option<&[f64]>,
    ) -> Importance {
        let places: Vec<usize> = (0..self.used.len()).filter(|place| squares[*place].is_finite()).collect();
        let weight = |place: usize| weights.map_or(1.0, |w| w[self.used[place]]);
        let total: f64 = places.iter().map(|place| weight(*place)).sum();
        let mean = |values: &[f64]| places.iter().map(|place| weight(*place) * values[*place]).sum::<f64>() / total;
        let error = |values: &[f64], mean: f64| {
            let mut sums: std::collections::BTreeMap<usize, f64> = std::collections::BTreeMap::new();
            for place in &places {
                let unit = self.groups.as_ref().map_or(*place, |codes| codes[*place] as usize);
                *sums.entry(unit).or_default() += weight(*place) * (values[*place] - mean);
            }
            let units = sums.len() as f64;
            let square: f64 = sums.values().map(|sum| sum * sum).sum();
            (square * units / (units - 1.0).max(1.0)).sqrt() / total
        };
        let found: Vec<(f64, f64)> = rises
            .iter()
            .map(|rises| {
                let mean = mean(rises);
                (mean, error(rises, mean))
            })
            .collect();
        let all: f64 = found.iter().map(|(increase, _)| increase.max(0.0)).sum();
        let all = if all > 0.0 { all } else { f64::INFINITY };
        let column = |(name, (increase, standard_error)): (&String, &(f64, f64))| ColumnImportance {
            column: name.clone(),
            increase: *increase,
            standard_error: *standard_error,
            share: increase.max(0.0) / all,
            share_error: standard_error / all,
        };
        let mut columns: Vec<ColumnImportance> = names.iter().zip(&found).map(column).collect();
        columns.sort_by(|a, b| b.increase.total_cmp(&a.increase));
        let in_table = |place: &usize| self.used[*place];
        let partners = self.partners.iter();
        Importance {
            target,
            columns,
            mse: mean(squares),
            rows: places.iter().map(in_table).collect(),
            partners: partners.map(|p| places.iter().map(|place| self.used[p[*place]]).collect()).collect(),
        }
    }
}

fn weights<'a>(frame: &'a Frame, roles: &Roles) -> Result<Option<&'a [f64]>> {
    let Some(name) = &roles.weight else { return Ok(None) };
    match frame.column(name)? {
        Column::Number(cells) => Ok(Some(cells)),
        Column::Text(_) => Err(Error::argument("the weights", "numbers", name)),
    }
}
