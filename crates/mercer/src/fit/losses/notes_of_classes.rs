//! What is odd about a model of classes.

use crate::data::class_of;
use crate::fit::{Engaged, Fitted};
use crate::model::notes::Note;
use crate::model::{Meaning, Probability, shares};

impl Fitted {
    pub(in crate::fit) fn notes_of_classes(&self) -> Vec<Note> {
        let Meaning::Classes { target, classes, probability, class_weights } = self.model.meaning() else {
            return Vec::new();
        };
        let target = || target.clone();
        let mut notes = Vec::new();
        let is_stated = matches!(probability, Probability::Stated | Probability::Softmax);
        if is_stated && class_weights.is_some() {
            notes.push(Note::ReweightedProbabilities { target: target() });
        }
        let predicted = |i: usize| class_of(&of_row(&self.fitted, i));
        let first = predicted(0);
        if (1..self.design.rows()).all(|i| predicted(i) == first) {
            notes.push(Note::OneClass { target: target(), class: classes.names[first].clone() });
        } else if let Some((class, error, share)) = self.no_better_than_one_class(is_stated, probability) {
            let class = classes.names[class].clone();
            notes.push(Note::NoBetterThanOneClass { target: target(), class, error, share });
        }
        notes
    }

    /// The most frequent class, the share of held-out rows that are not predicted and of those that are not of that class: where
    /// the model is no better than that class in every row, and if it states probabilities no better than the shares of the classes.
    /// Rows count by the weights of the fit.
    fn no_better_than_one_class(&self, is_stated: bool, probability: &Probability) -> Option<(usize, f64, f64)> {
        let count = self.model.classes()?.len();
        let Engaged::Loss { row_weights, .. } = &self.engaged else { return None };
        let weights = row_weights.as_deref();
        let code = |i: usize| match self.outputs() {
            [only] => usize::from(only[i] > 0.0),
            all => all.iter().position(|y| y[i] > 0.0).unwrap_or(0),
        };
        let (mut sums, mut wrong, mut log_loss) = (vec![0.0; count], 0.0, 0.0);
        let rows = if self.held_out.is_empty() { 0 } else { self.design.rows() };
        for i in 0..rows {
            let values = of_row(&self.held_out, i);
            if values.iter().any(|v| v.is_nan()) {
                continue;
            }
            let weight = weights.map_or(1.0, |w: &[f64]| w[i]);
            sums[code(i)] += weight;
            wrong += if class_of(&values) == code(i) { 0.0 } else { weight };
            log_loss -= weight * libm::log(shares(probability, &values)[code(i)].max(f64::MIN_POSITIVE));
        }
        let total = sums.iter().sum::<f64>();
        let most = (1..count).fold(0, |best, class| if sums[class] > sums[best] { class } else { best });
        let entropy = |sum: &f64| if *sum > 0.0 { -sum * libm::log(sum / total) } else { 0.0 };
        let others = total - sums[most];
        let is_no_better = total > 0.0
            && others > 0.0
            && wrong >= others * (1.0 - 1e-9)
            && (!is_stated || log_loss >= sums.iter().map(entropy).sum::<f64>());
        is_no_better.then(|| (most, wrong / total, others / total))
    }
}

/// The values of a row.
fn of_row(values: &[Vec<f64>], i: usize) -> Vec<f64> {
    values.iter().map(|column| column[i]).collect()
}
