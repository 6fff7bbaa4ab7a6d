//! Threads (F1).

use std::collections::BTreeSet;

use crate::lab::{Lab, hash, line};

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let lab = Lab::new();
    let mut weighted = String::from("x1,x2,w,y,z\n");
    for i in 0..250 {
        let x = f64::from(i) * 0.61;
        weighted.push_str(&format!("{},{},{},{},{}\n", x.sin(), (1.7 * x).cos(), 1 + i % 4, (x * 0.3).sin(), x.cos()));
    }
    lab.file("w.csv", &weighted);
    lab.ok(&["generate", "friedman1", "--rows", "70", "--noise", "1", "--output", "small.csv"]);
    lab.ok(&["generate", "friedman1", "--rows", "720", "--noise", "1", "--output", "large.csv"]);
    lab.ok(&["generate", "friedman1", "--rows", "3000", "--noise", "1", "--output", "long.csv"]);
    let configurations: [(&str, &[&str]); 11] = [
        ("λ chosen", &["small.csv", "--target", "y", "--kernel", "gaussian"]),
        ("λ chosen, exponent 1.3", &["small.csv", "--target", "y", "-m", "1.3", "--kernel", "matern32"]),
        ("λ chosen, exponent 0.5", &["small.csv", "--target", "y", "-m", "0.5", "--kernel", "polynomial(degree=2)"]),
        (
            "splines, exponent 3",
            &["small.csv", "--target", "y", "-m", "3", "--kernel", "additive-spline", "--lambda", "1e-3"],
        ),
        ("a sum", &["small.csv", "--target", "y", "-m", "1", "--kernel", "0.5*linear + laplace*multiplicative-spline"]),
        ("linear, chosen", &["long.csv", "--target", "y", "--kernel", "linear"]),
        ("linear, given", &["long.csv", "--target", "y", "--kernel", "linear", "--lambda", "0.1", "-m", "1.5"]),
        ("Cholesky", &["large.csv", "--target", "y", "--lambda", "1e-3"]),
        (
            "Cholesky, spline, no offset",
            &["large.csv", "--target", "y", "--lambda", "1e-3", "--kernel", "additive-spline", "--no-offset"],
        ),
        ("700 rows, exponent 1.5", &["large.csv", "--target", "y", "--lambda", "1e-3", "-m", "1.5"]),
        ("weighted, two targets", &["w.csv", "--target", "y,z", "--weight", "w", "--lambda", "1e-3"]),
    ];
    let mut runs = 0;
    let mut wrong = Vec::new();
    for (name, arguments) in configurations {
        let mut models = BTreeSet::new();
        let mut reports = BTreeSet::new();
        let mut predictions = BTreeSet::new();
        for threads in ["1", "2", "3", "4", "8"] {
            for repeat in 0..5 {
                let output = ["--output", "m.mercer", "--json", "--threads", threads];
                let mut report = lab.json(&line(&[&["fit"], arguments, &output]));
                report.as_object_mut().unwrap().remove("seconds");
                reports.insert(report.to_string());
                models.insert(hash(&lab.bytes("m.mercer")));
                runs += 1;
                if repeat == 0 {
                    let predict = ["predict", "m.mercer", arguments[0], "--threads", threads, "--quiet"];
                    predictions.insert(hash(&lab.ok(&predict).stdout));
                }
            }
        }
        if (models.len(), reports.len(), predictions.len()) != (1, 1, 1) {
            wrong.push(format!(
                "{name}: {} models, {} reports, {} predictions",
                models.len(),
                reports.len(),
                predictions.len()
            ));
        }
    }
    println!("{runs} fits");
    assert_eq!(runs, 11 * 25);
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The Cholesky path is what was meant.
    let report = lab.json(&["fit", "large.csv", "--target", "y", "--lambda", "1e-3", "--json"]);
    assert!(report["method"].as_str().unwrap().contains("Cholesky"), "{}", report["method"]);
}
