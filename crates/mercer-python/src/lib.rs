//! `mercer._core`: conversion between Python and the core, and nothing else.
//!
//! | chapter | |
//! |---|---|
//! | `table` | NumPy arrays and columns become a table of the core |
//! | `settings` | dictionaries of settings become fits |
//! | `fitting` | the front door: one fit for every class |
//! | `model` | a fitted model: predictions, intervals, effects, bytes |
//! | `source` | what a fit was made of, to make it again without a row, a fold, or along λ |
//! | `found` | what a fit knew beside its model, as plain numbers |
//! | `kernels` | kernel matrices and landmarks |
//! | `work` | without the interpreter's lock, on a pool of our own, and stopped by Ctrl-C |
//! | `refusal` | errors of the core become exceptions |

#![forbid(unsafe_code)]

mod fitting;
mod found;
mod kernels;
mod model;
mod outside;
mod refusal;
mod settings;
mod source;
mod table;
mod work;

use pyo3::prelude::*;

/// The core of the package `mercer`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::fitting::{fit_automatic, fit_linear, fit_loss, fit_power, fit_sparse};
    #[pymodule_export]
    use crate::kernels::{kernel_matrix, kernel_spec, landmarks};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::outside::Outside;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::work::{panics, set_threads, threads};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // A panic becomes an exception with its message; nothing is printed beside it.
        std::panic::set_hook(Box::new(|_| ()));
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
