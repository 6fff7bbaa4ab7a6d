//! Both sides of every size at which another method takes over.

use super::Cases;

pub fn add(cases: &mut Cases) {
    // A tridiagonal form from 200 to 1,500 rows, Cholesky factors from 600, a band form from 900; automatic fits and tables of
    // rows change at 1,300 and 1,500, trials at 2,500.
    for n in [199, 200, 599, 600, 899, 900, 1300, 1301, 1500, 1501, 2499, 2500] {
        let table = format!("reg-{n}.csv");
        let mut fit = |name: &str, options: &str| {
            let is_slow = n > 599;
            let case = cases.fit(format!("size/{n}/{name}"), &table, options);
            case.is_slow = is_slow;
            case.on_threads = n == 600;
        };
        fit("m2/fixed", "--kernel gaussian --exponent 2 --lambda 1e-3");
        fit("m2/fixed/no-diagnostics", "--kernel matern52 --exponent 2 --lambda 1e-3 --no-diagnostics --memory 3G");
        fit("m2/loo", "--kernel gaussian");
        fit("m2/kfold", "--kernel matern32 --criterion kfold:5");
        fit("m1.5/fixed", "--kernel gaussian --exponent 1.5 --lambda 1e-2");
        if n <= 1501 {
            fit("m1.5/loo", "--kernel matern52 --exponent 1.5");
            fit("exponents/loo", "--kernel gaussian --exponent 0.5..3:0.5 --lambda 1e-6..10:8");
            fit("m2/no-offset", "--kernel laplace --no-offset");
        }
        if n <= 900 {
            fit("kernels/loo", "--kernel gaussian(lengthscale=0.5..4:4) --kernel matern12");
            fit("exponents/gcv", "--kernel gaussian --exponent 0.5..3:0.5 --criterion gcv");
        }
    }
    for n in [599, 600, 1500, 1501] {
        let case = cases.fit(format!("size/{n}/weights"), &format!("reg-{n}-w.csv"), "--kernel gaussian --weight w");
        case.slow();
        cases.fit(format!("size/{n}/groups"), &format!("reg-{n}-g.csv"), "--kernel gaussian --group g").slow();
    }
    // Automatic fits keep all rows up to 8,000, others up to 15,000.
    for n in [8000, 8001] {
        let table = format!("reg-{n}.csv");
        cases.fit(format!("size/{n}/linear"), &table, "--kernel linear").slow();
        cases.fit(format!("size/{n}/rank"), &table, "--kernel gaussian --rank 60 --lambda 1e-4").slow();
        cases.fit(format!("size/{n}/rank/loo"), &table, "--kernel gaussian --rank 40").slow();
    }
    cases.fit("size/8000/fixed", "reg-8000.csv", "--kernel gaussian --lambda 1e-3 --no-diagnostics --memory 3G").slow();
    for n in [15000, 15001] {
        let table = format!("reg-{n}.csv");
        cases.fit(format!("size/{n}/linear"), &table, "--kernel linear").slow();
        cases.fit(format!("size/{n}/lasso"), &table, "--penalty lasso --lambda 1e-2").slow();
        let gradients = "--kernel gaussian --lambda 0.1 --solver conjugate-gradients --tolerance 1e-4";
        cases.fit(format!("size/{n}/gradients"), &table, gradients).slow();
    }
    cases
        .fit("size/15000/fixed", "reg-15000.csv", "--kernel gaussian --lambda 1e-3 --no-diagnostics --memory 3G")
        .slow();
    cases
        .fit("size/15001/fixed", "reg-15001.csv", "--kernel gaussian --lambda 1e-3 --no-diagnostics --memory 3G")
        .slow();
    cases.fit("size/15001/memory", "reg-15001.csv", "--kernel gaussian --lambda 1e-4 --memory 400M").slow();
}
