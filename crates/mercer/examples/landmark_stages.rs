//! Where the time of a fit on landmarks goes, beside the rate of plain matrix products on this machine.
//!
//! `landmark_stages FILE LENGTHSCALE RANK EXPONENTS [pivots|centres|uniform]`: FILE is a CSV of numbers with a header, the last
//! column is y; the features are taken as they are.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use mercer::prelude::*;

/// Its name, and wall and processor seconds when it began.
type Stage = (&'static str, f64, f64);

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, lengthscale, rank, exponents, ..] = &arguments[..] else {
        return Err("usage: landmark_stages FILE LENGTHSCALE RANK EXPONENTS".into());
    };
    let rank: usize = rank.parse()?;
    let rows: Vec<Vec<f64>> = std::fs::read_to_string(file)?
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(str::parse).collect())
        .collect::<Result<_, _>>()?;
    let features = rows[0].len() - 1;
    let x = Matrix::from_fn(rows.len(), features, |i, j| rows[i][j]);
    let y: Vec<f64> = rows.iter().map(|row| row[features]).collect();
    rate("tall × square", rows.len().min(8192), rank, rank);
    rate("wideᵀ × tall", rank, rows.len().min(8192), rank);

    let stages: Arc<Mutex<Vec<Stage>>> = Arc::default();
    let log = Arc::clone(&stages);
    let started = Instant::now();
    let now = move || (started.elapsed().as_secs_f64(), processor_seconds());
    let fitted = Fit::new(Gaussian::lengthscale(lengthscale.parse()?))
        .exponents(&mercer::range::stepped("exponent", exponents)?)
        .rank(rank)
        .observer(Arc::new(move |stage| {
            let (wall, processor) = now();
            log.lock().expect("no panic while held").push((stage, wall, processor));
            true
        }))
        .fit(&x, &y)?;
    let ended = now();
    let stages = stages.lock().expect("no panic while held");
    for (k, (stage, wall, processor)) in stages.iter().enumerate() {
        let until = stages.get(k + 1).map_or(ended, |(_, wall, processor)| (*wall, *processor));
        println!("{stage:20} {:6.2} s, processors {:6.2} s", until.0 - wall, until.1 - processor);
    }
    let summary = fitted.summary();
    let rmse = summary.loo_rmse.unwrap_or(f64::NAN);
    println!("{:20} {:6.2} s, {}", "all", ended.0, fitted.plan.method.describe());
    println!("leave-one-out RMSE {rmse:.5}, exponent {}, λ {:.3e}", summary.exponent, summary.lambda);
    Ok(())
}

/// Seconds that all threads of this process have worked.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks =
        |field: usize| after_name.split_whitespace().nth(field).and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// Prints how many products and sums a second the backend makes at a shape, the best of three.
fn rate(name: &str, rows: usize, inner: usize, cols: usize) {
    let (a, b) = (Mat::<f64>::ones(rows, inner), Mat::<f64>::ones(inner, cols));
    let mut out = Mat::<f64>::zeros(rows, cols);
    let (mut best, mut busy) = (f64::INFINITY, 0.0);
    for _ in 0..3 {
        let (started, before) = (Instant::now(), processor_seconds());
        matmul(&mut out, Accum::Replace, &a, &b, 1.0, Par::rayon(2));
        best = best.min(started.elapsed().as_secs_f64());
        busy = processor_seconds() - before;
    }
    let flops = 2.0 * rows as f64 * inner as f64 * cols as f64;
    println!("{name:20} {:.0} GFlop/s ({:.0} for each second of a processor)", flops / best / 1e9, flops / busy / 1e9);
}
