use mercer_lab::equivalence::{Image, Place, TrainingSet};

use crate::lab::{Problem, algorithm, uniform};

/// Φ without each row, from one decomposition, against a decomposition of the other rows.
#[test]
fn deletions_are_refits() {
    let (mut compared, mut lost, mut seed) = (0, 0, 5000);
    let mut worst: f64 = 0.0;
    while compared < 1500 {
        seed += 1;
        let (problem, mut random) = Problem::random(seed);
        let n = problem.rows();
        if n > 25 {
            continue;
        }
        let spectrum = problem.spectrum();
        let set = TrainingSet::new(&spectrum, &problem.y, n as f64).unwrap();
        let (a, b) = (algorithm(&mut random), algorithm(&mut random));
        let ridge = spectrum.largest() / spectrum.weight_sum() * 10_f64.powf(-5.0 + 5.0 * uniform(&mut random));
        let Some(p) = set.image(a, Place::Ridge(ridge.ln())).parameter() else { continue };
        let found = set.map_deletions(a, b, p).unwrap();
        for (i, image) in found.iter().enumerate() {
            let kept: Vec<usize> = (0..n).filter(|j| *j != i).collect();
            let rest = problem.subset(&kept);
            let own = rest.spectrum();
            let refit = TrainingSet::new(&own, &rest.y, (n - 1) as f64).unwrap();
            let what = format!("seed {seed}, row {i}: {} at {p} to {}", a.spec(), b.spec());
            let expected = refit.map(a, b, p).unwrap_or(Image::Unbound);
            match (image, expected) {
                (Image::At(x), Image::At(y)) => {
                    let Ok(Place::Ridge(t)) = refit.place(a, p) else { panic!("{what}") };
                    // Rounding of the path over A's slope, seen through B's.
                    let magnified = (refit.slope(b, t) / refit.slope(a, t)).abs().max(1.0);
                    let error = (x - y).abs();
                    worst = worst.max(error / magnified);
                    assert!(error <= 1e-9 * magnified, "{what}: {error:e}, slopes {magnified:e}");
                    compared += 1;
                }
                (x, y) => {
                    // A point at the edge between two answers may be either.
                    if *x != y {
                        lost += 1;
                    }
                    compared += 1;
                }
            }
        }
    }
    println!("{compared} deletions, worst {worst:e}; {lost} of another kind");
    assert!(lost <= 3, "{lost}");
}

/// A row of weight 3 is the row three times: what bootstrap samples rely on.
#[test]
fn weights_are_repeated_rows() {
    for seed in 1..60 {
        let (problem, mut random) = Problem::random(seed);
        let problem = Problem { weights: None, ..problem };
        let counts: Vec<usize> = (0..problem.rows()).map(|i| 1 + (seed as usize * 7 + i * i) % 3).collect();
        let repeated: Vec<usize> = counts.iter().enumerate().flat_map(|(i, c)| vec![i; *c]).collect();
        let total = repeated.len() as f64;
        let long = problem.subset(&repeated);
        let short = Problem { weights: Some(counts.iter().map(|c| *c as f64).collect()), ..problem };
        let (first, second) = (long.spectrum(), short.spectrum());
        let a = TrainingSet::new(&first, &long.y, total).unwrap();
        let b = TrainingSet::new(&second, &short.y, total).unwrap();
        let (from, to) = (algorithm(&mut random), algorithm(&mut random));
        let ridge = second.largest() / second.weight_sum() * 10_f64.powf(-4.0 + 4.0 * uniform(&mut random));
        let Some(p) = b.image(from, Place::Ridge(ridge.ln())).parameter() else { continue };
        let what = format!("seed {seed}: {} at {p} to {}", from.spec(), to.spec());
        match (a.map(from, to, p).unwrap(), b.map(from, to, p).unwrap()) {
            (Image::At(x), Image::At(y)) => {
                let magnified = (b.slope(to, ridge.ln()) / b.slope(from, ridge.ln())).abs().max(1.0);
                assert!((x - y).abs() < 1e-10 * magnified, "{what}: {x} and {y}");
            }
            (x, y) => assert_eq!(x, y, "{what}"),
        }
    }
}
