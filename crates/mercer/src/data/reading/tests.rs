use super::*;

fn read(text: &str) -> Option<(f64, String)> {
    value(text, Marks::default()).map(|value| (value.number, value.reading.to_string()))
}

fn texts(cells: &[&str]) -> Vec<Option<String>> {
    cells.iter().map(|cell| (!cell.is_empty()).then(|| (*cell).to_owned())).collect()
}

#[test]
fn units_currencies_and_signs() {
    for (text, number, reading) in [
        ("12%", 12.0, "unit:%"),
        (" 12.5 % ", 12.5, "unit:%"),
        ("$950", 950.0, "unit:$"),
        ("-$5", -5.0, "unit:$"),
        ("$-5", -5.0, "unit:$"),
        ("$ 1,234,567.50", 1_234_567.5, "unit:$"),
        ("950 €", 950.0, "unit:€"),
        ("USD 12", 12.0, "unit:USD"),
        ("12 kg", 12.0, "unit:kg"),
        ("12kg", 12.0, "unit:kg"),
        ("3.5 m/s²", 3.5, "unit:m/s²"),
        ("7 cm3", 7.0, "unit:cm3"),
        ("21.5 °C", 21.5, "unit:°C"),
        ("5 µm", 5.0, "unit:μm"),
        ("−12", -12.0, "number"),
        ("1e5", 1e5, "number"),
        ("1e5 Hz", 1e5, "unit:Hz"),
        ("5e", 5.0, "unit:e"),
        ("=\"007\"", 7.0, "number"),
        ("1,234,567", 1_234_567.0, "number"),
        ("1 234 567", 1_234_567.0, "number"),
        ("1'234.5", 1234.5, "number"),
        ("1,234.5", 1234.5, "number"),
    ] {
        assert_eq!(read(text), Some((number, reading.to_owned())), "{text:?}");
    }
    for text in [
        "kg",
        "12 kg net",
        "1,5",
        "0,123",
        "1,23,456",
        "1,2345",
        "1.2.3",
        "12-13",
        "5'10\"x",
        "",
        "$",
        "1_000",
        "a1",
        "1st2",
    ] {
        assert_eq!(read(text), None, "{text:?}");
    }
    let comma = Marks { decimal_comma: true, ..Marks::default() };
    for (text, number) in [("€ 1.200,50", 1200.5), ("1.200 €", 1200.0), ("1,5 €", 1.5), ("1.234.567 €", 1_234_567.0)]
    {
        assert_eq!(value(text, comma).map(|value| value.number), Some(number), "{text:?}");
    }
    assert_eq!(value("1.5", comma), None);
}

#[test]
fn dates_and_times() {
    // Days by Python's datetime.
    for (text, number, reading) in [
        ("1970-01-01", 0.0, "date"),
        ("2020-01-05", 18266.0, "date"),
        ("2020/02/29", 18321.0, "date"),
        ("1969-12-31", -1.0, "date"),
        ("0001-01-01", -719_162.0, "date"),
        ("9999-12-31", 2_932_896.0, "date"),
        ("2020-01", 18262.0, "date"),
        ("2020-01-05T12:00", 18266.5, "date"),
        ("2020-01-05 06:00:00", 18266.25, "date"),
        ("2020-01-05T06:00:00Z", 18266.25, "instant"),
        ("2020-01-05T06:00:00+06:00", 18266.0, "instant"),
        ("2020-01-05 00:00:00-0600", 18266.25, "instant"),
        ("09:30", 9.5, "time"),
        ("9:30:36", 9.51, "time"),
        ("21:15:00.0", 21.25, "time"),
        ("9:30 pm", 21.5, "time"),
        ("12:00 AM", 0.0, "time"),
        ("24:00", 24.0, "time"),
    ] {
        assert_eq!(read(text), Some((number, reading.to_owned())), "{text:?}");
    }
    for text in [
        "2019-02-29",
        "2020-13-01",
        "2020-00-10",
        "2020-1-5",
        "05/01/2020",
        "5.1.2020",
        "25:00",
        "12:60",
        "9:5",
        "13:00 pm",
        "2020-01-05T",
        "2020-01-05T25:00",
        "2020-01-05X",
        "1:2:3:4",
        "20200-01-05",
        "2020/01",
        "::",
        "é:é",
    ] {
        assert_eq!(read(text), None, "{text:?}");
    }
}

#[test]
fn a_column_is_numbers_only_if_all_of_it_is() {
    let of = |cells: &[&str]| numbers(&texts(cells), Marks::default());
    let (reading, cells) = of(&["12 kg", "", "n.a.", "13 kg"]).unwrap();
    assert_eq!((reading, cells[0], cells[3]), (Reading::Unit("kg".into()), 12.0, 13.0));
    assert!(cells[1].is_nan() && cells[2].is_nan());
    assert_eq!(of(&["950", "3,000", "1,234,567"]).unwrap().1, [950.0, 3000.0, 1_234_567.0]);
    for cells in [
        &["950", "3,000"][..],
        &["12 kg", "13 lb"],
        &["12 kg", "13"],
        &["12%", "x"],
        &["2020-01-05", "2020-01-05T00:00Z"],
        &["-", "--"],
        &["2020-01-05", "7"],
    ] {
        assert_eq!(of(cells), None, "{cells:?}");
    }
    let comma = Marks { thousands: Thousands::Mark(','), ..Marks::default() };
    assert_eq!(numbers(&texts(&["950", "3,000"]), comma).unwrap().1, [950.0, 3000.0]);
    let none = Marks { thousands: Thousands::None, ..Marks::default() };
    assert_eq!(numbers(&texts(&["950", "3,000,000"]), none), None);
}

#[test]
fn what_is_ambiguous_is_said() {
    let of = |cells: &[&str]| doubt(&texts(cells), Marks::default());
    let said = |cells: &[&str]| of(cells).map(|(row, problem)| format!("{} {problem}", row + 1)).unwrap_or_default();
    assert_eq!(said(&["950", "3,000"]), "2 \"3,000\" may be 3000 or 3");
    assert_eq!(said(&["$950", "$3,250"]), "2 \"$3,250\" may be 3250 or 3.25");
    assert_eq!(
        said(&["12 kg", "13 lb"]),
        "2 \"13 lb\" is in lb and \"12 kg\" is in kg; convert the column to one unit"
    );
    assert!(said(&["12 kg", "13"]).starts_with("2 \"12 kg\" is in kg and \"13\" has no unit"));
    assert!(said(&["31.12.2020", "01.02.2021"]).starts_with("1 \"31.12.2020\" is a date"));
    let mut cells: Vec<&str> = vec!["pending"; 12];
    cells.extend(["1", "2", "3", "4", "5"]);
    assert!(said(&cells).starts_with("1 \"pending\" stands among 5 different numbers"));
    assert_eq!(
        said(&["1 kg", "2 kg", "3 kg", "4 kg", "5 kg", "many"]),
        "6 \"many\" is not a number in kg, as other cells are"
    );
    assert_eq!(said(&["2019-02-28", "2019-02-29", "2019-03-01"]), "2 \"2019-02-29\" is not a date, as other cells are");
    assert_eq!(said(&["€ 1.200,50", "€ 7"]), "1 \"€ 1.200,50\" has a decimal comma");
    assert_eq!(said(&["2", "1,5"]), "2 \"1,5\" has a decimal comma");
    for fine in [
        &["red", "green"][..],
        &["4wd", "2wd", "rwd", "4wd"],
        &["a1", "b2", "c3"],
        &["3", "4", "5more", "2", "x", "y", "z"],
        &["", ""],
    ] {
        assert_eq!(of(fine), None, "{fine:?}");
    }
}

#[test]
fn readings_are_written_and_read_back() {
    for reading in [Reading::Number, Reading::Unit("k:g".into()), Reading::Date, Reading::Instant, Reading::Time] {
        assert_eq!(reading.to_string().parse(), Ok(reading));
    }
    assert_eq!("unit:".parse::<Reading>(), Err(()));
    assert_eq!("weight".parse::<Reading>(), Err(()));
}

#[test]
fn numbers_that_mark_missing_cells_are_found() {
    let with = |mark: f64, count: usize| -> Vec<f64> {
        (0..40).map(|i| if i % 7 == 3 && i / 7 < count { mark } else { 5.0 + f64::from(i as u8) }).collect()
    };
    let found = missing_mark(&with(-999.0, 4));
    assert_eq!(found, Some((-999.0, 3, 4, [5.0, 44.0])));
    assert_eq!(missing_mark(&with(9999.0, 2)).map(|found| found.0), Some(9999.0));
    // Once is no mark, -9 is next to the others, and -998 is a number like any.
    for cells in [with(-999.0, 1), with(-9.0, 4), with(-998.0, 4), vec![-999.0; 20]] {
        assert_eq!(missing_mark(&cells), None, "{cells:?}");
    }
}

#[test]
fn moments_are_shown_as_they_are_written() {
    for text in [
        "2021-04-04",
        "2020-02-29",
        "1969-12-31",
        "0001-01-01",
        "9999-12-31",
        "2000-03-01 00:00:01",
        "1900-02-28 23:59",
    ] {
        let value = value(text, Marks::default()).unwrap();
        assert_eq!(value.reading.shown(value.number), text);
    }
    assert_eq!(Reading::Instant.shown(18721.5), "2021-04-04 12:00Z");
    assert_eq!(
        (Reading::Time.shown(13.5), Reading::Time.shown(9.004_166_666_666_667)),
        ("13:30".into(), "09:00:15".into())
    );
    // What is no date is a number.
    assert_eq!((Reading::Date.shown(1e9), Reading::Number.shown(18721.0)), ("1000000000".into(), "18721".into()));
}
