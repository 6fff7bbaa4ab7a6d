//! The root search that the M-RLSR paper publishes for m ≤ 1, beside the global minimum that Mercer certifies.

use mercer::range;
use mercer_lab::root_search::{Outcome, Problem, Tally};
use mercer_lab::split::{Split, divide};

use super::findings::Findings;
use super::setting::{Set, Setting, published};
use crate::grid::{Cell, Grid};
use crate::svg::panels::{self, Axis, Layer, Panel, Stroke};

const SETS: [&str; 6] = ["concrete", "concrete_slump", "yacht", "energy", "boston", "friedman1"];
/// Most rows that are decomposed: the search does not depend on their number.
const MOST_ROWS: usize = 700;
/// The paper does not say whether it scales the targets, and λ‖f‖ᵐ is not indifferent to it.
const SCALINGS: [(&str, bool); 2] = [("as they are", false), ("divided by max y", true)];

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
                count(problem.rows() as usize),
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
         end at the wrong root. Mercer isolates all roots by bounds on the derivatives (path/power.rs) and compares \
         them with f = 0.",
    );
    findings.remark(
        "Where a start does not converge its last point is kept if it is positive: α is a ridge solution there, whatever C \
         is, and its objective counts in the search's favour.",
    );
    Ok(findings)
}

/// A set with its targets times a factor.
fn problem_of(set: &Set, factor: f64, seed: u64) -> anyhow::Result<Problem> {
    let mut rows = divide(set.rows(), 1.0, seed).0;
    rows.truncate(MOST_ROWS);
    let training = set.frame.select_rows(&rows);
    let split = Split::of(&published(), &training, &training.select_rows(&[0]), &set.roles)?;
    let y: Vec<f64> = set.targets(&rows).iter().map(|y| factor * y).collect();
    Problem::new(split.spectrum(), &y).map_err(Into::into)
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
