//! `--group`: errors, choices and intervals are for rows of new groups.

use crate::lab::{Lab, close, error, number, text};

/// A number in [0, 1) that a place in a table has.
fn spread(i: usize) -> f64 {
    ((i * 7919 + 104_729) % 1009) as f64 / 1009.0
}

/// `groups` groups of `size` rows, each with a place and an effect of its own.
fn table(groups: usize, size: usize, first: usize) -> String {
    let mut text = String::from("place,t,subject,y\n");
    for g in first..first + groups {
        let (place, effect) = (6.0 * spread(3 * g), 4.0 * spread(17 * g + 5));
        for i in 0..size {
            let t = 4.0 * spread(31 * g + 7 * i);
            let y = place.sin() + 0.5 * t + effect + 0.6 * spread(g + 13 * i);
            text.push_str(&format!("{place},{t},s{g},{y}\n"));
        }
    }
    text
}

fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("t.csv", &table(30, 8, 0));
    lab.file("new.csv", &table(60, 3, 200));
    lab
}

const FIT: [&str; 7] = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian(lengthscale=0.5)", "--group"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    FIT.iter().copied().chain(["subject"]).chain(more.iter().copied()).collect()
}

#[test]
fn the_report_of_a_fit_with_groups_is_of_new_groups() {
    let lab = lab();
    let page = text(&lab.ok(&with(&[])));
    for part in [
        "by exact leave-one-group-out",
        "leave-one-group-out RMSE",
        "over 30 groups",
        "90 % of the rows, each left out with its group, are within",
        "by the model fitted without its group",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("leave-one-out"), "{page}");

    let by_group = lab.json(&with(&["--json", "-o", "m.mercer"]));
    let alone =
        ["fit", "t.csv", "--target", "y", "--drop", "subject", "--kernel", "gaussian(lengthscale=0.5)", "--json"];
    let by_row = lab.json(&alone);
    assert!(by_group["loo_rmse"].is_null() && by_group["loo_within_90"].is_null() && by_group["loo_r2"].is_null());
    assert!(by_row["logo_rmse"].is_null() && by_row["logo_within_90"].is_null() && by_row["groups"].is_null());
    assert!(number(&by_group, "logo_rmse") > 1.15 * number(&by_row, "loo_rmse"));
    assert!(number(&by_group, "logo_within_90") > number(&by_group, "logo_rmse"));
    assert_eq!((&by_group["criterion"], number(&by_group, "groups")), (&"logo".into(), 30.0));
    // What chose λ is in the report.
    let held_out = &by_group["held_out"];
    assert_eq!(held_out["measure"], "squared");
    assert!(close(number(held_out, "value").sqrt(), number(&by_group, "logo_rmse"), 1e-6));
    assert!(close(number(&by_row["held_out"], "value").sqrt(), number(&by_row, "loo_rmse"), 1e-6));
    assert_eq!(lab.json(&with(&["--criterion", "loo", "--json"]))["lambda"], by_group["lambda"]);

    // What a saved model says of itself is of groups, too.
    let shown = text(&lab.ok(&["inspect", "m.mercer"]));
    assert!(shown.contains("leave-one-group-out RMSE") && !shown.contains("leave-one-out"), "{shown}");
    let page = text(&lab.ok(&["path", "t.csv", "--target", "y", "--group", "subject", "--criterion", "loo,gcv"]));
    assert!(page.contains("logo") && !page.contains("loo"), "{page}");
}

#[test]
fn what_folds_and_formulas_say_of_the_choice_stands_beside_it() {
    let lab = lab();
    let folds = lab.json(&with(&["--criterion", "kfold:5", "--json"]));
    let root = number(&folds["held_out"], "value").sqrt();
    let page = text(&lab.ok(&with(&["--criterion", "kfold:5"])));
    assert!(page.contains("by exact 5-fold cross-validation (RMSE "), "{page}");
    assert!(close(root, number(&folds, "logo_rmse"), 0.2), "{folds}");
    let formula = lab.json(&with(&["--criterion", "gcv", "--json"]));
    assert!(formula["held_out"].is_null() && number(&formula, "criterion_value") > 0.0);
    assert!(text(&lab.ok(&with(&["--criterion", "gcv"]))).contains("by gcv ("));
    // Groups are what it leaves out.
    let refused = lab.fails(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--criterion", "logo"], 1);
    assert!(error(&refused).contains("groups"), "{}", error(&refused));
    let refused = lab.fails(&with(&["--metric", "each"]), 1);
    assert!(error(&refused).contains("each-likelihood"), "{}", error(&refused));
}

#[test]
fn intervals_are_for_new_groups_and_ask_for_the_groups_where_they_are_not_known() {
    let lab = lab();
    lab.ok(&with(&["-q", "-o", "m.mercer"]));
    let predict = ["predict", "m.mercer", "new.csv", "--interval", "0.9", "--output", "p.csv"];
    let said = error(&lab.ok(&predict));
    assert!(said.contains("rows of new groups") && said.contains("in 30 groups"), "{said}");
    lab.ok(&["predict", "m.mercer", "new.csv", "--interval", "0.9", "--method", "cv+", "--output", "q.csv"]);
    for file in ["p.csv", "q.csv"] {
        let (lower, upper) = (lab.numbers(file, "prediction_lower"), lab.numbers(file, "prediction_upper"));
        let y = lab.numbers("new.csv", "y");
        let inside = (0..y.len()).filter(|i| lower[*i] <= y[*i] && y[*i] <= upper[*i]).count() as f64 / y.len() as f64;
        assert!(inside > 0.8, "{file}: {inside}");
    }
    // Models on landmarks hold no rows.
    lab.ok(&with(&["-q", "--rank", "20", "-o", "r.mercer"]));
    let again = ["predict", "r.mercer", "new.csv", "--interval", "0.9", "--output", "r.csv", "--data", "t.csv"];
    let refused = error(&lab.fails(&again, 1));
    assert!(refused.contains("30 groups") && refused.contains("--group"), "{refused}");
    lab.ok(&[&again[..], &["--group", "subject"]].concat());
}

#[test]
fn the_automatic_mode_judges_chooses_and_reports_by_whole_groups() {
    let lab = lab();
    let fit = ["fit", "t.csv", "--target", "y", "--group", "subject", "--budget", "5s"];
    let report = lab.json(&[&fit[..], &["--json"]].concat());
    let trials = report["trials"].as_array().unwrap();
    let judged: Vec<_> = trials.iter().filter(|trial| !trial["rmse"].is_null()).collect();
    assert!(judged.iter().all(|trial| trial["judged_by"] == "5 folds of whole groups"), "{trials:?}");
    let chosen = trials.iter().find(|trial| trial["is_chosen"] == true).unwrap();
    let least = judged.iter().map(|trial| number(trial, "rmse")).fold(f64::INFINITY, f64::min);
    assert_eq!(number(chosen, "rmse"), least);
    assert_eq!(report["criterion"], "logo");
    assert!(number(&report, "logo_rmse") > 0.6 * least && report["loo_rmse"].is_null());
    let page = text(&lab.ok(&fit));
    assert!(page.contains("leave-one-group-out RMSE") && !page.contains("leave-one-out"), "{page}");
}
