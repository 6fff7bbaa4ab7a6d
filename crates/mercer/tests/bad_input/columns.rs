//! Tables of named columns: cells that are missing or no numbers, roles that contradict each other.

use mercer::data::Column;
use mercer::prelude::*;

use crate::battery::Expect::{self, Finishes, Refused};
use crate::battery::{Job, run_all};
use crate::estimators::{KERNELS, fit_of};
use crate::judging::judge;
use crate::tables::{named, strings, texts, with};

#[test]
fn columns_and_roles() {
    let roles = || Roles { targets: strings(&["y"]), drop: strings(&["w"]), ..Roles::default() };
    let nan = || Column::Number(vec![f64::NAN; 10]);
    let none = || texts(&[None; 10]);
    let mut holes: Vec<f64> = (0..10).map(|i| i as f64).collect();
    holes[3] = f64::NAN;
    holes[7] = f64::NAN;
    let mut infinite = holes.clone();
    infinite[5] = f64::NEG_INFINITY;
    let many: Vec<Option<String>> = (0..10).map(|i| Some(format!("row {i}"))).collect();
    let nearly_numbers = texts(&["1", "2", "3", "four", "5", "6", "7", "8", "9", "10"].map(Some));
    let plain = Missing::Error;
    let cases: Vec<(&str, Expect, Frame, Roles, Missing)> = vec![
        ("as it should be", Finishes, named(), roles(), plain),
        (
            "text as target",
            Refused(&["row 1", "\"c\"", "\"p\" is not a number"]),
            named(),
            Roles { targets: strings(&["c"]), ..roles() },
            plain,
        ),
        (
            "text as weight",
            Refused(&["row 1", "\"c\"", "\"p\" is not a number"]),
            named(),
            Roles { weight: Some("c".into()), ..roles() },
            plain,
        ),
        (
            "numbers with one word",
            Refused(&["row 4", "\"a\"", "\"four\" is not a number"]),
            with("a", nearly_numbers.clone()),
            roles(),
            plain,
        ),
        (
            "target with one word",
            Refused(&["row 4", "\"y\"", "\"four\" is not a number"]),
            with("y", nearly_numbers),
            roles(),
            plain,
        ),
        ("different text in every row", Finishes, with("c", Column::Text(many)), roles(), plain),
        ("only one text", Finishes, with("c", texts(&[Some("p"); 10])), roles(), plain),
        ("empty text", Finishes, with("c", texts(&[Some(""); 10])), roles(), plain),
        (
            "a column of NaN, refused",
            Refused(&["row 1", "\"b\"", "missing"]),
            with("b", nan()),
            roles(),
            Missing::Error,
        ),
        ("a column of NaN, dropped", Refused(&["all 10 rows", "missing"]), with("b", nan()), roles(), Missing::Drop),
        ("a column of NaN, mean", Refused(&["\"b\"", "no value in any row"]), with("b", nan()), roles(), Missing::Mean),
        (
            "text without text, refused",
            Refused(&["row 1", "\"c\"", "missing"]),
            with("c", none()),
            roles(),
            Missing::Error,
        ),
        ("text without text, dropped", Refused(&["all 10 rows", "missing"]), with("c", none()), roles(), Missing::Drop),
        (
            "text without text, mean",
            Refused(&["\"c\"", "no value in any row"]),
            with("c", none()),
            roles(),
            Missing::Mean,
        ),
        (
            "holes, refused",
            Refused(&["row 4", "\"b\"", "missing"]),
            with("b", Column::Number(holes.clone())),
            roles(),
            Missing::Error,
        ),
        ("holes, dropped", Finishes, with("b", Column::Number(holes.clone())), roles(), Missing::Drop),
        ("holes, mean", Finishes, with("b", Column::Number(holes.clone())), roles(), Missing::Mean),
        (
            "holes in y, refused",
            Refused(&["row 4", "\"y\"", "missing"]),
            with("y", Column::Number(holes.clone())),
            roles(),
            Missing::Error,
        ),
        ("holes in y, dropped", Finishes, with("y", Column::Number(holes.clone())), roles(), Missing::Drop),
        (
            "holes in y, mean",
            Refused(&["row 4", "\"y\"", "missing"]),
            with("y", Column::Number(holes)),
            roles(),
            Missing::Mean,
        ),
        (
            "−∞ among holes, mean",
            Refused(&["row 6", "\"b\"", "-inf is not a finite number"]),
            with("b", Column::Number(infinite.clone())),
            roles(),
            Missing::Mean,
        ),
        (
            "−∞ among holes, dropped",
            Refused(&["row 6", "\"b\"", "-inf is not a finite number"]),
            with("b", Column::Number(infinite)),
            roles(),
            Missing::Drop,
        ),
        (
            "text with holes, mean",
            Finishes,
            with("c", texts(&[Some("p"), None, Some("q"), None, Some("p"), None, Some("q"), None, Some("p"), None])),
            roles(),
            Missing::Mean,
        ),
        (
            "one row left",
            Finishes,
            with("b", Column::Number((0..10).map(|i| if i == 4 { 1.0 } else { f64::NAN }).collect())),
            roles(),
            Missing::Drop,
        ),
        (
            "unknown target",
            Refused(&["no column \"z\"", "it has: a, b, c, w, y"]),
            named(),
            Roles { targets: strings(&["z"]), ..roles() },
            plain,
        ),
        ("no target", Refused(&["must be a target"]), named(), Roles { targets: vec![], ..roles() }, plain),
        (
            "target named twice",
            Refused(&["\"y\"", "twice"]),
            named(),
            Roles { targets: strings(&["y", "y"]), ..roles() },
            plain,
        ),
        (
            "unknown feature",
            Refused(&["no column \"aa\"", "did you mean a?"]),
            named(),
            Roles { features: Some(strings(&["aa"])), ..roles() },
            plain,
        ),
        (
            "no features",
            Refused(&["at least one feature"]),
            named(),
            Roles { features: Some(vec![]), ..roles() },
            plain,
        ),
        (
            "everything dropped",
            Refused(&["at least one feature"]),
            named(),
            Roles { drop: strings(&["a", "b", "c", "w"]), ..roles() },
            plain,
        ),
        (
            "feature named twice",
            Refused(&["\"a\"", "twice"]),
            named(),
            Roles { features: Some(strings(&["a", "b", "a"])), ..roles() },
            plain,
        ),
        (
            "feature is target",
            Refused(&["\"y\"", "cannot be a feature"]),
            named(),
            Roles { features: Some(strings(&["a", "y"])), ..roles() },
            plain,
        ),
        (
            "feature is weight",
            Refused(&["\"w\"", "cannot be a feature"]),
            named(),
            Roles { features: Some(strings(&["a", "w"])), weight: Some("w".into()), ..roles() },
            plain,
        ),
        (
            "weight is target",
            Refused(&["\"y\"", "weight"]),
            named(),
            Roles { weight: Some("y".into()), ..roles() },
            plain,
        ),
        (
            "unknown weight",
            Refused(&["no column \"weights\""]),
            named(),
            Roles { weight: Some("weights".into()), ..roles() },
            plain,
        ),
        (
            "unknown column to drop",
            Refused(&["no column \"id\""]),
            named(),
            Roles { drop: strings(&["id"]), ..roles() },
            plain,
        ),
        (
            "unknown categorical",
            Refused(&["no column \"id\""]),
            named(),
            Roles { categorical: strings(&["id"]), ..roles() },
            plain,
        ),
        (
            "numbers as categories",
            Finishes,
            named(),
            Roles { categorical: strings(&["w"]), drop: vec![], ..roles() },
            plain,
        ),
        (
            "all numbers as categories",
            Finishes,
            named(),
            Roles { categorical: strings(&["a", "b", "c"]), ..roles() },
            plain,
        ),
        ("weights", Finishes, named(), Roles { weight: Some("w".into()), drop: vec![], ..roles() }, plain),
        (
            "a table without columns",
            Refused(&["feature column"]),
            Frame::new(10),
            Roles { drop: vec![], ..roles() },
            plain,
        ),
        (
            "a table without rows and columns",
            Refused(&["feature column"]),
            Frame::new(0),
            Roles { drop: vec![], ..roles() },
            plain,
        ),
        (
            "strange names",
            Finishes,
            with("a,b \"c\"\n\u{0}💥", Column::Number((0..10).map(f64::from).collect())),
            roles(),
            plain,
        ),
        (
            "a name without letters",
            Finishes,
            with("", Column::Number((0..10).map(f64::from).collect())),
            roles(),
            plain,
        ),
    ];
    let count = cases.len();
    assert_eq!(count, 44);
    let mut jobs = Vec::new();
    for (name, expect, table, roles, missing) in cases {
        for spec in KERNELS {
            for (exponent, text_as) in [(2.0, TextAs::OneHot), (0.5, TextAs::OneHot), (1.5, TextAs::Equality)] {
                let fit = fit_of(spec).exponent(exponent).missing(missing).text_as(text_as);
                let (table, roles) = (table.clone(), roles.clone());
                let run: Job = Box::new(move || judge(fit.fit_frame(&table, &roles), &table, &[]));
                jobs.push((format!("{name} | {spec}, exponent {exponent}, text {text_as:?}"), expect, run));
            }
        }
    }
    run_all(jobs).finish(44 * 7 * 3);
}

#[test]
fn tables_that_cannot_be_made() {
    let mut table = named();
    let error = table.push("a", Column::Number(vec![0.0; 10])).unwrap_err().to_string();
    assert!(error.contains("\"a\"") && error.contains("twice"), "{error}");
    let error = table.push("d", Column::Number(vec![0.0; 9])).unwrap_err().to_string();
    assert!(error.contains("\"d\"") && error.contains("10 rows") && error.contains('9'), "{error}");
    let error = table.push("d", texts(&[None; 11])).unwrap_err().to_string();
    assert!(error.contains("\"d\"") && error.contains("11"), "{error}");
    assert_eq!(table, named());
    let error = Matrix::from_rows(&[vec![1.0, 2.0], vec![3.0]]).unwrap_err().to_string();
    assert!(error.contains("row 2") && error.contains("got 1"), "{error}");
    for (rows, cols, len) in [(2, 3, 5), (usize::MAX, 2, 0), (1 << 40, 1 << 40, 0), (0, 5, 1)] {
        let error = Matrix::from_columns(rows, cols, vec![0.0; len]).unwrap_err().to_string();
        assert!(error.contains("data of a matrix"), "{error}");
    }
    // A text column with more than a hundred different texts is an identifier, unless it is said to be none.
    let mut table = Frame::new(150);
    table.push("id", Column::Text((0..150).map(|i| Some(format!("id{i}"))).collect())).unwrap();
    table.push("y", Column::Number((0..150).map(f64::from).collect())).unwrap();
    let roles = Roles { targets: strings(&["y"]), ..Roles::default() };
    let error = Fit::new(Linear).fit_frame(&table, &roles).unwrap_err().to_string();
    assert!(
        error.contains("\"id\"") && error.contains("150 different texts") && error.contains("identifier"),
        "{error}"
    );
    let roles = Roles { categorical: strings(&["id"]), ..roles };
    assert!(Fit::new(Linear).fit_frame(&table, &roles).is_ok());
}
