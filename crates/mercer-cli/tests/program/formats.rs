//! The same numbers from the library, through pipes, and in every table format.

use std::collections::BTreeSet;

use mercer::data::{Roles, Scale};
use mercer::{Fit, kernel};
use serde_json::Value;

use crate::lab::{Lab, bare, error, hash, line};

#[test]
fn the_prediction_column_is_the_library_s_bit_for_bit() {
    let lab = Lab::with_table("friedman1", 90);
    lab.ok(&["generate", "friedman1", "--rows", "130", "--seed", "9", "--output", "new.csv"]);
    let (training, new) = (lab.frame("t.csv"), lab.frame("new.csv"));
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    let mut tried = 0;
    for (spec, exponent, lambda, scale) in [
        ("gaussian", 2.0, None, Scale::Standard),
        ("gaussian(lengthscale=median)", 1.3, None, Scale::Standard),
        ("matern52(lengthscale=2.5)", 0.5, Some(1e-3), Scale::Standard),
        ("additive-spline", 2.0, Some(1e-4), Scale::Unit),
        ("linear", 2.0, None, Scale::Standard),
        ("0.5*linear + gaussian(lengthscale=3)*spline0", 1.5, Some(0.01), Scale::Unit),
        ("normalized-polynomial(degree=2)", 3.0, None, Scale::Standard),
    ] {
        let mut fit = Fit::with_shared(kernel::parse(spec).unwrap()).exponent(exponent).scale(scale);
        let (exponent, given) = (exponent.to_string(), lambda.map(|lambda: f64| lambda.to_string()));
        let mut arguments = vec!["fit", "t.csv", "--target", "y", "--kernel", spec, "--exponent", &exponent, "--quiet"];
        arguments.extend(["--output", "m.mercer"]);
        if let (Some(lambda), Some(given)) = (lambda, &given) {
            fit = fit.lambda(lambda);
            arguments.extend(["--lambda", given]);
        }
        lab.ok(&arguments);
        let model = fit.fit_frame(&training, &roles).unwrap().model;
        assert_eq!(lab.model("m.mercer"), mercer::format::to_bytes(&model).unwrap(), "{spec}: another model");
        let want: Vec<u64> = model.predict_frame(&new).unwrap()[0].iter().map(|v| v.unwrap().to_bits()).collect();

        lab.ok(&["predict", "m.mercer", "new.csv", "--output", "p.csv", "--quiet"]);
        assert_eq!(lab.column("p.csv", "prediction"), want, "{spec}");
        let report = lab.json(&["predict", "m.mercer", "new.csv", "--json"]);
        let listed = report["predictions"]["prediction"].as_array().unwrap();
        let listed: Vec<u64> = listed.iter().map(|v| v.as_f64().unwrap().to_bits()).collect();
        assert_eq!(listed, want, "{spec}, as JSON");
        assert_eq!(report["n"], 130);
        tried += 1;
    }
    assert_eq!(tried, 7);
    // The table's own cells come back letter for letter.
    let before = String::from_utf8(lab.bytes("new.csv")).unwrap();
    let after = String::from_utf8(lab.bytes("p.csv")).unwrap();
    for (before, after) in before.lines().zip(after.lines()) {
        assert_eq!(after.rsplit_once(',').unwrap().0, before);
    }
}

#[test]
fn standard_input_and_output() {
    let lab = Lab::with_table("sinc", 40);
    let table = lab.bytes("t.csv");
    lab.ok(&["fit", "t.csv", "--target", "y", "-k", "gaussian", "--output", "m.mercer", "--quiet"]);
    let model = lab.bytes("m.mercer");
    // The table from standard input, the model to standard output, the report beside it.
    let piped = lab.ok_on(&["fit", "-", "--target", "y", "-k", "gaussian", "--output", "-"], &table);
    assert_eq!(bare(&piped.stdout), bare(&model));
    assert!(error(&piped).contains("leave-one-out RMSE"), "{}", error(&piped));
    let piped = lab.ok_on(&["fit", "-", "--target", "y", "-k", "gaussian", "--output", "-", "--json"], &table);
    assert_eq!(bare(&piped.stdout), bare(&model));
    assert!(serde_json::from_str::<Value>(&error(&piped)).unwrap()["n"] == 40);
    let quiet = lab.ok_on(&["fit", "-", "--target", "y", "-k", "gaussian", "--output", "-", "--quiet"], &table);
    assert!(bare(&quiet.stdout) == bare(&model) && quiet.stderr.is_empty());

    lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "--quiet"]);
    let predicted = lab.bytes("p.csv");
    let to_stdout = lab.ok(&["predict", "m.mercer", "t.csv"]);
    assert_eq!(to_stdout.stdout, predicted);
    assert!(error(&to_stdout).contains("40 rows predicted") && error(&to_stdout).contains("RMSE"));
    assert_eq!(lab.ok(&["predict", "m.mercer", "t.csv", "--output", "-"]).stdout, predicted);
    assert_eq!(lab.ok_on(&["predict", "m.mercer", "-"], &table).stdout, predicted);
    assert_eq!(lab.ok_on(&["predict", "-", "t.csv"], &model).stdout, predicted);
    assert_eq!(lab.ok_on(&["inspect", "-"], &model).stdout, lab.ok(&["inspect", "m.mercer"]).stdout);
    // A whole pipeline.
    let line = "mercer generate sinc --rows 40 --noise 0.3 | mercer fit - -t y -k gaussian --output - -q | mercer predict - t.csv -q";
    let pipeline = lab.shell(line);
    assert!(pipeline.status.success(), "{}", error(&pipeline));
    assert_eq!(pipeline.stdout, predicted);
}

#[test]
fn every_table_format_gives_the_same_model() {
    let lab = Lab::new();
    let formats = ["csv", "tsv", "csv.gz", "tsv.gz", "parquet", "arrow", "feather"];
    let mut models = BTreeSet::new();
    let mut predictions = BTreeSet::new();
    for format in formats {
        let (table, predicted) = (format!("t.{format}"), format!("p.{format}"));
        lab.ok(&["generate", "friedman3", "--rows", "70", "--noise", "0.1", "--output", &table]);
        lab.ok(&["fit", &table, "--target", "y", "-k", "gaussian", "--output", "m.mercer", "--quiet"]);
        models.insert(hash(&lab.model("m.mercer")));
        lab.ok(&["predict", "m.mercer", &table, "--output", &predicted, "--quiet"]);
        let column = lab.column(&predicted, "prediction");
        assert_eq!(column.len(), 70, "{format}");
        // The table is all there, too.
        assert_eq!(lab.column(&predicted, "y"), lab.column(&table, "y"), "{format}");
        predictions.insert(column);
        // From standard input the format must be found in the bytes.
        lab.ok_on(
            &["fit", "-", "--target", "y", "-k", "gaussian", "--output", "m.mercer", "--quiet"],
            &lab.bytes(&table),
        );
        models.insert(hash(&lab.model("m.mercer")));
    }
    assert_eq!((models.len(), predictions.len()), (1, 1), "{models:?}");
    // From one format to another.
    for format in formats {
        let (table, predicted) = (format!("t.{format}"), format!("q.{}", formats[(format.len() * 3) % formats.len()]));
        lab.ok(&["predict", "m.mercer", &table, "--output", &predicted, "--quiet"]);
        predictions.insert(lab.column(&predicted, "prediction"));
    }
    assert_eq!(predictions.len(), 1);

    // LIBSVM and text tables in other dialects.
    let rows: Vec<[f64; 3]> =
        (0..30).map(|i| f64::from(i) * 0.37).map(|x| [x.sin(), x.cos() * 2.0, x.sin() * x]).collect();
    let numbers = |row: &[f64; 3], separator: &str| row.map(|x| x.to_string()).join(separator);
    let csv: String = rows.iter().map(|row| numbers(row, ",") + "\n").collect();
    let comma: String = rows.iter().map(|row| numbers(row, ";").replace('.', ",") + "\r\n").collect();
    let blank: String = rows.iter().map(|row| format!("  {}\n", numbers(row, "   "))).collect();
    let svm: String = rows.iter().map(|[a, b, y]| format!("{y} 1:{a} 2:{b} # row\n")).collect();
    lab.file("plain.csv", &format!("x1,x2,y\n{csv}"));
    lab.file("comma.csv", &format!("x1;x2;y\r\n{comma}"));
    lab.file("blank.txt", &format!("x1 x2 y\n{blank}"));
    lab.file("bare.csv", &csv);
    lab.file("t.svm", &svm);
    lab.file("svm.txt", &svm);
    let mut models = BTreeSet::new();
    for arguments in [
        &["plain.csv", "--target", "y"][..],
        &["comma.csv", "--target", "y", "--decimal", "comma"],
        &["comma.csv", "--target", "y", "--decimal", "comma", "--separator", ";"],
        &["blank.txt", "--target", "y"],
        &["t.svm", "--target", "y"],
        &["svm.txt", "--target", "y"],
        &["svm.txt", "--target", "y", "--format", "libsvm"],
    ] {
        lab.ok(&line(&[&["fit", "-k", "gaussian", "--output", "m.mercer", "--quiet"], arguments]));
        models.insert(hash(&lab.model("m.mercer")));
    }
    assert_eq!(models.len(), 1, "{models:?}");
    // Without a header the columns are x1, x2, x3.
    let named = lab.json(&["fit", "plain.csv", "-t", "y", "-k", "gaussian", "--json"]);
    let bare = lab.json(&["fit", "bare.csv", "-t", "x3", "-k", "gaussian", "--json"]);
    let told = lab.json(&["fit", "bare.csv", "-t", "x3", "-k", "gaussian", "--no-header", "--json"]);
    assert_eq!(named["objective"], bare["objective"]);
    assert_eq!(named["objective"], told["objective"]);
}
