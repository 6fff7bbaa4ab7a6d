//! Changes to a file that keep its checksum right.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::parts::{CHECKSUM, Parts, seal};

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

pub struct Mutator {
    random: ChaCha8Rng,
    values: Vec<Value>,
    specs: Vec<Value>,
}

impl Mutator {
    pub fn new(seed: u64) -> Mutator {
        Mutator { random: ChaCha8Rng::seed_from_u64(seed), values: strange_values(), specs: strange_specs() }
    }

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

    pub fn mutant(&mut self, parts: &Parts) -> Vec<u8> {
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
                let mut lengths = parts.lengths();
                let which = self.below(3);
                let change = self.pick(&[1, 2, 8, 1 << 20, 1 << 32, 1 << 61, u64::MAX]);
                lengths[which] = lengths[which].wrapping_add(change);
                parts.with_lengths(lengths)
            }
            // The sum is right, the border between the parts is not.
            1 => {
                let [header, text, numbers] = parts.lengths();
                let moved = 1 + self.below(9) as u64;
                parts.with_lengths([header.saturating_sub(moved), text + moved.min(header), numbers])
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
