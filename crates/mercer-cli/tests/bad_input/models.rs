//! Files that are no models, and tables that a model cannot predict.

use std::fs;
use std::path::Path;

use crate::lab::{DATA, DONE, lab_with_model};
use crate::tables::good;

#[test]
fn models_that_are_none() {
    let mut lab = lab_with_model();
    let model = fs::read(lab.path("m.mercer")).unwrap();
    let mut files: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", vec![], "not a Mercer model file"),
        (
            "garbage",
            (0..3000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect(),
            "not a Mercer model file",
        ),
        ("table", good().into_bytes(), "not a Mercer model file"),
        ("magic only", model[..8].to_vec(), "not a Mercer model file"),
        ("cut at 40", model[..40].to_vec(), "not a Mercer model file"),
        ("cut in the middle", model[..model.len() / 2].to_vec(), "damaged"),
        ("one byte less", model[..model.len() - 1].to_vec(), "damaged"),
        ("one byte more", [model.clone(), vec![0]].concat(), "damaged"),
        ("twice", [model.clone(), model.clone()].concat(), "damaged"),
    ];
    for (name, at, expected) in [
        ("flipped in the magic", 3, "not a Mercer model file"),
        ("flipped in the version", 8, "version"),
        ("flipped in a length", 20, "damaged"),
        ("flipped in the header", 60, "checksum"),
        ("flipped in the middle", model.len() / 2, "checksum"),
        ("flipped in the checksum", model.len() - 1, "checksum"),
    ] {
        let mut bytes = model.clone();
        bytes[at] ^= 1;
        files.push((name, bytes, expected));
    }
    let count = files.len();
    for (_, bytes, expected) in &files {
        lab.file("bad.mercer", bytes);
        lab.fails(&["predict", "bad.mercer", "good.csv"], DATA, &["bad.mercer", expected]);
        lab.fails(&["inspect", "bad.mercer"], DATA, &["bad.mercer", expected]);
        lab.fails(&["inspect", "bad.mercer", "--json"], DATA, &["bad.mercer", expected]);
        lab.fails_on(&["predict", "-", "good.csv"], bytes, DATA, &[expected]);
    }
    lab.fails(&["predict", "nosuch.mercer", "good.csv"], DATA, &["cannot read nosuch.mercer"]);
    lab.fails(&["predict", ".", "good.csv"], DATA, &["folder"]);
    lab.fails(&["inspect", "nosuch.mercer"], DATA, &["cannot read nosuch.mercer"]);
    lab.fails(&["inspect", "."], DATA, &["folder"]);
    lab.fails(&["predict", "/dev/zero", "good.csv"], DATA, &["/dev/zero", "regular file"]);
    // Model and table the wrong way round.
    lab.fails(&["predict", "good.csv", "m.mercer"], DATA, &["good.csv", "not a Mercer model file"]);
    lab.fails(&["fit", "m.mercer", "--target", "y"], DATA, &["m.mercer"]);
    assert_eq!(count, 15);
    lab.finish(15 * 6 + 10);
}

#[test]
fn tables_that_cannot_be_predicted() {
    let mut lab = lab_with_model();
    let cases: Vec<(&str, &[&str])> = vec![
        ("b,c\n1,p\n", &["no column \"a\"", "it has: b, c"]),
        ("A,b,c\n1,2,p\n", &["no column \"a\"", "did you mean A?"]),
        ("x\n1\n", &["no column \"a\""]),
        ("a,b,c\n1,2,p\n2,two,q\n", &["row 2", "\"b\"", "\"two\" is not a number"]),
        ("a,b,c\n1,2,p\n2,,q\n", &["row 2", "\"b\"", "missing"]),
        ("a,b,c\n1,2,p\n2,nan,q\n", &["row 2", "\"b\"", "missing"]),
        ("a,b,c\n1,2,p\n2,3,\n", &["row 2", "\"c\"", "missing"]),
        ("a,b,c\n1,2,p\n2,inf,q\n", &["row 2", "\"b\"", "not a finite number"]),
        ("a,b,c\n1,2,p\n2,1e400,q\n", &["row 2", "\"b\"", "not a finite number"]),
        ("a,b,c\n1,2\n", &["row 1", "2 cells"]),
        ("a,b,c,prediction\n1,2,p,7\n", &["\"prediction\"", "already"]),
        ("", &["is empty"]),
        ("a,b,c\n1,2,p\n\"2,3,q\n", &["quote"]),
    ];
    let count = cases.len();
    for (table, parts) in &cases {
        lab.file("t.csv", table);
        lab.fails(&["predict", "m.mercer", "t.csv"], DATA, parts);
        lab.fails_on(&["predict", "m.mercer", "-"], table.as_bytes(), DATA, parts);
        if !table.contains("prediction") {
            lab.fails(&["predict", "m.mercer", "t.csv", "--json"], DATA, parts);
        }
    }
    lab.fails(&["predict", "m.mercer", "good.csv", "--name", "a"], DATA, &["\"a\"", "already"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--name", "y"], DATA, &["\"y\"", "already"]);
    lab.fails(&["predict", "m.mercer", "nosuch.csv"], DATA, &["cannot read nosuch.csv"]);
    lab.fails(&["predict", "m.mercer", "."], DATA, &["folder"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--output", "nosuch/p.csv"], DATA, &["cannot write nosuch/p.csv"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--output", "."], DATA, &["folder"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--output", "p.svm"], DATA, &["p.svm", "csv, parquet or arrow"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--format", "parquet"], DATA, &["good.csv"]);

    // Strange, but fine.
    lab.file("t.csv", "a,b,c\n");
    let output = lab.works(&["predict", "m.mercer", "t.csv"], DONE);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a,b,c,prediction\n");
    lab.file("t.csv", "c,extra,b,a\nnever seen,x,2,1e300\np,,-0,5e-324\n");
    let output = lab.works(&["predict", "m.mercer", "t.csv"], DONE);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.lines().skip(1).all(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap().is_finite()),
        "{text}"
    );
    lab.file("t.csv", "a,b,c,prediction\n1,2,p,7\n");
    lab.works(&["predict", "m.mercer", "t.csv", "--name", "again"], DONE);
    assert_eq!(count, 13);
    lab.finish(13 * 4 + 12);
}

/// What a table's own cells look like when a prediction is added: as they were, letter for letter.
#[test]
fn a_failed_prediction_leaves_its_input_alone() {
    let mut lab = lab_with_model();
    let before = fs::read(lab.path("good.csv")).unwrap();
    // Onto itself, and it fails: the table is still there.
    lab.file("t.csv", "a,b,c\n1,2,p\n2,two,q\n");
    lab.fails(&["predict", "m.mercer", "t.csv", "--output", "t.csv"], DATA, &["row 2"]);
    assert_eq!(fs::read_to_string(lab.path("t.csv")).unwrap(), "a,b,c\n1,2,p\n2,two,q\n");
    // Onto the model, and it fails.
    let model = fs::read(lab.path("m.mercer")).unwrap();
    lab.fails(&["predict", "m.mercer", "t.csv", "--output", "m.mercer"], DATA, &["no table is written as .mercer"]);
    assert_eq!(fs::read(lab.path("m.mercer")).unwrap(), model);
    assert_eq!(fs::read(lab.path("good.csv")).unwrap(), before);
    let left: Vec<_> = fs::read_dir(lab.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(Path::new(&lab.path("t.csv")).exists());
    lab.finish(2);
}
