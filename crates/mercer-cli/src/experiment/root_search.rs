//! The root search that the M-RLSR paper publishes for m ≤ 1, beside the global minimum that Mercer certifies.
//!
//! Published: Newton's method on F(C) = (Σ 4 d z²/(2d + λmnC)²)^(m/2−1) − C from ten starts between 1 and 10⁴, at most 500
//! steps each, precision 10⁻²⁰; of what it finds, the C with the least objective. f = 0 is never compared, and nothing tells
//! whether all roots were found.

use mercer::path::power;
use mercer::range;
use mercer::spectrum::{Path, Spectrum};
use mercer::split::divide;

use super::findings::Findings;
use super::setting::{Set, Setting, published};
use crate::grid::{Cell, Grid};
use crate::svg::panels::{self, Axis, Layer, Panel, Stroke};

const SETS: [&str; 6] = ["concrete", "concrete_slump", "yacht", "energy", "boston", "friedman1"];
/// Most rows that are decomposed: the search does not depend on their number.
const MOST_ROWS: usize = 700;
const STARTS: usize = 10;
const STEPS: usize = 500;
const PRECISION: f64 = 1e-20;
/// An objective that is higher than the least by this share is a miss.
const MISSED: f64 = 1e-6;

/// The paper does not say whether it scales the targets, and λ‖f‖ᵐ is not indifferent to it.
const SCALINGS: [(&str, bool); 2] = [("as they are", false), ("divided by max y", true)];

/// A target on its spectrum.
pub struct Problem {
    pub eigenvalues: Vec<f64>,
    pub z: Vec<f64>,
    pub rows: f64,
    pub path: Path,
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    /// The global minimum.
    Found,
    /// A root, though f = 0 is better.
    MissedZero,
    /// Not the root that is the minimum: another one, or none.
    MissedRoot,
    /// No root, and f = 0, which it does not look at, is the minimum.
    NoAnswer,
}

pub fn run(setting: &Setting) -> anyhow::Result<Findings> {
    let exponents = range::stepped("exponent", "0.1..1:0.1")?;
    let lambdas = range::log_spaced("lambda", if setting.is_quick { "1e-5..1e2:15" } else { "1e-5..1e2:57" })?;
    let mut findings =
        Findings::new("Root search at m ≤ 1: the published ten starts against the certified global minimum");
    let mut grid = Grid::new(
        [
            "set",
            "targets",
            "rows",
            "problems",
            "missed",
            "f = 0 is better",
            "another root is better",
            "no answer",
            "worst excess",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    let mut shares: Vec<Vec<Shares>> = vec![Vec::new(); SCALINGS.len()];
    let mut total = [0; 3];
    for set in setting.sets(&SETS)? {
        for (index, (words, is_scaled)) in SCALINGS.iter().enumerate() {
            setting.say(format!("{}, targets {words}", set.name));
            let problem = problem_of(&set, if *is_scaled { 1.0 / set.largest } else { 1.0 }, setting.seed)?;
            let tally = Tally::new(&problem, &exponents, &lambdas);
            let cases = exponents.len() * lambdas.len();
            let missed = tally.counts[Outcome::MissedZero as usize] + tally.counts[Outcome::MissedRoot as usize];
            total = [total[0] + missed, total[1] + tally.counts[Outcome::NoAnswer as usize], total[2] + cases];
            let count = |n: usize| Cell::Number(n as f64);
            grid.row(vec![
                Cell::Text(set.name.clone()),
                (*words).into(),
                count(problem.rows as usize),
                count(cases),
                Cell::Text(format!("{missed} ({:.0} %)", 100.0 * missed as f64 / cases as f64)),
                count(tally.counts[Outcome::MissedZero as usize]),
                count(tally.counts[Outcome::MissedRoot as usize]),
                count(tally.counts[Outcome::NoAnswer as usize]),
                Cell::Number(tally.worst),
            ]);
            shares[index].push((set.name.clone(), tally.share));
        }
    }
    findings.table("root-search", grid);
    findings.picture("root-search", picture(&exponents, &shares));
    let percent = |count: usize| 100.0 * count as f64 / total[2].max(1) as f64;
    findings.remark(format!(
        "Of {} problems ({} exponents from 0.1 to 1, {} values of λ from 1e-5 to 100, each set with two scalings of its targets) \
         the published search ends with something worse than the global minimum in {} ({:.0} %); in {} more ({:.0} %) it \
         finds nothing, and the minimum is f = 0. `worst excess` is the objective it ends with, divided by the least, \
         minus 1.",
        total[2],
        exponents.len(),
        lambdas.len(),
        total[0],
        percent(total[0]),
        total[1],
        percent(total[1])
    ));
    findings.remark(
        "The paper says that its procedure guarantees nothing and works well in practice. In the run of docs/replication.md, where ‖f‖ is large beside λ (targets \
         as they are, λ up to 1), that is so. Where λ is large the minimiser is f = 0, which it never considers, so that it \
         returns a local minimum, a maximum or nothing; and near the λ at which the minimum jumps its ten starts can all \
         end at the wrong root. Mercer isolates all roots by bounds on the derivatives (solver/power.rs) and compares \
         them with f = 0.",
    );
    findings.remark(
        "Where a start does not converge its last point is kept if it is positive: α is a ridge solution there, whatever C \
         is, and its objective counts in the search's favour.",
    );
    Ok(findings)
}

/// What became of all problems of one set.
struct Tally {
    counts: [usize; 4],
    /// The largest excess of the objective.
    worst: f64,
    /// Percentage of misses at each exponent, and of misses and problems without an answer.
    share: Vec<(f64, f64)>,
}

impl Tally {
    fn new(problem: &Problem, exponents: &[f64], lambdas: &[f64]) -> Self {
        let mut tally = Tally { counts: [0; 4], worst: 0.0, share: vec![(0.0, 0.0); exponents.len()] };
        for (exponent, share) in exponents.iter().zip(&mut tally.share) {
            for lambda in lambdas {
                let (outcome, excess) = problem.compare(*exponent, *lambda);
                tally.counts[outcome as usize] += 1;
                tally.worst = tally.worst.max(excess);
                let part = 100.0 / lambdas.len() as f64;
                share.0 += if matches!(outcome, Outcome::MissedZero | Outcome::MissedRoot) { part } else { 0.0 };
                share.1 += if outcome == Outcome::Found { 0.0 } else { part };
            }
        }
        tally
    }
}

/// A set with its targets times a factor.
fn problem_of(set: &Set, factor: f64, seed: u64) -> anyhow::Result<Problem> {
    let mut rows = divide(set.rows(), 1.0, seed).0;
    rows.truncate(MOST_ROWS);
    let training = set.frame.select_rows(&rows);
    let fit = published();
    let split = fit.split(&training, &training.select_rows(&[0]), &set.roles)?;
    let y: Vec<f64> = set.targets(&rows).iter().map(|y| factor * y).collect();
    Problem::new(split.spectrum(), &y).map_err(Into::into)
}

impl Problem {
    fn new(spectrum: &Spectrum, y: &[f64]) -> mercer::Result<Self> {
        let target = spectrum.target(y)?;
        Ok(Problem {
            eigenvalues: spectrum.eigenvalues().to_vec(),
            z: target.coordinates(),
            rows: spectrum.weight_sum(),
            path: spectrum.path(&[&target]),
        })
    }

    /// F and F′ at C.
    fn function(&self, exponent: f64, lambda: f64, c: f64) -> (f64, f64) {
        let factor = lambda * exponent * self.rows;
        let (mut sum, mut slope) = (0.0, 0.0);
        for (d, z) in self.eigenvalues.iter().zip(&self.z) {
            let below = 2.0 * d + factor * c;
            let term = 4.0 * d * z * z / (below * below);
            sum += term;
            slope -= 2.0 * factor * term / below;
        }
        let power = exponent / 2.0 - 1.0;
        (sum.powf(power) - c, power * sum.powf(power - 1.0) * slope - 1.0)
    }

    /// The objective of the ridge solution that belongs to C.
    fn objective(&self, exponent: f64, lambda: f64, ridge: f64) -> f64 {
        self.path.train_mse(ridge) + lambda * self.path.norm(ridge).powf(exponent)
    }

    /// The least objective of the ten searches.
    fn published(&self, exponent: f64, lambda: f64) -> Option<f64> {
        let start = |index: usize| 10_f64.powf(4.0 * index as f64 / (STARTS - 1) as f64);
        let ends = (0..STARTS).filter_map(|index| {
            let mut c = start(index);
            for _ in 0..STEPS {
                let (value, slope) = self.function(exponent, lambda, c);
                let next = c - value / slope;
                let step = (next - c).abs();
                c = next;
                if !c.is_finite() || value.abs() < PRECISION || step < PRECISION {
                    break;
                }
            }
            (c > 0.0 && c.is_finite()).then_some(c)
        });
        ends.map(|c| self.objective(exponent, lambda, 0.5 * lambda * exponent * c))
            .filter(|v| v.is_finite())
            .reduce(f64::min)
    }

    /// What the published search makes of a problem, and by which share its objective is above the least.
    fn compare(&self, exponent: f64, lambda: f64) -> (Outcome, f64) {
        let minimum = power::minimum(&self.path, exponent, lambda);
        let ridge = minimum.log_ridge.map(f64::exp);
        let least = ridge.map_or(self.path.zero_mse(), |ridge| self.objective(exponent, lambda, ridge));
        match (self.published(exponent, lambda), ridge) {
            (Some(found), _) if found <= least * (1.0 + MISSED) => (Outcome::Found, 0.0),
            (Some(found), None) => (Outcome::MissedZero, found / least - 1.0),
            (Some(found), Some(_)) => (Outcome::MissedRoot, found / least - 1.0),
            (None, Some(_)) => (Outcome::MissedRoot, 0.0),
            (None, None) => (Outcome::NoAnswer, 0.0),
        }
    }
}

/// A set, and for each exponent the percentages of a tally.
type Shares = (String, Vec<(f64, f64)>);

fn picture(exponents: &[f64], shares: &[Vec<Shares>]) -> String {
    let curve = |index: usize, values: Vec<f64>, style: Stroke| Layer::Line {
        colour: index + 1,
        points: exponents.iter().copied().zip(values).collect(),
        style,
    };
    let panel = |(words, shares): (&str, &Vec<Shares>)| {
        let both = |(index, (_, share)): (usize, &Shares)| {
            [
                curve(index, share.iter().map(|(_, all)| *all).collect(), Stroke::Dashed),
                curve(index, share.iter().map(|(missed, _)| *missed).collect(), Stroke::Full),
            ]
        };
        let most = shares.iter().flat_map(|(_, share)| share).map(|(_, all)| *all).fold(10.0, f64::max);
        Panel {
            title: format!("targets {words}"),
            x: Axis::linear("exponent m", (0.05, 1.05)),
            y: Axis::linear("% of the λ", (-0.02 * most, 1.08 * most)),
            layers: shares.iter().enumerate().flat_map(both).collect(),
        }
    };
    let panels: Vec<Panel> = SCALINGS.iter().map(|(words, _)| *words).zip(shares).map(panel).collect();
    let mut legend: Vec<(usize, &str, Stroke)> =
        shares[0].iter().enumerate().map(|(index, (name, _))| (index + 1, name.as_str(), Stroke::Full)).collect();
    legend.push((0, "dashed: misses and problems without an answer", Stroke::Dashed));
    panels::draw("How often ten Newton starts miss the global minimum, λ from 1e-5 to 100", &panels, 2, &legend)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(eigenvalues: &[f64], z: &[f64], rows: f64) -> Problem {
        Problem { eigenvalues: eigenvalues.to_vec(), z: z.to_vec(), rows, path: Path::from_parts(eigenvalues, z, rows) }
    }

    /// The least objective on a fine grid of ridges, and f = 0.
    fn brute_force(problem: &Problem, exponent: f64, lambda: f64) -> f64 {
        let grid = (-4000..=2000).map(|i| problem.objective(exponent, lambda, (f64::from(i) * 0.01).exp()));
        grid.fold(problem.path.zero_mse(), f64::min)
    }

    #[test]
    fn a_large_penalty_makes_the_published_search_miss_zero() {
        let problem = problem(&[3.0, 1.0, 0.2], &[2.0, 1.0, 0.5], 3.0);
        // Some λ at which there are roots and f = 0 is better than all of them.
        let mut missed = 0;
        for step in 0..60 {
            let lambda = 0.05 * 1.1_f64.powi(step);
            let (outcome, excess) = problem.compare(0.5, lambda);
            if outcome == Outcome::MissedZero {
                missed += 1;
                let least = brute_force(&problem, 0.5, lambda);
                assert_eq!(least, problem.path.zero_mse());
                assert!((problem.published(0.5, lambda).unwrap() / least - 1.0 - excess).abs() < 1e-12 && excess > 0.0);
            }
        }
        assert!(missed > 0);
        assert_ne!(problem.compare(0.5, 50.0).0, Outcome::Found);
    }

    #[test]
    fn what_is_called_found_is_the_least_of_all() {
        let problem = problem(&[3.0, 1.0, 0.2], &[2.0, 1.0, 0.5], 3.0);
        let mut counts = [0; 4];
        for exponent in [0.2, 0.5, 0.8, 1.0] {
            for lambda in [1e-4, 1e-2, 0.1, 1.0, 10.0] {
                let (outcome, _) = problem.compare(exponent, lambda);
                counts[outcome as usize] += 1;
                let least = brute_force(&problem, exponent, lambda);
                if outcome == Outcome::Found {
                    let found = problem.published(exponent, lambda).unwrap();
                    assert!((found / least - 1.0).abs() < 1e-4, "{exponent} {lambda}: {found} {least}");
                }
            }
        }
        assert!(counts[0] > 0 && counts[0] < 20, "{counts:?}");
    }

    #[test]
    fn the_slope_is_the_derivative() {
        let problem = problem(&[3.0, 1.0, 0.2], &[2.0, 1.0, 0.5], 3.0);
        let (value, slope) = problem.function(0.6, 0.3, 2.0);
        let (near, _) = problem.function(0.6, 0.3, 2.0 + 1e-6);
        assert!(((near - value) / 1e-6 - slope).abs() < 1e-5, "{slope}");
    }
}
