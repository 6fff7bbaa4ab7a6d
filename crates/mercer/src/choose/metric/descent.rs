//! Minimises a smooth function of a few dozen variables in a box: L-BFGS with backtracking.

/// Where a search ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Descent {
    /// The best point.
    pub at: Vec<f64>,
    /// The function there.
    pub value: f64,
    /// How often the function was computed.
    pub evaluations: usize,
}

/// When a search stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// At most so many evaluations.
    pub evaluations: usize,
    /// When three steps together gain less than this.
    pub gain: f64,
    /// No step moves a variable farther than this.
    pub longest_step: f64,
}

/// Pairs of steps and gradient changes that are remembered.
const MEMORY: usize = 10;

/// Minimises `function`, which gives value and gradient (`None` where it cannot be computed, or to stop the search
/// when that happens at the start), between `low` and `high`.
pub fn minimise(
    start: &[f64],
    low: &[f64],
    high: &[f64],
    limits: &Limits,
    mut function: impl FnMut(&[f64]) -> Option<(f64, Vec<f64>)>,
) -> Option<Descent> {
    let clamp = |x: &mut [f64]| x.iter_mut().enumerate().for_each(|(i, v)| *v = v.clamp(low[i], high[i]));
    let mut x = start.to_vec();
    clamp(&mut x);
    let (mut value, mut gradient) = function(&x)?;
    let mut evaluations = 1;
    let mut history: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let mut recent = vec![value];
    while evaluations < limits.evaluations {
        // A variable that is pushed against its wall stays there.
        let is_free: Vec<bool> = (0..x.len())
            .map(|i| !(x[i] <= low[i] && gradient[i] > 0.0 || x[i] >= high[i] && gradient[i] < 0.0))
            .collect();
        let mut direction = direction(&gradient, &history, &is_free);
        let mut slope = dot(&direction, &gradient);
        if !(slope < 0.0) {
            history.clear();
            direction = gradient.iter().zip(&is_free).map(|(g, free)| if *free { -g } else { 0.0 }).collect();
            slope = dot(&direction, &gradient);
        }
        let longest = direction.iter().fold(0.0, |max: f64, d| max.max(d.abs()));
        if !(slope < 0.0) || longest == 0.0 {
            break;
        }
        // The first step has no curvature to go by.
        let first = if history.is_empty() { (0.3 * limits.longest_step / longest).min(1.0) } else { 1.0 };
        let mut step = first.min(limits.longest_step / longest);
        let mut moved = false;
        for _ in 0..12 {
            let mut next: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
            clamp(&mut next);
            evaluations += 1;
            match function(&next) {
                Some((found, found_gradient)) if found <= value + 1e-4 * step * slope => {
                    let change: Vec<f64> = next.iter().zip(&x).map(|(a, b)| a - b).collect();
                    let bend: Vec<f64> = found_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
                    if dot(&change, &bend) > 1e-12 * dot(&bend, &bend).sqrt() * dot(&change, &change).sqrt() {
                        history.push((change, bend));
                        if history.len() > MEMORY {
                            history.remove(0);
                        }
                    }
                    (x, value, gradient) = (next, found, found_gradient);
                    moved = true;
                    break;
                }
                Some((found, _)) if found.is_finite() => {
                    // The minimum of the parabola through what is known, within reason.
                    let parabola = -0.5 * slope * step * step / (found - value - slope * step);
                    step = parabola.clamp(0.1 * step, 0.5 * step);
                }
                _ => step *= 0.25,
            }
            if evaluations >= limits.evaluations {
                break;
            }
        }
        if !moved {
            if history.is_empty() {
                break;
            }
            history.clear();
            continue;
        }
        recent.push(value);
        if recent.len() > 3 && recent[recent.len() - 4] - value < limits.gain {
            break;
        }
    }
    Some(Descent { at: x, value, evaluations })
}

/// −H⁻¹g by the two loops of L-BFGS, on the free variables.
fn direction(gradient: &[f64], history: &[(Vec<f64>, Vec<f64>)], is_free: &[bool]) -> Vec<f64> {
    let masked = |v: &[f64]| v.iter().zip(is_free).map(|(v, free)| if *free { *v } else { 0.0 }).collect::<Vec<f64>>();
    let mut q = masked(gradient);
    let pairs: Vec<(Vec<f64>, Vec<f64>)> =
        history.iter().map(|(s, y)| (masked(s), masked(y))).filter(|(s, y)| dot(s, y) > 0.0).collect();
    let mut shares = Vec::with_capacity(pairs.len());
    for (s, y) in pairs.iter().rev() {
        let share = dot(s, &q) / dot(s, y);
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= share * y);
        shares.push(share);
    }
    if let Some((s, y)) = pairs.last() {
        let scale = dot(s, y) / dot(y, y);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((s, y), share) in pairs.iter().zip(shares.iter().rev()) {
        let back = dot(y, &q) / dot(s, y);
        q.iter_mut().zip(s).for_each(|(q, s)| *q += (share - back) * s);
    }
    q.iter().map(|q| -q).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { evaluations: 300, gain: 1e-14, longest_step: 2.0 };

    #[test]
    fn the_valley_of_rosenbrock_is_followed_to_its_end() {
        let function = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            Some((a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b]))
        };
        let found = minimise(&[-1.2, 1.0], &[-5.0; 2], &[5.0; 2], &LIMITS, function).unwrap();
        assert!((found.at[0] - 1.0).abs() < 1e-4 && (found.at[1] - 1.0).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn walls_hold_and_failures_are_stepped_back_from() {
        // (x − 3)² + (y + 1)², x at most 2; not defined for y < −0.9.
        let function = |x: &[f64]| {
            (x[1] >= -0.9)
                .then(|| ((x[0] - 3.0).powi(2) + (x[1] + 1.0).powi(2), vec![2.0 * (x[0] - 3.0), 2.0 * (x[1] + 1.0)]))
        };
        let found = minimise(&[0.0, 1.0], &[-2.0; 2], &[2.0; 2], &LIMITS, function).unwrap();
        assert_eq!(found.at[0], 2.0);
        assert!(found.at[1] < -0.8, "{found:?}");
        assert!(minimise(&[0.0, -1.0], &[-2.0; 2], &[2.0; 2], &LIMITS, function).is_none());
    }
}
