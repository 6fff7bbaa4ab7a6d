//! `mercer export`: half the size with the error stated, and ONNX (whose values `checks/onnx.py` compares).

use crate::lab::{Lab, error, number, text};

#[test]
fn a_model_in_single_precision_is_half_as_large_and_as_near_as_it_says() {
    let lab = Lab::with_table("friedman1", 300);
    lab.ok(&["fit", "t.csv", "--target", "y", "--kernel", "matern52", "--output", "m.mercer", "--quiet"]);
    let report = lab.json(&["export", "m.mercer", "--precision", "f32", "--output", "small.mercer", "--json"]);
    assert!(2.0 * number(&report, "bytes") < number(&report, "bytes_before"), "{report}");
    assert_eq!(number(&report, "bytes") as usize, lab.bytes("small.mercer").len());
    let rounding = &report["rounding"][0];
    let (seen, bound) = (number(rounding, "largest_difference"), number(rounding, "bound"));
    assert!(seen > 0.0 && seen <= bound && bound < 0.1, "{report}");
    lab.ok(&["generate", "friedman1", "--rows", "500", "--seed", "9", "--output", "new.csv"]);
    for (model, output) in [("m.mercer", "exact.csv"), ("small.mercer", "rounded.csv")] {
        lab.ok(&["predict", model, "new.csv", "--output", output, "--quiet"]);
    }
    let (exact, rounded) = (lab.numbers("exact.csv", "prediction"), lab.numbers("rounded.csv", "prediction"));
    let largest = exact.iter().zip(&rounded).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(largest > 0.0 && largest <= bound, "{largest}, {bound}");
    let page = text(&lab.ok(&["inspect", "small.mercer"]));
    assert!(page.contains("rounded  to single precision") && page.contains("which is proved"), "{page}");
    let page = text(&lab.ok(&["export", "m.mercer", "--precision", "f32", "--output", "again.mercer"]));
    assert!(page.contains("again.mercer (") && page.contains("rounding y: predictions differ by at most"), "{page}");
    assert!(page.contains("left out"), "{page}");
    assert_eq!(lab.bytes("again.mercer"), lab.bytes("small.mercer"));
    let refused = lab.fails(&["predict", "small.mercer", "new.csv", "--interval", "0.9"], 1);
    assert!(error(&refused).contains("--data TRAINING"), "{}", error(&refused));
    lab.ok(&["predict", "small.mercer", "new.csv", "--interval", "0.9", "--data", "t.csv", "--output", "i.csv"]);
}

#[test]
fn onnx_files_are_made_for_kernels_that_onnx_can_express() {
    let lab = Lab::with_table("friedman1", 80);
    for kernel in ["gaussian", "linear", "polynomial(degree=2)", "0.5*gaussian + linear", "laplace*matern32"] {
        lab.ok(&[
            "fit", "t.csv", "--target", "y", "--kernel", kernel, "--lambda", "0.01", "--output", "m.mercer", "--quiet",
        ]);
        let report = lab.json(&["export", "m.mercer", "--output", "m.onnx", "--json"]);
        let bytes = lab.bytes("m.onnx");
        assert_eq!(report["format"], "onnx");
        assert_eq!(number(&report, "bytes") as usize, bytes.len());
        // IR version 8, then the producer.
        assert!(bytes.starts_with(b"\x08\x08\x12\x06mercer"), "{kernel}");
    }
    let page = text(&lab.ok(&["export", "m.mercer", "--output", "m.onnx"]));
    assert!(page.contains("x, double, rows × 10: x1, x2"), "{page}");
    lab.ok(&[
        "fit",
        "t.csv",
        "--target",
        "y",
        "--kernel",
        "additive-spline",
        "--lambda",
        "0.01",
        "--output",
        "s.mercer",
        "--quiet",
    ]);
    let refused = lab.fails(&["export", "s.mercer", "--output", "s.onnx"], 1);
    let said = error(&refused);
    assert!(
        said.contains("must be one with the kernel linear, polynomial, gaussian") && said.contains("additive-spline"),
        "{said}"
    );
    assert!(!lab.path("s.onnx").exists());
}

/// What was measured is not said to be certain, and what a model never had was not left out of it.
#[test]
fn rounded_models_say_how_their_digits_are_known() {
    let lab = Lab::with_table("friedman1", 120);
    for (kernel, digits) in [
        ("gaussian", "at least"),
        ("additive-spline", "digits, measured on 120 of its own points"),
        ("linear", "about"),
    ] {
        let fit =
            ["fit", "t.csv", "--target", "y", "--kernel", kernel, "--lambda", "0.01", "--output", "m.mercer", "-q"];
        lab.ok(&fit);
        let page = text(&lab.ok(&["export", "m.mercer", "--precision", "f32", "--output", "s.mercer"]));
        assert_eq!(page.contains("left out"), kernel != "linear", "{kernel}: {page}");
        let page = text(&lab.ok(&["inspect", "s.mercer"]));
        let certain = page.lines().find(|line| line.trim_start().starts_with("certain")).unwrap();
        assert!(certain.contains(digits) && (digits == "at least" || !certain.contains("at least")), "{certain}");
    }
}

#[test]
fn the_outputs_of_an_onnx_file_are_those_that_are_named() {
    let lab = Lab::new();
    let rows =
        (0..60).map(|i| format!("{},{},{}\n", i % 7, i % 11, if (i % 7) + (i % 11) > 7 { "up" } else { "down" }));
    lab.file("c.csv", &format!("a\u{a0}µ,b,kind\n{}", rows.collect::<String>()));
    let classes =
        ["fit", "c.csv", "--target", "kind", "--kernel", "gaussian", "--lambda", "0.01", "--output", "m.mercer"];
    for (options, outputs) in [
        (&["--loss", "hinge"][..], "label, decision"),
        (&["--loss", "hinge", "--probability"], "label, decision, probability"),
        (&["--loss", "logistic"], "label, decision, probability"),
    ] {
        lab.ok(&[&classes[..], options, &["--quiet"]].concat());
        let page = text(&lab.ok(&["export", "m.mercer", "--output", "m.onnx"]));
        assert!(page.lines().any(|line| line.trim() == format!("output   {outputs}")), "{options:?}: {page}");
        let bytes = lab.bytes("m.onnx");
        let has = |name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
        for name in ["label", "decision", "probability"] {
            assert_eq!(has(name), outputs.contains(name), "{options:?}: {name}");
        }
        // The metadata's list of columns.
        assert!(has("[\"a\u{a0}µ\",\"b\"]"), "{options:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let lab = Lab::with_table("sinc", 40);
    lab.ok(&["fit", "t.csv", "--target", "y", "--output", "m.mercer", "--quiet"]);
    lab.file("notes.txt", "not a model");
    for (arguments, code, expected) in [
        (&["export", "m.mercer", "--output", "copy.mercer"][..], 2, "--precision f32"),
        (&["export", "m.mercer", "--output", "m.onnx", "--precision", "f32"], 2, "double precision"),
        (&["export", "m.mercer", "--output", "notes.txt", "--precision", "f32"], 1, "not a model file"),
        (&["export", "m.mercer", "--output", "no/such/m.onnx"], 1, "no folder"),
        (&["export", "t.csv", "--output", "m.onnx"], 1, "not a Mercer model file"),
    ] {
        let output = lab.fails(arguments, code);
        assert!(error(&output).contains(expected), "{arguments:?}: {}", error(&output));
    }
    lab.file("words.csv", "a,k,y\n1,x,1\n2,y,2\n3,x,3\n4,z,5\n5,y,4\n6,z,6\n");
    lab.ok(&[
        "fit",
        "words.csv",
        "--target",
        "y",
        "--kernel",
        "gaussian",
        "--lambda",
        "0.1",
        "--output",
        "w.mercer",
        "--quiet",
    ]);
    let refused = lab.fails(&["export", "w.mercer", "--output", "w.onnx"], 1);
    assert!(error(&refused).contains("reads text (column \"k\")"), "{}", error(&refused));
}
