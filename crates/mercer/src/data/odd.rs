//! Cells of features that are out of all proportion: they decide the mean and the deviation by which a column is scaled.

use rayon::prelude::*;

use super::encoder::Feature;
use super::frame::{Column, Frame};

/// A cell is odd if it is this many times the distance of the quartiles away from the median.
const FAR: f64 = 1000.0;
/// Or if it has this share of the variance, where the quartiles differ.
const MOST_OF_THE_VARIANCE: f64 = 0.9;
/// With less of the variance no cell is looked at more closely.
const MUCH_OF_THE_VARIANCE: f64 = 0.1;
/// With fewer rows, one of them may well hold most of the variance.
const ENOUGH: usize = 10;

/// The oddest cell of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OddCell {
    pub column: String,
    /// The place of its row in the table, from 0.
    pub row: usize,
    pub value: f64,
    /// The quartiles of the column.
    pub quartiles: [f64; 2],
    /// Its share of the column's variance.
    pub share: f64,
    /// How many other cells are as odd.
    pub others: usize,
}

/// The odd cells of the columns of numbers among the features, in `rows` of the table with these weights.
pub(super) fn odd_cells(frame: &Frame, features: &[Feature], rows: &[usize], weights: Option<&[f64]>) -> Vec<OddCell> {
    if rows.len() < ENOUGH {
        return Vec::new();
    }
    let of = |feature: &Feature| {
        let (Feature::Number { name, log: None, .. }, Ok(Column::Number(cells))) =
            (feature, frame.column(feature.name()))
        else {
            return None;
        };
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let known = rows.iter().enumerate().map(|(i, row)| (*row, cells[*row], weight(i)));
        odd_cell(name, known.filter(|(_, value, _)| value.is_finite()))
    };
    features.par_iter().filter_map(of).collect()
}

/// From rows, cells and weights.
fn odd_cell(column: &str, cells: impl Iterator<Item = (usize, f64, f64)> + Clone) -> Option<OddCell> {
    // In units of the largest cell, whose square may not be a number.
    let size = cells.clone().fold(0.0, |max: f64, (_, value, _)| max.max(value.abs())).max(f64::MIN_POSITIVE);
    let (total, sum) = cells
        .clone()
        .fold((0.0, 0.0), |(total, sum), (_, value, weight)| (total + weight, sum + weight * (value / size)));
    let mean = sum / total;
    let square = |value: f64, weight: f64| weight * (value / size - mean) * (value / size - mean);
    let (sum, most) = cells.clone().fold((0.0, 0.0), |(sum, most): (f64, f64), (_, value, weight)| {
        let own = square(value, weight);
        (sum + own, most.max(own))
    });
    if !(most > MUCH_OF_THE_VARIANCE * sum) {
        return None;
    }
    let mut sorted: Vec<f64> = cells.clone().map(|(_, value, _)| value).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let [low, median, high] = [n / 4, n / 2, n - 1 - n / 4].map(|place| sorted[place]);
    let distance = |value: f64| (value - median).abs();
    let (row, value, weight) = cells.clone().max_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))?;
    // Of a column with one usual value, such as 0, the others are compared with each other: a rare 1 is not odd.
    let mut unit = high - low;
    if unit == 0.0 {
        sorted.retain(|value| *value != median);
        sorted.sort_unstable_by(|a, b| distance(*a).total_cmp(&distance(*b)));
        unit = distance(sorted[(sorted.len() - 1) / 2]);
    }
    let far = cells.filter(|(_, value, _)| distance(*value) > FAR * unit).count();
    let share = square(value, weight) / sum;
    let is_odd = n >= ENOUGH && (far > 0 || (high > low && share > MOST_OF_THE_VARIANCE));
    is_odd.then(|| OddCell {
        column: column.to_owned(),
        row,
        value,
        quartiles: [low, high],
        share,
        others: far.saturating_sub(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd(values: &[f64]) -> Option<OddCell> {
        odd_cell("x", values.iter().enumerate().map(|(row, value)| (row, *value, 1.0)))
    }

    #[test]
    fn one_absurd_cell_is_found_and_rare_ones_are_not() {
        let usual: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 101)).collect();
        assert_eq!(odd(&usual), None);
        let mut absurd = usual.clone();
        absurd[7] = 1e9;
        let found = odd(&absurd).unwrap();
        assert_eq!((found.row, found.value, found.others), (7, 1e9, 0));
        assert!(found.share > 0.98 && found.quartiles[0] > 10.0 && found.quartiles[1] < 90.0, "{found:?}");
        absurd[20] = -1e200;
        assert_eq!(odd(&absurd).map(|found| (found.row, found.others)), Some((20, 1)));
        // Columns that are nearly always 0: a rare 1, counts, and a count that is absurd.
        let rare = |last: &[f64]| [vec![0.0; 90], last.to_vec()].concat();
        assert_eq!(odd(&rare(&[1.0])), None);
        assert_eq!(odd(&rare(&[1.0, 1.0, 5.0, 2.0])), None);
        assert_eq!(odd(&rare(&[1.0, 3.0, 1e6, 2.0])).map(|found| found.value), Some(1e6));
        assert_eq!(odd(&[5.0; 20]), None);
        assert_eq!(odd(&[1.0, 2.0, 1e9]), None);
    }
}
