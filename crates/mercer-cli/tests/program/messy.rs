//! Sixty tables as people have them: what is read of each, and what is said. The page `docs/tables.md` is made of them:
//! `MERCER_WRITE_PAGES=1 cargo test --release -p mercer-cli --test program messy` writes it again.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// The lines of a file; cells of a column `x` beside a target; the bytes of a file.
enum File {
    Cells(&'static [&'static str]),
    Lines(&'static [&'static str]),
    Bytes(&'static [u8]),
    Many(fn(usize) -> String),
}

use File::{Bytes, Cells, Lines, Many};

type Case = (&'static str, File, &'static [&'static str]);

#[rustfmt::skip]
const CASES: &[(&str, &[Case])] = &[
    ("Units and currencies", &[
        ("percent", Cells(&["12%", "7.5 %", "30%", "8%"]), &[]),
        ("dollars", Cells(&["$950", "$1,234.50", "-$20", "$7"]), &[]),
        ("euros, after the number", Cells(&["950 €", "20 €", "7.5 €", "8 €"]), &[]),
        ("euros with German marks", Cells(&["€ 1.200,50", "€ 950", "€ 7,5", "€ 8"]), &["--decimal", "comma"]),
        ("euros with German marks, not said", Cells(&["€ 1.200,50", "€ 950", "€ 7,5", "€ 8"]), &[]),
        ("a code for the currency", Cells(&["USD 950", "USD 20", "USD 7", "USD 8"]), &[]),
        ("kilograms", Cells(&["12 kg", "13kg", "7.5 kg", "8 kg"]), &[]),
        ("degrees", Cells(&["21.5 °C", "−3 °C", "0 °C", "8 °C"]), &[]),
        ("two units", Cells(&["12 kg", "13 lb", "7 kg", "8 kg"]), &[]),
        ("a unit in some cells only", Cells(&["12 kg", "13", "7 kg", "8 kg"]), &[]),
        ("thousands as K", Cells(&["950K", "3.5M", "7K", "8K"]), &[]),
        ("a word with a digit", Cells(&["4wd", "2wd", "rwd", "4wd"]), &[]),
    ]),
    ("Dates and times", &[
        ("ISO dates", Cells(&["2020-01-05", "2020-02-29", "1969-12-31", "2021-01-01"]), &[]),
        ("dates with slashes, year first", Cells(&["2020/01/05", "2020/02/29", "2021/01/01", "2021/01/02"]), &[]),
        ("months", Cells(&["2020-01", "2020-02", "2020-03", "2020-04"]), &[]),
        ("date-times", Cells(&["2020-01-05T12:00", "2020-01-05 18:00:00", "2020-01-06T00:00", "2020-01-07T06:00"]), &[]),
        ("date-times with zones", Cells(&["2020-01-05T12:00Z", "2020-01-05T12:00+06:00", "2020-01-06T00:00Z", "2020-01-07T06:00Z"]), &[]),
        ("zones in some cells only", Cells(&["2020-01-05T12:00Z", "2020-01-05T12:00", "2020-01-06T00:00Z", "2020-01-07T06:00Z"]), &[]),
        ("times of day", Cells(&["09:30", "14:00:36", "23:59", "00:00"]), &[]),
        ("times with am and pm", Cells(&["9:30 am", "9:30 pm", "12:00 pm", "1:15 pm"]), &[]),
        ("German dates", Cells(&["05.01.2020", "31.12.2020", "01.02.2021", "02.02.2021"]), &[]),
        ("American dates", Cells(&["1/5/2020", "12/31/2020", "2/1/2021", "2/2/2021"]), &[]),
        ("a day that is not", Cells(&["2019-02-28", "2019-02-29", "2019-03-01", "2019-03-02"]), &[]),
    ]),
    ("Decimal marks and thousands", &[
        ("thousands, twice in a number", Cells(&["1,234,567", "950", "3,000", "12,500"]), &[]),
        ("thousands, once in a number", Cells(&["3,000", "950", "12,500", "1,200"]), &[]),
        ("the same, said", Cells(&["3,000", "950", "12,500", "1,200"]), &["--thousands", "comma"]),
        ("the same, read the other way", Cells(&["3,000", "950", "12,500", "1,200"]), &["--decimal", "comma", "--thousands", "none"]),
        ("the same, half said", Cells(&["3,000", "950", "12,500", "1,200"]), &["--decimal", "comma"]),
        ("thousands with points", Cells(&["1.200", "950", "12.500", "3.250"]), &[]),
        ("the same, said", Cells(&["1.200", "950", "12.500", "3.250"]), &["--thousands", "point"]),
        ("the same, read the other way", Cells(&["1.200", "950", "12.500", "3.250"]), &["--thousands", "none"]),
        ("three decimals beside whole numbers", Cells(&["1.125", "950", "2.375", "3.625"]), &[]),
        ("decimals of several lengths", Cells(&["1.25", "950", "2.375", "3.5"]), &[]),
        ("thousands with blanks", Cells(&["1 234 567", "950", "12 500", "3 000"]), &[]),
        ("thousands with no-break blanks", Cells(&["1\u{a0}234", "950", "12\u{202f}500", "3\u{a0}000"]), &[]),
        ("thousands with apostrophes", Cells(&["1'234.5", "950", "12'500", "3'000"]), &[]),
        ("decimal commas, not said", Cells(&["1,5", "2,25", "3", "4,75"]), &[]),
        ("decimal commas", Cells(&["1,5", "2,25", "3", "4,75"]), &["--decimal", "comma"]),
        ("all in quotes, decimal commas, commas between", Lines(&["\"x\",\"y\"", "\"1,5\",\"1,5\"", "\"2,5\",\"2\"", "\"4,5\",\"7\"", "\"8\",\"5\""]), &["--decimal", "comma"]),
        ("typographic minus", Cells(&["−12", "5", "−3.5", "8"]), &[]),
    ]),
    ("Missing cells", &[
        ("the usual marks", Cells(&["1", "NA", "n/a", "#N/A", "null", "?", "", "5"]), &["--missing", "mean"]),
        ("dashes", Cells(&["1", "-", "--", "–", "5", "6"]), &["--missing", "mean"]),
        ("mostly n/a", Cells(&["1", "n/a", "n/a", "n/a", "n/a", "2", "n/a", "n/a"]), &["--missing", "mean"]),
        ("a dash in a column of texts", Cells(&["red", "-", "blue", "red", "-", "blue"]), &[]),
        ("a word for missing", Cells(&["1", "2", "3", "4", "5", "pending", "pending", "pending", "pending", "pending"]), &[]),
        ("the same, said", Cells(&["1", "2", "3", "4", "5", "pending", "pending", "pending", "pending", "pending"]), &["--na", "pending", "--missing", "mean"]),
        ("-999 for missing, said", Cells(&["1", "-999", "3", "-999.0", "5"]), &["--na", "-999", "--missing", "mean"]),
        ("a missing cell", Cells(&["1", "", "3", "4"]), &[]),
        ("errors of a spreadsheet", Cells(&["1", "#DIV/0!", "3", "#VALUE!", "5"]), &["--missing", "drop"]),
        ("one word among numbers", Cells(&["1", "2", "three", "4", "5"]), &[]),
    ]),
    ("Headers and lines above them", &[
        ("no header", Lines(&["1,2.5,1", "2,3.5,3", "3,4.5,2", "4,1.5,5"]), &["--target", "x3"]),
        ("numbers as header (pandas)", Lines(&["0,1,2", "1.5,2.5,1", "2.5,3.5,3", "3.5,4.5,2", "4.5,1.5,5"]), &["--target", "2"]),
        ("numbers as header above texts", Lines(&["0,1", "red,1", "blue,3", "red,2", "blue,5"]), &["--target", "1"]),
        ("numbers and a name as header", Lines(&["2019,2020,y", "1,2,1", "2,3,3", "3,5,2", "4,1,5"]), &[]),
        ("years as header", Lines(&["2019,2020", "1,2", "2,3", "3,5", "4,1"]), &["--target", "x2"]),
        ("the same, said", Lines(&["2019,2020", "1,2", "2,3", "3,5", "4,1"]), &["--header", "--target", "2020"]),
        ("row names (R, pandas)", Lines(&["\"\",\"x\",\"y\"", "\"Ann\",1,1", "\"Bob\",2,3", "\"Cid\",4,2", "\"Dan\",3,5"]), &[]),
        ("row names kept by pandas", Lines(&["Unnamed: 0,x,y", "0,1,1", "1,2,3", "2,4,2", "3,3,5"]), &[]),
        ("a name missing elsewhere", Lines(&["x,,y", "1,2,3", "2,3,5"]), &[]),
        ("Excel's sep=", Lines(&["sep=;", "x;y", "1,5;1", "2,5;3", "3,5;2", "4,5;5"]), &["--decimal", "comma"]),
        ("a title", Lines(&["Sales 2020", "", "x,y", "1,1", "2,3", "3,2", "4,5"]), &[]),
        ("a title, passed over", Lines(&["Sales 2020", "", "x,y", "1,1", "2,3", "3,2", "4,5"]), &["--skip-rows", "2"]),
        ("comments", Lines(&["# measured by \"Ann\"", "x,y", "1,1", "# pause", "2,3", "3,2", "4,5"]), &["--comment", "#"]),
        ("Excel's formulas for texts", Lines(&["x,c,y", "=\"1\",=\"a\",1", "=\"2\",=\"b\",3", "=\"3\",=\"a\",2", "=\"4\",=\"b\",5"]), &[]),
    ]),
    ("Encodings", &[
        ("byte order mark, Windows line ends", Bytes(b"\xef\xbb\xbfx,y\r\n1,1\r\n2,3\r\n3,2\r\n4,5\r\n"), &[]),
        ("Latin-1", Bytes(b"x,y\nK\xf6ln,1\nBonn,3\nBonn,2\n"), &[]),
        ("UTF-16", Bytes(b"\xff\xfex\0,\0y\0\n\0"), &[]),
    ]),
    ("Columns that carry nothing", &[
        ("a constant", Lines(&["x,k,y", "1,5,1", "2,5,3", "3,5,2", "4,5,5"]), &[]),
        ("names of the rows", Many(|row| format!("name {row}")), &[]),
        ("names of the rows, as categories", Many(|row| format!("name {row}")), &["--categorical", "x"]),
        ("a date in every row", Many(|row| format!("2020-01-{row:02}")), &[]),
        ("an index", Many(|row| row.to_string()), &[]),
        ("categories", Many(|row| ["red", "green", "blue"][row % 3].into()), &[]),
    ]),
];

/// The bytes of the file, and how it is shown.
fn written(file: &File) -> (Vec<u8>, String) {
    let y = |row: usize| (row * row) % 11 + row;
    let code = |text: &str| if text.is_empty() { "(empty)".to_owned() } else { format!("`{text}`") };
    let shown = |text: &str| text.replace('|', "\\|").replace(['\u{a0}', '\u{202f}'], " ");
    match file {
        Cells(cells) => {
            let mut text = String::from("x;y\n");
            cells.iter().enumerate().for_each(|(row, cell)| writeln!(text, "{cell};{}", y(row)).unwrap());
            (text.into_bytes(), cells.iter().map(|cell| code(&shown(cell))).collect::<Vec<_>>().join(" "))
        }
        Lines(lines) => {
            let shown = lines.iter().take(4).map(|line| code(&shown(line))).collect::<Vec<_>>().join("<br>");
            ((lines.join("\n") + "\n").into_bytes(), shown)
        }
        Bytes(bytes) => {
            let first = bytes.iter().take(20).flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from);
            (bytes.to_vec(), format!("`{}`…", first.collect::<String>()))
        }
        Many(cell) => {
            let mut text = String::from("x,z,y\n");
            (1..=12).for_each(|row| writeln!(text, "{},{},{}", cell(row), (row * 7) % 5, y(row)).unwrap());
            (text.into_bytes(), format!("`{}` `{}` … `{}`", cell(1), cell(2), cell(12)))
        }
    }
}

/// What the program reads and says.
fn judged(folder: &Path, bytes: &[u8], options: &[&str]) -> (String, String) {
    fs::write(folder.join("t.csv"), bytes).unwrap();
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_mercer")).current_dir(folder).args(arguments).output().unwrap()
    };
    let has_target = options.contains(&"--target");
    let target: &[&str] = if has_target { &[] } else { &["--target", "y"] };
    let fit = [&["fit", "t.csv", "--kernel", "linear", "--lambda", "1", "--json"], target, options].concat();
    let output = run(&fit);
    let said = String::from_utf8(output.stderr).unwrap();
    let said =
        said.lines().map(str::trim).filter(|line| !line.contains("zero function")).collect::<Vec<&str>>().join("; ");
    if !output.status.success() && output.status.code() != Some(3) {
        assert_eq!(output.status.code(), Some(1), "{fit:?}: {said}");
        return ("nothing".into(), said);
    }
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let columns = object["columns"].as_array().unwrap();
    let told = |column: &Value| {
        let name = column["name"].as_str().filter(|name| !name.is_empty()).unwrap_or("the first column");
        let mut text = format!("{name}: {}", column["kind"].as_str().unwrap());
        if let Some(count) = column["categories"].as_u64() {
            write!(text, " ({count})").unwrap();
        }
        if let Some(unit) = column["unit"].as_str() {
            write!(text, ", {unit}").unwrap();
        }
        match column["missing"].as_u64() {
            Some(count) if count > 0 => write!(text, ", {count} missing").unwrap(),
            _ => {}
        }
        if column["counts_rows"] == true {
            text.push_str(", counts the rows");
        }
        text
    };
    let kinds: Vec<String> = columns.iter().map(told).collect();
    (format!("{}{}", kinds.join("; "), first_values(folder, options)), said)
}

/// The numbers of the first feature, read by the library with the same options.
fn first_values(folder: &Path, options: &[&str]) -> String {
    use mercer::data::{Column, Thousands};
    let after = |name: &str| options.iter().position(|option| *option == name).map(|place| options[place + 1]);
    let thousands = match after("--thousands") {
        Some("comma") => Thousands::Mark(','),
        Some("point") => Thousands::Mark('.'),
        Some(_) => Thousands::None,
        None => Thousands::Unknown,
    };
    let reading = mercer_io::ReadOptions {
        decimal_comma: after("--decimal").is_some() || thousands == Thousands::Mark('.'),
        thousands,
        header: options.contains(&"--header").then_some(true),
        missing: after("--na").into_iter().map(str::to_owned).collect(),
        skip_rows: after("--skip-rows").map_or(0, |count| count.parse().unwrap()),
        comment: after("--comment").map(|comment| comment.as_bytes()[0]),
        ..Default::default()
    };
    let frame = mercer_io::read(folder.join("t.csv").to_str().unwrap(), &reading).unwrap().frame;
    let first = frame.iter().find(|(name, column)| !name.is_empty() && matches!(column, Column::Number(_)));
    match first {
        Some((name, Column::Number(cells))) if name != "y" => {
            let shown = cells.iter().take(4).map(|x| if x.is_nan() { "missing".into() } else { format!("{x}") });
            format!(" → {}", shown.collect::<Vec<String>>().join(", "))
        }
        _ => String::new(),
    }
}

#[test]
fn messy_tables_are_read_or_refused_as_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut page = String::from(HEAD);
    let mut count = 0;
    for (heading, cases) in CASES {
        write!(page, "\n### {heading}\n\n| table | options | read | said |\n|---|---|---|---|\n").unwrap();
        for (about, file, options) in *cases {
            let (bytes, shown) = written(file);
            let (read, said) = judged(folder.path(), &bytes, options);
            let options = if options.is_empty() { String::new() } else { format!("`{}`", options.join(" ")) };
            let said = said.replace('|', "\\|");
            writeln!(page, "| {about}: {shown} | {options} | {read} | {said} |").unwrap();
            count += 1;
        }
    }
    assert!(count >= 60, "{count}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
    if std::env::var_os("MERCER_WRITE_PAGES").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap();
    let differing = page.lines().zip(known.lines()).find(|(new, old)| new != old);
    assert!(page == known, "docs/tables.md says something else, first in {differing:#?}");
}

const HEAD: &str = "# How tables are read

`mercer fit` prints how every column was read (`columns` in its report and with `--json`); `mercer inspect` prints it
again.

**Numbers.** A column of a text file is read as numbers if every cell that is not missing says a number of one kind:

| cells | read as |
|---|---|
| `12`, `-1.5e3`, `−12` (typographic minus) | the number |
| `12%`, `$950`, `950 €`, `12 kg`, `3 m/s²` | the number; the unit is kept. Percent are not divided by 100 |
| `1,234,567`, `1 234`, `1'234.5` | the number without its grouping |
| `2020-01-05`, `2020/01/05`, `2020-01`, `2020-01-05T12:00` | days since 1970-01-01 (with a zone: in universal time) |
| `09:30`, `9:30:15`, `9:30 pm` | hours since midnight |
| `=\"12\"` | its content |

What may mean two things is refused with both readings: `3,000` beside `950` is 3000 (`--thousands comma`) or 3
(`--decimal comma`), `1.200` beside `950` is 1200 (`--thousands point`) or 1.2 (`--thousands none`). Two units in one
column, units in some cells only, and dates such as `05/01/2020` are refused. Every other text is a category. Columns that
a model does not use are never refused.

**Units at prediction.** The model file keeps what the numbers of each column stand for. A new table must use the same
unit: `13 kg` is read alike, `13 lb` is refused, and plain numbers are taken to be in the unit of the training rows, with
a note.

**Missing cells.** Empty cells, `NA`, `N/A`, `n/a`, `<NA>`, `#N/A` and other errors of spreadsheets, `NaN`, `null`, `NULL`,
`None`, `?` and `.` are missing in every column. `-`, `--`, `–`, `—`, `na`, `n.a.`, `none`, `nil`, `missing`, `unknown`, `*`
and `..` are missing in a column whose other cells are numbers. `--na MARKS` adds marks. `--missing` says what is done
about missing cells.

**Columns that carry nothing.** A constant column is ignored, also in new tables. A first column without a name holds the
names of the rows (R's `write.csv`, pandas' `to_csv`) and is left out. So is a text column of at least ten rows in which
nine of ten texts differ, unless `--features` or `--categorical` names it. Columns that count the rows (1, 2, 3, …) are
used, and named in the report.

**Header.** The first row names the columns unless all its cells are numbers, dates or missing. A first row of numbers is a
header where it is 0, 1, 2, … (as pandas writes it) above decimals, or where a column below it holds texts only; a note
says which way it was read. `--header` and `--no-header` decide. A first line `sep=;` is obeyed; `--skip-rows N` passes
over lines above the header, `--comment CHAR` over lines that begin with a character.

**Tables read in parts** (`mercer stream`, `mercer moments`, large predictions) are read in the same way, as far as their
first rows tell. What these leave open and later rows would settle is refused.

## Tables as people have them

Made and checked by `crates/mercer-cli/tests/program/messy.rs`.
";
