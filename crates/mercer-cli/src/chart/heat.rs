//! A criterion over exponents and λ as a map of shades.

use crate::report::short;

const WIDEST: usize = 60;
const TALLEST: usize = 29;

/// What the shades mean: from the best to this much above it.
pub enum Steps {
    /// Shares of the best value, for errors.
    Shares,
    /// Differences, for logarithms of likelihoods and their kin.
    Differences,
}

const MARKS: [char; 5] = ['█', '▓', '▒', '░', '·'];

impl Steps {
    fn limits(&self) -> [f64; 5] {
        match self {
            Steps::Shares => [0.01, 0.05, 0.2, 0.5, 1.0],
            Steps::Differences => [2.0, 6.0, 20.0, 60.0, 200.0],
        }
    }

    fn mark(&self, value: f64, best: f64) -> char {
        let above = match self {
            Steps::Shares => value / best - 1.0,
            Steps::Differences => value - best,
        };
        // Not a number (nothing there) is in no step.
        self.limits().iter().position(|limit| above <= *limit).map_or(' ', |step| MARKS[step])
    }

    fn legend(&self) -> String {
        let words = self.limits().map(|limit| match self {
            Steps::Shares => format!("{} %", 100.0 * limit),
            Steps::Differences => format!("{limit}"),
        });
        let parts: Vec<String> = MARKS.iter().zip(words).map(|(mark, word)| format!("{mark} {word}")).collect();
        format!("◆ best · above it by at most  {}", parts.join("  "))
    }
}

/// The map: exponents downwards, λ to the right, darker is better. `values[e][l]` belongs to `lambdas[e][l]`.
pub fn map(
    exponents: &[f64],
    lambdas: &[Vec<f64>],
    values: &[Vec<f64>],
    (best_exponent, best_lambda): (f64, f64),
    steps: &Steps,
    title: &str,
) -> String {
    let all = || lambdas.iter().flatten().copied();
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    let best = values.iter().flatten().copied().filter(|v| v.is_finite()).fold(f64::INFINITY, f64::min);
    if exponents.len() < 2 || !(low < high) || !best.is_finite() {
        return String::new();
    }
    let rows = exponents.len().min(TALLEST);
    // Where all exponents have the same λ, each λ gets the same number of cells.
    let is_common = lambdas.iter().all(|list| list.len() == lambdas[0].len() && *list == lambdas[0]);
    let count = lambdas.iter().map(Vec::len).max().unwrap_or(1);
    let repeat = if is_common && count <= WIDEST { (WIDEST / count).clamp(1, 4) } else { 1 };
    let columns = if is_common { count.min(WIDEST) } else { WIDEST };
    let row_of = |e: usize| e * rows / exponents.len();
    let column_of = |lambda: f64| {
        let share = (lambda.ln() - low.ln()) / (high.ln() - low.ln());
        ((share * (columns - 1) as f64).round() as usize).min(columns - 1)
    };

    let mut cells = vec![vec![f64::NAN; columns]; rows];
    for (e, list) in lambdas.iter().enumerate() {
        for (lambda, value) in list.iter().zip(&values[e]) {
            let cell = &mut cells[row_of(e)][column_of(*lambda)];
            *cell = cell.min(*value);
        }
    }
    if !is_common {
        cells.iter_mut().for_each(|row| fill_gaps(row));
    }
    let nearest = |e: &usize| (exponents[*e] - best_exponent).abs();
    let champion = (0..exponents.len()).min_by(|a, b| nearest(a).total_cmp(&nearest(b))).unwrap_or(0);
    let place = (row_of(champion), column_of(best_lambda.clamp(low, high)));

    let mut text = format!("  {title}\n");
    for (r, row) in cells.iter().enumerate() {
        // The first exponent that falls on this line.
        let label = (0..exponents.len()).find(|e| row_of(*e) == r).map_or(String::new(), |e| short(exponents[e]));
        let line: String = row
            .iter()
            .enumerate()
            .flat_map(|(c, value)| {
                let mark = steps.mark(*value, best);
                let is_best = (r, c) == place;
                (0..repeat).map(move |i| if is_best && i == (repeat - 1) / 2 { '◆' } else { mark })
            })
            .collect();
        text.push_str(&format!("  {label:>9} ┤{}\n", line.trim_end()));
    }
    let width = columns * repeat;
    text.push_str(&format!("  {:>9} └{}\n", "exponent", "─".repeat(width)));
    let (left, middle, right) = (short(low), short((low.ln() / 2.0 + high.ln() / 2.0).exp()), short(high));
    let middle = format!("{middle}  λ");
    let used = left.chars().count() + middle.chars().count() + right.chars().count();
    let gap = width.saturating_sub(used).max(2);
    let (before, after) = (" ".repeat(gap / 2), " ".repeat(gap - gap / 2));
    text.push_str(&format!("  {:>9}  {left}{before}{middle}{after}{right}\n", ""));
    text.push_str(&format!("  {:>9}  {}\n", "", steps.legend()));
    text
}

/// Cells between two known ones take the value of the nearer; those outside stay empty.
fn fill_gaps(row: &mut [f64]) {
    let known: Vec<(usize, f64)> = row.iter().copied().enumerate().filter(|(_, v)| !v.is_nan()).collect();
    for pair in known.windows(2) {
        let ((a, left), (b, right)) = (pair[0], pair[1]);
        for c in a + 1..b {
            row[c] = if c - a <= b - c { left } else { right };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_marked_and_the_map_keeps_to_its_size() {
        let exponents: Vec<f64> = (1..=29).map(|i| f64::from(i) / 10.0).collect();
        let lambdas: Vec<Vec<f64>> = exponents.iter().map(|_| (0..25).map(|i| 10_f64.powi(i - 12)).collect()).collect();
        let value = |e: usize, l: usize| 1.0 + (e as f64 - 9.0).powi(2) / 50.0 + (l as f64 - 4.0).powi(2) / 20.0;
        let values: Vec<Vec<f64>> = (0..29).map(|e| (0..25).map(|l| value(e, l)).collect()).collect();
        let picture = map(&exponents, &lambdas, &values, (1.0, 1e-8), &Steps::Shares, "test");
        assert_eq!(picture.lines().count(), 1 + 29 + 3);
        assert_eq!(picture.matches('◆').count(), 2, "once in the map, once in the legend:\n{picture}");
        assert!(picture.lines().nth(10).unwrap().contains('◆'), "{picture}");
        assert!(picture.lines().all(|line| line.chars().count() <= 13 + WIDEST + 20), "{picture}");
        // Many exponents with λ of their own, and values that are excluded.
        let many: Vec<f64> = (1..=100).map(|i| f64::from(i) / 20.0).collect();
        let own: Vec<Vec<f64>> = many.iter().map(|m| (0..70).map(|i| m * 1.5_f64.powi(i)).collect()).collect();
        let values: Vec<Vec<f64>> =
            own.iter().map(|l| l.iter().map(|x| if *x > 1e6 { f64::INFINITY } else { 1.0 }).collect()).collect();
        let picture = map(&many, &own, &values, (5.0, 1.0), &Steps::Differences, "many");
        assert_eq!(picture.lines().count(), 1 + 29 + 3);
        assert!(map(&[1.0], &[vec![1.0]], &[vec![1.0]], (1.0, 1.0), &Steps::Shares, "one").is_empty());
        let nothing = vec![vec![f64::INFINITY; 2]; 2];
        assert!(map(&[1.0, 2.0], &vec![vec![1.0, 2.0]; 2], &nothing, (1.0, 1.0), &Steps::Shares, "no").is_empty());
    }
}
