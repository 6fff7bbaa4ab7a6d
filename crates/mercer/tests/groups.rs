//! Rows that belong together: errors, choices and intervals are those of rows of a new group.

use mercer::criterion::Folds;
use mercer::data::Design;
use mercer::interval::{Intervals, Method};
use mercer::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

fn uniform(random: &mut ChaCha8Rng) -> f64 {
    random.next_u32() as f64 / u32::MAX as f64
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0
}

/// Groups with an effect of their own and a feature that tells them apart, as a subject's age does.
struct Rows {
    x: Matrix,
    y: Vec<f64>,
    group: Vec<f64>,
}

fn rows(groups: usize, sizes: &dyn Fn(usize) -> usize, seed: u64) -> Rows {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut x, mut y, mut group) = (Vec::new(), Vec::new(), Vec::new());
    for g in 0..groups {
        let (place, effect) = (6.0 * uniform(&mut random), normal(&mut random));
        for _ in 0..sizes(g) {
            let t = 4.0 * uniform(&mut random);
            x.push([place, t]);
            y.push(place.sin() + 0.5 * t + effect + 0.3 * normal(&mut random));
            group.push(g as f64);
        }
    }
    Rows { x: Matrix::from_fn(y.len(), 2, |i, j| x[i][j]), y, group }
}

fn table(rows: &Rows, weights: Option<&[f64]>, chosen: &[usize]) -> (Frame, Roles) {
    let x = Matrix::from_fn(chosen.len(), 2, |i, j| rows.x.get(chosen[i], j));
    let y = Matrix::from_fn(chosen.len(), 1, |i, _| rows.y[chosen[i]]);
    let weights: Option<Vec<f64>> = weights.map(|w| chosen.iter().map(|i| w[*i]).collect());
    let (mut frame, roles) = Design::frame_of(&x, &y, weights.as_deref()).unwrap();
    let codes = chosen.iter().map(|i| rows.group[*i]).collect();
    frame.push("group", mercer::data::Column::Number(codes)).unwrap();
    (frame, Roles { group: Some("group".into()), ..roles })
}

fn all(rows: &Rows) -> Vec<usize> {
    (0..rows.y.len()).collect()
}

/// The largest difference from refits, in units of the largest residual.
fn against_refits(rows: &Rows, weights: Option<&[f64]>, fit: &Fit) -> f64 {
    let (frame, roles) = table(rows, weights, &all(rows));
    let fitted = fit.fit_frame(&frame, &roles).unwrap();
    let summary = fitted.summary().clone();
    let left_out = fitted.leave_one_out[0].as_ref().expect("residuals without each group");
    let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
    let groups = left_out.groups.expect("rows have groups");
    for g in 0..groups {
        let (held, kept): (Vec<usize>, Vec<usize>) = all(rows).into_iter().partition(|i| rows.group[*i] == g as f64);
        let (part, part_roles) = table(rows, weights, &kept);
        let part_roles = Roles { group: None, ..part_roles };
        let part_roles = Roles { drop: vec!["group".into()], ..part_roles };
        let again =
            fit.clone().exponent(summary.exponent).lambda(summary.lambda).fit_frame(&part, &part_roles).unwrap();
        let x = Matrix::from_fn(held.len(), 2, |i, j| rows.x.get(held[i], j));
        let predicted = again.model.predict(&x).unwrap();
        for (place, row) in held.iter().enumerate() {
            let residual = rows.y[*row] - predicted.get(place, 0);
            worst = worst.max((residual - left_out.residuals[*row]).abs());
            largest = largest.max(residual.abs());
        }
    }
    let total = |i: usize| weights.map_or(1.0, |w| w[i]);
    let sum: f64 = left_out.residuals.iter().enumerate().map(|(i, e)| total(i) * e * e).sum();
    let mse = sum / (0..rows.y.len()).map(total).sum::<f64>();
    assert!((mse.sqrt() - summary.loo_rmse.unwrap()).abs() < 1e-12 * mse.sqrt());
    worst / largest
}

#[test]
fn errors_without_each_group_are_those_of_refits() {
    let rows = rows(9, &|g| 3 + 4 * (g % 3), 5);
    let weights: Vec<f64> = (0..rows.y.len()).map(|i| 0.3 + (i % 5) as f64).collect();
    for exponent in [0.5, 1.0, 1.5, 2.0, 3.0] {
        for offset in [true, false] {
            for weights in [None, Some(&weights[..])] {
                let fit = Fit::new(Gaussian::lengthscale(1.0)).exponent(exponent).lambda(0.02);
                let fit = if offset { fit } else { fit.without_offset() };
                let worst = against_refits(&rows, weights, &fit);
                assert!(worst < 1e-9, "exponent {exponent}, offset {offset}: {worst:e}");
            }
        }
    }
}

#[test]
fn errors_without_each_group_are_those_of_refits_where_one_factorisation_would_do() {
    // A given λ, exponent 2, no weights and more than 600 rows.
    let rows = rows(32, &|_| 20, 6);
    let fit = Fit::new(Gaussian::lengthscale(1.0)).lambda(0.01);
    let worst = against_refits(&rows, None, &fit);
    assert!(worst < 1e-9, "{worst:e}");
}

#[test]
fn errors_without_groups_of_more_rows_than_directions_are_those_of_refits() {
    let rows = rows(9, &|g| 3 + 4 * (g % 3), 5);
    let weights: Vec<f64> = (0..rows.y.len()).map(|i| 0.3 + (i % 5) as f64).collect();
    for exponent in [0.5, 1.0, 1.5, 2.0, 3.0] {
        for offset in [true, false] {
            for weights in [None, Some(&weights[..])] {
                let fit = Fit::new(Linear).exponent(exponent).lambda(0.02);
                let fit = if offset { fit } else { fit.without_offset() };
                let worst = against_refits(&rows, weights, &fit);
                assert!(worst < 1e-9, "exponent {exponent}, offset {offset}: {worst:e}");
            }
        }
    }
}

#[test]
fn errors_of_clipped_predictions_are_those_of_refits() {
    let rows = rows(9, &|g| 3 + 4 * (g % 3), 5);
    let fit = Fit::new(Gaussian::lengthscale(0.3)).lambda(1e-4).clip();
    let worst = against_refits(&rows, None, &fit);
    assert!(worst < 1e-9, "{worst:e}");
}

#[test]
fn with_groups_the_choice_and_the_error_are_those_of_new_groups() {
    let known = rows(40, &|_| 12, 7);
    let new = rows(400, &|_| 3, 8);
    let (frame, roles) = table(&known, None, &all(&known));
    let spec = mercer::kernel::parse("gaussian(lengthscale=0.5)").unwrap();
    let by_group = Fit::with_shared(spec.clone()).fit_frame(&frame, &roles).unwrap();
    let alone = Roles { group: None, drop: vec!["group".into()], ..roles };
    let by_row = Fit::with_shared(spec).fit_frame(&frame, &alone).unwrap();
    let error = |fitted: &Fitted| {
        let predicted = fitted.model.predict(&new.x).unwrap();
        let square = |i: usize| (new.y[i] - predicted.get(i, 0)).powi(2);
        ((0..new.y.len()).map(square).sum::<f64>() / new.y.len() as f64).sqrt()
    };
    let summary = by_group.summary();
    assert_eq!(summary.chosen_by.as_deref(), Some("logo"));
    assert_eq!(summary.groups, Some(40));
    let said = summary.loo_rmse.unwrap();
    assert!((said / error(&by_group) - 1.0).abs() < 0.15, "{said} said, {} on new groups", error(&by_group));
    // What leaving out rows says has nothing to do with new groups.
    let (said, found) = (by_row.summary().loo_rmse.unwrap(), error(&by_row));
    assert!(said < 0.85 * found, "{said} said, {found} found");
    assert!(summary.lambda > by_row.summary().lambda);
    // The criterion's value is part of the summary, and the error at the choice.
    let held_out = summary.held_out.as_ref().unwrap();
    let said = summary.loo_rmse.unwrap();
    assert!((held_out.value.sqrt() / said - 1.0).abs() < 1e-6, "{} {said}", held_out.value.sqrt());
    assert!(held_out.standard_error > 0.0);
    assert_eq!(summary.criterion_value, Some(held_out.value));
}

#[test]
fn other_criteria_choose_lambda_and_groups_judge_it() {
    let rows = rows(12, &|_| 6, 9);
    let (frame, roles) = table(&rows, None, &all(&rows));
    for (spec, chosen_by) in
        [("loo", "logo"), ("logo", "logo"), ("gcv", "gcv"), ("kfold:4", "kfold(folds=4,repeats=1)")]
    {
        let criterion = mercer::criterion::Criterion::parse(spec).unwrap();
        let fitted = Fit::new(Gaussian::lengthscale(1.0)).criterion(criterion).fit_frame(&frame, &roles).unwrap();
        let summary = fitted.summary();
        assert_eq!(summary.chosen_by.as_deref(), Some(chosen_by));
        assert_eq!(fitted.leave_one_out[0].as_ref().unwrap().groups, Some(12));
        assert!(summary.criterion_value.is_some());
        assert_eq!(summary.held_out.is_some(), spec != "gcv");
    }
    let criterion = mercer::criterion::Criterion::parse("logo").unwrap();
    let alone = Roles { group: None, drop: vec!["group".into()], ..roles };
    let refused = Fit::new(Gaussian::lengthscale(1.0)).criterion(criterion).fit_frame(&frame, &alone).unwrap_err();
    assert!(refused.to_string().contains("groups"), "{refused}");
}

/// The share of the rows of new groups inside of 90 % intervals, over 50 splits.
fn coverage(sizes: &dyn Fn(usize) -> usize, by_group: bool, method: &dyn Fn(&mercer::Training) -> Method) -> f64 {
    let (mut inside, mut count) = (0.0, 0.0);
    for seed in 0..50 {
        let data = rows(60, sizes, 100 + seed);
        let (train, test): (Vec<usize>, Vec<usize>) = all(&data).into_iter().partition(|i| data.group[*i] < 40.0);
        let (frame, roles) = table(&data, None, &train);
        let (new, _) = table(&data, None, &test);
        let truth: Vec<f64> = test.iter().map(|i| data.y[*i]).collect();
        let alone = Roles { group: None, drop: vec!["group".into()], ..roles.clone() };
        let roles = if by_group { roles } else { alone };
        let model = Fit::new(Gaussian::lengthscale(0.7)).fit_frame(&frame, &roles).unwrap().model;
        let training = model.training().unwrap();
        let method = method(&training);
        let intervals = Intervals::new(&model, training, &method, 0.9, None).unwrap();
        inside += intervals.at_frame(&new, None).unwrap()[0].coverage(&truth).unwrap().share * truth.len() as f64;
        count += truth.len() as f64;
    }
    inside / count
}

#[test]
fn intervals_of_90_percent_hold_nine_of_ten_rows_of_new_groups() {
    for (name, sizes) in [("even", (|_| 6) as fn(usize) -> usize), ("uneven", |g| 2 + 3 * (g % 4))] {
        let by_group = coverage(&sizes, true, &|_| Method::JackknifePlus);
        println!("{name} groups: {by_group:.3} of the rows of new groups");
        assert!((0.87..=0.93).contains(&by_group), "{name}: {by_group}");
    }
    let by_row = coverage(&|_| 6, false, &|_| Method::JackknifePlus);
    println!("by rows: {by_row:.3}");
    assert!(by_row < 0.84, "by rows: {by_row}");
    let by_group = coverage(&|_| 6, true, &|training| Method::CvPlus(training.folds(8, 1).unwrap()));
    println!("by folds: {by_group:.3}");
    assert!((0.87..=0.94).contains(&by_group), "cv+: {by_group}");
}

#[test]
fn a_model_keeps_its_groups_and_rows_without_them_are_refused() {
    let data = rows(12, &|g| 2 + g % 3, 11);
    let (frame, roles) = table(&data, None, &all(&data));
    let model = Fit::new(Gaussian::lengthscale(1.0)).fit_frame(&frame, &roles).unwrap().model;
    let bytes = mercer::format::to_bytes(&model).unwrap();
    let again = mercer::format::from_bytes(&bytes).unwrap();
    assert_eq!(again.training().unwrap().groups(), Some(12));
    let at = |model: &Model, training| {
        let intervals = Intervals::new(model, training, &Method::JackknifePlus, 0.9, None)?;
        intervals.at_frame(&frame, None)
    };
    let own = at(&again, again.training().unwrap()).unwrap();
    assert_eq!(own, at(&model, model.training().unwrap()).unwrap());
    assert_eq!(own, at(&model, model.training_with(&frame, None, Some("group")).unwrap()).unwrap());
    let refused = at(&model, model.training_from(&frame, None).unwrap()).unwrap_err().to_string();
    assert!(refused.contains("12 groups"), "{refused}");
    let few = Intervals::new(&model, model.training().unwrap(), &Method::JackknifePlus, 0.95, None);
    assert!(few.err().unwrap().to_string().contains("groups"));
    let parted = Folds::random(data.y.len(), 5, 1).unwrap();
    let parted = Intervals::new(&model, model.training().unwrap(), &Method::CvPlus(parted), 0.9, None);
    assert!(parted.err().unwrap().to_string().contains("folds"));
    // Leave-one-out of a model and along its path are those of the fit.
    let fitted = Fit::new(Gaussian::lengthscale(1.0)).fit_frame(&frame, &roles).unwrap();
    let of_model = model.leave_one_out(model.training().unwrap()).unwrap();
    let of_fit = &fitted.leave_one_out[0].as_ref().unwrap().residuals;
    assert!(of_model[0].iter().zip(of_fit).all(|(a, b)| (a - b).abs() < 1e-8));
    let loo = [mercer::criterion::Criterion::LeaveOneOut];
    let lambda = [model.summaries()[0].lambda];
    let path = model.path(model.training().unwrap(), 0, 2.0, Some(&lambda), &loo, 1).unwrap();
    assert!((path[0].criteria[0] / model.summaries()[0].loo_rmse.unwrap() - 1.0).abs() < 1e-5);
}

#[test]
fn other_losses_and_penalties_leave_out_whole_groups() {
    let data = rows(7, &|g| 4 + g % 3, 12);
    let (frame, roles) = table(&data, None, &all(&data));
    let part = |held: f64| -> (Vec<usize>, Vec<usize>) { all(&data).into_iter().partition(|i| data.group[*i] == held) };
    let alone = Roles { group: None, drop: vec!["group".into()], ..roles.clone() };
    let huber = || Fit::new(Gaussian::lengthscale(1.0)).loss(mercer::loss::parse("huber").unwrap());
    let loo = mercer::criterion::Criterion::LeaveOneOut;
    let learned = huber().criterion(loo).lambdas(&[1e-3, 1e-2, 1e-1]).fit_frame(&frame, &roles).unwrap();
    assert_eq!((learned.summary().chosen_by.as_deref(), learned.summary().groups), (Some("logo"), Some(7)));
    let left_out = learned.left_out(None).unwrap();
    let lasso = || Fit::linear().penalty(mercer::penalty::Penalty::Lasso).scale(Scale::None);
    let linear = lasso().lambda(0.05).fit_frame(&frame, &roles).unwrap();
    let residuals = linear.left_out(None).unwrap().residuals;
    let ols = Fit::linear().penalty(mercer::penalty::Penalty::None).fit_frame(&frame, &roles).unwrap();
    let of_ols = ols.left_out(None).unwrap().residuals;
    for g in 0..7 {
        let (held, kept) = part(g as f64);
        let (training, _) = table(&data, None, &kept);
        let (new, _) = table(&data, None, &held);
        let by_loss = huber().lambda(learned.summary().lambda).tolerance(1e-10).fit_frame(&training, &alone).unwrap();
        let by_lasso = lasso().lambda(0.05).tolerance(1e-10).fit_frame(&training, &alone).unwrap();
        let by_ols = Fit::linear().penalty(mercer::penalty::Penalty::None).fit_frame(&training, &alone).unwrap();
        let predicted = |model: &Model| model.predict_frame(&new).unwrap().swap_remove(0);
        for (place, row) in held.iter().enumerate() {
            let value = predicted(&by_loss.model)[place].unwrap();
            assert!((value - left_out.values[0][*row]).abs() < 1e-4, "{value} {}", left_out.values[0][*row]);
            let residual = data.y[*row] - predicted(&by_lasso.model)[place].unwrap();
            assert!((residual - residuals[0][*row]).abs() < 1e-5, "{residual} {}", residuals[0][*row]);
            let residual = data.y[*row] - predicted(&by_ols.model)[place].unwrap();
            assert!((residual - of_ols[0][*row]).abs() < 1e-9, "{residual} {}", of_ols[0][*row]);
        }
    }
    // Fewer groups than the usual folds.
    let few = rows(3, &|_| 9, 13);
    let (frame, roles) = table(&few, None, &all(&few));
    let chosen = huber().lambdas(&[1e-2, 1e-1]).fit_frame(&frame, &roles).unwrap();
    assert_eq!(chosen.summary().chosen_by.as_deref(), Some("logo"));
    assert!(lasso().fit_frame(&frame, &roles).is_ok());
}

/// Every sixth row of parkinsons_total, 42 subjects, half a minute: `cargo test --release -p mercer --test groups -- --ignored --nocapture`.
#[test]
#[ignore = "half a minute, and the set is not part of the repository"]
fn intervals_for_new_subjects_of_a_real_table() {
    let places = ["../../../shared/data", "../../data"];
    let folder = places
        .iter()
        .map(|f| std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(f))
        .chain(std::env::var("MERCER_DATA").ok().map(std::path::PathBuf::from))
        .find(|f| f.join("parkinsons_total.csv").exists());
    let Some(folder) = folder else {
        println!("skipped: parkinsons_total.csv is not here (MERCER_DATA names the folder of data sets)");
        return;
    };
    let text = std::fs::read_to_string(folder.join("parkinsons_total.csv")).unwrap();
    let lines: Vec<Vec<f64>> =
        text.lines().skip(6).step_by(6).map(|line| line.split(',').map(|v| v.parse().unwrap()).collect()).collect();
    let width = lines[0].len() - 2;
    let table = |rows: &[&Vec<f64>]| {
        let x = Matrix::from_fn(rows.len(), width, |i, j| rows[i][1 + j]);
        let y = Matrix::from_fn(rows.len(), 1, |i, _| rows[i][1 + width]);
        let (mut frame, roles) = Design::frame_of(&x, &y, None).unwrap();
        frame.push("subject", mercer::data::Column::Number(rows.iter().map(|row| row[0]).collect())).unwrap();
        (frame, Roles { group: Some("subject".into()), ..roles })
    };
    let mut subjects: Vec<f64> = lines.iter().map(|line| line[0]).collect();
    subjects.dedup();
    assert_eq!((lines.len(), subjects.len()), (979, 42));
    let (mut inside, mut count) = (0.0, 0.0);
    for seed in 0..50 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut order = subjects.clone();
        for i in (1..order.len()).rev() {
            order.swap(i, random.next_u32() as usize % (i + 1));
        }
        let is_new = |line: &&Vec<f64>| order[..14].contains(&line[0]);
        let (test, train): (Vec<&Vec<f64>>, Vec<&Vec<f64>>) = lines.iter().partition(is_new);
        let ((frame, roles), (new, _)) = (table(&train), table(&test));
        let kernel = mercer::kernel::parse("gaussian").unwrap();
        let model = Fit::with_shared(kernel).scale(Scale::Standard).fit_frame(&frame, &roles).unwrap().model;
        let training = model.training().unwrap();
        let intervals = Intervals::new(&model, training, &Method::JackknifePlus, 0.9, None).unwrap();
        let truth: Vec<f64> = test.iter().map(|line| line[1 + width]).collect();
        inside += intervals.at_frame(&new, None).unwrap()[0].coverage(&truth).unwrap().share * truth.len() as f64;
        count += truth.len() as f64;
    }
    println!("{:.3} of {count} rows of new subjects are inside", inside / count);
    assert!((0.87..=0.93).contains(&(inside / count)));
}
