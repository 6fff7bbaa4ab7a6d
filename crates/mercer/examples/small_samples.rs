//! Small samples, after Braga and Monard: additive splines with FPE or leave-one-out against the Gaussian kernel with
//! leave-one-out, 30 to 100 training rows drawn at random from larger sets.
//!
//! `small_samples DATA_FOLDER [DRAWS]` prints the table of `docs/small-samples.md`. CSV files with a header, the last
//! column is y; sets that are not there are named and skipped.

use mercer::criterion::Criterion;
use mercer::prelude::*;
use mercer::range;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const SETS: [&str; 7] = ["concrete", "concrete_slump", "yacht", "energy", "boston", "wine_white", "parkinsons_total"];
const ROWS: [usize; 3] = [30, 60, 100];
const MOST_TEST_ROWS: usize = 1000;

/// Name, kernels to choose from, criterion.
const METHODS: [(&str, &str, &str, Scale); 5] = [
    ("additive spline, FPE", "additive-spline", "fpe", Scale::Unit),
    ("additive spline, LOO", "additive-spline", "loo", Scale::Unit),
    ("Gaussian, LOO", "gaussian(lengthscale=0.5..32:13)", "loo", Scale::Standard),
    ("Gaussian, FPE", "gaussian(lengthscale=0.5..32:13)", "fpe", Scale::Standard),
    ("multiplicative spline, LOO", "multiplicative-spline", "loo", Scale::Unit),
];

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rest @ ..] = &arguments[..] else { return Err("usage: small_samples DATA_FOLDER [DRAWS]".into()) };
    let draws: u64 = rest.first().map_or(Ok(20), |text| text.parse())?;
    let names: Vec<&str> = METHODS.iter().map(|(name, ..)| *name).collect();
    println!("| set | rows | {} |\n|---|---|{}", names.join(" | "), "---|".repeat(names.len()));
    let mut ranks = vec![0.0; METHODS.len()];
    let mut lines = 0.0;
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
        for rows in ROWS.into_iter().filter(|rows| *rows < table.len()) {
            let errors = compare(&table, rows, draws)?;
            let means: Vec<f64> = errors.iter().map(|e| e.iter().sum::<f64>() / e.len() as f64).collect();
            for (method, mean) in means.iter().enumerate() {
                ranks[method] += 1.0 + means.iter().filter(|other| *other < mean).count() as f64;
            }
            lines += 1.0;
            let least = means.iter().copied().fold(f64::INFINITY, f64::min);
            let cells: Vec<String> = errors
                .iter()
                .zip(&means)
                .map(|(e, mean)| {
                    let spread =
                        (e.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (e.len() - 1).max(1) as f64).sqrt();
                    let text = format!("{mean:.3} ± {spread:.3}");
                    if *mean == least { format!("**{text}**") } else { text }
                })
                .collect();
            println!("| {set} | {rows} | {} |", cells.join(" | "));
        }
    }
    let ranks: Vec<String> = ranks.iter().map(|rank| format!("{:.2}", rank / lines)).collect();
    println!("| mean rank | | {} |", ranks.join(" | "));
    Ok(())
}

/// Test RMSE in units of the target's standard deviation: `[method][draw]`.
fn compare(
    table: &[Vec<f64>],
    rows: usize,
    draws: u64,
) -> std::result::Result<Vec<Vec<f64>>, Box<dyn std::error::Error>> {
    let features = table[0].len() - 1;
    let mean = table.iter().map(|row| row[features]).sum::<f64>() / table.len() as f64;
    let deviation = (table.iter().map(|row| (row[features] - mean).powi(2)).sum::<f64>() / table.len() as f64).sqrt();
    let mut errors = vec![Vec::new(); METHODS.len()];
    for draw in 0..draws {
        let mut random = ChaCha8Rng::seed_from_u64(draw);
        let mut order: Vec<usize> = (0..table.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
        }
        let matrix = |rows: &[usize]| Matrix::from_fn(rows.len(), features, |i, j| table[rows[i]][j]);
        let target = |rows: &[usize]| rows.iter().map(|row| table[*row][features]).collect::<Vec<f64>>();
        let (training, test) = (&order[..rows], &order[rows..(rows + MOST_TEST_ROWS).min(order.len())]);
        for (method, (_, kernels, criterion, scale)) in METHODS.iter().enumerate() {
            let fit = Fit::new(Linear)
                .kernels(range::kernels(kernels)?)
                .criterion(Criterion::parse(criterion)?)
                .scale(*scale);
            let model = fit.fit(&matrix(training), &target(training))?.model;
            let predicted = model.predict(&matrix(test))?;
            let sum: f64 = target(test).iter().zip(predicted.col(0)).map(|(y, f)| (y - f) * (y - f)).sum();
            errors[method].push((sum / test.len() as f64).sqrt() / deviation);
        }
    }
    Ok(errors)
}
