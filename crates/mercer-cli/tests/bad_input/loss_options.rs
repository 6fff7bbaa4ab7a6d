//! Losses, methods and options of classes that are none, or do not go together.

use crate::lab::{DATA, Lab, USAGE};
use crate::tables::{good, with_classes};

#[test]
fn losses_that_are_none() {
    let mut lab = Lab::new();
    let mut refused = |arguments: &[&str], parts: &[&str]| {
        lab.fails(&[&["fit", "good.csv", "--target", "y"], arguments].concat(), USAGE, parts);
    };
    refused(&["--loss", "hing"], &["unknown loss \"hing\"", "squared, absolute", "did you mean hinge?"]);
    refused(&["--loss", "svm"], &["unknown loss \"svm\"", "logistic"]);
    refused(&["--loss", ""], &["--loss"]);
    refused(&["--loss", "huber(threshold=0)"], &["threshold of huber must be above 0", "got 0"]);
    refused(&["--loss", "huber(c=1)"], &["huber has no parameter \"c\"", "threshold"]);
    for epsilon in ["-0.1", "nan", "-inf"] {
        let spec = format!("epsilon-insensitive(epsilon={epsilon})");
        refused(&["--loss", &spec], &["--loss"]);
    }
    refused(
        &["--loss", "epsilon-insensitive(epsilon=-1)"],
        &["epsilon of epsilon-insensitive must be at least 0", "got -1"],
    );
    for quantile in ["0", "1", "1.5", "-0.1", "[0.1,1]"] {
        refused(
            &["--loss", &format!("pinball(quantile={quantile})")],
            &["quantile of pinball must be between 0 and 1"],
        );
    }
    refused(&["--loss", "pinball(quantile=[0.9,0.1])"], &["rising order"]);
    refused(&["--loss", "pinball(quantile=[])"], &["--loss"]);
    refused(&["--loss", "pinball(quantile=0.1..0.9:3)"], &["quantiles are not chosen", "[0.1,0.5,0.9]"]);
    refused(&["--loss", "huber(threshold=0..1:3)"], &["range in the loss", "0..1:3"]);
    refused(&["--loss", "huber(threshold=1..2"], &["--loss"]);
    refused(&["--loss", "hinge(margin=1..2:2)"], &["hinge has no parameter \"margin\""]);
    refused(&["--method", "logistik"], &["--method", "known methods: ridge, krr", "did you mean logistic?"]);
    for exponent in ["0.5", "0.99", "0.5..2:0.5"] {
        refused(&["--loss", "absolute", "--exponent", exponent], &["--exponent must be at least 1", "local minima"]);
    }
    for tolerance in ["0", "-1", "1", "1e-14", "nan", "close"] {
        refused(&["--loss", "huber", &format!("--tolerance={tolerance}")], &["--tolerance", "from 1e-13 to 0.1"]);
    }
    for weights in ["", "yes", "yes=0", "yes=-1", "yes=heavy", "yes=1,yes=2"] {
        refused(&["--loss", "hinge", &format!("--class-weight={weights}")], &["--class-weight"]);
    }
    refused(&["--loss", "hinge", "--measure", "accuracy"], &["unknown measure \"accuracy\"", "loss, error"]);
    refused(&["--loss", "hinge", "--many-classes", "all"], &["--many-classes", "one-vs-rest, multinomial"]);
    lab.finish(76);
}

#[test]
fn options_that_do_not_go_with_a_loss() {
    let mut lab = Lab::new();
    lab.file("good.csv", with_classes(&good()));
    let mut refused = |arguments: &[&str], parts: &[&str]| {
        lab.fails(&[&["fit", "good.csv", "--target", "y"], arguments].concat(), USAGE, parts);
    };
    for option in [
        &["--metric", "each", "--kernel", "gaussian"][..],
        &["--budget", "1s"],
        &["--journal", "j"],
        &["--unlabelled", "good.csv"],
        &["--shared-ridge"],
        &["--no-diagnostics", "--lambda", "1"],
    ] {
        refused(&[&["--loss", "logistic"], option].concat(), &[option[0], "squared loss"]);
        // Classes by the squared loss are no different, whether the options or the table say so.
        refused(&[&["--loss", "squared", "--classify"], option].concat(), &[option[0], "squared loss"]);
        refused(&[&["--loss", "squared"], option].concat(), &[option[0], "squared loss"]);
    }
    for criterion in ["gcv", "reml", "likelihood", "aic"] {
        refused(&["--loss", "hinge", "--criterion", criterion], &["--criterion", criterion, "kfold:5 and loo"]);
    }
    for option in [&["--many-classes", "one-vs-rest"][..], &["--class-weight", "balanced"], &["--probability"]] {
        refused(&[&["--loss", "huber"], option].concat(), &[option[0], "is for classes", "--classify"]);
        refused(option, &[option[0], "is for classes"]);
    }
    for option in [&["--tolerance", "1e-8"][..], &["--measure", "loss"], &["--non-crossing"]] {
        refused(option, &[option[0]]);
    }
    refused(&["--loss", "hinge", "--non-crossing"], &["--non-crossing is for several quantiles"]);
    refused(&["--loss", "pinball(quantile=0.5)", "--non-crossing"], &["--non-crossing is for several quantiles"]);
    refused(&["--loss", "pinball(quantile=[0.1,0.9])", "--classify"], &["--classify", "several quantiles"]);
    refused(&["--loss", "hinge", "--measure", "absolute"], &["--measure absolute is for numbers"]);
    refused(&["--loss", "huber", "--measure", "error"], &["--measure error", "numbers"]);
    refused(&["--loss", "hinge", "--many-classes", "multinomial"], &["multinomial is the logistic loss", "hinge"]);
    let multinomial = ["--loss", "logistic", "--many-classes", "multinomial"];
    refused(&[&multinomial[..], &["--exponent", "1.5"]].concat(), &["has exponent 2", "one-vs-rest"]);
    refused(&[&multinomial[..], &["--criterion", "loo"]].concat(), &["kfold", "one-vs-rest"]);
    for option in [
        &["--table", "p.csv"][..],
        &["--on-grid"],
        &["--one-standard-error"],
        &["--criterion", "kfold:5"],
        &["--measure", "loss"],
    ] {
        refused(&[&["--loss", "hinge", "--lambda", "0.1"], option].concat(), &[option[0], "something to choose"]);
    }
    for (method, other) in [("svm", "logistic"), ("ridge", "hinge"), ("svr", "huber"), ("quantile", "absolute")] {
        let option = format!("--loss {other}");
        refused(&["--method", method, "--loss", other], &[&format!("--method {method}"), &option, "leave one"]);
    }
    refused(&["--method", "ridge", "--kernel", "gaussian"], &["--method ridge has the kernel linear", "gaussian"]);
    refused(&["--method", "krr", "--budget", "1s"], &["--budget", "--method krr"]);
    lab.fails(
        &["compare", "good.csv", "--target", "y", "--methods", "mean,svm"],
        USAGE,
        &["mean is for numbers", "classes are to be predicted"],
    );
    lab.finish(90);
}

#[test]
fn targets_that_do_not_go_with_a_loss() {
    let mut lab = Lab::new();
    lab.file("classes.csv", with_classes(&good()));
    lab.file("one.csv", with_classes(&good()).replace("yes", "no"));
    let continuous: String = (0..30).map(|i| format!("{i},{}\n", f64::from(i) * 0.37)).collect();
    lab.file("continuous.csv", format!("a,y\n{continuous}"));
    for loss in ["hinge", "squared-hinge", "logistic"] {
        lab.fails(
            &["fit", "continuous.csv", "--target", "y", "--loss", loss],
            DATA,
            &["column \"y\" must name classes", "look like measurements", "A loss for numbers"],
        );
        lab.fails(
            &["fit", "one.csv", "--target", "y", "--loss", loss],
            DATA,
            &["\"y\"", "at least two classes", "\"no\""],
        );
        let weights = ["fit", "classes.csv", "--target", "y", "--loss", loss, "--class-weight", "maybe=2"];
        lab.fails(&weights, DATA, &["class weights", "(no, yes)", "\"maybe\""]);
        lab.fails(
            &["fit", "classes.csv", "--target", "y,a", "--loss", loss],
            DATA,
            &["classification", "a single column"],
        );
        lab.fails(
            &["fit", "classes.csv", "--target", "y", "--loss", loss, "--criterion", "kfold:11"],
            DATA,
            &["10", "11"],
        );
        lab.fails(
            &["fit", "classes.csv", "--target", "y", "--loss", loss, "--memory", "100"],
            DATA,
            &["10 rows need", "--memory"],
        );
        let spline =
            ["fit", "classes.csv", "--target", "y", "--loss", loss, "--kernel", "additive-spline", "--scale", "none"];
        lab.fails(&spline, DATA, &["row ", "negative"]);
    }
    for loss in ["absolute", "huber", "epsilon-insensitive", "pinball"] {
        lab.fails(
            &["fit", "classes.csv", "--target", "y", "--loss", loss],
            DATA,
            &["row 1", "\"y\"", "is not a number", "--loss logistic or --loss hinge", "--classify"],
        );
    }
    lab.fails(&["fit", "classes.csv", "--target", "y"], DATA, &["is not a number", "--loss logistic or --loss hinge"]);
    lab.fails(&["compare", "one.csv", "--target", "y"], DATA, &["\"y\"", "at least two classes"]);
    lab.fails(&["compare", "continuous.csv", "--target", "y", "--classify"], DATA, &["must name classes"]);
    // What a model does not know cannot be asked of it.
    let numbers = ["fit", "continuous.csv", "--target", "y", "--loss", "huber", "--quiet", "--output", "m.mercer"];
    lab.works(&numbers, 0);
    for option in ["--probability", "--decision"] {
        lab.fails(&["predict", "m.mercer", "continuous.csv", option], DATA, &[option, "predicts numbers"]);
    }
    let classes = ["fit", "classes.csv", "--target", "y", "--method", "svm", "--quiet", "--output", "m.mercer"];
    lab.works(&classes, 0);
    lab.fails(&["predict", "m.mercer", "classes.csv", "--probability"], DATA, &["no probabilities", "--probability"]);
    lab.finish(60);
}
