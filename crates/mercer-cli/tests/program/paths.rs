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
    check_texts(svg);
}

/// Widths of the characters from ' ' to '~' in DejaVu Sans, in thousandths of its size.
const WIDTHS: [u32; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
];

/// Every text stands within the picture, in a font as wide as DejaVu Sans: a figure that is cut off is another figure.
fn check_texts(svg: &str) {
    let attribute = |tag: &str, name: &str| -> String {
        let (_, rest) = tag.split_once(&format!("{name}=\"")).unwrap_or_else(|| panic!("{name}: {tag}"));
        rest.split('"').next().unwrap().to_owned()
    };
    let view: Vec<f64> = attribute(svg, "viewBox").split(' ').map(|number| number.parse().unwrap()).collect();
    let [left, top, width, height] = view[..] else { panic!("{view:?}") };
    for part in svg.split("<text ").skip(1) {
        let (tag, rest) = part.split_once('>').unwrap();
        let words = rest.split('<').next().unwrap();
        let words = words.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        let of = |c: char| match u32::from(c).checked_sub(32).and_then(|place| WIDTHS.get(place as usize)) {
            Some(known) => f64::from(*known) / 1000.0,
            None => 0.84,
        };
        let long = 13.0 * words.chars().map(of).sum::<f64>();
        let (x, y): (f64, f64) = (attribute(tag, " x").parse().unwrap(), attribute(tag, " y").parse().unwrap());
        let start = match attribute(tag, "text-anchor").as_str() {
            "start" => x,
            "middle" => x - 0.5 * long,
            _ => x - long,
        };
        assert!(
            start >= left && start + long <= left + width,
            "{words:?} leaves the picture: {start} … {}",
            start + long
        );
        assert!(y >= top + 10.0 && y <= top + height - 3.0, "{words:?} at {y} of {height}");
    }
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
    check_dots(&svg, &report);

    let page = text(&lab.ok(&path));
    for part in ["effective ridge", "train RMSE", "choose", "degrees of freedom", "· train"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let table: Vec<&str> = page.lines().skip(2).take_while(|line| !line.contains("Criteria that")).collect();
    assert!(table.len() <= 26, "{page}");
    assert_eq!(table.concat().matches('*').count(), 5, "one mark per criterion:\n{page}");
}

/// The dots of a picture stand where the table says that criteria choose.
fn check_dots(svg: &str, report: &serde_json::Value) {
    let lambdas: Vec<f64> =
        report["lambdas"].as_array().unwrap().iter().map(|lambda| lambda.as_f64().unwrap()).collect();
    let (first, last) = (lambdas[0].ln(), lambdas[lambdas.len() - 1].ln());
    let dots = svg.split("<circle").skip(1).map(|tag| {
        let (_, rest) = tag.split_once("cx=\"").unwrap();
        rest.split('"').next().unwrap().parse::<f64>().unwrap()
    });
    let chosen: Vec<f64> = report["criteria"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|criterion| criterion["is_root"] == true)
        .filter_map(|criterion| criterion["lambda"].as_f64())
        .map(|lambda| 70.0 + 510.0 * (lambda.ln() - first) / (last - first))
        .collect();
    let mut count = 0;
    for dot in dots {
        assert!(chosen.iter().any(|place| (place - dot).abs() < 0.1), "{dot}: {chosen:?}");
        count += 1;
    }
    assert!(count >= 2, "{svg}");
}

#[test]
fn the_dot_of_a_criterion_that_falls_to_nothing_is_at_its_choice() {
    // FPE falls with the training error where there are as many degrees of freedom as rows, and chooses before that.
    let lab = Lab::new();
    lab.ok(&["generate", "sinc", "--rows", "40", "--noise", "0.3", "--output", "t.csv"]);
    let path = ["path", "t.csv", "--target", "y", "--kernel", "matern12", "--lambda", "1e-14..10:60"];
    let report = lab.json(&line(&[&path, &["--json", "--svg", "p.svg"]]));
    let fpe = report["criteria"].as_array().unwrap().iter().find(|c| c["criterion"] == "fpe").unwrap();
    let values: Vec<f64> = fpe["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap_or(f64::NAN)).collect();
    let least = (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap();
    assert!(report["lambdas"][least] != fpe["lambda"], "the table must tell them apart: {fpe}");
    check_dots(&String::from_utf8(lab.bytes("p.svg")).unwrap(), &report);
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
