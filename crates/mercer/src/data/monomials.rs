//! Polynomial features: all monomials up to a degree.

use crate::base::error::{Error, Result};
use crate::linalg::Matrix;
use crate::linalg::double::Double;

/// The highest degree that is offered; beyond it powers say nothing that arithmetic could tell apart.
pub const HIGHEST: usize = 30;

/// The most numbers an expansion may have: 8 GiB of them.
const MOST: usize = 1 << 30;

/// Columns Π xⱼ^eⱼ, in twice the precision: rounding the powers of a badly conditioned polynomial fit to f64 would
/// cost more digits than solving it.
#[derive(Debug, Clone, PartialEq)]
pub struct Expanded {
    /// Monomials rounded to f64.
    pub high: Matrix,
    /// What rounding left: monomial = high + low.
    pub low: Matrix,
    /// `x1`, `x1^2*x3`, …
    pub names: Vec<String>,
}

/// The exponents of all monomials of degree 1 to `degree` in `columns` variables: by degree, then in the order of the
/// variables. Refused when there would be more than `most`.
pub fn monomials(columns: usize, degree: usize, most: usize) -> Result<Vec<Vec<(usize, usize)>>> {
    let count = count(columns, degree).filter(|count| *count <= most).ok_or_else(|| {
        Error::argument(
            "the degree of the features",
            format!("such that there are at most {most} monomials"),
            format!("degree {degree} in {columns} columns"),
        )
    })?;
    let mut out = Vec::with_capacity(count);
    for total in 1..=degree {
        extend(columns, 0, total, &mut Vec::new(), &mut out);
    }
    Ok(out)
}

/// (columns + degree choose degree) − 1, unless that overflows.
pub(crate) fn count(columns: usize, degree: usize) -> Option<usize> {
    // The smaller of the two is the number of factors, so that a huge degree or width ends at once by overflow.
    let (few, many) = (columns.min(degree), columns.max(degree));
    let mut result: u128 = 1;
    for k in 1..=few {
        result = result.checked_mul((many + k) as u128)? / k as u128;
        if result > u128::from(u64::MAX) {
            return None;
        }
    }
    usize::try_from(result - 1).ok()
}

fn extend(
    columns: usize,
    first: usize,
    left: usize,
    so_far: &mut Vec<(usize, usize)>,
    out: &mut Vec<Vec<(usize, usize)>>,
) {
    if left == 0 {
        out.push(so_far.clone());
        return;
    }
    for column in first..columns {
        for exponent in (1..=left).rev() {
            so_far.push((column, exponent));
            extend(columns, column + 1, left - exponent, so_far, out);
            so_far.pop();
        }
    }
}

/// All monomials of degree 1 to `degree` of the columns of `x`. `names` are the columns' own; `x1`, `x2`, … if none
/// are given.
pub fn polynomial(x: &Matrix, degree: usize, names: Option<&[String]>) -> Result<Expanded> {
    if let Some(names) = names.filter(|names| names.len() != x.cols()) {
        return Err(Error::shape("the names", format!("{} entries, one a column", x.cols()), names.len()));
    }
    let terms = monomials(x.cols(), degree, MOST / x.rows().max(1))?;
    let name = |j: usize| names.map_or_else(|| format!("x{}", j + 1), |names| names[j].clone());
    let mut out = Expanded {
        high: Matrix::zeros(x.rows(), terms.len()),
        low: Matrix::zeros(x.rows(), terms.len()),
        names: Vec::with_capacity(terms.len()),
    };
    for (t, term) in terms.iter().enumerate() {
        for i in 0..x.rows() {
            let mut product = Double::new(1.0);
            for (column, exponent) in term {
                for _ in 0..*exponent {
                    product = product.times(Double::new(x.get(i, *column)));
                }
            }
            if !product.value().is_finite() {
                let column = term.iter().map(|(j, _)| name(*j)).collect::<Vec<_>>().join("*");
                return Err(Error::cell(i + 1, column, format!("has no finite power of degree {degree}")));
            }
            out.high.set(i, t, product.high);
            out.low.set(i, t, product.low);
        }
        let factors: Vec<String> =
            term.iter().map(|(j, e)| if *e == 1 { name(*j) } else { format!("{}^{e}", name(*j)) }).collect();
        out.names.push(factors.join("*"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monomials_are_counted_before_they_are_made() {
        assert_eq!(count(3, 2), Some(9));
        assert_eq!(monomials(3, 2, 9).unwrap().len(), 9);
        assert!(monomials(3, 2, 8).is_err());
        assert!(monomials(100_000, 100_000, usize::MAX).is_err());
        assert_eq!(monomials(0, 3, 10).unwrap().len(), 0);
        let x = Matrix::from_rows(&[[2.0, 3.0, 5.0]]).unwrap();
        let all = polynomial(&x, 3, None).unwrap();
        assert_eq!(all.names.len(), 19);
        assert_eq!(&all.names[..4], &["x1", "x2", "x3", "x1^2"]);
        let place = all.names.iter().position(|n| n == "x1^2*x3").unwrap();
        assert_eq!(all.high.get(0, place), 20.0);
        let x = Matrix::from_rows(&[[1e200]]).unwrap();
        assert!(polynomial(&x, 2, None).is_err());
    }
}
