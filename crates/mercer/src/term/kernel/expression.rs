//! Reads kernel specs: `0.5*linear + gaussian(lengthscale=2)*(spline0 + linear)`.

use std::sync::Arc;

use super::combine::{Combined, Scaled};
use super::special::Normalized;
use super::{SharedKernel, all, waves};
use crate::base::error::{Error, Result};
use crate::base::table::{Reader, build};

/// Deepest nesting of parentheses; specs come from files too, and a stack is finite.
const DEEPEST: usize = 32;

/// The kernel that a spec describes.
///
/// ```
/// let kernel = mercer::kernel::parse("0.5*linear + gaussian(lengthscale=1.5)")?;
/// assert_eq!(kernel.spec(), "0.5*linear + gaussian(lengthscale=1.5)");
/// let error = mercer::kernel::parse("gauss").unwrap_err().to_string();
/// assert!(error.ends_with("did you mean gaussian?"));
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn parse(spec: &str) -> Result<SharedKernel> {
    let mut reader = Reader::new(spec);
    let kernel = sum(&mut reader, 0)?;
    if !reader.is_done() {
        return Err(reader.error("'+', '*' or the end"));
    }
    Ok(kernel)
}

fn sum(reader: &mut Reader<'_>, depth: usize) -> Result<SharedKernel> {
    let mut parts = vec![product(reader, depth)?];
    while reader.take('+') {
        parts.push(product(reader, depth)?);
    }
    single_or(parts, Combined::sum)
}

fn product(reader: &mut Reader<'_>, depth: usize) -> Result<SharedKernel> {
    let mut factor = None;
    let mut parts = Vec::new();
    loop {
        if let Some(number) = reader.number() {
            factor = Some(factor.unwrap_or(1.0) * number);
        } else {
            parts.push(atom(reader, depth)?);
        }
        if !reader.take('*') {
            break;
        }
    }
    if parts.is_empty() {
        return Err(reader.error("'*' and a kernel"));
    }
    let kernel = single_or(parts, Combined::product)?;
    match factor {
        None => Ok(kernel),
        Some(factor) if factor > 0.0 && factor.is_finite() => Ok(Arc::new(Scaled::new(factor, kernel))),
        Some(factor) => Err(Error::argument("the factor of a kernel", "positive and finite", factor)),
    }
}

fn single_or(mut parts: Vec<SharedKernel>, many: fn(Vec<SharedKernel>) -> Combined) -> Result<SharedKernel> {
    if parts.len() == 1 {
        return Ok(parts.swap_remove(0));
    }
    if parts.iter().any(|part| part.is_precomputed()) {
        return Err(Error::NotAKernel("a precomputed kernel stands alone: it has no other features".into()));
    }
    Ok(Arc::new(many(parts)))
}

fn atom(reader: &mut Reader<'_>, depth: usize) -> Result<SharedKernel> {
    if reader.take('(') {
        if depth == DEEPEST {
            return Err(reader.error("fewer parentheses"));
        }
        let kernel = sum(reader, depth + 1)?;
        reader.expect(')')?;
        return Ok(kernel);
    }
    let name = reader.word().ok_or_else(|| reader.error("a kernel's name or a number"))?;
    if let "normalized" | "waves" = name {
        reader.expect('(')?;
        if depth == DEEPEST {
            return Err(reader.error("fewer parentheses"));
        }
        let inner = sum(reader, depth + 1)?;
        reader.expect(')')?;
        return if name == "waves" { waves::of(inner) } else { normalized(inner) };
    }
    match name.strip_prefix("normalized-") {
        Some(inner) if !inner.is_empty() => normalized(build("kernel", &all(), inner, reader.arguments()?)?),
        _ => build("kernel", &all(), name, reader.arguments()?),
    }
}

fn normalized(inner: SharedKernel) -> Result<SharedKernel> {
    if inner.is_precomputed() {
        return Err(Error::NotAKernel("a precomputed kernel cannot be normalised: pass it normalised".into()));
    }
    Ok(Arc::new(Normalized::new(inner)))
}
