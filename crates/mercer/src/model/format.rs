//! Models as bytes: one file, checksummed, bounded, bit-exact. Described in `docs/format.md`.
//!
//! ```text
//! 0   magic 93 4D 45 52 43 45 52 0A     8   version (u32)        12  length of the header (u32)
//! 16  length of the text (u64)          24  count of numbers (u64)
//! 32  header (JSON), text (names and categories), numbers (f64), SHA-256 of everything before it
//! ```
//! Version 2 is for models in single precision: at 32 stands a count of further numbers (u64), and they follow the others as f32.
//! All little-endian. Every length is checked against the bytes that are there before anything is reserved.

mod sections;
mod text;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::data::monomials;
use crate::data::{Encoder, Feature, Missing, Scale, TextAs};
use crate::model::{Expansion, KeptTargets, Meaning, Model, Precision, Provenance, Summary};
use crate::term::kernel::{self, Points};
pub(crate) use sections::{CHECKSUM, FIXED, verified};
use sections::{LONGEST_HEADER, MAGIC, Numbers, SINGLE_VERSION, Sections, Singles, VERSION};

pub use crate::base::format_error::FormatError;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    /// Who wrote the file.
    writer: String,
    kernel: String,
    scale: Scale,
    missing: Missing,
    nonnegative: bool,
    is_linear: bool,
    /// Training points in the expansion.
    points: usize,
    /// Numeric features of each point.
    width: usize,
    /// Text columns kept as codes.
    code_columns: usize,
    /// The features are all monomials of the scaled ones up to this degree.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    degree: usize,
    /// Whether the scaled features are multiplied by a matrix before the kernel sees them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_projected: bool,
    summaries: Vec<Summary>,
    /// What follows the points: the training rows' targets, and their weights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keeps_targets: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keeps_weights: bool,
    /// And the numbers of their groups.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keeps_groups: bool,
    /// What the models' values stand for.
    #[serde(default, skip_serializing_if = "is_numbers")]
    meaning: Meaning,
    /// How the model was made, where more is known than the writer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
}

fn one() -> usize {
    1
}

fn is_one(degree: &usize) -> bool {
    *degree == 1
}

fn is_numbers(meaning: &Meaning) -> bool {
    *meaning == Meaning::Numbers
}

/// Whether bytes begin like a model file (or like a part of its first eight bytes).
pub fn is_model(bytes: &[u8]) -> bool {
    let length = bytes.len().min(MAGIC.len());
    length > 0 && bytes[..length] == MAGIC[..length]
}

/// The bytes of a model.
pub fn to_bytes(model: &Model) -> Result<Vec<u8>, FormatError> {
    let encoder = &model.encoder;
    let mut numbers = Vec::new();
    let mut function = Vec::new();
    for feature in &encoder.features {
        if let Feature::Number { log, shift, scale, fill, .. } = feature {
            numbers.extend([*shift, *scale, *fill]);
            numbers.extend(log.iter().flat_map(|log| [log.origin, log.unit]));
        }
    }
    if let Some(projection) = &encoder.projection {
        numbers.extend_from_slice(projection.as_slice());
    }
    let (is_linear, points, width, code_columns) = match &model.expansion {
        Expansion::Linear { coefficients } => {
            function.extend_from_slice(coefficients.as_slice());
            (true, 0, coefficients.rows(), 0)
        }
        Expansion::Kernel { points, alpha } => {
            function.extend_from_slice(alpha.as_slice());
            for j in 0..points.features() {
                function.extend_from_slice(points.feature(j));
            }
            (false, points.rows(), points.features(), points.code_columns())
        }
    };
    let mut singles = Vec::new();
    match model.precision {
        Precision::Double => numbers.append(&mut function),
        Precision::Single => singles.extend(function.iter().map(|x| *x as f32)),
    }
    if let Expansion::Kernel { points, .. } = &model.expansion {
        for j in 0..points.code_columns() {
            numbers.extend(points.codes(j).iter().map(|code| f64::from(*code)));
        }
    }
    if let Some(kept) = &model.kept {
        numbers.extend_from_slice(kept.y.as_slice());
        numbers.extend(kept.weights.iter().flatten());
        numbers.extend(kept.groups.iter().flatten().map(|code| f64::from(*code)));
    }
    if numbers.iter().any(|x| !x.is_finite()) || singles.iter().any(|x| !x.is_finite()) {
        return Err(FormatError::NotFinite);
    }
    let header = Header {
        writer: Provenance::of_this_version().program,
        kernel: model.kernel.spec(),
        scale: encoder.scale,
        missing: encoder.missing,
        nonnegative: encoder.nonnegative,
        is_linear,
        points,
        width,
        code_columns,
        degree: encoder.degree,
        is_projected: encoder.projection.is_some(),
        summaries: model.summaries.clone(),
        meaning: model.meaning.clone(),
        keeps_targets: model.kept.is_some(),
        keeps_weights: model.kept.as_ref().is_some_and(|kept| kept.weights.is_some()),
        keeps_groups: model.kept.as_ref().is_some_and(|kept| kept.groups.is_some()),
        provenance: Some(model.provenance.clone()).filter(Provenance::says_more),
    };
    let header = serde_json::to_vec(&header).map_err(|error| FormatError::Header(error.to_string()))?;
    if header.len() > LONGEST_HEADER {
        return Err(FormatError::TooLarge(format!("its header has {} bytes", header.len())));
    }
    let text = text::write(&encoder.features, &encoder.facts)?;
    let of_numbers = 8 * (1 + numbers.len()) + 4 * singles.len();
    let mut bytes = Vec::with_capacity(FIXED + header.len() + text.len() + of_numbers + CHECKSUM);
    let is_single = model.precision == Precision::Single;
    bytes.extend(MAGIC);
    bytes.extend(if is_single { SINGLE_VERSION } else { VERSION }.to_le_bytes());
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend((numbers.len() as u64).to_le_bytes());
    if is_single {
        bytes.extend((singles.len() as u64).to_le_bytes());
    }
    bytes.extend(header);
    bytes.extend(text);
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(singles.iter().flat_map(|number| number.to_le_bytes()));
    let checksum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    Ok(bytes)
}

/// The model that bytes hold.
pub fn from_bytes(bytes: &[u8]) -> Result<Model, FormatError> {
    let sections = Sections::split(bytes)?;
    let header: Header =
        serde_json::from_slice(sections.header).map_err(|error| FormatError::Header(shortened(&error.to_string())))?;
    let kernel = kernel::parse(&header.kernel).map_err(|error| FormatError::Header(shortened(&error.to_string())))?;
    let contradiction = |what: &str| Err(FormatError::Contradiction(what.to_owned()));
    let targets = header.summaries.len();
    if targets == 0 {
        return contradiction("there is no target");
    }
    let length = if header.is_linear { header.width } else { header.points };
    let count = sections.numbers.len() / 8;
    let function = checked_sum([length.checked_mul(targets), header.points.checked_mul(header.width)]);
    let others = checked_sum([
        header.points.checked_mul(header.code_columns),
        if header.keeps_targets { header.points.checked_mul(targets) } else { Some(0) },
        Some(if header.keeps_weights { header.points } else { 0 }),
        Some(if header.keeps_groups { header.points } else { 0 }),
    ]);
    // In single precision the function has its own numbers, and all others are doubles.
    let carried = match sections.singles {
        Some(singles) => others.filter(|_| function == Some(singles.len() / 4)),
        None => checked_sum([function, others]),
    };
    let Some(carried) = carried.filter(|carried| *carried <= count) else {
        return contradiction("its sizes do not fit its numbers");
    };
    let has_more = header.keeps_weights || header.keeps_groups;
    if has_more && !header.keeps_targets || header.keeps_targets && header.is_linear {
        return contradiction("weights or groups without targets, or targets without points");
    }
    if header.is_linear && header.points > 0 {
        return contradiction("a linear function with points");
    }
    // Every feature is a number of each point or a code; every category was seen in a row or has a coefficient.
    let expected_width = if kernel.is_precomputed() { header.points } else { header.width };
    // A projection has numbers for every feature it reads.
    let most_width = if header.is_projected { count } else { expected_width };
    let most_features = most_width.saturating_add(header.code_columns);
    let (mut features, facts) = text::read(sections.text, most_features, most_width.max(header.points))?;
    let mut scales = features.iter().map(|feature| match feature {
        Feature::Number { log: None, .. } => 3,
        Feature::Number { log: Some(_), .. } => 5,
        Feature::Text { .. } => 0_usize,
    });
    let scales = scales.try_fold(0_usize, usize::checked_add);
    let encoder = Encoder {
        features: std::mem::take(&mut features),
        missing: header.missing,
        scale: header.scale,
        nonnegative: header.nonnegative,
        degree: 1,
        projection: None,
        facts,
    };
    let encoded = encoder.width();
    let projection = if header.is_projected { encoded.checked_mul(header.width) } else { Some(0) };
    let said = scales.and_then(|scales| scales.checked_add(carried)?.checked_add(projection?));
    if said != Some(count) {
        return contradiction("its sizes do not fit its numbers");
    }

    let mut numbers = Numbers { bytes: sections.numbers };
    let mut singles = sections.singles.map(|bytes| Singles { bytes });
    let mut encoder = encoder;
    for feature in &mut encoder.features {
        if let Feature::Number { log, shift, scale, fill, .. } = feature {
            [*shift, *scale, *fill] = [numbers.one()?, numbers.one()?, numbers.one()?];
            if let Some(log) = log {
                [log.origin, log.unit] = [numbers.one()?, numbers.one()?];
            }
            if *scale == 0.0 || log.is_some_and(|log| log.unit == 0.0) {
                return contradiction("a feature is scaled by 0");
            }
        }
    }
    if header.is_projected {
        if kernel.is_precomputed() || header.is_linear {
            return contradiction("a learned metric with a kernel that has none");
        }
        encoder.projection = Some(numbers.matrix(encoded, header.width)?);
    }
    if header.degree != 1 {
        // Counted before anything is made of it: a degree must give just the width that is there.
        let is_linear = header.is_linear && !header.is_projected && header.code_columns == 0;
        let most = header.width.saturating_add(1);
        if !is_linear || header.degree == 0 || monomials::monomials(encoded, header.degree, most).is_err() {
            return contradiction("its degree does not fit its features");
        }
        encoder.degree = header.degree;
    }
    let coded = |feature: &&Feature| matches!(feature, Feature::Text { text_as: TextAs::Equality, .. });
    if encoder.points_width() != expected_width || encoder.features.iter().filter(coded).count() != header.code_columns
    {
        return contradiction("its features do not fit its points");
    }
    kernel.check(header.width, header.code_columns).map_err(|error| FormatError::Contradiction(error.to_string()))?;
    if header.is_linear && kernel.linear_scale().is_none() {
        return contradiction("a linear function with another kernel");
    }
    let mut of_function = |rows: usize, cols: usize| match &mut singles {
        Some(singles) => singles.matrix(rows, cols),
        None => numbers.matrix(rows, cols),
    };
    let coefficients = of_function(length, targets)?;
    let expansion = if header.is_linear {
        Expansion::Linear { coefficients }
    } else {
        let x = of_function(header.points, header.width)?;
        let codes = (0..header.code_columns)
            .map(|_| (0..header.points).map(|_| numbers.code()).collect())
            .collect::<Result<_, _>>()?;
        Expansion::Kernel { points: Points::with_codes(&x, codes), alpha: coefficients }
    };
    let kept = if header.keeps_targets {
        let y = numbers.matrix(header.points, targets)?;
        let weights = header.keeps_weights.then(|| (0..header.points).map(|_| numbers.one()).collect()).transpose()?;
        let groups = header.keeps_groups.then(|| (0..header.points).map(|_| numbers.code()).collect()).transpose()?;
        let kept = KeptTargets { y, weights, groups };
        kept.check().map_err(|error| FormatError::Contradiction(error.to_string()))?;
        Some(kept)
    } else {
        None
    };
    if header.summaries.iter().filter_map(|summary| summary.clip).any(|[low, high]| !(low <= high)) {
        return contradiction("predictions are kept within a range that has no numbers");
    }
    if header.summaries.iter().any(|summary| !summary.intercept.is_finite()) {
        return Err(FormatError::NotFinite);
    }
    header.meaning.check(targets).map_err(FormatError::Contradiction)?;
    let precision = if sections.singles.is_some() { Precision::Single } else { Precision::Double };
    // What files of older versions and of libraries say of it.
    let provenance = header.provenance.unwrap_or_else(|| Provenance::of_program(&header.writer));
    let (summaries, meaning) = (header.summaries, header.meaning);
    Ok(Model { encoder, kernel, expansion, summaries, meaning, kept, precision, provenance })
}

fn checked_sum<const N: usize>(parts: [Option<usize>; N]) -> Option<usize> {
    parts.into_iter().try_fold(0_usize, |sum, part| sum.checked_add(part?))
}

/// A message that quotes a file does not repeat the whole of it.
fn shortened(message: &str) -> String {
    const LONGEST: usize = 300;
    if message.chars().count() <= LONGEST {
        message.to_owned()
    } else {
        message.chars().take(LONGEST).chain(['…']).collect()
    }
}
