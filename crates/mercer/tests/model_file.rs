//! Model files against damage, lies and age: every flipped bit and every cut is noticed (E2), no forged file
//! makes the reader panic or reserve what is not there (E2, E3), and what is saved comes back bit for bit.

// A global allocator that counts cannot be written without `unsafe`: `GlobalAlloc` is an unsafe trait. It only
// counts and passes every call on to the system's allocator.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mercer::data::{Column, Feature};
use mercer::format::{FormatError, from_bytes, to_bytes};
use mercer::kernel::combine::{Combined, Scaled};
use mercer::kernel::special::{Normalized, Precomputed};
use mercer::kernel::{self, SharedKernel};
use mercer::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

// ---- counting what is allocated -------------------------------------------------------------------------------

struct Counting;

// Tests run side by side, so every thread has its own count. The cells have no destructor and need no
// allocation themselves.
thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
    // A thread that is ending has no cells any more; nothing is measured there.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call is handed to `System` unchanged, so its guarantees are ours.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both blocks may exist for a moment.
        count(size as isize);
        // SAFETY: as above.
        let new = unsafe { System.realloc(at, layout, size) };
        count(-(layout.size() as isize));
        new
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The result of `body`, and the most bytes that this thread held at once on top of what it held before.
fn measured<R>(body: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = body();
    (result, (PEAK.get() - before).max(0) as usize)
}

#[test]
fn the_allocator_counts() {
    let (kept, peak) = measured(|| {
        drop(vec![0_u8; 3_000_000]);
        vec![0_u8; 1_000_000]
    });
    assert!((3_000_000..3_100_000).contains(&peak), "{peak}");
    drop(kept);
}

// ---- models to play with --------------------------------------------------------------------------------------

/// A model with the table it was fitted to and one it has not seen.
struct Sample {
    name: String,
    model: Model,
    tables: Vec<Frame>,
}

fn table(rows: usize, seed: u64, with_text: bool) -> Frame {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let mut frame = Frame::new(rows);
    let a: Vec<f64> = (0..rows).map(|_| 3.0 * uniform()).collect();
    let b: Vec<f64> = (0..rows).map(|_| uniform() - 0.2).collect();
    let colour: Vec<Option<String>> =
        (0..rows).map(|i| Some(["red", "green", "blau", "ünïcode, \"quoted\""][(i * 7) % 4].to_owned())).collect();
    let shape: Vec<Option<String>> = (0..rows).map(|i| (i % 5 != 0).then(|| format!("s{}", i % 3))).collect();
    let y: Vec<f64> = a.iter().zip(&b).enumerate().map(|(i, (a, b))| a.sin() + 2.0 * b + (i % 4) as f64).collect();
    let z: Vec<f64> = a.iter().map(|a| 100.0 * a * a - 7.0).collect();
    frame.push("a", Column::Number(a)).unwrap();
    frame.push("b", Column::Number(b)).unwrap();
    if with_text {
        frame.push("colour", Column::Text(colour)).unwrap();
        frame.push("shape", Column::Text(shape)).unwrap();
    }
    frame.push("y", Column::Number(y)).unwrap();
    frame.push("z", Column::Number(z)).unwrap();
    frame
}

fn roles(targets: &[&str]) -> Roles {
    let mut roles = Roles { targets: targets.iter().map(|t| (*t).to_owned()).collect(), ..Roles::default() };
    if targets.len() == 1 {
        roles.drop = vec!["z".into()];
    }
    roles
}

fn sample(name: &str, fit: Fit, rows: usize, targets: &[&str], with_text: bool) -> Sample {
    let training = table(rows, 1, with_text);
    let fitted = fit.fit_frame(&training, &roles(targets)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Sample { name: name.to_owned(), model: fitted.model, tables: vec![training, table(9, 2, with_text)] }
}

fn precomputed(rows: usize) -> Sample {
    let x: Vec<f64> = (0..rows).map(|i| 0.3 * i as f64).collect();
    let gram = |points: &[f64]| {
        Matrix::from_fn(points.len(), rows, |i, j| (-0.5 * (points[i] - x[j]) * (points[i] - x[j])).exp())
    };
    let y: Vec<f64> = x.iter().map(|x| x.cos()).collect();
    let fitted = Fit::new(Precomputed).lambda(0.01).fit(&gram(&x), &y).unwrap();
    let as_frame = |matrix: &Matrix| {
        let mut frame = Frame::new(matrix.rows());
        for j in 0..matrix.cols() {
            frame.push(format!("x{}", j + 1), Column::Number(matrix.col(j).to_vec())).unwrap();
        }
        frame
    };
    let new: Vec<f64> = (0..4).map(|i| 0.17 + i as f64).collect();
    Sample { name: "precomputed".into(), model: fitted.model, tables: vec![as_frame(&gram(&x)), as_frame(&gram(&new))] }
}

/// Small models of every kind that the format knows.
fn small_samples() -> Vec<Sample> {
    let gaussian = || Fit::new(Gaussian::lengthscale(0.7));
    vec![
        sample("gaussian", gaussian().lambda(0.01), 6, &["y"], false),
        sample("linear", Fit::new(Linear).scale(Scale::Standard).lambda(0.1), 7, &["y"], false),
        sample("one-hot", gaussian().lambda(0.1).missing(Missing::Mean), 8, &["y"], true),
        sample(
            "equality, several targets",
            gaussian().lambda(0.1).text_as(TextAs::Equality).missing(Missing::Mean),
            8,
            &["y", "z"],
            true,
        ),
        sample("spline, rows dropped", Fit::new(Spline::additive()).missing(Missing::Drop), 9, &["y"], true),
        sample("zero function", gaussian().exponent(0.5).lambda(1e6), 6, &["y"], false),
        precomputed(5),
    ]
}

/// Every prediction's bits; `None` where a row has none.
fn bits(model: &Model, table: &Frame) -> Vec<Vec<Option<u64>>> {
    let columns = model.predict_frame(table).expect("a prediction");
    columns.into_iter().map(|column| column.into_iter().map(|cell| cell.map(f64::to_bits)).collect()).collect()
}

// ---- the file, taken apart and put together again -------------------------------------------------------------

const FIXED: usize = 32;
const CHECKSUM: usize = 32;

#[derive(Clone)]
struct Parts {
    header: Vec<u8>,
    text: Vec<u8>,
    numbers: Vec<u8>,
}

impl Parts {
    fn of(bytes: &[u8]) -> Parts {
        let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let text = u64::from_le_bytes(bytes[16..24].try_into().unwrap()) as usize;
        let at = FIXED + header;
        Parts {
            header: bytes[FIXED..at].to_vec(),
            text: bytes[at..at + text].to_vec(),
            numbers: bytes[at + text..bytes.len() - CHECKSUM].to_vec(),
        }
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.header).expect("the header is JSON")
    }

    fn with_json(&self, header: &Value) -> Parts {
        Parts { header: serde_json::to_vec(header).unwrap(), ..self.clone() }
    }

    /// A file whose lengths and checksum are right, whatever is in it.
    fn bytes(&self) -> Vec<u8> {
        let lengths = [self.header.len() as u64, self.text.len() as u64, self.numbers.len() as u64 / 8];
        self.with_lengths(lengths)
    }

    /// The same with these lengths (header, text, numbers) instead.
    fn with_lengths(&self, [header, text, numbers]: [u64; 3]) -> Vec<u8> {
        let mut bytes = b"\x93MERCER\n".to_vec();
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend((header as u32).to_le_bytes());
        bytes.extend(text.to_le_bytes());
        bytes.extend(numbers.to_le_bytes());
        bytes.extend(&self.header);
        bytes.extend(&self.text);
        bytes.extend(&self.numbers);
        seal(bytes)
    }
}

/// Adds the checksum.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

#[test]
fn files_can_be_taken_apart_and_put_together() {
    for sample in small_samples() {
        let bytes = to_bytes(&sample.model).unwrap();
        assert_eq!(Parts::of(&bytes).bytes(), bytes, "{}", sample.name);
    }
}

// ---- E2: damage -----------------------------------------------------------------------------------------------

#[test]
fn every_flipped_bit_is_noticed() {
    let (mut tried, mut rejected) = (0, 0);
    for sample in small_samples() {
        let mut bytes = to_bytes(&sample.model).unwrap();
        assert!(from_bytes(&bytes).is_ok(), "{}: the file itself must load", sample.name);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                tried += 1;
                match from_bytes(&bytes) {
                    Err(_) => rejected += 1,
                    Ok(_) => panic!("{}: bit {bit} of byte {at} flipped, and it loads", sample.name),
                }
                bytes[at] ^= 1 << bit;
            }
        }
    }
    println!("{tried} flipped bits");
    assert_eq!(rejected, tried);
    assert!(tried > 7 * 8 * 600, "{tried} bits were tried");
}

#[test]
fn every_cut_and_every_addition_is_noticed() {
    let mut tried = 0;
    for sample in small_samples() {
        let bytes = to_bytes(&sample.model).unwrap();
        for length in 0..bytes.len() {
            let error = from_bytes(&bytes[..length]).err();
            let error = error.unwrap_or_else(|| panic!("{}: cut to {length} bytes, and it loads", sample.name));
            assert!(matches!(error, FormatError::NotAModel | FormatError::Length { .. }), "{length}: {error:?}");
            tried += 1;
        }
        for extra in [vec![0], vec![0; 8], vec![0; 64], bytes.clone()] {
            let mut longer = bytes.clone();
            longer.extend(extra);
            assert!(matches!(from_bytes(&longer), Err(FormatError::Length { .. })), "{}", sample.name);
            tried += 1;
        }
    }
    println!("{tried} cuts and additions");
    assert!(tried > 7 * 600, "{tried} lengths were tried");
}

#[test]
fn other_files_and_versions_are_named() {
    let bytes = to_bytes(&small_samples()[0].model).unwrap();
    assert_eq!(from_bytes(b"").unwrap_err(), FormatError::NotAModel);
    assert_eq!(from_bytes(b"a,b\n1,2\n").unwrap_err(), FormatError::NotAModel);
    assert_eq!(from_bytes(&[0; 4096]).unwrap_err(), FormatError::NotAModel);
    for version in [0_u32, 2, u32::MAX] {
        let mut content = bytes[..bytes.len() - CHECKSUM].to_vec();
        content[8..12].copy_from_slice(&version.to_le_bytes());
        let error = from_bytes(&seal(content)).unwrap_err();
        assert_eq!(error, FormatError::Version(version));
        assert!(error.to_string().contains(&format!("version {version}")), "{error}");
    }
}

// ---- E2: mutants with the right checksum ----------------------------------------------------------------------

const NUMBERS: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -3.7,
    2.0,
    1e15,
    -1e15,
    1e150,
    1e300,
    -1e300,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    4_294_967_295.0,
    4_294_967_296.0,
    1e-160,
];

/// What stands in the place of a JSON value.
fn strange_values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(false),
        json!(""),
        json!("none"),
        json!("mean"),
        json!("drop"),
        json!("unit"),
        json!([]),
        json!({}),
        json!([1e308, 1e308]),
        json!([0.0, 1.0]),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1_u64 << 32),
        json!(1_u64 << 61),
        json!(6),
        json!(3),
        json!(1e308),
        json!(-1e308),
        json!("x".repeat(3000)),
        json!("\u{0}\u{7f}é\u{1F600}"),
    ]
}

/// Kernels that stand in the place of the model's.
fn strange_specs() -> Vec<Value> {
    [
        "linear",
        "precomputed",
        "equality",
        "equality(similarity=0)",
        "gaussian",
        "gaussian(lengthscale=median)",
        "gaussian(lengthscale=1e-150)",
        "gaussian(lengthscale=1e150)",
        "gaussian(lengthscale=[1,2])",
        "gaussian(lengthscale=[1,2,3])",
        "laplace(lengthscale=1e-150)",
        "matern52(lengthscale=1e-150)",
        "rational-quadratic(lengthscale=1,shape=1e-300)",
        "rational-quadratic(lengthscale=1,shape=1e300)",
        "polynomial(degree=64,constant=1e300)",
        "polynomial(degree=1,constant=0)",
        "multiplicative-spline",
        "additive-spline(order=0)",
        "normalized-linear",
        "normalized-polynomial(degree=64)",
        "normalized-equality",
        "1e300*1e300*linear",
        "1e300*linear",
        "0*linear",
        "-1*linear",
        "linear + precomputed",
        "2*precomputed",
        "normalized-precomputed",
        "gaussian(lengthscale=1)*equality + 1e-300*linear",
        "((((((((((linear))))))))))",
        "(((((((((((((((((((((((((((((((((((((((((linear",
        "linear*",
        "+",
        "gaussian(lengthscale=1",
        "gaussian(lengthscale=[])",
        "ünïcode(é=1)",
    ]
    .map(Value::from)
    .to_vec()
}

/// All places in a JSON value, as pointers.
fn places(value: &Value, prefix: &str, into: &mut Vec<String>) {
    into.push(prefix.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{prefix}/{index}"), into);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                places(item, &format!("{prefix}/{key}"), into);
            }
        }
        _ => {}
    }
}

struct Mutator {
    random: ChaCha8Rng,
    values: Vec<Value>,
    specs: Vec<Value>,
}

impl Mutator {
    fn below(&mut self, n: usize) -> usize {
        (self.random.next_u64() % n.max(1) as u64) as usize
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// Bytes with a piece flipped, inserted, deleted, duplicated, overwritten or zeroed.
    fn chunk(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            bytes.push(self.random.next_u32() as u8);
            return;
        }
        let from = self.below(bytes.len());
        let to = (from + 1 + self.below(24)).min(bytes.len());
        match self.below(6) {
            0 => bytes[from] ^= 1 << self.below(8),
            1 => bytes[from] = self.random.next_u32() as u8,
            2 => drop(bytes.drain(from..to)),
            3 => {
                let piece = bytes[from..to].to_vec();
                let at = self.below(bytes.len() + 1);
                bytes.splice(at..at, piece);
            }
            4 => {
                let piece: Vec<u8> = (0..1 + self.below(16)).map(|_| self.random.next_u32() as u8).collect();
                bytes.splice(from..from, piece);
            }
            _ => bytes[from..to].fill(self.pick(&[0, 0xff, b'0', b'"', b'1'])),
        }
    }

    /// The header with one value or key changed, so that it mostly stays JSON.
    fn header(&mut self, parts: &mut Parts) {
        let mut header = parts.json();
        let mut all = Vec::new();
        places(&header, "", &mut all);
        let place = self.pick(&all);
        match self.below(8) {
            0 => {
                // A key less.
                let (parent, key) = place.rsplit_once('/').unwrap_or(("", ""));
                match header.pointer_mut(parent) {
                    Some(Value::Object(map)) => drop(map.remove(key)),
                    Some(Value::Array(items)) if !items.is_empty() => drop(items.pop()),
                    _ => {}
                }
            }
            1 => {
                // An element more.
                if let Some(Value::Array(items)) = header.pointer_mut(&place) {
                    let again = items.first().cloned().unwrap_or(json!(1));
                    items.push(again);
                } else if let Some(Value::Array(summaries)) = header.get_mut("summaries") {
                    summaries.extend(summaries.first().cloned());
                }
            }
            2 => {
                // A number near the old one.
                let change = self.pick(&[-1_i64, 1, 2]);
                if let Some(value) = header.pointer_mut(&place)
                    && let Some(old) = value.as_i64()
                {
                    *value = json!(old.saturating_add(change));
                }
            }
            3 => {
                let index = self.below(self.specs.len());
                header["kernel"] = self.specs[index].clone();
            }
            4 => {
                let place = self.pick(&["scale", "missing", "nonnegative", "is_linear"]);
                header[place] =
                    self.pick(&[json!("none"), json!("unit"), json!("drop"), json!("mean"), json!(true), json!(false)]);
            }
            5 => {
                let number = self.pick(&NUMBERS);
                if number.is_finite()
                    && let Some(value) = header.pointer_mut(&place)
                    && value.is_number()
                {
                    *value = json!(number);
                }
            }
            _ => {
                let index = self.below(self.values.len() + self.specs.len());
                let value = self.values.get(index).unwrap_or_else(|| &self.specs[index - self.values.len()]);
                if let Some(old) = header.pointer_mut(&place) {
                    *old = value.clone();
                }
            }
        }
        *parts = parts.with_json(&header);
    }

    fn number(&mut self, parts: &mut Parts) {
        let count = parts.numbers.len() / 8;
        let at = 8 * self.below(count);
        match self.below(6) {
            0 if count > 1 => drop(parts.numbers.drain(at..at + 8)),
            1 => parts.numbers.splice(at..at, 1.5_f64.to_le_bytes()).for_each(drop),
            2 => {
                let number = f64::from_bits(self.random.next_u64());
                parts.numbers[at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
            _ => {
                let number = self.pick(&NUMBERS);
                parts.numbers[at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
        }
    }

    fn mutant(&mut self, parts: &Parts) -> Vec<u8> {
        let mut parts = parts.clone();
        // Several changes at once now and then: one alone often only contradicts the rest.
        for _ in 0..1 + self.below(2) {
            match self.below(10) {
                0 => self.chunk(&mut parts.header),
                1..=3 => self.header(&mut parts),
                4..=6 => self.number(&mut parts),
                7 => {
                    let mut numbers = std::mem::take(&mut parts.numbers);
                    self.chunk(&mut numbers);
                    numbers.truncate(numbers.len() / 8 * 8);
                    parts.numbers = numbers;
                }
                _ => {
                    let mut text = std::mem::take(&mut parts.text);
                    self.chunk(&mut text);
                    parts.text = text;
                }
            }
            // A header that is no longer a JSON object can only be changed byte by byte.
            if !serde_json::from_slice::<Value>(&parts.header).is_ok_and(|header| header.is_object()) {
                break;
            }
        }
        match self.below(12) {
            // The lengths lie.
            0 => {
                let mut lengths = [parts.header.len() as u64, parts.text.len() as u64, parts.numbers.len() as u64 / 8];
                let which = self.below(3);
                let change = self.pick(&[1, 2, 8, 1 << 20, 1 << 32, 1 << 61, u64::MAX]);
                lengths[which] = lengths[which].wrapping_add(change);
                parts.with_lengths(lengths)
            }
            // The sum is right, the border between the parts is not.
            1 => {
                let (header, text) = (parts.header.len() as u64, parts.text.len() as u64);
                let moved = 1 + self.below(9) as u64;
                let lengths = [header.saturating_sub(moved), text + moved.min(header), parts.numbers.len() as u64 / 8];
                parts.with_lengths(lengths)
            }
            // Anything at all, anywhere.
            2 => {
                let bytes = parts.bytes();
                let mut content = bytes[..bytes.len() - CHECKSUM].to_vec();
                self.chunk(&mut content);
                seal(content)
            }
            _ => parts.bytes(),
        }
    }
}

/// A table that has the columns this very model asks for.
fn asked_for(model: &Model) -> Option<Frame> {
    let mut frame = Frame::new(3);
    for feature in &model.encoder().features {
        let column = match feature {
            Feature::Number { .. } => Column::Number(vec![0.3, -2.0, 1e6]),
            Feature::Text { categories, .. } => {
                Column::Text(vec![categories.first().cloned(), None, Some("a category nobody knows".into())])
            }
        };
        frame.push(feature.name(), column).ok()?;
    }
    Some(frame)
}

/// Predicts in every way; the number of finite predictions, or what is wrong.
fn use_it(model: &Model, tables: &[Frame]) -> Result<usize, String> {
    let mut finite = 0;
    let own = asked_for(model);
    for table in tables.iter().chain(&own) {
        if let Ok(columns) = model.predict_frame(table) {
            for cell in columns.iter().flatten().flatten() {
                if !cell.is_finite() {
                    return Err(format!("a prediction is {cell}"));
                }
                finite += 1;
            }
        }
    }
    for width in [0, 2, model.encoder().features.len()] {
        let x = Matrix::from_fn(4, width, |i, j| 0.25 * i as f64 - j as f64);
        if let Ok(values) = model.predict(&x) {
            let wrong = values.as_slice().iter().find(|v| !v.is_finite());
            // Without training rows for the missing rule "drop" nothing is NaN here: no cell is missing.
            if let Some(wrong) = wrong {
                return Err(format!("a prediction is {wrong}"));
            }
            finite += values.as_slice().len();
        }
    }
    // What loads can be saved again and is the same model then.
    let again = to_bytes(model).map_err(|error| format!("it loads but cannot be saved: {error}"))?;
    let again = from_bytes(&again).map_err(|error| format!("it loads, is saved, and does not load: {error}"))?;
    if let Some(table) = &own
        && let (Ok(a), Ok(b)) = (model.predict_frame(table), again.predict_frame(table))
        && a != b
    {
        return Err("saved again, it predicts other numbers".into());
    }
    let _ = (model.summaries().len(), model.points(), model.coefficients(0), model.kernel().spec());
    Ok(finite)
}

#[test]
fn twenty_thousand_mutants_with_the_right_checksum() {
    const MUTANTS: usize = 20_000;
    let samples = small_samples();
    let files: Vec<Parts> = samples.iter().map(|s| Parts::of(&to_bytes(&s.model).unwrap())).collect();
    let mut mutator =
        Mutator { random: ChaCha8Rng::seed_from_u64(20_000), values: strange_values(), specs: strange_specs() };
    let (mut tried, mut loaded, mut finite) = (0, 0, 0);
    let mut wrong: Vec<String> = Vec::new();
    let mut slowest = Duration::ZERO;
    for index in 0..MUTANTS {
        let which = index % samples.len();
        let bytes = mutator.mutant(&files[which]);
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| match from_bytes(&bytes) {
            Ok(model) => use_it(&model, &samples[which].tables).map(Some),
            Err(error) => {
                let text = error.to_string();
                if text.len() < 10 || text.len() > 4000 { Err(format!("not a sentence: {text}")) } else { Ok(None) }
            }
        }));
        slowest = slowest.max(started.elapsed());
        tried += 1;
        match outcome {
            Ok(Ok(Some(count))) => {
                loaded += 1;
                finite += count;
            }
            Ok(Ok(None)) => {}
            Ok(Err(problem)) => {
                wrong.push(format!("mutant {index} of {}: {problem}\n{}", samples[which].name, shown(&bytes)));
            }
            Err(_) => {
                wrong.push(format!("mutant {index} of {} panicked\n{}", samples[which].name, shown(&bytes)));
            }
        }
    }
    println!("{tried} mutants, {loaded} loaded, {finite} finite predictions, the slowest took {slowest:?}");
    let few: Vec<&String> = wrong.iter().take(8).collect();
    assert!(wrong.is_empty(), "{} of {tried}: {few:#?}", wrong.len());
    assert_eq!(tried, MUTANTS);
    assert!(loaded > 2000, "only {loaded} mutants loaded: the mutations are too rough to test prediction");
    assert!(finite > 20_000, "only {finite} predictions were made");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}

/// The header of a file, for a message.
fn shown(bytes: &[u8]) -> String {
    let length = bytes.get(12..16).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap()) as usize);
    String::from_utf8_lossy(&bytes[FIXED.min(bytes.len())..(FIXED + length.min(600)).min(bytes.len())]).into_owned()
}

// ---- E3: lying headers ----------------------------------------------------------------------------------------

const ROOM: usize = 1 << 20;

/// Loads a forged file; it must be refused (or be harmless) within its own size and a mebibyte.
fn load_within_bounds(what: &str, bytes: &[u8], wrong: &mut Vec<String>) -> bool {
    let started = Instant::now();
    let (outcome, peak) = measured(|| catch_unwind(AssertUnwindSafe(|| from_bytes(bytes).map(drop))));
    let seconds = started.elapsed();
    if peak > bytes.len() + ROOM {
        wrong.push(format!("{what}: {peak} bytes held at once for a file of {} bytes", bytes.len()));
    }
    if seconds > Duration::from_secs(1) {
        wrong.push(format!("{what}: {seconds:?} for a file of {} bytes", bytes.len()));
    }
    match outcome {
        Ok(outcome) => {
            if let Err(error) = &outcome
                && error.to_string().len() > 4000
            {
                wrong.push(format!("{what}: the message has {} bytes", error.to_string().len()));
            }
            outcome.is_err()
        }
        Err(_) => {
            wrong.push(format!("{what}: panicked"));
            true
        }
    }
}

#[test]
fn a_thousand_lying_headers_reserve_nothing() {
    let huge_u64 = [1 << 20, 1 << 30, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 60, (1 << 61) - 1, 1 << 61]
        .into_iter()
        .chain([(1 << 61) + 1, 1 << 62, 1 << 63, (1 << 63) + 4, u64::MAX / 8, u64::MAX / 3, u64::MAX - 7, u64::MAX])
        .collect::<Vec<u64>>();
    let samples = small_samples();
    let files: Vec<Parts> = samples.iter().map(|s| Parts::of(&to_bytes(&s.model).unwrap())).collect();
    let mut wrong = Vec::new();
    let (mut tried, mut refused) = (0, 0);
    let mut run = |what: String, bytes: Vec<u8>| {
        tried += 1;
        refused += usize::from(load_within_bounds(&what, &bytes, &mut wrong));
    };
    for (sample, parts) in samples.iter().zip(&files) {
        let name = &sample.name;
        let true_lengths = [parts.header.len() as u64, parts.text.len() as u64, parts.numbers.len() as u64 / 8];
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
    // `rows` is only a fact about the past, and some four bytes of text are letters of a name.
    assert!(refused * 10 >= tried * 8, "only {refused} of {tried} were refused");
}

/// Files that are as long as they say, whose text is filled with whatever takes the most memory per byte. None of
/// them fits its header, which can be seen by counting before anything is kept.
#[test]
fn texts_full_of_the_smallest_parts_stay_within_their_size() {
    let base = Parts::of(&to_bytes(&small_samples()[0].model).unwrap());
    let mut wrong = Vec::new();
    let (mut tried, mut refused) = (0, 0);
    let mut run = |what: &str, text: Vec<u8>| {
        tried += 1;
        let bytes = Parts { text, ..base.clone() }.bytes();
        refused += usize::from(load_within_bounds(what, &bytes, &mut wrong));
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
    let base = Parts::of(&to_bytes(&small_samples()[0].model).unwrap());
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
        let started = Instant::now();
        let (outcome, peak) = measured(|| catch_unwind(AssertUnwindSafe(|| from_bytes(bytes).map(drop))));
        let elapsed = started.elapsed();
        println!("{what}: {peak} bytes held, {elapsed:?}");
        if peak > bytes.len() + (16 << 20) {
            wrong.push(format!("{what}: {peak} bytes held at once for a file of {} bytes", bytes.len()));
        }
        if elapsed > Duration::from_secs(1) {
            wrong.push(format!("{what}: took {elapsed:?}"));
        }
        match outcome {
            Ok(Err(error)) if error.to_string().len() > 4000 => {
                wrong.push(format!("{what}: the message has {} bytes", error.to_string().len()));
            }
            Ok(_) => {}
            Err(_) => wrong.push(format!("{what}: panicked")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), files.len());
    assert_eq!(files.len(), 16);
}

// ---- bit for bit ----------------------------------------------------------------------------------------------

fn assert_same_after_saving(sample: &Sample) {
    let name = &sample.name;
    let bytes = to_bytes(&sample.model).unwrap_or_else(|error| panic!("{name}: cannot be saved: {error}"));
    let again = from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: saved, does not load: {error}"));
    for table in &sample.tables {
        let (before, after) = (bits(&sample.model, table), bits(&again, table));
        assert!(before.iter().flatten().flatten().count() > 0, "{name}: nothing was predicted");
        let differ = before.iter().flatten().zip(after.iter().flatten()).filter(|(a, b)| a != b).count();
        assert!(before == after, "{name}: {differ} predictions have other bits after saving");
    }
    assert_eq!(again.summaries(), sample.model.summaries(), "{name}");
    assert_eq!(again.encoder(), sample.model.encoder(), "{name}");
    assert_eq!(again.points(), sample.model.points(), "{name}");
    assert_eq!(to_bytes(&again).unwrap(), bytes, "{name}: other bytes when saved again");
}

#[test]
fn predictions_come_back_bit_for_bit() {
    let mut tried = 0;
    let mut check = |sample: Sample| {
        assert_same_after_saving(&sample);
        tried += 1;
    };
    small_samples().into_iter().for_each(&mut check);
    // Every kernel that can be named, with numbers, with text as features, and with text compared.
    for entry in kernel::all() {
        let normalized = format!("normalized-{}", entry.name);
        for spec in [entry.name, &normalized] {
            if entry.name == "precomputed" {
                continue;
            }
            let parsed = kernel::parse(spec).unwrap();
            let fit = || Fit::with_shared(parsed.clone()).missing(Missing::Mean);
            if !parsed.uses_codes() {
                check(sample(spec, fit().scale(Scale::Unit), 20, &["y"], false));
                check(sample(&format!("{spec}, one-hot"), fit().scale(Scale::Unit), 20, &["y"], true));
            }
            let compared = fit().scale(Scale::Unit).text_as(TextAs::Equality);
            check(sample(&format!("{spec}, equality"), compared, 20, &["y"], true));
        }
    }
    for exponent in [0.5, 1.0, 1.5, 3.0] {
        let fit = Fit::new(Gaussian::lengthscale(1.1)).exponent(exponent);
        check(sample(&format!("exponent {exponent}"), fit.clone(), 25, &["y"], false));
        check(sample(&format!("exponent {exponent}, two targets"), fit.shared_ridge(), 25, &["y", "z"], false));
    }
    check(sample("one lengthscale each", Fit::new(Gaussian::lengthscales(&[0.1, 3.3])), 25, &["y"], false));
    check(sample("linear, many targets", Fit::new(Linear), 30, &["y", "z"], false));
    check(sample("linear, wide", Fit::new(Linear).scale(Scale::Standard), 2, &["y"], false));
    check(sample("without offset", Fit::new(Linear).without_offset(), 30, &["y"], false));
    println!("{tried} models came back");
    assert!(tried >= 60, "{tried} models were tried");
}

/// A spec must be read back as the same sum in the same order, or the last bits differ.
#[test]
fn nested_sums_and_products_come_back_bit_for_bit() {
    let specs = [
        "linear + (gaussian(lengthscale=0.7) + matern32(lengthscale=0.3))",
        "gaussian(lengthscale=0.7)*(matern32(lengthscale=0.3)*laplace(lengthscale=0.9))",
        "0.3*linear + (0.1*gaussian(lengthscale=0.7) + 0.7*(matern32(lengthscale=0.3) + linear))",
        "0.1*(0.7*gaussian(lengthscale=0.7))",
        "0.1*0.7*gaussian(lengthscale=0.7)",
        "(linear + 1e-3*linear)*(gaussian(lengthscale=0.7) + 0.3*matern32(lengthscale=2))",
        "0.1*gaussian(lengthscale=0.7)*0.7*matern32(lengthscale=2)",
        "(0.1*gaussian(lengthscale=0.7))*(0.7*matern32(lengthscale=2))",
    ];
    let mut wrong = Vec::new();
    for spec in specs {
        let fit = Fit::with_shared(kernel::parse(spec).unwrap()).lambda(1e-3);
        let sample = sample(spec, fit, 40, &["y"], false);
        if catch_unwind(AssertUnwindSafe(|| assert_same_after_saving(&sample))).is_err() {
            wrong.push(format!("{spec} is saved as {}", sample.model.kernel().spec()));
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), specs.len());
}

/// Kernels that are put together in Rust instead of being read from a spec.
#[test]
fn kernels_made_in_rust_come_back_bit_for_bit() {
    let gaussian: SharedKernel = Arc::new(Gaussian::lengthscale(0.7));
    let matern: SharedKernel = Arc::new(Matern32::lengthscale(0.3));
    let linear: SharedKernel = Arc::new(Linear);
    let polynomial: SharedKernel = Arc::new(Polynomial::new(3, 0.5));
    let sum: SharedKernel = Arc::new(Combined::sum(vec![linear.clone(), gaussian.clone()]));
    let twice: SharedKernel = Arc::new(Scaled::new(2.5, polynomial.clone()));
    let made: Vec<(&str, SharedKernel)> = vec![
        ("a sum", sum.clone()),
        ("a multiple", twice.clone()),
        ("a multiple of a multiple", Arc::new(Scaled::new(0.1, twice.clone()))),
        ("a sum of one", Arc::new(Combined::sum(vec![gaussian.clone()]))),
        ("a product of a sum", Arc::new(Combined::product(vec![matern.clone(), sum.clone()]))),
        ("a sum in a sum", Arc::new(Combined::sum(vec![matern.clone(), sum.clone()]))),
        ("a normalised sum", Arc::new(Normalized::new(sum.clone()))),
        ("a normalised multiple", Arc::new(Normalized::new(twice.clone()))),
        (
            "a normalised product",
            Arc::new(Normalized::new(Arc::new(Combined::product(vec![matern, polynomial.clone()])))),
        ),
        ("normalised twice", Arc::new(Normalized::new(Arc::new(Normalized::new(polynomial))))),
        ("a multiple with many digits", Arc::new(Scaled::new(std::f64::consts::PI * 1e-9, linear))),
    ];
    let mut wrong = Vec::new();
    let tried = made.len();
    for (name, kernel) in made {
        let fit = Fit::with_shared(kernel).lambda(1e-3);
        let sample = sample(name, fit, 40, &["y"], false);
        if catch_unwind(AssertUnwindSafe(|| assert_same_after_saving(&sample))).is_err() {
            wrong.push(format!("{name} is saved as {}", sample.model.kernel().spec()));
        }
    }
    assert_eq!(tried, 11);
    assert!(wrong.is_empty(), "{} of {tried}: {wrong:#?}", wrong.len());
}

/// Long enough for the Cholesky path and for several chunks of training points.
#[test]
fn a_longer_model_comes_back_bit_for_bit() {
    for (name, fit) in [
        ("cholesky", Fit::new(Gaussian::lengthscale(0.5)).lambda(1e-3)),
        ("spline", Fit::new(Spline::multiplicative()).lambda(1e-3)),
    ] {
        let sample = sample(name, fit, 1100, &["y"], false);
        assert_eq!(sample.model.points(), 1100);
        assert_same_after_saving(&sample);
    }
}
