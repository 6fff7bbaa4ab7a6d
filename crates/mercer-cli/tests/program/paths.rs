//! `mercer path`

use crate::lab::{Lab, close, error, line, number, text};

/// Opening and closing tags of an SVG file match, and nothing is loaded from elsewhere.
pub fn check_svg(svg: &str) {
    assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"), "{svg}");
    let mut open: Vec<&str> = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        if tag.starts_with('?') || tag.ends_with('/') {
            continue;
        }
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None => open.push(tag.split_whitespace().next().unwrap()),
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
    assert!(open.is_empty(), "{open:?} stay open");
    assert!(!svg.replace("http://www.w3.org/2000/svg", "").contains("http"), "something from elsewhere");
    assert!(!svg.contains("NaN") && !svg.contains("inf\""), "a place that is none");
    assert!(svg.contains("prefers-color-scheme:dark"));
}

#[test]
fn a_path_shows_criteria_and_their_minima() {
    let lab = Lab::with_table("friedman1", 70);
    let path = ["path", "t.csv", "--target", "y"];
    let report = lab.json(&line(&[&path, &["--json", "--svg", "p.svg", "--output", "p.csv"]]));
    let fitted = lab.json(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--json"]);
    assert_eq!(report["kernel"], fitted["kernel"]);
    let criteria = report["criteria"].as_array().unwrap();
    let names: Vec<&str> = criteria.iter().map(|c| c["criterion"].as_str().unwrap()).collect();
    assert_eq!(names, ["loo", "gcv", "fpe", "bic", "reml"]);
    // The fit has searched between the points.
    let loo = number(&criteria[0], "value");
    assert!(loo >= number(&fitted, "loo_rmse") && close(loo, number(&fitted, "loo_rmse"), 0.05));
    let lambdas = lab.numbers("p.csv", "lambda");
    assert!(lambdas.len() > 25 && lambdas.is_sorted());
    assert_eq!(lab.frame("p.csv").names()[5..], ["loo", "gcv", "fpe", "bic", "reml"]);
    let dof = lab.numbers("p.csv", "dof");
    assert!(dof.windows(2).all(|pair| pair[0] >= pair[1] - 1e-9), "degrees of freedom fall with λ");
    let svg = String::from_utf8(lab.bytes("p.svg")).unwrap();
    check_svg(&svg);
    assert!(svg.matches("<polyline").count() >= 4 && svg.contains(">loo<") && svg.contains(">1e-"), "{svg}");

    let page = text(&lab.ok(&path));
    for part in ["effective ridge", "train RMSE", "choose", "degrees of freedom", "· train"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let table: Vec<&str> = page.lines().skip(2).take_while(|line| !line.contains("Criteria that")).collect();
    assert!(table.len() <= 26, "{page}");
    assert_eq!(table.concat().matches('*').count(), 5, "one mark per criterion:\n{page}");
}

#[test]
fn a_path_of_many_rows() {
    // Where λ alone is chosen a fit has quicker ways than eigenvectors; a path needs those.
    let lab = Lab::with_table("friedman1", 1000);
    let page = text(&lab.ok(&["path", "t.csv", "--target", "y"]));
    assert!(page.contains("1,000 rows") && page.contains("loo"), "{page}");
}

#[test]
fn a_path_at_given_points_in_every_style() {
    let lab = Lab::with_table("friedman1", 50);
    let path =
        ["path", "t.csv", "--target", "y", "--lambda", "1e-6..1:40", "-m", "1.5", "--criterion", "loo,kfold:5,aicc"];
    let page = text(&lab.ok(&path));
    assert!(page.contains("exponent 1.5") && page.contains("kfold:5"), "{page}");
    let csv = text(&lab.ok(&line(&[&path, &["--style", "csv"]])));
    assert_eq!(csv.lines().count(), 41, "{csv}");
    assert!(csv.starts_with("λ,effective ridge,norm,dof,train RMSE,loo,kfold:5,aicc\n"), "{csv}");
    let markdown = text(&lab.ok(&line(&[&path, &["--style", "markdown"]])));
    assert!(markdown.lines().count() == 42 && markdown.lines().all(|line| line.starts_with('|')), "{markdown}");
    assert_eq!(markdown.matches("**").count(), 6, "{markdown}");
    let latex = text(&lab.ok(&line(&[&path, &["--style", "latex"]])));
    assert!(latex.starts_with("\\begin{tabular}") && latex.ends_with("\\end{tabular}\n"), "{latex}");
    let report = lab.json(&line(&[&path, &["--json"]]));
    assert_eq!(report["lambdas"].as_array().unwrap().len(), 40);
    // One point, a model that is 0, a table on standard output.
    let one = text(&lab.ok(&["path", "t.csv", "--target", "y", "--lambda", "0.1"]));
    assert!(one.contains("0.1"), "{one}");
    lab.ok(&["path", "t.csv", "--target", "y", "--lambda", "0.1", "--svg", "one.svg", "-q"]);
    check_svg(&String::from_utf8(lab.bytes("one.svg")).unwrap());
    let zero = text(&lab.ok(&["path", "t.csv", "--target", "y", "-m", "0.5", "--lambda", "1..1e6:4"]));
    assert!(zero.contains("f = 0"), "{zero}");
    let output = lab.ok(&line(&[&path, &["--output", "-"]]));
    assert!(text(&output).starts_with("lambda,effective_ridge,") && error(&output).contains("train RMSE"));
}
