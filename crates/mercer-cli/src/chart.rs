//! Pictures in characters. Here: a scatter plot.

pub mod bars;
pub mod heat;
pub mod lines;

use crate::report::short;

const WIDTH: usize = 56;
const HEIGHT: usize = 14;

/// Points (x, y) on one common scale, with a faint diagonal: predicted against observed.
pub fn predicted_against_observed(observed: &[f64], predicted: &[f64], title: &str) -> String {
    let (low, high) = observed
        .iter()
        .chain(predicted)
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    // Halves, so that the difference of two huge numbers stays finite.
    let half_range = high / 2.0 - low / 2.0;
    if !(half_range > 0.0) {
        return String::new();
    }
    let place = |value: f64, cells: usize| -> usize {
        let share = ((value / 2.0 - low / 2.0) / half_range).clamp(0.0, 1.0);
        ((share * cells as f64) as usize).min(cells - 1)
    };
    let mut counts = vec![[0_usize; WIDTH]; HEIGHT];
    for (x, y) in observed.iter().zip(predicted) {
        counts[HEIGHT - 1 - place(*y, HEIGHT)][place(*x, WIDTH)] += 1;
    }
    let label = |row: usize| -> String {
        if row == 0 {
            short(high)
        } else if row == HEIGHT - 1 {
            short(low)
        } else if row == HEIGHT / 2 {
            short(low / 2.0 + high / 2.0)
        } else {
            String::new()
        }
    };
    let mut text = format!("  {title}\n");
    for (row, cells) in counts.iter().enumerate() {
        let diagonal = place(high - (high / 2.0 - low / 2.0) * 2.0 * (row as f64 + 0.5) / HEIGHT as f64, WIDTH);
        let line: String = cells
            .iter()
            .enumerate()
            .map(|(column, count)| match count {
                0 if column == diagonal => '╱',
                0 => ' ',
                1 => '·',
                2 => ':',
                3..=4 => '∴',
                5..=9 => '∷',
                _ => '▓',
            })
            .collect();
        text.push_str(&format!("  {:>9} ┤{}\n", label(row), line.trim_end()));
    }
    text.push_str(&format!("  {:>9} └{}\n", "", "─".repeat(WIDTH)));
    let (left, right) = (short(low), short(high));
    let gap = WIDTH.saturating_sub(left.chars().count() + right.chars().count() + 8);
    let (before, after) = (gap / 2, gap - gap / 2);
    text.push_str(&format!("  {:>9}  {left}{}observed{}{right}\n", "", " ".repeat(before), " ".repeat(after)));
    text
}

#[cfg(test)]
mod tests {
    use super::predicted_against_observed;

    #[test]
    fn a_perfect_fit_lies_on_the_diagonal_and_nothing_breaks() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let chart = predicted_against_observed(&values, &values, "test");
        assert!(chart.lines().all(|line| line.chars().count() < 80));
        assert!(!chart.contains('╱'), "every cell of the diagonal is taken:\n{chart}");
        assert!(predicted_against_observed(&[1.0], &[1.0], "one").is_empty());
        assert!(predicted_against_observed(&[], &[], "none").is_empty());
        assert!(!predicted_against_observed(&[-1e308, 1e308], &[0.0, 1.0], "huge").is_empty());
    }
}
