//! CSV files of all kinds.

mod common;

use common::{frame, gzip, numbers, problem, read, texts};
use mercer_io::{Error, Format, ReadOptions, read_bytes};

fn with(text: &str, options: &ReadOptions) -> mercer::data::Frame {
    read_bytes(text.into(), "t.csv", options).unwrap().frame
}

#[test]
fn every_separator() {
    for separator in [",", ";", "\t", "|", " "] {
        let frame = frame(&format!("a{separator}b\n1{separator}2.5\n-3{separator}4e1\n"));
        assert_eq!(frame.names(), ["a", "b"], "{separator:?}");
        assert_eq!(numbers(&frame, "b"), [Some(2.5), Some(40.0)], "{separator:?}");
    }
}

#[test]
fn a_separator_that_is_given_is_used() {
    let options = ReadOptions { separator: Some(b';'), ..ReadOptions::default() };
    let frame = with("a,b;c\n1,2;3\n", &options);
    assert_eq!(frame.names(), ["a,b", "c"]);
    assert_eq!(texts(&frame, "a,b"), [Some("1,2".into())]);
}

#[test]
fn the_extension_settles_a_tie() {
    let table = b"a\tb,c\n1\t2,3\n";
    assert_eq!(read(table, "t.tsv").unwrap().frame.names(), ["a", "b,c"]);
    assert_eq!(read(table, "t.csv").unwrap().frame.names(), ["a\tb", "c"]);
}

#[test]
fn blanks_that_set_columns() {
    let frame = frame("  a     b \n  1  20.5 \n 10   3.0 \n\n");
    assert_eq!(frame.names(), ["a", "b"]);
    assert_eq!(numbers(&frame, "a"), [Some(1.0), Some(10.0)]);
}

#[test]
fn quotes() {
    let frame = frame("\"a\",\"b, or \"\"c\"\"\"\n\"1.5\",\"two\nlines, one cell\"\n");
    assert_eq!(frame.names(), ["a", "b, or \"c\""]);
    assert_eq!(numbers(&frame, "a"), [Some(1.5)]);
    assert_eq!(texts(&frame, "b, or \"c\""), [Some("two\nlines, one cell".into())]);
}

#[test]
fn byte_order_mark_line_ends_and_gzip() {
    for text in ["\u{feff}a,b\n1,2\n", "a,b\r\n1,2\r\n", "a,b\r1,2", "\n\na,b\n\n1,2\n\n"] {
        for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
            let frame = read(&bytes, "t.csv").unwrap().frame;
            assert_eq!(frame.names(), ["a", "b"], "{text:?}");
            assert_eq!(numbers(&frame, "b"), [Some(2.0)], "{text:?}");
        }
    }
}

#[test]
fn decimal_commas() {
    let options = ReadOptions { decimal_comma: true, ..ReadOptions::default() };
    let frame = with("a;b\n1,5;-2,25e1\n", &options);
    assert_eq!(numbers(&frame, "a"), [Some(1.5)]);
    assert_eq!(numbers(&frame, "b"), [Some(-22.5)]);
    // The comma separates nothing then.
    assert_eq!(numbers(&with("a\n1,5\n", &options), "a"), [Some(1.5)]);
    let comma = ReadOptions { separator: Some(b','), ..options };
    let error = read_bytes(b"a\n".to_vec(), "t", &comma).unwrap_err().to_string();
    assert!(error.contains("name another separator"), "{error}");
}

#[test]
fn headers_are_recognised_or_as_told() {
    assert_eq!(frame("1,2\n3,4\n").names(), ["x1", "x2"]);
    assert_eq!(frame("1,2\n3,4\n").rows(), 2);
    let told = |header| ReadOptions { header: Some(header), ..ReadOptions::default() };
    assert_eq!(with("1,2\n3,4\n", &told(true)).names(), ["1", "2"]);
    let frame = with("a,b\n3,4\n", &told(false));
    assert_eq!(frame.names(), ["x1", "x2"]);
    assert_eq!(texts(&frame, "x1"), [Some("a".into()), Some("3".into())]);
}

#[test]
fn missing_cells_and_text_columns() {
    let frame = frame("a,b,c\n1,red,\n NA ,null,?\n. , blue ,N/A\n");
    assert_eq!(numbers(&frame, "a"), [Some(1.0), None, None]);
    assert_eq!(texts(&frame, "b"), [Some("red".into()), None, Some("blue".into())]);
    assert_eq!(numbers(&frame, "c"), [None, None, None]);
}

#[test]
fn one_bad_cell_makes_a_column_text_with_all_its_cells() {
    let frame = frame("a,b\n1.50,1\n1_000,2\n,3\n");
    assert_eq!(texts(&frame, "a"), [Some("1.50".into()), Some("1_000".into()), None]);
    assert_eq!(numbers(&frame, "b"), [Some(1.0), Some(2.0), Some(3.0)]);
}

#[test]
fn infinities_are_numbers_for_the_core_to_refuse() {
    assert_eq!(numbers(&frame("a\ninf\n-Infinity\n"), "a"), [Some(f64::INFINITY), Some(f64::NEG_INFINITY)]);
}

#[test]
fn ragged_rows_are_refused_with_their_place() {
    let problem = problem(b"a,b,c\n1,2,3\n\n4,5\n", "t.csv");
    assert!(problem.starts_with("t.csv: row 2 (line 4) has 2 cells, the header has 3;"), "{problem}");
    let problem = common::problem(b"1,2\n3\n5,6\n", "t.csv");
    assert!(problem.starts_with("t.csv: row 2 (line 2) has 1 cell, the first row has 2;"), "{problem}");
}

#[test]
fn bad_headers_are_refused_by_name() {
    assert!(problem(b"a,b,a\n1,2,3\n", "t").contains("\"a\" stands twice"));
    assert!(problem(b"a,,b\n1,2,3\n", "t").contains("column 2 of the header has none"));
    assert_eq!(frame("\"\",b\nr1,2\n").names(), ["", "b"]);
    assert!(problem(b"a,\xff\n1,2\n", "t").contains("the name of column 2 is not UTF-8"));
}

#[test]
fn text_that_is_not_utf8_is_refused_with_its_place() {
    let problem = problem(b"a,town\n1,Bonn\n2,K\xf6ln\n", "t.csv");
    assert_eq!(problem, "row 2, column \"town\": must be UTF-8 text and is not; save the file as UTF-8");
    assert!(common::problem(b"\xff\xfea\0,\0", "t.csv").contains("UTF-16"));
}

#[test]
fn nothing_and_nothing_but_a_header() {
    for empty in [&b""[..], b"\n\r\n", b"\xef\xbb\xbf"] {
        assert!(problem(empty, "t.csv").starts_with("t.csv: is empty"));
    }
    let frame = frame("a,b\n");
    assert_eq!((frame.rows(), frame.names().len()), (0, 2));
}

#[test]
fn the_unpacked_size_is_bounded() {
    let bomb = gzip(&b"1,2\n".repeat(1_000_000));
    assert!(bomb.len() < 20_000);
    let options = ReadOptions { memory_limit: Some(1 << 20), ..ReadOptions::default() };
    assert!(matches!(read_bytes(bomb, "t.csv.gz", &options), Err(Error::Memory { .. })));
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let error = mercer_io::read("/nowhere/t.csv", &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /nowhere/t.csv: No such file"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let error = mercer_io::read(folder.path().to_str().unwrap(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("is a folder"), "{error}");
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "a\n1\n2\n").unwrap();
    let options = ReadOptions { memory_limit: Some(5), ..ReadOptions::default() };
    assert!(matches!(mercer_io::read(path.to_str().unwrap(), &options), Err(Error::Memory { needed: 6, .. })));
}

#[test]
fn a_format_that_is_given_is_used() {
    let options = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
    let frame = read_bytes(b"1 1:2\n3 1:4\n".to_vec(), "t.svm", &options).unwrap().frame;
    assert_eq!(frame.names(), ["1", "1:2"]);
}
