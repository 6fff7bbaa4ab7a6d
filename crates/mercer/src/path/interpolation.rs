//! Polynomials between the points of a table, for many rows at a time.
//!
//! Through [`POINTS`] equidistant points around the middle of a cell runs one polynomial; what is used of it are its first
//! coefficients in powers of s, the position in the cell (−1 at its left end, 1 at its right). Points that lie alike on
//! both sides of the middle make the even and the odd coefficients two small problems with the same weights. Products are
//! fused: whether a processor has the instruction or not, it rounds alike.

use std::array;

/// Rows that are treated together: two registers of eight.
pub(crate) const LANES: usize = 16;
/// One number of every row of a block.
pub(crate) type Lanes = [f64; LANES];
/// Points that one polynomial uses.
pub(crate) const POINTS: usize = 22;
/// Points beyond the cells that are used, on either side.
pub(crate) const MARGIN: usize = POINTS / 2 - 1;

/// Coefficients that are kept of either parity.
const KEPT: usize = 5;
/// Coefficients in powers of s.
pub(crate) const COEFFICIENTS: usize = 2 * KEPT;

/// A polynomial of every row, in powers of s.
pub(crate) type Polynomials = [Lanes; COEFFICIENTS];

/// What the values at the points are multiplied by.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    /// `[k][j]`: the coefficient of s²ᵏ in Lagrange's polynomial, in s², of the points ±(2j + 1).
    even: [[f64; POINTS / 2]; KEPT],
}

impl Weights {
    pub fn new() -> Self {
        let nodes: [f64; POINTS / 2] = array::from_fn(|j| ((2 * j + 1) * (2 * j + 1)) as f64);
        let mut even = [[0.0; POINTS / 2]; KEPT];
        for j in 0..POINTS / 2 {
            // Π (t − tᵢ)/(tⱼ − tᵢ) over the other nodes, multiplied out.
            let mut product = [0.0; POINTS / 2];
            product[0] = 1.0;
            for i in (0..POINTS / 2).filter(|i| *i != j) {
                for k in (0..POINTS / 2).rev() {
                    let shifted = if k > 0 { product[k - 1] } else { 0.0 };
                    product[k] = (shifted - nodes[i] * product[k]) / (nodes[j] - nodes[i]);
                }
            }
            even.iter_mut().zip(product).for_each(|(row, coefficient)| row[j] = coefficient);
        }
        Weights { even }
    }

    /// The polynomials of the cell between points `cell` and `cell + 1` of a table, written in place: moving them takes as long as making them.
    #[inline(always)]
    pub fn polynomials(&self, table: &[Lanes], cell: usize, out: &mut Polynomials) {
        let values = &table[cell - MARGIN..cell - MARGIN + POINTS];
        for k in 0..COEFFICIENTS {
            for l in 0..LANES {
                out[k][l] = 0.0;
            }
        }
        for j in 0..POINTS / 2 {
            let (left, right) = (&values[MARGIN - j], &values[MARGIN + 1 + j]);
            let odd_scale = 0.5 / (2 * j + 1) as f64;
            let mut sum = [0.0; LANES];
            let mut difference = [0.0; LANES];
            for l in 0..LANES {
                sum[l] = 0.5 * (right[l] + left[l]);
                difference[l] = odd_scale * (right[l] - left[l]);
            }
            for k in 0..KEPT {
                let weight = self.even[k][j];
                for l in 0..LANES {
                    out[2 * k][l] = weight.mul_add(sum[l], out[2 * k][l]);
                    out[2 * k + 1][l] = weight.mul_add(difference[l], out[2 * k + 1][l]);
                }
            }
        }
    }
}

/// The power series of log p, from that of p (of which something else is left) and from log p(−1), which the table has.
#[inline(always)]
pub(crate) fn logarithm(p: &mut Polynomials, at_left: &Lanes, out: &mut Polynomials) {
    let mut inverse = [0.0; LANES];
    for l in 0..LANES {
        inverse[l] = 1.0 / p[0][l];
    }
    // k lₖ = k pₖ − Σ j lⱼ pₖ₋ⱼ, with p₀ = 1.
    for k in 1..COEFFICIENTS {
        let mut own = [0.0; LANES];
        for l in 0..LANES {
            p[k][l] *= inverse[l];
            own[l] = k as f64 * p[k][l];
        }
        for j in 1..k {
            for l in 0..LANES {
                own[l] = (-out[j][l]).mul_add(p[k - j][l], own[l]);
            }
        }
        out[k] = own;
    }
    let mut rest = [0.0; LANES];
    for k in (1..COEFFICIENTS).rev() {
        let share = 1.0 / k as f64;
        for l in 0..LANES {
            out[k][l] *= share;
            rest[l] = -(rest[l] + out[k][l]);
        }
    }
    for l in 0..LANES {
        out[0][l] = at_left[l] - rest[l];
    }
}

/// Values at s.
#[inline(always)]
pub(crate) fn value(p: &Polynomials, s: &Lanes) -> Lanes {
    let mut out = p[COEFFICIENTS - 1];
    for k in (0..COEFFICIENTS - 1).rev() {
        for l in 0..LANES {
            out[l] = out[l].mul_add(s[l], p[k][l]);
        }
    }
    out
}

/// Values and slopes at s.
#[inline(always)]
pub(crate) fn value_and_slope(p: &Polynomials, s: &Lanes) -> (Lanes, Lanes) {
    let mut value = p[COEFFICIENTS - 1];
    let mut slope: Lanes = [0.0; LANES];
    for k in (0..COEFFICIENTS - 1).rev() {
        for l in 0..LANES {
            slope[l] = slope[l].mul_add(s[l], value[l]);
            value[l] = value[l].mul_add(s[l], p[k][l]);
        }
    }
    (value, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of logistic functions a quarter apart, as tables of paths are, and their logarithms.
    #[test]
    fn polynomials_and_their_logarithms_are_the_functions() {
        let step = 0.25;
        let curve = |x: f64, lane: usize| {
            let share = |d: f64| d / ((d + x.exp()) * (d + x.exp()));
            share(1.0) + 1e-4 * (1.0 + lane as f64) * share(1e-3)
        };
        let at = |g: usize| -8.0 + step * g as f64;
        let table: Vec<Lanes> = (0..80).map(|g| array::from_fn(|l| curve(at(g), l))).collect();
        let weights = Weights::new();
        let (mut worst, mut worst_log, mut worst_slope): (f64, f64, f64) = (0.0, 0.0, 0.0);
        for cell in MARGIN..80 - MARGIN - 1 {
            let (mut p, mut log) = ([[0.0; LANES]; COEFFICIENTS], [[0.0; LANES]; COEFFICIENTS]);
            weights.polynomials(&table, cell, &mut p);
            logarithm(&mut p.clone(), &array::from_fn(|l| table[cell][l].ln()), &mut log);
            for s in [-1.0, -0.6, 0.0, 0.3, 1.0] {
                let (values, slopes) = value_and_slope(&log, &[s; LANES]);
                for l in 0..LANES {
                    let x = at(cell) + step * (s + 1.0) / 2.0;
                    let want = curve(x, l);
                    worst = worst.max((value(&p, &[s; LANES])[l] / want - 1.0).abs());
                    worst_log = worst_log.max((values[l] - want.ln()).abs());
                    let slope = (curve(x + 1e-5, l).ln() - curve(x - 1e-5, l).ln()) / 2e-5 * step / 2.0;
                    worst_slope = worst_slope.max((slopes[l] - slope).abs());
                }
            }
        }
        assert!(worst < 1e-10 && worst_log < 1e-10 && worst_slope < 1e-7, "{worst:e} {worst_log:e} {worst_slope:e}");
    }
}
