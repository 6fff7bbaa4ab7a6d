//! Observed against predicted classes.

use mercer::data::Classes;

use super::{abbreviated, short};
use crate::args::Style;
use crate::grid::{Cell, Grid};

/// More classes than this do not fit on a screen.
const MOST: usize = 8;

/// The table if it is small enough, and the accuracy.
pub fn block(classes: &Classes, codes: &[usize], values: &[Vec<f64>], title: &str) -> String {
    let counts = counts(classes.len(), codes, values);
    let total: usize = counts.iter().flatten().sum();
    let right: usize = (0..classes.len()).map(|class| counts[class][class]).sum();
    let accuracy = short(right as f64 / total.max(1) as f64);
    if classes.len() > MOST {
        return format!("  accuracy {accuracy}, {title}\n");
    }
    let name = |class: usize| abbreviated(&classes.names[class], 16);
    let mut columns = vec!["observed \\ predicted".to_owned()];
    columns.extend((0..classes.len()).map(name));
    columns.push("right".into());
    let mut grid = Grid::new(columns);
    for (class, row) in counts.iter().enumerate() {
        let mut cells = vec![Cell::Text(name(class))];
        cells.extend(row.iter().map(|count| Cell::Number(*count as f64)));
        let own: usize = row.iter().sum();
        cells.push(if own > 0 { Cell::Number(row[class] as f64 / own as f64) } else { Cell::Nothing });
        grid.row(cells);
    }
    format!("  {title}\n{}  accuracy {accuracy}\n", grid.render(Style::Text))
}

/// `[observed][predicted]`; rows without values do not count.
fn counts(classes: usize, codes: &[usize], values: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let mut counts = vec![vec![0; classes]; classes];
    for (row, code) in codes.iter().enumerate() {
        let own: Vec<f64> = values.iter().filter_map(|model| model.get(row).copied()).collect();
        if !own.is_empty() && own.iter().all(|v| !v.is_nan()) {
            counts[*code][class_of(&own)] += 1;
        }
    }
    counts
}

/// The sign of a single value, else the place of the largest (the first of equals).
fn class_of(values: &[f64]) -> usize {
    if let [value] = values {
        return usize::from(*value > 0.0);
    }
    (1..values.len()).fold(0, |best, class| if values[class] > values[best] { class } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_counted_once() {
        let values = vec![vec![-1.0, 0.5, 2.0, f64::NAN]];
        assert_eq!(counts(2, &[0, 0, 1, 1], &values), [[1, 1], [0, 1]]);
        let three = vec![vec![1.0, 0.0], vec![1.0, 0.0], vec![0.5, 3.0]];
        assert_eq!(counts(3, &[0, 1], &three), [[1, 0, 0], [0, 0, 1], [0, 0, 0]]);
        let classes = Classes { names: vec!["no".into(), "yes".into()], are_numbers: false };
        let text = block(&classes, &[0, 0, 1, 1], &values, "held out");
        assert!(text.contains("accuracy 0.6667") && text.contains("observed"), "{text}");
    }
}
