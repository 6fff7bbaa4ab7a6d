//! Which candidate is best, given what folds or leave-one-out say row by row, and where they cannot tell.

use super::search::Tried;

/// Candidates whose held-out root mean square is larger than this multiple of the best one's are worse, whatever the standard error of the
/// difference: where one row has most of the error, that is as large as the difference itself.
const WORSE: f64 = 1.25;

/// Candidates from the best on. Those whose held-out errors do not exceed the best one's by more than two standard
/// errors of the difference, nor its root mean square by more than a quarter, are as good as it; among them evidence decides, which uses
/// every row.
///
/// With groups the least held-out error decides: the likelihood takes rows of a group for independent, and says nothing of new groups.
pub(super) fn ranking(tried: &[Tried], weight: f64, has_groups: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tried.len()).filter(|index| tried[*index].squares.is_some()).collect();
    let score = |index: usize| tried[index].mean_square(weight).unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| score(*a).total_cmp(&score(*b)));
    if has_groups {
        return order;
    }
    let Some(first) = order.first().copied() else { return order };
    let equals = |index: usize| {
        let (Some(a), Some(b)) = (&tried[index].squares, &tried[first].squares) else { return false };
        exceeds_by_at_most(a, b, 2.0)
    };
    let is_equal: Vec<bool> = (0..tried.len()).map(|index| order.contains(&index) && equals(index)).collect();
    order.sort_by(|a, b| {
        let by_evidence = tried[*a].evidence.total_cmp(&tried[*b].evidence);
        let by_score = score(*a).total_cmp(&score(*b));
        is_equal[*b].cmp(&is_equal[*a]).then(if is_equal[*a] && is_equal[*b] { by_evidence } else { by_score })
    });
    order
}

/// Whether the mean square `a` exceeds `b` by at most so many standard errors of their difference, row by row, and its root by at most a
/// quarter.
/// (Duplicates were merged row by row alike, so the rows correspond.)
pub(super) fn exceeds_by_at_most(a: &[f64], b: &[f64], errors: f64) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let n = a.len() as f64;
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    let is_near = a.iter().sum::<f64>() <= WORSE * WORSE * b.iter().sum::<f64>();
    is_near && mean <= errors * (variance / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::exceeds_by_at_most;

    #[test]
    fn one_row_does_not_make_candidates_equal() {
        // The second is worse by 75 % in RMSE, for a single row: the standard error of the difference is the difference.
        let (mut best, mut other) = (vec![0.01; 100], vec![0.011; 100]);
        (best[3], other[3]) = (1.0, 6.2);
        assert!(!exceeds_by_at_most(&other, &best, 2.0));
        // Slightly worse in most rows, better in some.
        let near: Vec<f64> = (0..100).map(|i| if i % 3 == 0 { 0.008 } else { 0.0115 }).collect();
        assert!(exceeds_by_at_most(&near, &[0.01; 100], 2.0));
    }
}
