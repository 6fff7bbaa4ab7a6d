//! Cells that cannot be used, and tables that are hardly there.

use crate::lab::{DATA, DONE, Lab};
use crate::tables::{fit_with, with_cell, with_column};

#[test]
fn cells_that_cannot_be_used() {
    let mut lab = Lab::new();
    let mut refused = |table: String, more: &[&str], parts: &[&str]| {
        lab.file("t.csv", table);
        lab.fails(&fit_with(more), DATA, parts);
    };
    refused(with_cell(4, 0, "four"), &[], &["row 4", "\"a\"", "\"four\" is not a number", "--categorical"]);
    refused(with_cell(4, 4, "four"), &[], &["row 4", "\"y\"", "\"four\" is not a number"]);
    refused(with_cell(10, 0, "1,5"), &[], &["row 10", "6 cells"]);
    refused(with_cell(10, 0, "\"1,5\""), &[], &["row 10", "\"a\"", "not a number", "--decimal comma"]);
    refused(with_cell(7, 1, "inf"), &[], &["row 7", "\"b\"", "inf is not a finite number"]);
    refused(with_cell(7, 1, "-Infinity"), &[], &["row 7", "\"b\"", "-inf is not a finite number"]);
    refused(with_cell(7, 1, "1e400"), &[], &["row 7", "\"b\"", "not a finite number"]);
    refused(with_cell(1, 4, "inf"), &[], &["row 1", "\"y\"", "not a finite number"]);
    refused(with_cell(1, 4, "1e200"), &[], &["row 1", "\"y\"", "too large for a target"]);
    refused(with_column(2, "inf"), &[], &["row 1", "\"c\"", "not a finite number"]);
    for cell in ["", "NaN", "nan", "NA", "N/A", "null", "?"] {
        refused(with_cell(3, 1, cell), &[], &["row 3", "\"b\"", "missing", "--missing drop", "--missing mean"]);
        refused(with_cell(3, 1, cell), &["--missing", "error"], &["row 3", "\"b\"", "missing"]);
        refused(with_cell(3, 4, cell), &[], &["row 3", "\"y\"", "missing"]);
        refused(with_cell(3, 4, cell), &["--missing", "mean"], &["row 3", "\"y\"", "missing"]);
    }
    refused(with_cell(5, 2, ""), &[], &["row 5", "\"c\"", "missing"]);
    for column in [0, 2] {
        let name = ["\"a\"", "", "\"c\""][column];
        refused(with_column(column, ""), &["--missing", "error"], &["row 1", name, "missing"]);
        refused(with_column(column, ""), &["--missing", "drop"], &["all 10 rows", "missing"]);
        refused(with_column(column, ""), &["--missing", "mean"], &[name, "no value in any row"]);
    }
    let weighted = |cell: &str| with_cell(6, 3, cell);
    let mut weights = |table: String, parts: &[&str]| {
        lab.file("t.csv", table);
        lab.fails(&["fit", "t.csv", "--target", "y", "--weight", "w"], DATA, parts);
    };
    weights(weighted("-1"), &["row 6", "\"w\"", "-1 is not a weight"]);
    weights(weighted("inf"), &["row 6", "\"w\"", "finite"]);
    weights(weighted(""), &["row 6", "\"w\"", "missing"]);
    weights(weighted("heavy"), &["row 6", "\"w\"", "\"heavy\" is not a number"]);
    weights(weighted("1e200"), &["row 6", "\"w\""]);
    weights(with_column(3, "0"), &["\"w\"", "every row", "weight 0"]);

    // The same cells where something can be done about them.
    for cell in ["", "NaN", "NA"] {
        for how in ["drop", "mean"] {
            lab.file("t.csv", with_cell(3, 1, cell));
            lab.works(&fit_with(&["--missing", how, "--json"]), DONE);
            lab.file("t.csv", with_cell(5, 2, cell));
            lab.works(&fit_with(&["--missing", how, "--json"]), DONE);
        }
        lab.file("t.csv", with_cell(3, 4, cell));
        lab.works(&fit_with(&["--missing", "drop", "--json"]), DONE);
    }
    for (row, column, cell) in [(7, 1, "1e300"), (7, 1, "-1e300"), (7, 1, "1e-320"), (2, 4, "1e150"), (2, 4, "-0")] {
        lab.file("t.csv", with_cell(row, column, cell));
        lab.works(&fit_with(&["--json"]), DONE);
    }
    lab.file("t.csv", with_column(0, "7.5"));
    lab.works(&fit_with(&["--json"]), DONE);
    lab.file("t.csv", with_column(4, "7.5"));
    lab.works(&fit_with(&["--json"]), DONE);
    lab.file("t.csv", with_column(4, "7.5"));
    lab.works(&fit_with(&["--json", "--exponent", "0.5"]), DONE);
    lab.file("t.csv", "a,b,w,y\n1,2,1,3\n");
    for exponent in ["0.5", "1", "1.5", "2", "3"] {
        lab.works(&fit_with(&["--json", "--exponent", exponent]), DONE);
    }
    lab.finish(130);
}

#[test]
fn two_rows() {
    let mut lab = Lab::new();
    lab.file("t.csv", "a,b,w,y\n1,2,1,3\n2,1,1,4\n");
    for exponent in ["0.5", "1", "1.5", "2", "3"] {
        for kernel in ["gaussian", "linear", "additive-spline"] {
            lab.works(&fit_with(&["--json", "--exponent", exponent, "--kernel", kernel]), DONE);
        }
    }
    lab.finish(15);
}
