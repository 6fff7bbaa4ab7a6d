//! Texts that say numbers, and columns that carry nothing: in training, in model files and in prediction.

use mercer::data::{Column, Kind, LeftOut, Marks, Reading};
use mercer::format;
use mercer::prelude::*;

fn texts(cells: &[&str]) -> Column {
    Column::Text(cells.iter().map(|cell| (!cell.is_empty()).then(|| (*cell).to_owned())).collect())
}

/// Rows with a weight in kilograms, a day, a colour, a constant and a name.
fn table() -> Frame {
    let mut frame = Frame::new(12);
    let cells = |cell: &dyn Fn(usize) -> String| {
        texts(&(0..12).map(cell).collect::<Vec<String>>().iter().map(String::as_str).collect::<Vec<&str>>())
    };
    frame.push("", cells(&|row| format!("row {row}"))).unwrap();
    frame.push("weight", cells(&|row| format!("{} kg", (row * 5) % 7))).unwrap();
    frame.push("day", cells(&|row| format!("2020-01-{:02}", (row * 3) % 11 + 1))).unwrap();
    frame.push("colour", cells(&|row| ["red", "green"][row % 2].to_owned())).unwrap();
    frame.push("name", cells(&|row| format!("n{row}"))).unwrap();
    frame.push("k", Column::Number(vec![5.0; 12])).unwrap();
    frame.push("y", Column::Number((0..12).map(|row| f64::from((row * row) % 5)).collect())).unwrap();
    frame.read_texts(Marks::default(), |_| false);
    frame
}

fn roles() -> Roles {
    Roles { targets: vec!["y".into()], ..Roles::default() }
}

fn fitted() -> Model {
    Fit::new(Gaussian::lengthscale(1.0)).scale(Scale::Standard).lambda(0.1).fit_frame(&table(), &roles()).unwrap().model
}

/// A new row, its weight and constant as they are given.
fn new_row(weight: Column, k: f64) -> Frame {
    let mut frame = Frame::new(1);
    frame.push("weight", weight).unwrap();
    frame.push("day", texts(&["2020-01-04"])).unwrap();
    frame.push("colour", texts(&["red"])).unwrap();
    frame.push("k", Column::Number(vec![k])).unwrap();
    frame.read_texts(Marks::default(), |_| false);
    frame
}

#[test]
fn every_column_says_how_it_was_read() {
    let read = fitted().encoder().columns_read();
    let told: Vec<(&str, Kind, Reading)> =
        read.iter().map(|column| (column.name.as_str(), column.kind.clone(), column.reading.clone())).collect();
    assert_eq!(
        told,
        [
            ("weight", Kind::Number, Reading::Unit("kg".into())),
            ("day", Kind::Number, Reading::Date),
            ("colour", Kind::Categories(2), Reading::Number),
            ("k", Kind::Constant, Reading::Number),
            ("", Kind::LeftOut(LeftOut::RowNames), Reading::Number),
            ("name", Kind::LeftOut(LeftOut::Identifier { texts: 12, rows: 12 }), Reading::Number),
        ]
    );
    let table = table();
    assert_eq!(
        table.column("day").unwrap(),
        &Column::Number((0..12).map(|row| 18262.0 + f64::from((row * 3) % 11)).collect())
    );
    assert!(
        matches!(&*table.as_written("weight").unwrap(), Column::Text(cells) if cells[1].as_deref() == Some("5 kg"))
    );
}

#[test]
fn new_tables_are_read_in_the_unit_of_training() {
    let bytes = format::to_bytes(&fitted()).unwrap();
    let model = format::from_bytes(&bytes).unwrap();
    assert_eq!(model.encoder(), fitted().encoder());
    assert_eq!(format::to_bytes(&model).unwrap(), bytes);
    let of = |weight: Column| model.predict_frame(&new_row(weight, 5.0)).map(|columns| columns[0][0].unwrap());
    let known = of(texts(&["3 kg"])).unwrap();
    assert_eq!(of(texts(&["3kg"])).unwrap(), known);
    assert_eq!(of(Column::Number(vec![3.0])).unwrap(), known);
    assert_ne!(of(texts(&["4 kg"])).unwrap(), known);
    let error = of(texts(&["3 lb"])).unwrap_err().to_string();
    assert_eq!(
        error,
        "row 1, column \"weight\": \"3 lb\" is in lb, and the training rows were in kg; convert it to kg"
    );
    let error = of(texts(&["heavy"])).unwrap_err().to_string();
    assert!(error.contains("\"heavy\" cannot be read like the training rows, which were in kg"), "{error}");
    let error = of(texts(&["2020-01-01"])).unwrap_err().to_string();
    assert!(error.contains("cannot be read like the training rows"), "{error}");
    assert!(of(texts(&["-"])).unwrap_err().to_string().contains("missing"));
    // Texts that nobody read before, as in a table of another program.
    let mut frame = Frame::new(1);
    frame.push("weight", texts(&["3 kg"])).unwrap();
    frame.push("day", texts(&["2020-01-04"])).unwrap();
    frame.push("colour", texts(&["red"])).unwrap();
    frame.push("k", Column::Number(vec![5.0])).unwrap();
    assert_eq!(model.predict_frame(&frame).unwrap()[0][0], Some(known));
    assert_eq!(model.encoder().without_unit(&new_row(Column::Number(vec![3.0]), 5.0)).len(), 1);
}

#[test]
fn a_unit_where_training_had_none_is_refused() {
    let mut frame = Frame::new(3);
    frame.push("x", Column::Number(vec![1.0, 2.0, 3.0])).unwrap();
    frame.push("y", Column::Number(vec![1.0, 2.0, 4.0])).unwrap();
    let model = Fit::new(Linear).lambda(0.1).fit_frame(&frame, &roles()).unwrap().model;
    let mut new = Frame::new(2);
    new.push("x", texts(&["2 kg", "3 kg"])).unwrap();
    new.read_texts(Marks::default(), |_| false);
    let error = model.predict_frame(&new).unwrap_err().to_string();
    assert!(error.starts_with("row 1, column \"x\": \"2 kg\" is in kg, and the training rows had no unit"), "{error}");
}

/// As in the folds of an assessment: the rows of a part do not begin with the first one, nor without gaps.
#[test]
fn a_column_that_counts_rows_is_no_feature_in_a_part_of_the_table() {
    let mut frame = Frame::new(12);
    frame.push("Unnamed: 0", Column::Number((0..12).map(f64::from).collect())).unwrap();
    frame.push("x", Column::Number((0..12).map(|row| f64::from((row * 5) % 7)).collect())).unwrap();
    frame.push("y", Column::Number((0..12).map(|row| f64::from((row * row) % 5)).collect())).unwrap();
    let fit = Fit::new(Gaussian::lengthscale(1.0)).lambda(0.1);
    for rows in [(0..12).collect::<Vec<usize>>(), vec![2, 3, 5, 7, 11], vec![1, 2, 3]] {
        let model = fit.fit_frame(&frame.select_rows(&rows), &roles()).unwrap().model;
        assert_eq!(model.encoder().column_names(), ["x"], "{rows:?}");
    }
}

#[test]
fn a_constant_changes_nothing() {
    let with = fitted();
    let mut without = Frame::new(12);
    for (name, column) in table().iter().filter(|(name, _)| *name != "k") {
        without.push(name, column.clone()).unwrap();
    }
    let fit = || Fit::new(Gaussian::lengthscale(1.0)).scale(Scale::Standard).lambda(0.1);
    let roles = Roles { drop: vec![String::new(), "name".into()], ..roles() };
    let (a, b) = (fit().fit_frame(&table(), &roles).unwrap(), fit().fit_frame(&without, &roles).unwrap());
    assert_eq!(a.model.kernel().spec(), b.model.kernel().spec());
    assert_eq!(a.model.summaries()[0].loo_rmse, b.model.summaries()[0].loo_rmse);
    let of = |k: f64| with.predict_frame(&new_row(texts(&["3 kg"]), k)).unwrap()[0][0].unwrap();
    assert_eq!(of(5.0), of(1e6));
    assert_eq!(of(5.0), of(f64::NAN));
}

#[test]
fn texts_that_differ_in_every_row_are_no_features_unless_they_are_named() {
    let fit = |roles: &Roles| Fit::new(Linear).lambda(0.1).fit_frame(&table(), roles);
    let named = Roles { features: Some(vec!["name".into()]), ..roles() };
    let error = fit(&named).unwrap_err().to_string();
    assert!(error.contains("\"name\"") && error.contains("like an identifier"), "{error}");
    let categorical = Roles { categorical: vec!["name".into()], ..roles() };
    assert_eq!(fit(&categorical).unwrap().model.encoder().width(), 2 + 2 + 1 + 12);
    // One text in ten rows stands twice and more: categories.
    let mut frame = Frame::new(20);
    frame.push("x", texts(&(0..20).map(|row| ["a", "b", "c", "d", "e"][row % 5]).collect::<Vec<_>>())).unwrap();
    frame.push("y", Column::Number((0..20).map(f64::from).collect())).unwrap();
    let model = Fit::new(Linear).lambda(0.1).fit_frame(&frame, &roles()).unwrap().model;
    assert_eq!(model.encoder().width(), 5);
}

#[test]
fn parts_of_a_table_are_joined_only_if_they_stand_for_the_same() {
    let part = |cells: &[&str]| {
        let mut frame = Frame::new(cells.len());
        frame.push("x", texts(cells)).unwrap();
        frame.read_texts(Marks::default(), |_| false);
        frame
    };
    let joined = |a: &[&str], b: &[&str]| {
        let mut frame = part(a);
        frame.append(&part(b)).unwrap();
        (frame.reading("x"), frame.column("x").unwrap().clone(), frame.as_written("x").unwrap().into_owned())
    };
    let kg = Reading::Unit("kg".into());
    assert_eq!(joined(&["1 kg"], &["2 kg"]), (kg, Column::Number(vec![1.0, 2.0]), texts(&["1 kg", "2 kg"])));
    let (reading, column, _) = joined(&["1 kg"], &["2 lb"]);
    assert_eq!((reading, column), (Reading::Number, texts(&["1 kg", "2 lb"])));
    let (_, column, _) = joined(&["1 kg"], &["red"]);
    assert_eq!(column, texts(&["1 kg", "red"]));
    let whole = part(&["1 kg", "2 kg", "3 kg"]).select_rows(&[2, 0]);
    assert_eq!(whole.as_written("x").unwrap().into_owned(), texts(&["3 kg", "1 kg"]));
}
