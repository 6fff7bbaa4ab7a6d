//! Classes: fitted, predicted, weighed and compared.

use serde_json::Value;

use mercer::data::Column;

use crate::lab::{Lab, close, error, line, number, text};

/// Ninety rows of three kinds that overlap a little, one text feature, and the kind as a number.
fn kinds() -> String {
    let mut table = String::from("a,b,c,kind,code,is_cow\n");
    for i in 0..90 {
        let k = i % 3;
        let a = k as f64 + ((i * 5) % 17) as f64 / 8.0;
        let b = -0.7 * k as f64 + ((i * 11) % 17) as f64 / 8.0;
        let (kind, code) = (["ant", "bee", "cow"][k], [3, 5, 9][k]);
        table.push_str(&format!("{a},{b},{},{kind},{code},{}\n", ["p", "q", "r"][i / 3 % 3], i32::from(k == 2)));
    }
    table
}

fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("t.csv", &kinds());
    lab
}

const FEATURES: [&str; 2] = ["--features", "a,b,c"];

fn texts(lab: &Lab, file: &str, name: &str) -> Vec<String> {
    match lab.frame(file).column(name).unwrap() {
        Column::Text(cells) => cells.iter().map(|cell| cell.clone().unwrap()).collect(),
        Column::Number(_) => panic!("{name} is numbers"),
    }
}

#[test]
fn every_loss_for_classes() {
    let lab = lab();
    for loss in ["hinge", "squared-hinge", "logistic", "squared"] {
        let fit = ["fit", "t.csv", "--target", "kind", "--loss", loss, "--output", "m.mercer"];
        let report = lab.json(&line(&[&fit, &FEATURES, &["--json"]]));
        assert_eq!(report["classes"], serde_json::json!(["ant", "bee", "cow"]));
        assert_eq!(report["loss"], loss);
        assert_eq!(report["targets"].as_array().unwrap().len(), 3);
        assert!(number(&report, "duality_gap") <= 1e-6);
        let wrong = number(&report, "train_error");
        assert!(wrong < 0.2, "{loss}: {wrong}");
        lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "--decision"]);
        let (observed, predicted) = (texts(&lab, "p.csv", "kind"), texts(&lab, "p.csv", "prediction"));
        let missed = observed.iter().zip(&predicted).filter(|(a, b)| a != b).count();
        assert!(close(missed as f64 / 90.0, wrong, 1e-12), "{loss}");
        // The class is that of the largest decision value.
        let values = ["ant", "bee", "cow"].map(|class| lab.numbers("p.csv", &format!("decision_{class}")));
        for (row, class) in predicted.iter().enumerate() {
            let own = ["ant", "bee", "cow"].iter().position(|name| name == class).unwrap();
            assert!(values.iter().all(|other| other[row] <= values[own][row]));
        }
        let page = text(&lab.ok(&line(&[&fit, &FEATURES])));
        for part in [
            "kind: ant 30 · bee 30 · cow 30",
            "observed \\ predicted",
            "accuracy",
            "had not seen it",
            "C = ",
            "support",
        ] {
            let is_absent =
                (part == "C = " && loss == "squared") || (part == "support" && ["squared", "logistic"].contains(&loss));
            assert!(is_absent || page.contains(part), "{part}: {page}");
        }
        assert!(page.lines().count() < 30 && page.lines().all(|line| line.chars().count() <= 140), "{page}");
    }
}

#[test]
fn two_classes_that_are_numbers_stay_numbers() {
    let lab = lab();
    let fit = ["fit", "t.csv", "--target", "is_cow", "--method", "svm", "--output", "m.mercer"];
    let exact = lab.json(&line(&[&fit, &FEATURES, &["--json", "--tolerance", "1e-8"]]));
    assert!(number(&exact, "duality_gap") <= 1e-8);
    let report = lab.json(&line(&[&fit, &FEATURES, &["--json", "--probability"]]));
    assert_eq!(report["classes"], serde_json::json!([0.0, 1.0]));
    assert!(number(&report, "support") < 90.0);
    lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "--decision", "--probability"]);
    let (predicted, decision) = (lab.numbers("p.csv", "prediction"), lab.numbers("p.csv", "decision"));
    let (no, yes) = (lab.numbers("p.csv", "probability_0"), lab.numbers("p.csv", "probability_1"));
    for row in 0..90 {
        assert_eq!(predicted[row], f64::from(decision[row] > 0.0));
        assert!((no[row] + yes[row] - 1.0).abs() < 1e-12 && (0.0..=1.0).contains(&yes[row]));
    }
    // A rising function of the decision value.
    let mut order: Vec<usize> = (0..90).collect();
    order.sort_by(|a, b| decision[*a].total_cmp(&decision[*b]));
    assert!(order.windows(2).all(|pair| yes[pair[0]] <= yes[pair[1]]));
    let page = text(&lab.ok(&["inspect", "m.mercer"]));
    assert!(
        page.contains("calibrated on held-out rows") && page.contains("hinge, ") && page.contains("0, 1"),
        "{page}"
    );
    let binary = lab.json(&["fit", "t.csv", "--target", "code", "--features", "a,b", "--loss", "logistic", "--json"]);
    assert_eq!(binary["classes"], serde_json::json!([3.0, 5.0, 9.0]));
}

#[test]
fn probabilities_are_stated_or_calibrated_or_refused() {
    let lab = lab();
    let fit = line(&[&["fit", "t.csv", "--target", "kind", "--quiet"], &FEATURES]);
    for (options, knows) in [
        (&["--loss", "logistic"][..], true),
        (&["--loss", "logistic", "--many-classes", "multinomial"], true),
        (&["--loss", "hinge", "--probability", "--lambda", "0.01"], true),
        (&["--loss", "squared", "--classify", "--probability"], true),
        (&["--loss", "hinge"], false),
    ] {
        lab.ok(&line(&[&fit, options, &["--output", "m.mercer"]]));
        let predict = ["predict", "m.mercer", "t.csv", "--probability", "--output", "p.csv"];
        if knows {
            let said = error(&lab.ok(&predict));
            assert!(said.contains("accuracy") && said.contains("log loss"), "{options:?}: {said}");
            let shares = ["ant", "bee", "cow"].map(|class| lab.numbers("p.csv", &format!("probability_{class}")));
            assert!((0..90).all(|row| (shares.iter().map(|share| share[row]).sum::<f64>() - 1.0).abs() < 1e-9));
        } else {
            let output = lab.command(&predict).output().unwrap();
            assert_eq!(output.status.code(), Some(1));
            let said = error(&output);
            assert!(said.contains("fit it with --probability") && said.contains("--loss logistic"), "{said}");
        }
    }
}

#[test]
fn weights_of_classes_move_the_boundary() {
    let lab = lab();
    let fit = ["fit", "t.csv", "--target", "is_cow", "--features", "a,b", "--loss", "logistic", "--kernel", "linear"];
    let more = ["--lambda", "0.01", "--output", "m.mercer", "--json"];
    let mut found = Vec::new();
    for weights in [&[][..], &["--class-weight", "1=5"], &["--class-weight", "0=5"], &["--class-weight", "balanced"]] {
        lab.json(&line(&[&fit, &more, weights]));
        lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv"]);
        found.push(lab.numbers("p.csv", "prediction").iter().sum::<f64>());
    }
    assert!(found[1] > found[0] && found[2] < found[0] && found[3] >= found[0], "{found:?}");
}

/// Labels −1 and 1: a value that begins with a minus sign is not another option.
#[test]
fn weights_of_negative_labels_are_read_with_a_space_or_an_equals_sign() {
    let lab = lab();
    let rows = (0..40).map(|i| format!("{},{}\n", i % 13, if i % 3 == 0 { -1 } else { 1 })).collect::<String>();
    lab.file("signs.csv", &format!("x,y\n{rows}"));
    let fit = ["fit", "signs.csv", "--target", "y", "--loss", "logistic", "--kernel", "linear", "--lambda", "0.01"];
    let objective = |weights: &[&str]| number(&lab.json(&line(&[&fit, &["--json"], weights])), "objective");
    let spaced = objective(&["--class-weight", "-1=2,1=1"]);
    assert_eq!(spaced, objective(&["--class-weight=-1=2,1=1"]));
    assert_ne!(spaced, objective(&[]));
}

#[test]
fn classes_that_a_line_separates_are_named() {
    let lab = lab();
    let rows = |gap: f64| -> String {
        (0..40).map(|i| format!("{},{}\n", f64::from(i) + if i < 20 { 0.0 } else { gap }, i / 20)).collect()
    };
    lab.file("apart.csv", &format!("x,y\n{}", rows(1.0)));
    lab.file("mixed.csv", &format!("x,y\n{}", rows(-4.0)));
    let fit = |table: &'static str| {
        ["fit", table, "--target", "y", "--loss", "logistic", "--kernel", "linear", "--lambda", "1e-6"]
    };
    let said = error(&lab.ok(&fit("apart.csv")));
    assert!(said.contains("a linear function separates the two classes of y") && said.contains("λ alone"), "{said}");
    assert_eq!(lab.json(&line(&[&fit("apart.csv"), &["--json"]]))["separated"][0], "y");
    assert!(!error(&lab.ok(&fit("mixed.csv"))).contains("separates"));
}

#[test]
fn classes_that_training_did_not_know_count_as_wrong() {
    let lab = lab();
    lab.ok(&line(&[
        &["fit", "t.csv", "--target", "kind", "--loss", "logistic", "-q", "--output", "m.mercer"],
        &FEATURES,
    ]));
    lab.file("new.csv", "a,b,c,kind\n0,0,p,ant\n0,0,q,dog\n0,0,zebra,ant\n0,0,p,\n");
    let output = lab.ok(&["predict", "m.mercer", "new.csv", "--output", "p.csv", "--probability"]);
    let said = error(&output);
    assert!(said.contains("note: 1 row with a class that training did not know; counted as wrong"), "{said}");
    assert!(said.contains("category that training did not know") && said.contains("accuracy 0.6667"), "{said}");
    let report = lab.json(&["predict", "m.mercer", "new.csv", "--json"]);
    assert_eq!(report["errors"]["prediction"]["unknown_classes"], 1);
    assert_eq!(report["errors"]["prediction"]["rows"], 3);
    assert_eq!(report["predictions"]["prediction"][0], "ant");
    // Parquet holds the names too, and without the target there is nothing to compare.
    lab.ok(&["predict", "m.mercer", "new.csv", "--output", "p.parquet"]);
    assert_eq!(texts(&lab, "p.parquet", "prediction")[0], "ant");
    lab.file("bare.csv", "a,b,c\n0,0,p\n");
    assert!(!error(&lab.ok(&["predict", "m.mercer", "bare.csv", "--output", "p.csv"])).contains("accuracy"));
}

#[test]
fn assessed_and_compared_on_the_same_folds() {
    let lab = lab();
    let compare = ["compare", "t.csv", "--target", "kind", "--drop", "code,is_cow", "--folds", "3"];
    let report = lab.json(&line(&[&compare, &["--json", "--svg", "c.svg", "--output", "c.csv"]]));
    let methods = report["methods"].as_array().unwrap();
    let names: Vec<&str> = methods.iter().map(|method| method["method"].as_str().unwrap()).collect();
    for name in ["majority", "ridge-classifier", "logistic", "linear-logistic", "svm", "svm-squared"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(names.last(), Some(&"majority"));
    let find = |name: &str| methods.iter().find(|method| method["method"] == name).unwrap();
    assert!(number(find("logistic"), "log_loss") > 0.0 && find("svm")["log_loss"].is_null());
    assert!(number(find("majority"), "mean") > 0.6);
    assert_eq!(lab.numbers("c.csv", "error").len(), names.len());
    let page = text(&lab.ok(&compare));
    assert!(page.contains("error rate ± sd") && page.contains("share of wrong classes"), "{page}");
    // The same folds as --assess.
    let fit =
        ["fit", "t.csv", "--target", "is_cow", "--drop", "code,kind", "--loss", "logistic", "--assess", "3", "--json"];
    let assessed = lab.json(&fit);
    let folds = |value: &Value| value.as_array().unwrap().len();
    assert_eq!(folds(&assessed["assessment"]["error_rate"]["folds"]), 3);
    assert!(number(&assessed["assessment"]["log_loss"], "mean") > 0.0);
    let numbers = lab.json(&["compare", "t.csv", "--target", "is_cow", "--classify", "--drop", "code,kind", "--json"]);
    assert!(numbers["methods"].as_array().unwrap().iter().all(|method| method["error"].is_array()), "{numbers}");
    let named =
        ["compare", "t.csv", "--target", "a", "--drop", "code,is_cow", "--methods", "mean,svr,huber,absolute,quantile"];
    let numbers = lab.json(&line(&[&named, &["--json", "--folds", "3"]]));
    assert!(numbers["methods"].as_array().unwrap().iter().all(|method| method["rmse"].is_array()), "{numbers}");
}

#[test]
fn with_class_weights_the_share_of_wrong_rows_is_that_of_the_table() {
    let lab = Lab::new();
    let mut rows = String::from("a,b,kind\n");
    for i in 0..120_u32 {
        let (a, b) = (f64::from(i * 37 % 101) / 25.0, f64::from(i * 53 % 89) / 22.0);
        let is_good = a + b + f64::from(i * 29 % 17) / 6.0 > 6.0;
        rows += &format!("{a},{b},{}\n", if is_good { "good" } else { "bad" });
    }
    lab.file("t.csv", &rows);
    let fit = ["fit", "t.csv", "--target", "kind", "--loss", "hinge", "--class-weight", "good=50"];
    let report = lab.json(&line(&[&fit, &["--json", "--output", "m.mercer"]]));
    lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv"]);
    let (observed, predicted) = (texts(&lab, "p.csv", "kind"), texts(&lab, "p.csv", "prediction"));
    let missed = observed.iter().zip(&predicted).filter(|(a, b)| a != b).count() as f64 / 120.0;
    assert!(close(missed, number(&report, "train_error"), 1e-12), "{missed}: {report}");
    assert!(number(&report, "weighted_train_error") < 0.5 * missed, "{report}");
    let held_out = &report["held_out"];
    assert!(held_out["measure"] == "error" && number(held_out, "value") < 0.5 * number(held_out, "unweighted"));
    // The report's first number is the one of its table.
    let page = text(&lab.ok(&line(&[&fit])));
    let after = |label: &str| -> f64 {
        let rest = page.split(label).nth(1).unwrap_or_else(|| panic!("{label}: {page}")).trim_start();
        rest.split([' ', ',', '\n']).next().unwrap().parse().unwrap()
    };
    let (share, accuracy) = (after("held-out share of wrong classes"), after("accuracy"));
    assert!((share + accuracy - 1.0).abs() < 2e-4, "{page}");
    assert!(page.contains("(weighted ") && page.contains("weighted mean loss"), "{page}");
    // Without weights there is one share.
    let plain = lab.json(&line(&[&fit[..6], &["--json"]]));
    assert!(plain["weighted_train_error"].is_null() && plain["held_out"].get("unweighted").is_none(), "{plain}");
}

/// Sixty rows whose labels are written in several ways.
fn written(labels: [&str; 2], odd: Option<(usize, &str)>) -> String {
    let rows = (0..60).map(|i| {
        let label = odd.filter(|(row, _)| *row == i).map_or(labels[i % 2], |(_, label)| label);
        format!("{},{},{label}\n", (i % 2) as f64 + (i * 7 % 11) as f64 / 6.0, i * 5 % 13)
    });
    format!("x,z,y\n{}", rows.collect::<String>())
}

#[test]
fn labels_are_written_as_the_training_table_wrote_them() {
    let lab = Lab::new();
    let fit =
        ["fit", "t.csv", "--target", "y", "--loss", "logistic", "--lambda", "0.01", "--output", "m.mercer", "--json"];
    // Labels of the table, of the model, and whether they are numbers in JSON.
    for (labels, names, are_numbers) in [
        (["001", "002"], ["001", "002"], false),
        (["0.0", "1.0"], ["0.0", "1.0"], true),
        (["-1", "+1"], ["-1", "+1"], true),
        (["1e2", "1e3"], ["1e2", "1e3"], true),
        (["01", "1"], ["01", "1"], false),
        (["3", "5"], ["3", "5"], true),
    ] {
        lab.file("t.csv", &written(labels, None));
        let report = lab.json(&fit);
        let parsed = names.map(|name| name.parse::<f64>().unwrap_or(f64::NAN));
        let expected = if are_numbers { serde_json::json!(parsed) } else { serde_json::json!(names) };
        assert_eq!(report["classes"], expected, "{labels:?}");
        let output = lab.ok(&["predict", "m.mercer", "t.csv", "--probability", "--output", "p.csv"]);
        let table = String::from_utf8(lab.bytes("p.csv")).unwrap();
        let head = format!("x,z,y,prediction,probability_{},probability_{}", names[0], names[1]);
        assert_eq!(table.lines().next().unwrap(), head);
        let right = table.lines().skip(1).filter(|line| line.split(',').nth(2) == line.split(',').nth(3)).count();
        // What is written back is what was read, and what is said of it is the same.
        let accuracy = four_digits(right as f64 / 60.0);
        assert!(
            right > 40 && error(&output).contains(&format!("accuracy {accuracy}")),
            "{labels:?}: {}",
            error(&output)
        );
        let folds = lab.json(&line(&[&fit, &["--assess", "3"]]));
        assert!(number(&folds["assessment"]["error_rate"], "mean") < 0.4, "{labels:?}");
        let compared = ["compare", "t.csv", "--target", "y", "--classify", "--methods", "linear-logistic", "--json"];
        assert!(number(&lab.json(&compared)["methods"][0], "mean") < 0.4, "{labels:?}");
    }
    // One cell is written differently: the number. Parquet has numbers where CSV has texts.
    lab.file("t.csv", &written(["0.0", "1.0"], Some((2, "0"))));
    lab.json(&fit);
    lab.ok(&["predict", "m.mercer", "t.csv", "--probability", "--output", "p.parquet"]);
    assert_eq!(lab.numbers("p.parquet", "prediction").len(), lab.numbers("p.parquet", "probability_1.0").len());
    assert!(lab.frame("p.parquet").names().contains(&"probability_0".to_owned()));
    // A model of the labels 1 and 2 reads 1.0 and 01 as 1.
    lab.file("t.csv", &written(["1", "2"], None));
    lab.json(&fit);
    for labels in [["1.0", "2.0"], ["01", "02"], ["1", "two"]] {
        lab.file("new.csv", &written(labels, None));
        let report = lab.json(&["predict", "m.mercer", "new.csv", "--json"]);
        let unknown = if labels[1] == "two" { 30 } else { 0 };
        assert_eq!(report["errors"]["prediction"]["unknown_classes"], unknown, "{labels:?}");
    }
}

fn four_digits(value: f64) -> String {
    format!("{value:.4}").trim_end_matches('0').to_owned()
}

#[test]
fn class_weights_match_by_text_or_by_number() {
    let lab = Lab::new();
    let fit = ["fit", "t.csv", "--target", "y", "--loss", "logistic", "--lambda", "0.01", "--json", "--class-weight"];
    let objective = |weights: &str| number(&lab.json(&line(&[&fit, &[weights]])), "objective");
    lab.file("t.csv", &written(["1", "2"], None));
    let plain = objective("2=3");
    assert!(["2.0=3", "+2=3", "2e0=3"].iter().all(|weights| objective(weights) == plain));
    lab.file("t.csv", &written(["001", "002"], None));
    assert!(["002=3", "2=3"].iter().all(|weights| objective(weights) == plain));
    lab.file("t.csv", &written(["01", "1"], None));
    assert_eq!(objective("1=3"), plain);
    lab.file("t.csv", &written(["01", "001"], None));
    let output = lab.fails(&line(&[&fit, &["1=3"]]), 1);
    assert!(error(&output).contains("those of a class (001, 01)"), "{}", error(&output));
}

#[test]
fn probabilities_of_reweighted_classes_are_called_so() {
    let lab = lab();
    let fit = ["fit", "t.csv", "--target", "is_cow", "--features", "a,b", "--lambda", "0.01", "--output", "m.mercer"];
    let weights = ["--class-weight", "1=4"];
    let stated = lab.ok(&line(&[&fit, &weights, &["--loss", "logistic"]]));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "probabilities are those of classes with these weights, not of the table";
    assert!(words(&text(&stated)).contains(said), "{}", text(&stated));
    let page = text(&lab.ok(&["inspect", "m.mercer"]));
    assert!(page.contains("class weights 0 1, 1 4") && page.contains("of classes with these weights"), "{page}");
    assert_eq!(lab.json(&["inspect", "m.mercer", "--json"])["class_weights"], serde_json::json!([1.0, 4.0]));
    let report = lab.json(&line(&[&fit, &weights, &["--loss", "logistic", "--json"]]));
    assert!(report["notes"][0].as_str().unwrap().contains(said), "{report}");
    // Calibrated ones are those of the table.
    let report = lab.json(&line(&[&fit, &weights, &["--loss", "hinge", "--probability", "--json"]]));
    assert_eq!(report["notes"], serde_json::json!([]));
    lab.ok(&["predict", "m.mercer", "t.csv", "--probability", "--output", "p.csv"]);
    let mean = lab.numbers("p.csv", "probability_1").iter().sum::<f64>() / 90.0;
    assert!((mean - 1.0 / 3.0).abs() < 0.05, "{mean}");
    let page = text(&lab.ok(&["inspect", "m.mercer"]));
    assert!(page.contains("class weights") && !page.contains("these weights"), "{page}");
    assert!(lab.json(&line(&[&fit, &["--loss", "logistic", "--json"]]))["class_weights"].is_null());
}

/// Of more than two classes each has a model against the others, which the programs that are named must be told to do.
#[test]
fn conversions_name_programs_that_have_the_parameter() {
    let lab = lab();
    let fit = line(&[&["fit", "t.csv", "--lambda", "0.01"], &FEATURES]);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = |more: &[&str]| words(&text(&lab.ok(&[&fit[..], more].concat())));
    let logistic = ["--target", "kind", "--loss", "logistic", "--kernel", "linear"];
    let found = page(&logistic);
    assert!(found.contains("in scikit-learn's OneVsRestClassifier(LogisticRegression), lambda = "), "{found}");
    assert!(found.contains("in glmnet with alpha = 0 for each class against the others"), "{found}");
    let found = page(&[&logistic[..], &["--many-classes", "multinomial"]].concat());
    assert!(found.contains("in scikit-learn's LogisticRegression, lambda = "), "{found}");
    let found = page(&["--target", "kind", "--loss", "hinge"]);
    assert!(found.contains("in scikit-learn's OneVsRestClassifier(SVC), gamma = "), "{found}");
    let found = page(&["--target", "is_cow", "--loss", "hinge"]);
    assert!(found.contains("in LIBSVM and scikit-learn's SVC, gamma = "), "{found}");
    // LogisticRegression has no kernel, and none of its parameters is gamma.
    let found = page(&["--target", "is_cow", "--loss", "logistic"]);
    assert!(found.contains("LogisticRegression on features of the kernel, gamma = "), "{found}");
    assert!(found.contains("in scikit-learn's rbf_kernel"), "{found}");
    // At other exponents every class has a ridge of its own.
    let found = page(&["--target", "kind", "--loss", "hinge", "--exponent", "1.5"]);
    assert!(found.contains("the ridge of each class differs") && !found.contains("C = "), "{found}");
}

#[test]
fn support_is_counted_where_rows_are_left_out() {
    let lab = Lab::new();
    let row = |i: usize| {
        format!(
            "{},{},{}\n",
            (i % 8) as f64 + (i * 7 % 11) as f64 / 6.0,
            i * 5 % 13,
            ["a", "b", "c", "d", "e", "f", "g", "h"][i % 8]
        )
    };
    lab.file("t.csv", &format!("x,z,y\n{}", (0..80).map(row).collect::<String>()));
    let page = |loss: &str| {
        text(&lab.ok(&["fit", "t.csv", "--target", "y", "--loss", loss, "--lambda", "0.01", "-o", "m.mercer"]))
    };
    let hinge = page("hinge");
    let line = hinge.lines().find(|line| line.contains("support vectors")).unwrap();
    assert!(line.contains("for each class from ") && line.contains(" of 80 rows are support vectors"), "{line}");
    assert!(text(&lab.ok(&["inspect", "m.mercer"])).contains("support vectors"));
    assert!(!page("logistic").contains("support vectors"));
    assert!(!text(&lab.ok(&["inspect", "m.mercer"])).contains("support vectors"));
}
