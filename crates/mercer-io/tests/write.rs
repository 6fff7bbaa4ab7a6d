//! Tables written and read again.

mod common;

use common::{numbers, read};
use mercer::data::{Column, Frame};
use mercer_io::{Error, Format, ReadOptions, Table, read_bytes, write, write_frame};
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

fn prediction() -> Vec<(String, Vec<Option<f64>>)> {
    vec![("fit".into(), vec![Some(0.1), None])]
}

fn mixed() -> Frame {
    let mut frame = Frame::new(2);
    frame.push("x", Column::Number(vec![1e300, f64::NAN])).unwrap();
    frame.push("town, \"old\"", Column::Text(vec![None, Some("a,\"b\"\nc".into())])).unwrap();
    frame
}

#[test]
fn cells_are_passed_through_letter_for_letter() {
    let folder = Folder::new();
    let table = read(b"id,x,t\n007,1.50,\"a,b\"\n08, NA,\n", "t.csv").unwrap();
    write(&folder.path("o.csv"), &table, &prediction(), None).unwrap();
    assert_eq!(folder.text("o.csv"), "id,x,t,fit\n007,1.50,\"a,b\",0.1\n08, NA,,\n");
    write(&folder.path("o.tsv"), &table, &prediction(), None).unwrap();
    assert_eq!(folder.text("o.tsv"), "id\tx\tt\tfit\n007\t1.50\ta,b\t0.1\n08\t NA\t\t\n");
}

#[test]
fn the_dialect_is_kept() {
    let folder = Folder::new();
    let options = ReadOptions { decimal_comma: true, ..ReadOptions::default() };
    let table = read_bytes(b"\xef\xbb\xbfa;b\r\n1,50;2\r\n3;4\r\n".to_vec(), "t.csv", &options).unwrap();
    write(&folder.path("o.csv"), &table, &prediction(), None).unwrap();
    assert_eq!(folder.text("o.csv"), "a;b;fit\r\n1,50;2;0,1\r\n3;4;\r\n");
}

#[test]
fn blanks_keep_empty_cells_visible() {
    let folder = Folder::new();
    let table = read(b"a  b\n1  \"\"\n3  4\n", "t.txt").unwrap();
    write(&folder.path("o.txt"), &table, &prediction(), None).unwrap();
    assert_eq!(folder.text("o.txt"), "a b fit\n1 NA 0.1\n3 4 NA\n");
    write(&folder.path("o.csv"), &table, &prediction(), None).unwrap();
    assert_eq!(folder.text("o.csv"), "a,b,fit\n1,,0.1\n3,4,\n");
}

#[test]
fn a_table_without_header_gets_one() {
    let folder = Folder::new();
    let table = read(b"1,2\n3,4\n", "t.csv").unwrap();
    write(&folder.path("o.csv"), &table, &prediction(), None).unwrap();
    assert_eq!(folder.text("o.csv"), "x1,x2,fit\n1,2,0.1\n3,4,\n");
}

#[test]
fn a_frame_comes_back_from_csv() {
    let folder = Folder::new();
    for name in ["o.csv", "o.tsv", "o.csv.gz", "o"] {
        write_frame(&folder.path(name), &mixed()).unwrap();
        let back = mercer_io::read(&folder.path(name), &ReadOptions::default()).unwrap().frame;
        assert_eq!(back.names(), mixed().names(), "{name}");
        assert_eq!(numbers(&back, "x"), [Some(1e300), None], "{name}");
        assert_eq!(back.column("town, \"old\"").unwrap(), mixed().column("town, \"old\"").unwrap(), "{name}");
    }
    assert_eq!(std::fs::read(folder.path("o.csv.gz")).unwrap()[..2], [0x1f, 0x8b]);
}

#[test]
fn a_single_empty_cell_is_still_a_row() {
    let folder = Folder::new();
    let mut frame = Frame::new(2);
    frame.push("x", Column::Number(vec![f64::NAN, 1.0])).unwrap();
    write_frame(&folder.path("o.csv"), &frame).unwrap();
    assert_eq!(numbers(&common::frame(&folder.text("o.csv")), "x"), [None, Some(1.0)]);
}

#[test]
fn a_replaced_frame_is_not_written_from_the_old_file() {
    let folder = Folder::new();
    let mut table = read(b"a\n1.50\n2\n3\n", "t.csv").unwrap();
    table.frame = mixed();
    write(&folder.path("o.csv"), &table, &[], None).unwrap();
    assert!(folder.text("o.csv").starts_with("x,"));
}

#[test]
fn columns_that_cannot_be_added_are_refused() {
    let folder = Folder::new();
    let table = Table::from(mixed());
    let column = |name: &str, rows| (name.to_owned(), vec![None; rows]);
    let problem = |extra: &[(String, Vec<Option<f64>>)]| {
        write(&folder.path("o.csv"), &table, extra, None).unwrap_err().to_string()
    };
    assert_eq!(problem(&[column("x", 2)]), "column \"x\" is to be added and is in the table already; rename it there");
    assert!(problem(&[column("z", 2), column("z", 2)]).contains("already"));
    assert_eq!(problem(&[column("z", 3)]), "column \"z\" must have 2 rows; got 3");
    assert!(!std::path::Path::new(&folder.path("o.csv")).exists());
}

#[test]
fn formats_that_cannot_be_written_are_refused() {
    let folder = Folder::new();
    for name in ["o.svm", "o.parquet.gz"] {
        assert!(matches!(write_frame(&folder.path(name), &mixed()), Err(Error::Format { .. })), "{name}");
    }
    let explicit = write(&folder.path("o.csv"), &mixed().into(), &[], Some(Format::Libsvm));
    assert!(matches!(explicit, Err(Error::Format { .. })));
}

#[test]
fn json_is_a_list_of_rows_or_a_row_on_each_line() {
    let folder = Folder::new();
    let table = Table::from(mixed());
    write(&folder.path("o.json"), &table, &prediction(), None).unwrap();
    let list: serde_json::Value = serde_json::from_str(&folder.text("o.json")).unwrap();
    let expected = serde_json::json!([
        { "x": 1e300, "town, \"old\"": null, "fit": 0.1 },
        { "x": null, "town, \"old\"": "a,\"b\"\nc", "fit": null },
    ]);
    assert_eq!(list, expected);
    write(&folder.path("o.jsonl"), &table, &prediction(), None).unwrap();
    let lines: Vec<serde_json::Value> =
        folder.text("o.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(serde_json::Value::from(lines), expected);
    write_frame(&folder.path("empty.json"), &Frame::new(0)).unwrap();
    assert_eq!(folder.text("empty.json"), "[\n]\n");
    for name in ["o.xlsx", "o.xyz", "o.csv.zip", "o.2024"] {
        let error = write(&folder.path(name), &table, &prediction(), None).unwrap_err().to_string();
        assert!(error.contains("no table is written as ."), "{error}");
        assert!(!std::path::Path::new(&folder.path(name)).exists());
    }
    for name in ["plain", "o.txt", "o.CSV", "o.dat", "o.d/plain"] {
        std::fs::create_dir_all(folder.path("o.d")).unwrap();
        write(&folder.path(name), &table, &prediction(), None).unwrap();
    }
}
