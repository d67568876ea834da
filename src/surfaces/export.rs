//! A report in the forms people use.
