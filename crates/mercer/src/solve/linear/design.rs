//! X and y as the Lasso's solver wants them: centred, rows scaled by the roots of their weights.
//!
//! The problem becomes ½‖y − Xw‖² + a‖w‖₁ + ½β‖w‖² (the objective times W/2), without offset and weights. A sparse
//! matrix stays sparse: its centring is carried along as a rank-one term.

use std::borrow::Cow;

use rayon::prelude::*;

use super::check;
use super::features::{Features, add_scaled, dot};
use super::sparse::{Sparse, gather};
use crate::base::error::Result;
use crate::linalg::{Matrix, block_products};

/// Columns that one task works on.
const COLUMNS: usize = 32;

enum Columns<'a> {
    Dense(Cow<'a, Matrix>),
    /// Column j is values − mean·roots.
    Sparse {
        values: Cow<'a, Sparse>,
        means: Vec<f64>,
        roots: Vec<f64>,
    },
}

pub(crate) struct Design<'a> {
    columns: Columns<'a>,
    /// W.
    pub total: f64,
    /// Centred and scaled.
    pub y: Vec<f64>,
    /// Column means; zeros without an offset.
    pub means: Vec<f64>,
    pub target_mean: f64,
    /// ‖xⱼ‖, centred and scaled.
    pub norms: Vec<f64>,
    pub offset: bool,
}

impl<'a> Design<'a> {
    pub fn new(x: &'a Features, y: &[f64], weights: Option<&[f64]>, offset: bool) -> Result<Self> {
        let total = check(x, y, weights)?;
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let means = if offset { x.means(weights) } else { vec![0.0; x.cols()] };
        let mean_y = |shift: f64| y.iter().enumerate().map(|(i, y)| weight(i) * (y - shift)).sum::<f64>() / total;
        // Twice: the second time takes away what rounding left of the first.
        let target_mean = if offset { mean_y(0.0) + mean_y(mean_y(0.0)) } else { 0.0 };
        let roots: Option<Vec<f64>> = weights.map(|w| w.iter().map(|w| w.sqrt()).collect());
        let target: Vec<f64> =
            y.iter().enumerate().map(|(i, y)| (y - target_mean) * roots.as_ref().map_or(1.0, |r| r[i])).collect();
        let columns = match x {
            Features::Dense(matrix) if !offset && weights.is_none() => Columns::Dense(Cow::Borrowed(matrix)),
            Features::Dense(matrix) => Columns::Dense(Cow::Owned(prepare(matrix, &means, roots.as_deref()))),
            Features::Sparse(sparse) => Columns::Sparse {
                values: roots.as_ref().map_or(Cow::Borrowed(sparse), |r| Cow::Owned(sparse.scale_rows(r))),
                means: means.clone(),
                roots: roots.unwrap_or_else(|| vec![1.0; x.rows()]),
            },
        };
        let mut design = Design { columns, total, y: target, means, target_mean, norms: Vec::new(), offset };
        design.norms = (0..x.cols()).into_par_iter().with_min_len(64).map(|j| design.norm(j)).collect();
        Ok(design)
    }

    pub fn rows(&self) -> usize {
        self.y.len()
    }

    pub fn cols(&self) -> usize {
        self.means.len()
    }

    pub fn is_sparse(&self) -> bool {
        matches!(self.columns, Columns::Sparse { .. })
    }

    /// Stored entries of column j.
    pub fn stored(&self, j: usize) -> usize {
        match &self.columns {
            Columns::Dense(x) => x.rows(),
            Columns::Sparse { values, .. } => values.col(j).0.len(),
        }
    }

    fn norm(&self, j: usize) -> f64 {
        let square = match &self.columns {
            Columns::Dense(x) => dot(x.col(j), x.col(j)),
            Columns::Sparse { values, means, .. } => {
                let own: f64 = values.col(j).1.iter().map(|v| v * v).sum();
                own - self.total * means[j] * means[j]
            }
        };
        // What is left of a constant column after centring is rounding.
        let uncentred = square + self.total * self.means[j] * self.means[j];
        if square <= 1e-24 * uncentred { 0.0 } else { square.sqrt() }
    }

    /// xⱼᵀ r for a centred r.
    pub fn correlation(&self, j: usize, r: &[f64]) -> f64 {
        match &self.columns {
            Columns::Dense(x) => dot(x.col(j), r),
            Columns::Sparse { values, .. } => gather(values.col(j), r),
        }
    }

    /// xⱼᵀ r for a centred r and all j of `which`, on all cores.
    pub fn correlations(&self, r: &[f64], which: &[usize], out: &mut Vec<f64>) {
        out.clear();
        out.resize(which.len(), 0.0);
        out.par_chunks_mut(COLUMNS * if self.is_sparse() { 32 } else { 1 }).enumerate().for_each(|(chunk, out)| {
            let start = chunk * COLUMNS * if self.is_sparse() { 32 } else { 1 };
            for (k, out) in out.iter_mut().enumerate() {
                *out = self.correlation(which[start + k], r);
            }
        });
    }

    /// y − Σ wⱼxⱼ over the pairs (j, wⱼ).
    pub fn residual(&self, support: &[(usize, f64)]) -> Vec<f64> {
        let mut r = self.y.clone();
        match &self.columns {
            Columns::Dense(x) => r.par_chunks_mut(256).enumerate().for_each(|(chunk, r)| {
                let range = chunk * 256..chunk * 256 + r.len();
                for (j, w) in support {
                    add_scaled(r, -w, &x.col(*j)[range.clone()]);
                }
            }),
            Columns::Sparse { values, means, roots } => {
                let mut shift = 0.0;
                for (j, w) in support {
                    scatter(&mut r, -w, values.col(*j));
                    shift += w * means[*j];
                }
                if self.offset {
                    add_scaled(&mut r, shift, roots);
                }
            }
        }
        self.recentre(&mut r);
        r
    }

    /// Takes out of r what rounding put along the constant.
    fn recentre(&self, r: &mut [f64]) {
        if !self.offset {
            return;
        }
        match &self.columns {
            Columns::Sparse { roots, .. } => {
                let share = dot(r, roots) / self.total;
                add_scaled(r, -share, roots);
            }
            Columns::Dense(_) => {}
        }
    }

    /// Column j added to `r` with a factor; for sparse columns without their centring, whose share is returned.
    pub fn add_column(&self, r: &mut [f64], factor: f64, j: usize) -> f64 {
        match &self.columns {
            Columns::Dense(x) => {
                add_scaled(r, factor, x.col(j));
                0.0
            }
            Columns::Sparse { values, means, .. } => {
                scatter(r, factor, values.col(j));
                -factor * means[j]
            }
        }
    }

    /// r + shift·roots, which is what [`Design::add_column`] left out.
    pub fn add_shift(&self, r: &mut [f64], shift: f64) {
        if let Columns::Sparse { roots, .. } = &self.columns {
            add_scaled(r, shift, roots);
        }
    }

    /// xⱼᵀ roots, that is W times the mean: 0 for dense columns, which are centred.
    pub fn column_sum(&self, j: usize) -> f64 {
        match &self.columns {
            Columns::Dense(_) => 0.0,
            Columns::Sparse { means, .. } => self.total * means[j],
        }
    }

    /// Some of the columns, to be multiplied many times.
    pub fn restrict(&self, columns: &[usize]) -> Restricted<'_> {
        match &self.columns {
            Columns::Dense(x) => Restricted::Dense { x, columns: columns.to_vec() },
            Columns::Sparse { values, means, roots } => Restricted::Sparse {
                x: values.select_cols(columns),
                means: columns.iter().map(|j| means[*j]).collect(),
                roots,
            },
        }
    }

    /// Copies column j (dense designs), to be kept beside others.
    pub fn pack(&self, j: usize, out: &mut Vec<f64>) {
        if let Columns::Dense(x) = &self.columns {
            out.extend_from_slice(x.col(j));
        }
    }

    /// X_aᵀ X_b, a × b; `packed` holds the columns a, then b, of a dense design.
    pub fn products(&self, a: &[usize], b: &[usize], packed_a: &[f64], packed_b: &[f64]) -> Matrix {
        let mut out = Matrix::zeros(a.len(), b.len());
        match &self.columns {
            Columns::Dense(_) => block_products(packed_a, packed_b, self.rows(), &mut out),
            Columns::Sparse { values, means, .. } => {
                out.as_mut_slice().par_chunks_mut(a.len().max(1)).enumerate().for_each_init(
                    || vec![0.0; self.rows()],
                    |spread, (k, out)| {
                        let (rows, entries) = values.col(b[k]);
                        for (i, v) in rows.iter().zip(entries) {
                            spread[*i as usize] = *v;
                        }
                        for (out, j) in out.iter_mut().zip(a) {
                            *out = gather(values.col(*j), spread) - self.total * means[*j] * means[b[k]];
                        }
                        rows.iter().for_each(|i| spread[*i as usize] = 0.0);
                    },
                );
            }
        }
        out
    }
}

/// Some columns of a design, with rows at hand where columns alone are slow.
pub(crate) enum Restricted<'a> {
    Dense { x: &'a Matrix, columns: Vec<usize> },
    Sparse { x: Sparse, means: Vec<f64>, roots: &'a [f64] },
}

impl Restricted<'_> {
    /// X v and XᵀX v.
    pub fn multiply(&self, v: &[f64]) -> (Vec<f64>, Vec<f64>) {
        match self {
            Restricted::Dense { x, columns } => {
                let mut image = vec![0.0; x.rows()];
                image.par_chunks_mut(256).enumerate().for_each(|(chunk, image)| {
                    let range = chunk * 256..chunk * 256 + image.len();
                    for (j, v) in columns.iter().zip(v) {
                        add_scaled(image, *v, &x.col(*j)[range.clone()]);
                    }
                });
                let back = columns.par_iter().with_min_len(COLUMNS).map(|j| dot(x.col(*j), &image)).collect();
                (image, back)
            }
            Restricted::Sparse { x, means, roots } => {
                let mut image = x.multiply(v);
                let shift = dot(means, v);
                if shift != 0.0 {
                    add_scaled(&mut image, -shift, roots);
                }
                // The image is centred as far as the columns are, so their means meet nothing.
                let back = x.multiply_transposed(&image);
                (image, back)
            }
        }
    }
}

fn scatter(r: &mut [f64], factor: f64, (rows, values): (&[u32], &[f64])) {
    for (i, v) in rows.iter().zip(values) {
        r[*i as usize] += factor * v;
    }
}

/// (x − mean)·root, column by column; the mean of what comes out is taken away once more.
fn prepare(x: &Matrix, means: &[f64], roots: Option<&[f64]>) -> Matrix {
    let rows = x.rows();
    let mut out = x.clone();
    let total = roots.map_or(rows as f64, |r| r.iter().map(|r| r * r).sum());
    out.as_mut_slice().par_chunks_mut(rows.max(1)).enumerate().for_each(|(j, column)| {
        let mean = means[j];
        if mean != 0.0 {
            column.iter_mut().for_each(|v| *v -= mean);
            let left = match roots {
                None => column.iter().sum::<f64>() / total,
                Some(r) => column.iter().zip(r).map(|(v, r)| v * r * r).sum::<f64>() / total,
            };
            column.iter_mut().for_each(|v| *v -= left);
        }
        if let Some(roots) = roots {
            column.iter_mut().zip(roots).for_each(|(v, r)| *v *= r);
        }
    });
    out
}
