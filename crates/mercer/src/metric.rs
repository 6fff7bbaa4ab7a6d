//! Learning the metric: one lengthscale per feature, or a full linear map of the features, from the data.
//!
//! | chapter | |
//! |---|---|
//! | [`objective`] | leave-one-out or restricted likelihood as a function of the lengthscales and the ridge, with its gradient |
//! | [`descent`] | a quasi-Newton search |
//! | [`learn`] | from a family of kernels to one with its metric learned |
//! | [`outer`] | the average outer product of the gradients of f, iterated |

pub mod descent;
pub mod learn;
pub mod objective;
pub mod outer;
pub(crate) mod ridge;
