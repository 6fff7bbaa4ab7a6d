//! Times parts of the library, for the side-by-side scripts in `peers/`: reads a matrix of numbers (CSV without
//! header, the last column is y) from a file and prints one JSON object.
//!
//! `timing gram FILE REPEATS LENGTHSCALE` · `timing fit FILE REPEATS LENGTHSCALE LAMBDA coefficients|report` ·
//! `timing surface FILE REPEATS LENGTHSCALES LAMBDAS EXPONENTS [between]` (ranges as the program takes them; leave-one-out at every
//! point, with `between` also between them, then the fit at the best of them; the check is the best leave-one-out RMSE) ·
//! `timing both FILE REPEATS LENGTHSCALE LAMBDA` (a fit, coefficients only, and the predictions of its own rows)

use std::sync::{Arc, Mutex};
use std::time::Instant;

use mercer::kernel::Points;
use mercer::prelude::*;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, file, repeats, lengthscale, rest @ ..] = &arguments[..] else {
        return Err("usage: timing gram|fit FILE REPEATS LENGTHSCALE [LAMBDA coefficients|report]".into());
    };
    let repeats: usize = repeats.parse()?;
    rayon_threads()?;
    let rows: Vec<Vec<f64>> = std::fs::read_to_string(file)?
        .lines()
        .map(|line| line.split(',').map(str::parse).collect())
        .collect::<Result<_, _>>()?;
    let features = rows[0].len() - 1;
    let x = Matrix::from_fn(rows.len(), features, |i, j| rows[i][j]);
    let y: Vec<f64> = rows.iter().map(|row| row[features]).collect();
    if what == "surface" {
        return surface(&x, &y, repeats, lengthscale, rest);
    }
    let kernel = Gaussian::lengthscale(lengthscale.parse()?);
    if what == "both" {
        let [lambda] = rest else { return Err("both needs LAMBDA".into()) };
        return both(&x, &y, repeats, &Fit::new(kernel).lambda(lambda.parse()?).without_offset().without_diagnostics());
    }

    let mut seconds = Vec::new();
    let mut check = 0.0;
    let stages = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..repeats {
        let started = Instant::now();
        if what == "gram" {
            let gram = mercer::space::gram(&kernel, &Points::new(&x));
            seconds.push(started.elapsed().as_secs_f64());
            check = gram.as_slice().iter().sum();
        } else {
            let [lambda, how] = rest else { return Err("fit needs LAMBDA and coefficients|report".into()) };
            let log = Arc::clone(&stages);
            let mut fit =
                Fit::new(kernel.clone()).lambda(lambda.parse()?).without_offset().observer(Arc::new(move |stage| {
                    log.lock().expect("no panic while held").push((stage, started.elapsed().as_secs_f64()));
                    true
                }));
            if how == "coefficients" {
                fit = fit.without_diagnostics();
            }
            let fitted = fit.fit(&x, &y)?;
            seconds.push(started.elapsed().as_secs_f64());
            check = fitted.model.coefficients(0).iter().sum();
        }
    }
    let stages = stages.lock().expect("no panic while held");
    println!("{}", serde_json::json!({ "seconds": seconds, "check": check, "peak_bytes": peak(), "stages": *stages }));
    Ok(())
}

/// A fit and the predictions of its rows, once to warm up and then `repeats` times; CPU time is that of all of them.
fn both(x: &Matrix, y: &[f64], repeats: usize, fit: &Fit) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut check = fit.fit(x, y)?.model.predict(x)?.as_slice().iter().sum::<f64>();
    let before = cpu();
    let mut seconds = Vec::new();
    for _ in 0..repeats {
        let started = Instant::now();
        check = fit.fit(x, y)?.model.predict(x)?.as_slice().iter().sum();
        seconds.push(started.elapsed().as_secs_f64());
    }
    let cpu = cpu().zip(before).map(|(after, before)| after - before);
    println!("{}", serde_json::json!({ "seconds": seconds, "cpu": cpu, "check": check }));
    Ok(())
}

/// Seconds of processor time so far, in the kernel's ticks of a hundredth.
fn cpu() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = status.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?) / 100.0)
}

/// A whole selection: every kernel, λ and exponent.
fn surface(
    x: &Matrix,
    y: &[f64],
    repeats: usize,
    lengthscales: &str,
    rest: &[String],
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let [lambdas, exponents, where_to_look @ ..] = rest else {
        return Err("surface needs LAMBDAS and EXPONENTS".into());
    };
    let mut fit = Fit::new(Gaussian::lengthscale(1.0))
        .kernels(mercer::range::kernels(&format!("gaussian(lengthscale={lengthscales})"))?)
        .lambdas(&mercer::range::log_spaced("lambda", lambdas)?)
        .exponents(&mercer::range::stepped("exponent", exponents)?);
    if where_to_look != ["between"] {
        fit = fit.on_grid();
    }
    let mut seconds = Vec::new();
    let mut last = None;
    for _ in 0..repeats {
        let started = Instant::now();
        last = Some(fit.fit(x, y)?);
        seconds.push(started.elapsed().as_secs_f64());
    }
    let fitted = last.ok_or("at least one repeat is needed")?;
    let scores: Vec<Vec<Vec<f64>>> = fitted
        .tried
        .iter()
        .map(|tried| {
            tried.surfaces()[0].scores.iter().map(|row| row.iter().map(|s| s.value.sqrt()).collect()).collect()
        })
        .collect();
    let check = fitted.summary().loo_rmse;
    let chosen = fitted.model.kernel().spec();
    println!(
        "{}",
        serde_json::json!({ "seconds": seconds, "check": check, "chosen": chosen, "method": fitted.plan.method.describe(),
            "peak_bytes": peak(), "scores": scores })
    );
    Ok(())
}

/// As many threads as `MERCER_THREADS` says, so that peers can be given the same number.
fn rayon_threads() -> std::result::Result<(), Box<dyn std::error::Error>> {
    if let Ok(threads) = std::env::var("MERCER_THREADS") {
        rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build_global()?;
    }
    Ok(())
}

/// The largest memory this process has had.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
