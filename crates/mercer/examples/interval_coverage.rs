//! How often prediction intervals hold, and how wide they are: random 70/30 splits of open data sets.
//!
//! `interval_coverage DATA_FOLDER [SPLITS]` prints the table of `docs/intervals.md`. CSV files with a header, the last column is
//! y; sets that are not there are named and skipped. λ is fixed beforehand, or chosen on the training rows by leave-one-out.

use mercer::criterion::Folds;
use mercer::interval::{Intervals, Method};
use mercer::prelude::*;
use mercer::range;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const SETS: [&str; 5] = ["concrete_slump", "yacht", "boston", "energy", "concrete"];
const METHODS: [&str; 3] = ["jackknife+", "cv+, 10 folds", "Gaussian process"];
const LEVEL: f64 = 0.9;

type Anything = Box<dyn std::error::Error>;

fn main() -> std::result::Result<(), Anything> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rest @ ..] = &arguments[..] else {
        return Err("usage: interval_coverage DATA_FOLDER [SPLITS]".into());
    };
    let splits: u64 = rest.first().map_or(Ok(50), |text| text.parse())?;
    println!("| set | training rows | kernel and λ | {} |\n|---|---|---|{}", METHODS.join(" | "), "---|".repeat(3));
    for set in SETS {
        let Ok(text) = std::fs::read_to_string(format!("{folder}/{set}.csv")) else {
            eprintln!("skipped: there is no {set}.csv in {folder}");
            continue;
        };
        let table: Vec<Vec<f64>> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(str::parse).collect())
            .collect::<std::result::Result<_, _>>()?;
        for is_chosen in [false, true] {
            let (coverage, width) = measure(&table, splits, is_chosen)?;
            let cell = |m: usize| {
                let mean = coverage[m].iter().sum::<f64>() / splits as f64;
                let least = coverage[m].iter().copied().fold(f64::INFINITY, f64::min);
                format!("{mean:.3} ({least:.2}), width {:.2}", width[m] / splits as f64)
            };
            let how = if is_chosen { "chosen" } else { "fixed" };
            println!("| {set} | {} | {how} | {} | {} | {} |", table.len() * 7 / 10, cell(0), cell(1), cell(2));
        }
    }
    Ok(())
}

/// Coverage on each split's test rows, `[method][split]`, and widths in standard deviations of y, summed over the splits.
fn measure(
    table: &[Vec<f64>],
    splits: u64,
    is_chosen: bool,
) -> std::result::Result<([Vec<f64>; 3], [f64; 3]), Anything> {
    let features = table[0].len() - 1;
    let mean = table.iter().map(|row| row[features]).sum::<f64>() / table.len() as f64;
    let deviation = (table.iter().map(|row| (row[features] - mean).powi(2)).sum::<f64>() / table.len() as f64).sqrt();
    let mut coverage: [Vec<f64>; 3] = Default::default();
    let mut width = [0.0; 3];
    for split in 0..splits {
        let mut random = ChaCha8Rng::seed_from_u64(split);
        let mut order: Vec<usize> = (0..table.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
        }
        let (training, test) = order.split_at(order.len() * 7 / 10);
        let x = |rows: &[usize]| Matrix::from_fn(rows.len(), features, |i, j| table[rows[i]][j]);
        let y = |rows: &[usize]| rows.iter().map(|row| table[*row][features]).collect::<Vec<f64>>();
        let fit = if is_chosen {
            Fit::new(Linear).kernels(range::kernels("gaussian(lengthscale=0.5..16:6)")?)
        } else {
            Fit::with_shared(mercer::kernel::parse("gaussian")?).lambda(1e-4)
        };
        let model = fit.scale(Scale::Standard).fit(&x(training), &y(training))?.model;
        let folds = Folds::random(training.len(), 10, split)?;
        let methods = [Method::JackknifePlus, Method::CvPlus(folds), Method::GaussianProcess];
        for (m, method) in methods.iter().enumerate() {
            let rows = model.training().ok_or("a kernel model holds its rows")?;
            let bounds = Intervals::new(&model, rows, method, LEVEL, None)?.at(&x(test))?;
            let found = bounds[0].coverage(&y(test)).ok_or("there are test rows")?;
            coverage[m].push(found.share);
            width[m] += found.mean_width / deviation;
        }
    }
    Ok((coverage, width))
}
