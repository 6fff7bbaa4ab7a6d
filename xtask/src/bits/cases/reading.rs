//! How tables are read: text, gaps, separators, formats.

use super::Cases;

pub fn add(cases: &mut Cases) {
    for (name, table, options) in [
        ("text/one-hot", "reg-100-t.csv", ""),
        ("text/equality", "reg-100-t.csv", "--text equality --kernel equality*matern52"),
        ("categorical", "reg-100-ties.csv", "--categorical x4"),
        ("gaps/mean", "reg-100-gaps.csv", "--missing mean"),
        ("gaps/drop", "reg-100-gaps.csv", "--missing drop"),
        ("tsv", "reg-100.tsv", ""),
        ("decimal-comma", "reg-100.comma.csv", "--decimal comma"),
        ("features", "reg-100.csv", "--features x1,x3"),
        ("drop", "reg-100.csv", "--drop x2,x4"),
    ] {
        let kernel = if options.contains("--kernel") { "" } else { "--kernel gaussian" };
        let more = match name {
            "decimal-comma" => "--decimal comma",
            _ => "",
        };
        cases.fit_predict(format!("read/{name}"), table, &format!("{kernel} {options}"), more);
    }
    let fit = "--kernel gaussian --lambda 1e-3 --output m.mercer --json";
    cases.run("read/no-header", format!("fit reg-100.bare.csv --no-header --target x5 {fit}"));
    cases.run("read/libsvm", format!("fit reg-100.libsvm --target y {fit}"));
    cases.run("read/standard-input", format!("fit <reg-100.csv - --target y {fit}"));
    for ending in ["parquet", "arrow", "csv", "tsv"] {
        cases
            .run(format!("read/format/{ending}"), format!("generate friedman1 --rows 80 --noise 1 --output t.{ending}"))
            .then(format!("fit t.{ending} --target y {fit}"))
            .then(format!("predict m.mercer t.{ending} --output p.{ending}"));
    }
}
