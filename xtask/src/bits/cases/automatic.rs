//! Automatic fits. Their budget is so long that it never decides what is tried: nothing here depends on the clock.

use super::Cases;

pub fn add(cases: &mut Cases) {
    for (name, table, options) in [
        ("few-rows", "reg-40.csv", ""),
        ("text", "reg-60-t.csv", ""),
        ("one-column", "reg-60.csv", "--features x1"),
        ("skewed", "reg-50-skew.csv", ""),
        ("weights", "reg-50-w.csv", "--weight w"),
        ("groups", "reg-50-g.csv", "--group g"),
        ("ties", "reg-60-ties.csv", ""),
        ("no-offset", "reg-40.csv", "--no-offset"),
        ("clip", "reg-40.csv", "--clip"),
        ("exponents", "reg-40.csv", "--exponent 0.5..2.5:0.5"),
        ("two-targets", "two-40.csv", ""),
        ("forward", "reg-60.csv", "--criterion forward:4"),
    ] {
        let case = cases.fit(format!("automatic/{name}"), table, &format!("{options} --budget 1000h"));
        case.on_threads = matches!(name, "few-rows" | "weights");
        case.is_slow = name != "few-rows";
    }
    // Up to 1,300 rows all of them are learned from, up to 8,000 all of them are kept.
    cases.fit("automatic/1300", "reg-1300.csv", "--features x1 --budget 1000h").slow();
    cases.fit("automatic/1301", "reg-1301.csv", "--features x1,x2 --budget 1000h").slow();
    cases.fit("automatic/1501", "reg-1501.csv", "--features x1,x2 --budget 1000h").slow();
    cases.fit("automatic/8001", "reg-8001.csv", "--features x1 --rank 40 --budget 1000h").slow();
}
