//! Asking a model: reading its answers, asking again, prompts, fences, and what fits.
mod asking;
mod broken;
mod fences;
mod fitting;
mod prompts;
mod supervising;
