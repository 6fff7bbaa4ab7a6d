//! Vector code that gives the same bits on every processor.
//!
//! Hot loops are written over short arrays of lanes and compiled several times (AVX-512, AVX2, baseline);
//! [`vectorize`] picks one at run time. Rust never fuses a multiplication with an addition on its own, and `mul_add` rounds once on
//! every processor (a slow one where there is no instruction for it), so all versions round alike: a model predicts the same bits on an old machine and on a new one.

/// Numbers a loop body treats together: four AVX-512 registers.
pub(crate) const LANES: usize = 32;

/// The same for a long chain of operations: eight registers keep both arithmetic units busy.
pub(crate) const WIDE: usize = 64;

/// Runs `body` compiled for the best instruction set of this processor.
///
/// `body` must be `#[inline(always)]` all the way down for that to reach its loops: `for` does, `for_each` of a long closure is
/// compiled as a function of its own, for the baseline.
#[inline(always)]
pub(crate) fn vectorize<R>(body: impl FnOnce() -> R) -> R {
    struct Body<F>(F);
    impl<R, F: FnOnce() -> R> pulp::WithSimd for Body<F> {
        type Output = R;
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, simd: S) -> R {
            struct Run<F>(F);
            impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Run<F> {
                type Output = R;
                #[inline(always)]
                fn call(self) -> R {
                    (self.0)()
                }
            }
            simd.vectorize(Run(self.0))
        }
    }
    pulp::Arch::new().dispatch(Body(body))
}

/// Σ x · w with a sum per lane, for use inside of [`vectorize`].
#[inline(always)]
pub(crate) fn dot<T: Copy + Into<f64>>(numbers: &[T], weights: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let ((numbers, rest), (weights, other_rest)) = (numbers.as_chunks::<LANES>(), weights.as_chunks::<LANES>());
    for (x, w) in numbers.iter().zip(weights) {
        for l in 0..LANES {
            let x: f64 = x[l].into();
            lanes[l] += x * w[l];
        }
    }
    let tail: f64 = rest.iter().zip(other_rest).map(|(x, w)| (*x).into() * w).sum();
    tail + lanes.iter().sum::<f64>()
}

/// Applies `of` to every lane.
#[inline(always)]
pub(crate) fn each<const N: usize>(mut lanes: [f64; N], of: impl Fn(f64) -> f64) -> [f64; N] {
    for x in &mut lanes {
        *x = of(*x);
    }
    lanes
}

/// eˣ for one lane; see [`exp_lanes`].
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    exp_lanes([x])[0]
}

/// eˣ for x ≤ 0 (kernels decay); at most 1 ulp off, 0 below −708 (no subnormals).
///
/// x = k ln 2 + r with |r| ≤ ln 2 / 2, then a Taylor polynomial of degree 13 in Horner's form, whose
/// truncation (6e-18) is below rounding, and k into the exponent bits. Each step is made for all lanes before the next one:
/// it waits four cycles for the one before, which the other lanes fill.
#[inline(always)]
pub(crate) fn exp_lanes<const N: usize>(x: [f64; N]) -> [f64; N] {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    // ln 2 in two parts; the first has 21 trailing zero bits, so k · LN2_HIGH is exact.
    const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
    const LN2_LOW: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);
    // Adding 1.5 · 2⁵² rounds to an integer and leaves it in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LEADING: f64 = 1.605_904_383_682_161_5e-10;
    const COEFFICIENTS: [f64; 11] = [
        2.087_675_698_786_81e-9,
        2.505_210_838_544_172e-8,
        2.755_731_922_398_589_3e-7,
        2.755_731_922_398_589_3e-6,
        2.480_158_730_158_73e-5,
        1.984_126_984_126_984e-4,
        1.388_888_888_888_889e-3,
        8.333_333_333_333_333e-3,
        4.166_666_666_666_666_4e-2,
        1.666_666_666_666_666_6e-1,
        0.5,
    ];
    let (mut shifted, mut r, mut p) = ([0.0; N], [0.0; N], [LEADING; N]);
    for l in 0..N {
        // No `max`: a NaN must come out as NaN.
        let clamped = if x[l] < -708.0 { -708.0 } else { x[l] };
        shifted[l] = clamped * LOG2_E + ROUND;
        let k = shifted[l] - ROUND;
        r[l] = (clamped - k * LN2_HIGH) - k * LN2_LOW;
    }
    for coefficient in COEFFICIENTS {
        for l in 0..N {
            p[l] = p[l] * r[l] + coefficient;
        }
    }
    let mut out = [0.0; N];
    for l in 0..N {
        let tail = r[l] * r[l] * p[l] + r[l];
        let scale = f64::from_bits((shifted[l].to_bits() << 52).wrapping_add(0x3FF0_0000_0000_0000));
        let value = (1.0 + tail) * scale;
        out[l] = if x[l] < -708.0 { 0.0 } else { value };
    }
    out
}

/// ln x of positive normal numbers, with fused steps, to about 1e-16 of 1 + |ln x|: the exponent's share and 2 artanh((m − 1)/(m + 1)) of the
/// mantissa m between √½ and √2, by its series. For tables that no saved model repeats.
#[inline(always)]
pub(crate) fn ln_lanes<const N: usize>(x: [f64; N]) -> [f64; N] {
    // 2⁵² and a small whole number in its last bits.
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    let [mut exponent, mut s, mut square, mut sum]: [[f64; N]; 4] = [[0.0; N], [0.0; N], [0.0; N], [1.0 / 23.0; N]];
    for l in 0..N {
        let bits = x[l].to_bits();
        let mantissa = f64::from_bits((bits & 0x000F_FFFF_FFFF_FFFF) | 0x3FF0_0000_0000_0000);
        let whole = f64::from_bits((bits >> 52) | SHIFT.to_bits()) - (SHIFT + 1023.0);
        let is_large = mantissa > std::f64::consts::SQRT_2;
        let mantissa = if is_large { 0.5 * mantissa } else { mantissa };
        exponent[l] = if is_large { whole + 1.0 } else { whole };
        s[l] = (mantissa - 1.0) / (mantissa + 1.0);
        square[l] = s[l] * s[l];
    }
    for k in (1..11).rev() {
        let coefficient = 1.0 / (2 * k + 1) as f64;
        for l in 0..N {
            sum[l] = sum[l].mul_add(square[l], coefficient);
        }
    }
    for l in 0..N {
        let tail = (sum[l] * square[l]).mul_add(s[l], s[l]);
        sum[l] = exponent[l].mul_add(std::f64::consts::LN_2, 2.0 * tail);
    }
    sum
}

/// 2ˣ for x ≤ 0, with fused steps: within 2 ulp, 2⁻¹⁰²⁰ for anything below; 1 at 0. The polynomial, 1 + xq(x) on |x| ≤ ½ with q
/// interpolating at Chebyshev's points, is off by 2e-17. For sums that no saved model repeats.
#[inline(always)]
pub(crate) fn exp2_lanes<const N: usize>(x: [f64; N]) -> [f64; N] {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LEADING: f64 = 4.454_960_598_186_518_6e-10;
    const COEFFICIENTS: [f64; 11] = [
        7.072_585_949_269_223e-9,
        1.017_806_244_584_577_4e-7,
        1.321_544_258_792_169e-6,
        1.525_273_382_983_612e-5,
        1.540_353_044_173_605e-4,
        1.333_355_814_641_693_6e-3,
        9.618_129_107_606_888e-3,
        5.550_410_866_482_16e-2,
        2.402_265_069_591_009_7e-1,
        std::f64::consts::LN_2,
        1.0,
    ];
    let (mut shifted, mut r, mut p) = ([0.0; N], [0.0; N], [LEADING; N]);
    for l in 0..N {
        let clamped = if x[l] < -1020.0 { -1020.0 } else { x[l] };
        shifted[l] = clamped + ROUND;
        r[l] = clamped - (shifted[l] - ROUND);
    }
    for coefficient in COEFFICIENTS {
        for l in 0..N {
            p[l] = p[l].mul_add(r[l], coefficient);
        }
    }
    for l in 0..N {
        p[l] = f64::from_bits(p[l].to_bits().wrapping_add(shifted[l].to_bits() << 52));
    }
    p
}

/// eˣ in single precision for one lane, x ≤ 0; within 2 ulp, 0 below −87. The polynomial is Cephes'.
#[inline(always)]
pub(crate) fn exp_single(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // Adding 1.5 · 2²³ rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let clamped = if x < -87.0 { -87.0 } else { x };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (clamped - k * LN2_HIGH) - k * LN2_LOW;
    let mut p = 1.987_569_2e-4;
    p = p * r + 1.398_2e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 1.666_666_5e-1;
    p = p * r + 0.5;
    let tail = r * r * p + r;
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3F80_0000));
    let value = (1.0 + tail) * scale;
    if x < -87.0 { 0.0 } else { value }
}

/// 2ˣ in single precision for one lane, x ≤ 0: within 4 ulp, and 2⁻¹²⁵ for anything below; 1 at 0. The polynomial is the one of
/// its degree, 1 + xq(x), with the least relative error.
#[inline(always)]
pub(crate) fn exp2_single(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    let clamped = if x < -125.0 { -125.0 } else { x };
    let shifted = clamped + ROUND;
    let r = clamped - (shifted - ROUND);
    let mut p: f32 = 1.326_472_7e-3;
    p = p.mul_add(r, 9.671_513e-3);
    p = p.mul_add(r, 5.550_733_6e-2);
    p = p.mul_add(r, 2.402_224_2e-1);
    p = p.mul_add(r, 0.693_146_97);
    p = p.mul_add(r, 1.0);
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}

#[cfg(test)]
mod tests {
    use super::{WIDE, exp, exp_lanes, exp_single, exp2_lanes, exp2_single, ln_lanes, vectorize};

    #[test]
    fn logarithms_are_those_of_the_library() {
        for k in -3000..3000 {
            let x = libm::exp(0.23 * f64::from(k));
            for x in [x, x * 1.000_000_1, 1.0 + 1e-9 * f64::from(k)].into_iter().filter(|x| x.is_normal()) {
                let (found, wanted) = (ln_lanes([x, 1.0])[0], libm::log(x));
                assert!((found - wanted).abs() <= 3e-16 * wanted.abs().max(1e-3), "{x}: {found} {wanted}");
            }
        }
        assert_eq!(ln_lanes([1.0, 2.0]), [0.0, std::f64::consts::LN_2]);
    }

    #[test]
    fn powers_of_two_are_within_2_ulp_and_alike_in_every_version() {
        let inputs: Vec<f64> = (0..400_000).map(|i| -0.002_549 * f64::from(i)).collect();
        let mut fast = vec![0.0; inputs.len()];
        vectorize(
            #[inline(always)]
            || {
                for (out, x) in fast.as_chunks_mut::<WIDE>().0.iter_mut().zip(inputs.as_chunks::<WIDE>().0) {
                    *out = exp2_lanes(*x);
                }
            },
        );
        for (x, got) in inputs.iter().zip(&fast) {
            assert_eq!(got.to_bits(), exp2_lanes([*x])[0].to_bits(), "baseline differs at {x}");
            let want = libm::exp2(*x);
            assert!((got.to_bits() as i64 - want.to_bits() as i64).abs() <= 2, "{x}: {got} for {want}");
        }
        let [one, tiny, least, nothing] = exp2_lanes([0.0, -1e300, f64::NEG_INFINITY, f64::NAN]);
        assert!(one == 1.0 && tiny < 1e-300 && tiny == least && nothing.is_nan());
    }

    #[test]
    fn powers_of_two_in_single_precision_are_within_4_ulp() {
        for i in 0..1_250_000 {
            let x = -0.000_1 * i as f32;
            let (got, want) = (exp2_single(x), libm::exp2(f64::from(x)) as f32);
            assert!((got.to_bits() as i32 - want.to_bits() as i32).abs() <= 4, "{x}: {got} for {want}");
        }
        assert_eq!(exp2_single(0.0), 1.0);
        assert!(exp2_single(-1e30) < 1e-37 && exp2_single(-125.4) > 0.0);
        assert!(exp2_single(f32::NAN).is_nan());
    }

    #[test]
    fn exp_in_single_precision_is_within_2_ulp() {
        for i in 0..870_000 {
            let x = -0.000_1 * i as f32;
            let (got, want) = (exp_single(x), libm::exp(f64::from(x)) as f32);
            assert!((got.to_bits() as i32 - want.to_bits() as i32).abs() <= 2, "{x}: {got} for {want}");
        }
        assert_eq!(exp_single(0.0), 1.0);
        assert_eq!(exp_single(-1e30), 0.0);
        assert!(exp_single(f32::NAN).is_nan());
    }

    #[test]
    fn exp_is_within_one_ulp_and_alike_in_every_version() {
        let inputs: Vec<f64> = (0..400_000).map(|i| -0.001_77 * f64::from(i)).collect();
        let mut fast = vec![0.0; inputs.len()];
        vectorize(
            #[inline(always)]
            || {
                for (out, x) in fast.iter_mut().zip(&inputs) {
                    *out = exp(*x);
                }
            },
        );
        for (wide, alone) in inputs.chunks_exact(WIDE).zip(fast.chunks_exact(WIDE)) {
            let lanes: &[f64; WIDE] = wide.first_chunk().expect("a whole chunk");
            assert_eq!(exp_lanes(*lanes).map(f64::to_bits), *alone.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
        }
        let mut worst: i64 = 0;
        for (x, got) in inputs.iter().zip(&fast) {
            assert_eq!(got.to_bits(), exp(*x).to_bits(), "baseline differs at {x}");
            if *x >= -707.0 {
                let want = libm::exp(*x);
                worst = worst.max((got.to_bits() as i64 - want.to_bits() as i64).abs());
            }
        }
        assert!(worst <= 1, "worst error {worst} ulp");
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-1e300), 0.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert!(exp(f64::NAN).is_nan());
    }
}
