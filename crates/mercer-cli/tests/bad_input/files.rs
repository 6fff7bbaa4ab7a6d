//! Files that are no tables.

use std::fs;

use crate::lab::{DATA, DONE, Lab, USAGE};

#[test]
fn files_that_are_no_tables() {
    let mut lab = Lab::new();
    let fit = |name: &'static str| ["fit", name, "--target", "y"];
    let cases: Vec<(&'static str, Vec<u8>, &[&str])> = vec![
        ("empty.csv", vec![], &["empty.csv", "is empty"]),
        ("newlines.csv", b"\n\n\n\n".to_vec(), &["newlines.csv", "is empty"]),
        ("blanks.csv", b"   \n".to_vec(), &["blanks.csv"]),
        ("bom.csv", b"\xef\xbb\xbf".to_vec(), &["bom.csv", "is empty"]),
        ("header.csv", b"a,b,y\n".to_vec(), &["no rows"]),
        ("header_no_newline.csv", b"a,b,y".to_vec(), &["no rows"]),
        (
            "short.csv",
            b"a,b,y\n1,2,3\n4,5\n6,7,8\n".to_vec(),
            &["short.csv", "row 2", "line 3", "2 cells", "header has 3"],
        ),
        ("long.csv", b"a,b,y\n1,2,3\n4,5,6\n6,7,8,9\n".to_vec(), &["long.csv", "row 3", "line 4", "4 cells"]),
        ("twice.csv", b"a,b,a,y\n1,2,3,4\n".to_vec(), &["twice.csv", "\"a\"", "twice"]),
        ("nameless.csv", b"a,,y\n1,2,3\n".to_vec(), &["nameless.csv", "column 2", "name"]),
        ("quote.csv", b"a,b,y\n1,\"2,3\n4,5,6\n".to_vec(), &["quote.csv", "quote", "row 1"]),
        ("latin1_header.csv", b"a,gr\xf6\xdfe,y\n1,2,3\n".to_vec(), &["latin1_header.csv", "column 2", "UTF-8"]),
        ("latin1.csv", b"a,b,y\n1,gr\xf6n,3\n2,rot,4\n".to_vec(), &["row 1", "\"b\"", "UTF-8"]),
        ("utf16.csv", b"\xff\xfea\0,\0y\0\n\0".to_vec(), &["utf16.csv", "UTF-16"]),
        ("garbage.csv", (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect(), &["garbage.csv"]),
        ("zeros.csv", vec![0; 5000], &[]),
        ("nul.csv", b"a,b,y\n1,2,3\n2,\0,4\n3,1,9\n4,2,2\n".to_vec(), &["row 2", "\"b\"", "not a number"]),
        ("gzip.csv.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\0not deflated".to_vec(), &["gzip.csv.gz", "gzip"]),
        ("gzip_cut.csv.gz", b"\x1f\x8b\x08".to_vec(), &["gzip_cut.csv.gz", "gzip"]),
        ("t.parquet", b"PAR1 not really PAR1".to_vec(), &["t.parquet"]),
        ("empty.parquet", vec![], &["empty.parquet"]),
        ("t.arrow", b"ARROW1\0\0nothing".to_vec(), &["t.arrow"]),
        ("empty.arrow", vec![], &["empty.arrow"]),
        ("stream.arrow", [vec![0xff; 4], vec![0xff; 4], vec![1; 100]].concat(), &["stream.arrow"]),
        ("empty.svm", vec![], &["empty.svm", "is empty"]),
        (
            "index.svm",
            b"1 1:2 3:4\n2 4000000000:1\n".to_vec(),
            &["index.svm", "2 rows and 4000000000 features", "memory"],
        ),
        ("wide.svm", b"1 500000:1\n".to_vec(), &["wide.svm", "columns", "at most"]),
        ("overflow.svm", b"1 18446744073709551615:1\n".to_vec(), &["overflow.svm", "memory"]),
        ("too_big.svm", b"1 1:2\n1 99999999999999999999999:1\n".to_vec(), &["too_big.svm", "row 2", "index:value"]),
        ("zero.svm", b"1 1:2\n2 0:1\n".to_vec(), &["zero.svm", "row 2", "start at 1"]),
        ("order.svm", b"1 3:2 2:1\n".to_vec(), &["order.svm", "row 1", "increase"]),
        ("qid.svm", b"1 qid:3 2:1\n".to_vec(), &["qid.svm", "row 1", "qid"]),
        ("label.svm", b"one 2:1\n".to_vec(), &["label.svm", "row 1", "label"]),
        ("nan.svm", b"1 1:1 2:2\n2 1:nan 2:3\n".to_vec(), &["row 2", "\"x1\"", "missing"]),
        ("inf.svm", b"1 1:1 2:2\n2 1:1 2:-inf\n".to_vec(), &["row 2", "\"x2\"", "not a finite number"]),
    ];
    let count = cases.len();
    for (name, bytes, parts) in &cases {
        lab.file(name, bytes);
        lab.fails(&fit(name), DATA, parts);
    }
    // Separators without end: refused by their number, not by filling the memory.
    lab.file("commas.csv", ",".repeat(3_000_000));
    lab.fails(&fit("commas.csv"), DATA, &["commas.csv", "columns", "at most"]);
    // A field of five megabytes where a number should be; the message must not repeat it.
    lab.file("huge.csv", format!("a,y\n1,1\n2,2\n{},3\n4,5\n", "9x".repeat(2_500_000)));
    lab.fails(&fit("huge.csv"), DATA, &["row 3", "\"a\"", "not a number"]);
    lab.file("huge_name.csv", format!("{},{},y\n1,2,3\n2,3,4\n", "n".repeat(1_000_000), "m".repeat(1_000_000)));
    lab.fails(&["fit", "huge_name.csv", "--target", "z"], DATA, &["no column \"z\""]);
    let digits = format!("a,y\n1,1\n0.{},2\n4,5\n7,1\n", "1".repeat(1_000_000));
    lab.file("digits.csv", digits);
    lab.works(&["fit", "digits.csv", "--target", "y", "--json"], DONE);

    lab.fails(&fit("nosuch.csv"), DATA, &["cannot read nosuch.csv", "No such file"]);
    lab.fails(&fit("."), DATA, &["folder"]);
    lab.fails(&fit("nosuch/t.csv"), DATA, &["cannot read nosuch/t.csv"]);
    lab.fails(&fit("good.csv/t.csv"), DATA, &["cannot read good.csv/t.csv"]);
    lab.fails_on(&fit("-"), b"", DATA, &["standard input", "is empty"]);
    lab.fails_on(&fit("-"), b"a,y\n1\n", DATA, &["standard input", "row 1"]);
    lab.fails(&["fit", "", "--target", "y"], DATA, &["cannot read"]);
    assert_eq!(count, 35);
    lab.finish(2 * 35 + 20);
}

#[test]
fn the_wrong_format() {
    let mut lab = Lab::new();
    let generated = lab.run(&["generate", "sinc", "--rows", "20", "--output", "t.parquet"], b"").0;
    assert!(generated.status.success());
    let generated = lab.run(&["generate", "sinc", "--rows", "20", "--output", "t.arrow"], b"").0;
    assert!(generated.status.success());
    let fit = |name: &'static str, format: &'static str| ["fit", name, "--target", "y", "--format", format];
    lab.fails(&fit("good.csv", "parquet"), DATA, &["good.csv", "Parquet"]);
    lab.fails(&fit("good.csv", "arrow"), DATA, &["good.csv"]);
    lab.fails(&fit("good.csv", "libsvm"), DATA, &["good.csv", "row 1", "label"]);
    lab.fails(&fit("t.parquet", "csv"), DATA, &["t.parquet"]);
    lab.fails(&fit("t.parquet", "arrow"), DATA, &["t.parquet"]);
    lab.fails(&fit("t.parquet", "libsvm"), DATA, &["t.parquet", "row 1"]);
    lab.fails(&fit("t.arrow", "csv"), DATA, &["t.arrow"]);
    lab.fails(&fit("t.arrow", "parquet"), DATA, &["t.arrow"]);
    lab.fails(&fit("good.csv", "excel"), USAGE, &["--format", "csv, parquet, arrow, libsvm"]);
    lab.fails(&fit("good.csv", ""), USAGE, &["--format"]);
    // Cut short anywhere.
    let whole = fs::read(lab.path("t.parquet")).unwrap();
    for cut in [4, 8, 100, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        lab.file("cut.parquet", &whole[..cut]);
        lab.fails(&["fit", "cut.parquet", "--target", "y"], DATA, &["cut.parquet"]);
    }
    let whole = fs::read(lab.path("t.arrow")).unwrap();
    for cut in [8, 100, whole.len() / 2, whole.len() - 1] {
        lab.file("cut.arrow", &whole[..cut]);
        lab.fails(&["fit", "cut.arrow", "--target", "y"], DATA, &["cut.arrow"]);
    }
    lab.finish(40);
}
