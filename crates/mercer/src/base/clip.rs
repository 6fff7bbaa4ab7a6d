//! Predictions that are kept within the range of the targets.
//!
//! Where no row is near, a function that is penalised little may go far beyond all that was ever observed. Moved to the nearer end of the
//! targets' range, a prediction comes nearer to every target within it, never farther away; less has to be penalised then, and the
//! rest of f is the better for it. Held-out errors count predictions so, with the range of the rows that were not held out.

const EVERYTHING: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// The targets of all rows, for residuals of clipped predictions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Clip {
    y: Vec<f64>,
    /// The two smallest and the two largest targets.
    least: [f64; 2],
    most: [f64; 2],
}

impl Clip {
    pub fn of(y: &[f64]) -> Self {
        let (mut least, mut most) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for v in y {
            least = [least[0].min(*v), least[1].min(v.max(least[0]))];
            most = [most[0].max(*v), most[1].max(v.min(most[0]))];
        }
        Clip { y: y.to_vec(), least, most }
    }

    /// The range of the targets of all rows but one; no bounds where there is no other.
    pub fn without_row(&self, row: usize) -> [f64; 2] {
        let y = self.y[row];
        if self.y.len() < 2 {
            return EVERYTHING;
        }
        let low = if y == self.least[0] { self.least[1] } else { self.least[0] };
        let high = if y == self.most[0] { self.most[1] } else { self.most[0] };
        [low, high]
    }

    /// The range of the targets of all rows but these; no bounds where there is no other.
    pub fn without(&self, rows: &[usize]) -> [f64; 2] {
        let mut is_held_out = vec![false; self.y.len()];
        rows.iter().for_each(|row| is_held_out[*row] = true);
        let others = self.y.iter().zip(&is_held_out).filter(|(_, is_held_out)| !**is_held_out).map(|(y, _)| *y);
        range(others).unwrap_or(EVERYTHING)
    }

    /// The least and the largest residual that a row can have when predictions are kept within the range of the other rows.
    pub fn limits(&self, row: usize) -> [f64; 2] {
        let [low, high] = self.without_row(row);
        [self.y[row] - high, self.y[row] - low]
    }

    /// Residuals of all rows, each predicted without itself.
    pub fn keep_rows(&self, residuals: &mut [f64]) {
        self.keep_rows_within(residuals, |row| self.without_row(row));
    }

    /// Residuals of all rows, each predicted within the range of its own.
    pub fn keep_rows_within(&self, residuals: &mut [f64], range: impl Fn(usize) -> [f64; 2]) {
        for (row, e) in residuals.iter_mut().enumerate() {
            let [low, high] = range(row);
            *e = within(*e, [self.y[row] - high, self.y[row] - low]);
        }
    }

    /// The same limits for rows that are predicted without all of them.
    pub fn limits_without(&self, rows: &[usize]) -> Vec<[f64; 2]> {
        let [low, high] = self.without(rows);
        rows.iter().map(|row| [self.y[*row] - high, self.y[*row] - low]).collect()
    }

    /// Residuals of some rows, predicted without all of them.
    pub fn keep_group(&self, rows: &[usize], residuals: &mut [f64]) {
        residuals.iter_mut().zip(self.limits_without(rows)).for_each(|(e, limits)| *e = within(*e, limits));
    }
}

/// The smallest and the largest of some numbers; `None` if there are none.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let found = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)]);
    (found[0] <= found[1]).then_some(found)
}

/// The number in the interval that is nearest; what is not a number stays so.
pub(crate) fn within(value: f64, [low, high]: [f64; 2]) -> f64 {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_are_those_of_predictions_within_the_range_of_the_others() {
        for y in [vec![3.0, -1.0, 7.0, 2.0], vec![1.0, 1.0, 5.0, 5.0, 4.0], vec![2.0, 9.0], vec![-4.0, -4.0, -4.0]] {
            let clip = Clip::of(&y);
            for e in [-100.0, -3.0, -0.5, 0.0, 0.5, 3.0, 100.0] {
                let mut all = vec![e; y.len()];
                clip.keep_rows(&mut all);
                for (i, kept) in all.iter().enumerate() {
                    let others: Vec<f64> = (0..y.len()).filter(|j| *j != i).map(|j| y[j]).collect();
                    let [low, high] = range(others.iter().copied()).unwrap();
                    assert_eq!(*kept, y[i] - (y[i] - e).clamp(low, high), "{y:?} row {i}, {e}");
                    let mut alone = [e];
                    clip.keep_group(&[i], &mut alone);
                    assert_eq!(alone[0], *kept);
                }
            }
        }
        // A single row has no others, and a group of all leaves none: nothing is known.
        assert_eq!(Clip::of(&[5.0]).limits(0), [f64::NEG_INFINITY, f64::INFINITY]);
        let mut all = [7.0, -7.0];
        Clip::of(&[1.0, 2.0]).keep_group(&[0, 1], &mut all);
        assert_eq!(all, [7.0, -7.0]);
        assert!(within(f64::NAN, [0.0, 1.0]).is_nan());
    }
}
