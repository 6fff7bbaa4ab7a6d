//! What is below the diagonal of a symmetric matrix, stored in the order in which a product with a vector reads it: four columns at a
//! time, eight rows at a time, from the first column to the last. A pass through it is one stream, which is what caches can foresee.

use super::super::Matrix;
use crate::linalg::simd::vectorize;

/// Rows of a tile: the numbers of a register.
pub(super) const WIDTH: usize = 8;
/// Columns of a tile.
const COLUMNS: usize = 4;
/// Tiles below each other that an update treats together: as many sums as registers hold.
const TALL: usize = 4;

pub(super) type Lanes = [f64; WIDTH];

/// Eight rows of four columns, where a cache line begins.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Tile([Lanes; COLUMNS]);

/// The strict lower triangle of a matrix; zero elsewhere, and in rows and columns beyond its own.
pub(super) struct Triangle {
    tiles: Vec<Tile>,
    /// Where each group of columns begins; its first tile is that of its diagonal.
    starts: Vec<usize>,
    /// Tiles below each other.
    height: usize,
}

/// The tile that holds this row.
fn tile_of(row: usize) -> usize {
    row / WIDTH
}

impl Triangle {
    pub fn of(a: &Matrix) -> Self {
        let (n, height) = (a.rows(), a.rows().div_ceil(WIDTH));
        let groups = n.div_ceil(COLUMNS);
        let mut starts = Vec::with_capacity(groups + 1);
        let mut count = 0;
        for group in 0..groups {
            starts.push(count);
            count += height - tile_of(COLUMNS * group);
        }
        starts.push(count);
        let mut tiles = vec![Tile([[0.0; WIDTH]; COLUMNS]); count];
        for j in 0..n {
            let first = WIDTH * tile_of(COLUMNS * (j / COLUMNS));
            let own = &mut tiles[starts[j / COLUMNS]..starts[j / COLUMNS + 1]];
            // The first tiles cross the diagonal.
            for i in j + 1..n.min(first + 2 * WIDTH) {
                own[(i - first) / WIDTH].0[j % COLUMNS][i % WIDTH] = a.get(i, j);
            }
            let rest = &a.col(j)[n.min(first + 2 * WIDTH)..];
            for (tile, part) in own.iter_mut().skip(2).zip(rest.chunks(WIDTH)) {
                tile.0[j % COLUMNS][..part.len()].copy_from_slice(part);
            }
        }
        Triangle { tiles, starts, height }
    }

    /// Rows with what is beyond the matrix: a whole number of tiles.
    pub fn rows(&self) -> usize {
        WIDTH * self.height
    }

    fn groups(&self) -> usize {
        self.starts.len() - 1
    }

    /// Column j below its diagonal, zero elsewhere.
    pub fn column(&self, j: usize, out: &mut [f64]) {
        let group = j / COLUMNS;
        let first = tile_of(COLUMNS * group);
        out[..WIDTH * first].fill(0.0);
        let tiles = &self.tiles[self.starts[group]..self.starts[group + 1]];
        for (tile, out) in tiles.iter().zip(out[WIDTH * first..].as_chunks_mut::<WIDTH>().0) {
            *out = tile.0[j % COLUMNS];
        }
    }

    /// Adds the product with v, which is zero before `from`, and with the other triangle, which is the same; what is before `from` means nothing.
    pub fn add_product(&self, v: &[f64], from: usize, image: &mut [f64]) {
        let groups = from / COLUMNS..self.groups();
        // Forwards and backwards in turn: what was read last is still near.
        if from.is_multiple_of(2) {
            groups.for_each(|group| self.add_group(v, group, image));
        } else {
            groups.rev().for_each(|group| self.add_group(v, group, image));
        }
    }

    fn add_group(&self, v: &[f64], group: usize, image: &mut [f64]) {
        let first = COLUMNS * group;
        let tiles = &self.tiles[self.starts[group]..self.starts[group + 1]];
        let from = WIDTH * tile_of(first);
        // Columns beyond the last one are beside a last row that may be there.
        let factors: Lanes = std::array::from_fn(|i| v.get(first + i).copied().unwrap_or(0.0));
        let (own, v) = (image[from..].as_chunks_mut::<WIDTH>().0, v[from..].as_chunks::<WIDTH>().0);
        let sums = vectorize(
            #[inline(always)]
            || {
                let [mut p, mut q, mut r, mut s] = [[0.0; WIDTH]; COLUMNS];
                for (Tile([a, b, c, d]), (image, v)) in tiles.iter().zip(own.iter_mut().zip(v)) {
                    let mut sum = *image;
                    for l in 0..WIDTH {
                        sum[l] = a[l].mul_add(factors[0], sum[l]);
                    }
                    for l in 0..WIDTH {
                        p[l] = a[l].mul_add(v[l], p[l]);
                    }
                    for l in 0..WIDTH {
                        sum[l] = b[l].mul_add(factors[1], sum[l]);
                    }
                    for l in 0..WIDTH {
                        q[l] = b[l].mul_add(v[l], q[l]);
                    }
                    for l in 0..WIDTH {
                        sum[l] = c[l].mul_add(factors[2], sum[l]);
                    }
                    for l in 0..WIDTH {
                        r[l] = c[l].mul_add(v[l], r[l]);
                    }
                    for l in 0..WIDTH {
                        sum[l] = d[l].mul_add(factors[3], sum[l]);
                    }
                    for l in 0..WIDTH {
                        s[l] = d[l].mul_add(v[l], s[l]);
                    }
                    *image = sum;
                }
                [p, q, r, s]
            },
        );
        for (image, sums) in image[first..].iter_mut().zip(&sums) {
            *image += total(sums);
        }
    }

    /// A − Σ l rᵀ from row and column `start` on, a multiple of [`WIDTH`]: `left` and `right` have the columns l and r.
    pub fn subtract(&mut self, start: usize, left: &[&[f64]], right: &[&[f64]]) {
        let first = tile_of(start);
        // For each group what its columns are multiplied by, one after the other.
        let factors: Vec<Vec<[f64; COLUMNS]>> = (start / COLUMNS..self.groups())
            .map(|group| {
                let of = |column: &&[f64]| {
                    std::array::from_fn(|i| column.get(COLUMNS * group + i).map_or(0.0, |factor| -factor))
                };
                right.iter().map(of).collect()
            })
            .collect();
        let mut packed = vec![[[0.0; WIDTH]; TALL]; left.len()];
        for top in (first..self.height).step_by(TALL) {
            let tall = TALL.min(self.height - top);
            for (packed, column) in packed.iter_mut().zip(left) {
                let rows = column[WIDTH * top..].as_chunks::<WIDTH>().0;
                packed[..tall].copy_from_slice(&rows[..tall]);
            }
            for (group, factors) in (start / COLUMNS..self.groups()).zip(&factors) {
                let diagonal = tile_of(COLUMNS * group);
                if diagonal >= top + tall {
                    break;
                }
                let from = top.max(diagonal);
                let place = self.starts[group] + from - diagonal;
                let tiles = &mut self.tiles[place..place + top + tall - from];
                match <&mut [Tile; TALL]>::try_from(&mut *tiles) {
                    Ok(tiles) => add_to_four(tiles, &packed, factors),
                    Err(_) => {
                        for (tile, below) in tiles.iter_mut().zip(from - top..) {
                            add_to_one(tile, packed.iter().map(|rows| rows[below]), factors);
                        }
                    }
                }
                if from == diagonal {
                    self.clear_diagonal(group);
                }
            }
        }
    }

    /// Zeros on and above the diagonal.
    fn clear_diagonal(&mut self, group: usize) {
        let first = COLUMNS * group;
        let tile = &mut self.tiles[self.starts[group]];
        for (column, j) in tile.0.iter_mut().zip(first..) {
            column[..=j % WIDTH].fill(0.0);
        }
    }

    /// Σ a² from column `start` on, a multiple of [`WIDTH`].
    pub fn squares(&self, start: usize) -> f64 {
        let tiles = &self.tiles[self.starts[start / COLUMNS]..];
        let sums = vectorize(
            #[inline(always)]
            || {
                let mut sums = [[0.0; WIDTH]; COLUMNS];
                for tile in tiles {
                    for i in 0..COLUMNS {
                        for l in 0..WIDTH {
                            sums[i][l] = tile.0[i][l].mul_add(tile.0[i][l], sums[i][l]);
                        }
                    }
                }
                sums
            },
        );
        sums.iter().map(total).sum()
    }
}

/// Adds a multiple of some rows to a register of sums. Sums have names of their own: an array of sixteen would be kept in memory.
macro_rules! add {
    ($sum:ident, $rows:expr, $factor:expr) => {
        for l in 0..WIDTH {
            $sum[l] = $rows[l].mul_add($factor, $sum[l]);
        }
    };
}

/// Four tiles below each other and Σ l f.
fn add_to_four(tiles: &mut [Tile; TALL], left: &[[Lanes; TALL]], factors: &[[f64; COLUMNS]]) {
    vectorize(
        #[inline(always)]
        || {
            let [Tile([mut a, mut b, mut c, mut d]), Tile([mut e, mut f, mut g, mut h]), ..] = *tiles;
            let [.., Tile([mut i, mut j, mut k, mut m]), Tile([mut n, mut o, mut p, mut q])] = *tiles;
            for ([first, second, third, fourth], factors) in left.iter().zip(factors) {
                add!(a, first, factors[0]);
                add!(b, first, factors[1]);
                add!(c, first, factors[2]);
                add!(d, first, factors[3]);
                add!(e, second, factors[0]);
                add!(f, second, factors[1]);
                add!(g, second, factors[2]);
                add!(h, second, factors[3]);
                add!(i, third, factors[0]);
                add!(j, third, factors[1]);
                add!(k, third, factors[2]);
                add!(m, third, factors[3]);
                add!(n, fourth, factors[0]);
                add!(o, fourth, factors[1]);
                add!(p, fourth, factors[2]);
                add!(q, fourth, factors[3]);
            }
            *tiles = [Tile([a, b, c, d]), Tile([e, f, g, h]), Tile([i, j, k, m]), Tile([n, o, p, q])];
        },
    );
}

/// One tile and Σ l f; the rows of the columns l begin with its own.
fn add_to_one(tile: &mut Tile, left: impl Iterator<Item = Lanes>, factors: &[[f64; COLUMNS]]) {
    vectorize(
        #[inline(always)]
        || {
            let Tile([mut a, mut b, mut c, mut d]) = *tile;
            for (rows, factors) in left.zip(factors) {
                add!(a, rows, factors[0]);
                add!(b, rows, factors[1]);
                add!(c, rows, factors[2]);
                add!(d, rows, factors[3]);
            }
            *tile = Tile([a, b, c, d]);
        },
    );
}

pub(super) fn total(lanes: &Lanes) -> f64 {
    let halves: [f64; 4] = std::array::from_fn(|l| lanes[l] + lanes[l + 4]);
    (halves[0] + halves[2]) + (halves[1] + halves[3])
}
