//! E3: headers that lie reserve nothing, and files filled with the smallest parts cost no more than they should.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mercer::format::from_bytes;
use serde_json::{Value, json};

use crate::allocation::measured;
use crate::parts::Parts;
use crate::samples::small_samples;

const MEBIBYTE: usize = 1 << 20;

/// What loading a forged file took.
struct Load {
    refused: bool,
    peak: usize,
    elapsed: Duration,
}

/// Loads a forged file; that must take no more memory than its own size and `room`, and end without a panic,
/// within a second, with a message that has an end.
fn load_within_bounds(what: &str, bytes: &[u8], room: usize, wrong: &mut Vec<String>) -> Load {
    let started = Instant::now();
    let (outcome, peak) = measured(|| catch_unwind(AssertUnwindSafe(|| from_bytes(bytes).map(drop))));
    let elapsed = started.elapsed();
    if peak > bytes.len() + room {
        wrong.push(format!("{what}: {peak} bytes held at once for a file of {} bytes", bytes.len()));
    }
    if elapsed > Duration::from_secs(1) {
        wrong.push(format!("{what}: {elapsed:?} for a file of {} bytes", bytes.len()));
    }
    let refused = match outcome {
        Ok(Ok(())) => false,
        Ok(Err(error)) => {
            let length = error.to_string().len();
            if length > 4000 {
                wrong.push(format!("{what}: the message has {length} bytes"));
            }
            true
        }
        Err(_) => {
            wrong.push(format!("{what}: panicked"));
            true
        }
    };
    Load { refused, peak, elapsed }
}

#[test]
fn a_thousand_lying_headers_reserve_nothing() {
    let huge_u64 = [1 << 20, 1 << 30, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 60, (1 << 61) - 1, 1 << 61]
        .into_iter()
        .chain([(1 << 61) + 1, 1 << 62, 1 << 63, (1 << 63) + 4, u64::MAX / 8, u64::MAX / 3, u64::MAX - 7, u64::MAX])
        .collect::<Vec<u64>>();
    let samples = small_samples();
    let files: Vec<Parts> = samples.iter().map(Parts::of_sample).collect();
    let mut wrong = Vec::new();
    let (mut tried, mut refused) = (0, 0);
    let mut run = |what: String, bytes: Vec<u8>| {
        tried += 1;
        refused += usize::from(load_within_bounds(&what, &bytes, MEBIBYTE, &mut wrong).refused);
    };
    for (sample, parts) in samples.iter().zip(&files) {
        let name = &sample.name;
        let true_lengths = parts.lengths();
        // The three lengths of the fixed part.
        for (which, field) in ["header", "text", "numbers"].into_iter().enumerate() {
            for &huge in &huge_u64 {
                let mut lengths = true_lengths;
                lengths[which] = huge;
                run(format!("{name}: length of {field} {huge}"), parts.with_lengths(lengths));
            }
        }
        // Two lengths that make up for each other modulo 2⁶⁴.
        for &huge in &huge_u64 {
            let text = true_lengths[1].wrapping_sub(huge.wrapping_mul(8));
            let lengths = [true_lengths[0], text, true_lengths[2].wrapping_add(huge)];
            run(format!("{name}: lengths that wrap around, {huge}"), parts.with_lengths(lengths));
        }
        // Sizes in the header, alone and in pairs whose product wraps around to something small.
        for field in ["points", "width", "code_columns"] {
            for &huge in &huge_u64 {
                let mut header = parts.json();
                header[field] = json!(huge);
                run(format!("{name}: {field} {huge}"), parts.with_json(&header).bytes());
                for other in ["points", "width", "code_columns"] {
                    if other != field {
                        let mut header = header.clone();
                        header[other] = json!((u64::MAX / huge).wrapping_add(1));
                        run(format!("{name}: {field} {huge}, {other} to wrap"), parts.with_json(&header).bytes());
                    }
                }
            }
        }
        for &huge in &huge_u64 {
            let mut header = parts.json();
            header["summaries"][0]["rows"] = json!(huge);
            run(format!("{name}: rows {huge}"), parts.with_json(&header).bytes());
        }
        // Lengths of names, counts and lengths of categories: any four bytes of the text section.
        for at in 0..parts.text.len().saturating_sub(4).min(40) {
            for lie in [u32::MAX, 1 << 31, 1 << 24, 1 << 16] {
                let mut lying = parts.clone();
                lying.text[at..at + 4].copy_from_slice(&lie.to_le_bytes());
                run(format!("{name}: text at {at} says {lie}"), lying.bytes());
            }
        }
        // A text column that says it has billions of categories.
        for lie in [1_u32 << 20, 1 << 28, u32::MAX / 4, u32::MAX] {
            for kind in [1_u8, 2] {
                let mut lying = parts.clone();
                lying.text.push(kind);
                lying.text.extend(1_u32.to_le_bytes());
                lying.text.push(b't');
                lying.text.extend(lie.to_le_bytes());
                run(format!("{name}: {lie} categories"), lying.bytes());
                // The same with something behind it that could be the first of them.
                lying.text.extend(vec![0; 4096]);
                run(format!("{name}: {lie} categories, 1024 there"), lying.bytes());
            }
        }
    }
    println!("{tried} lying headers, {refused} refused");
    let few: Vec<&String> = wrong.iter().take(10).collect();
    assert!(wrong.is_empty(), "{} of {tried}: {few:#?}", wrong.len());
    assert!(tried >= 1000, "{tried} headers were tried");
    // `rows` is only a fact about the past, and some four bytes of text are letters of a name or of the range of a column.
    assert!(refused * 10 >= tried * 7, "only {refused} of {tried} were refused");
}

/// Files that are as long as they say, whose text is filled with whatever takes the most memory per byte. None of
/// them fits its header, which can be seen by counting before anything is kept.
#[test]
fn texts_full_of_the_smallest_parts_stay_within_their_size() {
    let base = Parts::of_sample(&small_samples()[0]);
    let mut wrong = Vec::new();
    let (mut tried, mut refused) = (0, 0);
    let mut run = |what: &str, text: Vec<u8>| {
        tried += 1;
        let bytes = Parts { text, ..base.clone() }.bytes();
        refused += usize::from(load_within_bounds(what, &bytes, MEBIBYTE, &mut wrong).refused);
    };
    for kind in [1_u8, 2] {
        let count = 500_000_u32;
        let mut text = vec![kind, 0, 0, 0, 0];
        text.extend(count.to_le_bytes());
        text.extend(vec![0; 4 * count as usize]);
        run(&format!("half a million empty categories of kind {kind}"), text.clone());
        // One short of what is said.
        text.truncate(text.len() - 4);
        run(&format!("half a million categories but one, kind {kind}"), text);
        let mut text = vec![kind, 0, 0, 0, 0];
        text.extend(count.to_le_bytes());
        (0..count).for_each(|_| text.extend([1, 0, 0, 0, b'a']));
        run(&format!("half a million categories of one letter, kind {kind}"), text);
    }
    run("half a million numbers without a name", [0, 0, 0, 0, 0].repeat(500_000));
    run("half a million texts without a name", [1, 0, 0, 0, 0, 0, 0, 0, 0].repeat(500_000));
    println!("{tried} full texts");
    assert!(wrong.is_empty(), "{} of {tried}: {wrong:#?}", wrong.len());
    assert_eq!((tried, refused), (8, 8));
}

/// Headers of the greatest length that is allowed, filled in the same spirit. Their parts are kept while they are
/// read, so a small multiple of their mebibyte is fair; seconds of work and messages without end are not.
#[test]
fn headers_full_of_the_smallest_parts_are_read_quickly() {
    let base = Parts::of_sample(&small_samples()[0]);
    let mut headers: Vec<(&str, Value)> = Vec::new();
    let mut with = |what: &'static str, change: &dyn Fn(&mut Value)| {
        let mut header = base.json();
        change(&mut header);
        headers.push((what, header));
    };
    with("half a million stationary ridges", &|h| h["summaries"][0]["stationary_ridges"] = json!(vec![0; 500_000]));
    with("half a million lengthscales", &|h| {
        h["kernel"] = json!(format!("gaussian(lengthscale=[{}1])", "1,".repeat(500_000)));
    });
    with("a sum of 140,000 kernels", &|h| h["kernel"] = json!(format!("{}linear", "linear+".repeat(140_000))));
    with("a sum of 60,000 normalised kernels", &|h| {
        h["kernel"] = json!(format!("{}linear", "normalized-linear+".repeat(55_000)));
    });
    with("a product of 140,000 kernels", &|h| h["kernel"] = json!(format!("{}linear", "linear*".repeat(140_000))));
    with("a million unprintable letters", &|h| h["kernel"] = json!("\u{7f}".repeat(1_000_000)));
    with("a kernel with a name of a million letters", &|h| h["kernel"] = json!("k".repeat(1_000_000)));
    with("a parameter with a name of a million letters", &|h| {
        h["kernel"] = json!(format!("linear({}=1)", "k".repeat(1_000_000)));
    });
    with("a number of a million digits", &|h| h["kernel"] = json!(format!("{}*linear", "1".repeat(1_000_000))));
    with("a million parentheses", &|h| h["kernel"] = json!("(".repeat(1_000_000)));
    with("a million blanks", &|h| h["kernel"] = json!(" ".repeat(1_000_000)));
    with("a target with a name of a million letters", &|h| h["summaries"][0]["target"] = json!("y".repeat(1_000_000)));
    with("a scale with a name of a million letters", &|h| h["scale"] = json!("y".repeat(1_000_000)));
    with("a key of a million letters", &|h| h["y".repeat(1_000_000)] = json!(1));
    with("a thousand targets", &|h| {
        let summary = h["summaries"][0].clone();
        h["summaries"] = Value::Array(vec![summary; 1000]);
    });
    let mut files: Vec<(&str, Vec<u8>)> =
        headers.iter().map(|(what, header)| (*what, base.with_json(header).bytes())).collect();
    let deep = Parts { header: "[".repeat(1_000_000).into_bytes(), ..base.clone() };
    files.push(("a million brackets", deep.bytes()));

    let mut wrong = Vec::new();
    for (what, bytes) in &files {
        assert!(bytes.len() > 200_000 && bytes.len() < 1_100_000, "{what}: {} bytes", bytes.len());
        let Load { peak, elapsed, .. } = load_within_bounds(what, bytes, 16 * MEBIBYTE, &mut wrong);
        println!("{what}: {peak} bytes held, {elapsed:?}");
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), files.len());
    assert_eq!(files.len(), 16);
}
