//! Readers that stop reading, and disks that are full.

use crate::lab::{Lab, error};

#[test]
fn whoever_stops_reading_is_no_error() {
    let lab = Lab::with_table("sinc", 30);
    lab.ok(&["fit", "t.csv", "--target", "y", "-k", "gaussian", "--output", "m.mercer", "-q"]);
    lab.ok(&["generate", "friedman1", "--rows", "20000", "--output", "long.csv"]);
    lab.ok(&["fit", "long.csv", "--target", "y", "--kernel", "linear", "--output", "l.mercer", "-q"]);
    let mut tried = 0;
    for line in [
        "mercer generate friedman1 --rows 100000 | head -1",
        "mercer generate friedman1 --rows 100000 | true",
        "mercer predict l.mercer long.csv -q | head -1",
        "mercer predict l.mercer long.csv -q --json | head -c 1",
        "mercer fit t.csv -k gaussian --target y | head -1",
        "mercer fit t.csv -k gaussian --target y --json | true",
        "mercer fit t.csv -k gaussian --target y --output - -q | head -c 1",
        "mercer inspect m.mercer | head -1",
        "mercer inspect m.mercer --json | true",
        "mercer list kernels | head -1",
        "mercer list | true",
        "mercer list criteria | head -1",
        "mercer path t.csv -t y | head -1",
        "mercer compare t.csv -t y --methods mean,ridge | true",
        "mercer completions zsh | head -1",
        "mercer demo | head -1",
        "mercer fit --help | head -1",
        "mercer man . | head -1",
    ] {
        for _ in 0..3 {
            let output = lab.shell(line);
            assert!(output.status.success(), "{line}: {:?} {}", output.status, error(&output));
            assert!(output.stderr.is_empty(), "{line}: {}", error(&output));
            tried += 1;
        }
    }
    // Where the reader of messages is gone, the exit code still says what happened.
    for (line, code) in [
        ("mercer fit nosuch.csv --target y 2> >(exec true)", 1),
        ("mercer fit t.csv --target z 2> >(exec true)", 1),
        ("mercer fit t.csv 2> >(exec true)", 2),
        ("mercer predict m.mercer t.csv --output p.csv 2> >(exec true)", 0),
        ("mercer fit t.csv -k gaussian --target y --output - 2> >(exec true) > m2.mercer", 0),
    ] {
        for _ in 0..5 {
            let output = lab.shell(&format!("{line}; exit $?"));
            assert_eq!(output.status.code(), Some(code), "{line}");
            tried += 1;
        }
    }
    assert_eq!(tried, 18 * 3 + 5 * 5);
    assert_eq!(lab.model("m2.mercer"), lab.model("m.mercer"));
}

#[test]
fn a_full_disk_is_an_error() {
    let lab = Lab::with_table("sinc", 30);
    lab.ok(&["fit", "t.csv", "--target", "y", "-k", "gaussian", "--output", "m.mercer", "-q"]);
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let mut tried = 0;
    for line in [
        "mercer generate sinc > /dev/full",
        "mercer generate sinc --rows 100000 > /dev/full",
        "mercer predict m.mercer t.csv -q > /dev/full",
        "mercer predict m.mercer t.csv -q --json > /dev/full",
        "mercer fit t.csv -k gaussian --target y > /dev/full",
        "mercer fit t.csv -k gaussian --target y --json > /dev/full",
        "mercer fit t.csv -k gaussian --target y --output - -q > /dev/full",
        "mercer inspect m.mercer > /dev/full",
        "mercer inspect m.mercer --json > /dev/full",
        "mercer list kernels > /dev/full",
        "mercer list criteria > /dev/full",
        "mercer path t.csv -t y > /dev/full",
        "mercer path t.csv -t y -q --output - > /dev/full",
        "mercer compare t.csv -t y --methods mean > /dev/full",
        "mercer completions bash > /dev/full",
        "mercer demo > /dev/full",
    ] {
        let output = lab.shell(line);
        assert_eq!(output.status.code(), Some(1), "{line}: {}", error(&output));
        assert!(error(&output).contains("No space left"), "{line}: {}", error(&output));
        tried += 1;
    }
    assert_eq!(tried, 16);
}
